// exit, quick_exit and exceptions while replays are in flight.

#include "exit/exit_child.hpp"

#include <cstdlib>
#include <future>
#include <thread>

namespace exit_child {

namespace {

/// std::exit by another thread, while main does something for ever or for a while.
int exit_of_a_thread(const std::function<void(std::promise<void>&)>& what_main_does) {
  early.everything.emplace();
  std::promise<void> ready;
  std::thread([busy = ready.get_future()]() mutable {
    of_thread.emplace();
    busy.get();
    std::exit(5);
  }).detach();
  what_main_does(ready);
  return status_of_main;
}

int exit_while_main_blocks() {
  return exit_of_a_thread([](std::promise<void>& ready) {
    ready.set_value();
    block();
  });
}

int exit_while_main_waits() {
  return exit_of_a_thread([](std::promise<void>& ready) {
    try {
      const Everything everything;
      ready.set_value();
      everything.stream.synchronize();
    } catch (const rf::Error&) {
    }
    block();
  });
}

int exit_while_main_works() {
  return exit_of_a_thread([](std::promise<void>& ready) {
    try {
      const Everything everything;
      const rf::StreamGuard on(everything.stream);
      for (int i = 0;; ++i) {
        if (i == 3) ready.set_value();
        rf::capture([&] { return everything.input + 1; }).first.instantiate().replay();
        everything.exec.replay();
        everything.stream.synchronize();
      }
    } catch (const rf::Error&) {
      block();
    }
  });
}

int exit_with_locals() {
  const Everything never_destroyed;
  leaked = const_cast<Everything*>(&never_destroyed);
  std::exit(5);
}

int quick_exit_in_flight() {
  early.everything.emplace();
  const Everything local;
  std::quick_exit(5);
}

int quick_exit_in_a_thread() {
  const Everything local;
  std::thread([] {
    of_thread.emplace();
    std::quick_exit(5);
  }).detach();
  block();
}

int throws_in_flight() {
  const Everything local;
  early.everything.emplace();
  throw Failure("of main");
}

/// Nobody fetches what the function threw.
int throws_in_a_function() {
  rf::Stream().launch_host_func([] { throw Failure("of a function"); });
  const Everything local;
  local.stream.launch_host_func([] { throw Failure("of a function"); });
  return status_of_main;
}

}  // namespace

void add_exits(Scenarios& to) {
  to.merge(Scenarios{
      {"exit", exit_with_locals},
      {"exit_while_main_blocks", exit_while_main_blocks},
      {"exit_while_main_waits", exit_while_main_waits},
      {"exit_while_main_works", exit_while_main_works},
      {"quick_exit", quick_exit_in_flight},
      {"quick_exit_in_a_thread", quick_exit_in_a_thread},
      {"throws", throws_in_flight},
      {"throws_uncaught", throws_in_flight},
      {"throws_in_a_function", throws_in_a_function},
  });
}

}  // namespace exit_child
