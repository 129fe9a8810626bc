// main returns while replays are in flight.

#include "exit/exit_child.hpp"

#include <future>
#include <thread>

namespace exit_child {

namespace {

int return_with_locals() {
  const Everything local;
  return status_of_main;
}

int return_with_static() {
  static const Everything late;  // goes before what Refrain registered at its first use
  return status_of_main;
}

int return_with_early_static() {
  early.everything.emplace();  // goes after it
  return status_of_main;
}

int return_with_all() {
  static const Everything late;
  early.everything.emplace();
  of_thread.emplace();
  leaked = new Everything;
  std::thread([] { of_thread.emplace(); }).join();
  return status_of_main;
}

int return_with_leak() {
  leaked = new Everything;
  return status_of_main;
}

int return_with_thread_local() {
  of_thread.emplace();
  return status_of_main;
}

/// The results of a thread that is gone are there.
int thread_local_of_a_thread() {
  rf::Array output;
  std::thread([&] {
    of_thread.emplace();
    output = of_thread->output;
  }).join();
  if (output.to_vector<float>().back() == 52) say("result");
  return status_of_main;
}

/// Issues work, captures and reads when it is destroyed.
struct WorksAtItsEnd {
  rf::Array array;
  ~WorksAtItsEnd() {
    if (!array.defined()) return;
    array += 1;
    const auto [graph, sum] = rf::capture([this] { return array + 1; });
    graph.instantiate().replay();
    if (sum.to_vector<float>().back() == 3) say("result");
    array += 1;
  }
};
WorksAtItsEnd early_that_works;
thread_local WorksAtItsEnd of_thread_that_works;

int return_with_statics_that_work() {
  early_that_works.array = rf::full({size}, 1);
  static WorksAtItsEnd late;
  late.array = rf::full({size}, 1);
  return status_of_main;
}

/// Made before the thread uses Refrain, so that it goes after what Refrain keeps for the thread.
int return_after_a_thread_local_that_works() {
  std::thread([] {
    WorksAtItsEnd& mine = of_thread_that_works;
    mine.array = rf::full({size}, 1);
  }).join();
  return status_of_main;
}

/// Commands that take long are under way: on the host, in parts on several threads.
int return_with_large_work() {
  static rf::Array last = rf::full({1 << 22}, 1);
  rf::Stream side;
  for (int i = 0; i < 4; ++i) {
    last = rf::tanh(last);
    const rf::StreamGuard on(side);
    rf::erf(rf::full({1 << 20}, 1));
  }
  return status_of_main;
}

/// A thread that is still there when main returns.
int return_beside_a_thread() {
  std::promise<void> ready;
  std::thread([&ready] {
    of_thread.emplace();
    ready.set_value();
    block();
  }).detach();
  ready.get_future().get();
  return status_of_main;
}

/// A thread that works on while main returns; it may find Refrain at an end.
int return_beside_a_working_thread() {
  std::promise<void> ready;
  std::thread([&ready] {
    try {
      const Everything everything;
      const rf::StreamGuard on(everything.stream);
      ready.set_value();
      for (;;) {
        rf::capture([&] { return everything.input + 1; }).first.instantiate().replay();
        everything.exec.replay();
        everything.stream.synchronize();
      }
    } catch (const rf::Error&) {
      block();
    }
  }).detach();
  ready.get_future().get();
  return status_of_main;
}

}  // namespace

void add_returns(Scenarios& to) {
  to.merge(Scenarios{
      {"locals", return_with_locals},
      {"static", return_with_static},
      {"early_static", return_with_early_static},
      {"static_constructor", [] { return early.everything ? status_of_main : 1; }},
      {"all", return_with_all},
      {"leak", return_with_leak},
      {"thread_local", return_with_thread_local},
      {"thread_local_of_a_thread", thread_local_of_a_thread},
      {"large_work", return_with_large_work},
      {"statics_that_work", return_with_statics_that_work},
      {"thread_local_that_works", return_after_a_thread_local_that_works},
      {"beside_a_thread", return_beside_a_thread},
      {"beside_a_working_thread", return_beside_a_working_thread},
  });
}

}  // namespace exit_child
