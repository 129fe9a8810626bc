// Objects of the user's that Refrain holds and lets go of: their destructors may use Refrain, and no lock is held
// meanwhile.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <thread>

namespace refrain::test {

namespace {

/// Uses everything when it is destroyed, here and on another thread, and keeps whether that went well.
class UsesEverything {
 public:
  explicit UsesEverything(std::atomic<int>& good) : good_(&good) {}
  ~UsesEverything() {
    if (use_everything() && on_another_thread([] { return use_everything(); })) ++*good_;
  }
  UsesEverything(const UsesEverything&) = delete;
  UsesEverything& operator=(const UsesEverything&) = delete;

 private:
  std::atomic<int>* good_;
};

std::function<void()> function_that_holds(std::atomic<int>& good) {
  return [held = std::make_shared<UsesEverything>(good)] {};
}

struct Own {};

}  // namespace

BOOST_AUTO_TEST_SUITE(closures)

BOOST_AUTO_TEST_CASE(a_sink_that_is_replaced_uses_everything_as_it_goes) {
  std::atomic<int> good{0};
  without_deadlock([&] {
    set_log_sink([held = std::make_shared<UsesEverything>(good)](const Diagnostic&) {});
    set_log_sink([held = std::make_shared<UsesEverything>(good)](const Diagnostic&) { set_log_sink({}); });
    capture([] {});  // of nothing: the second takes itself away
  });
  BOOST_TEST(good == 2);
}

BOOST_AUTO_TEST_CASE(a_functions_closure_uses_everything_as_it_goes) {
  const std::pair<const char*, std::function<void(std::atomic<int>&)>> ways[] = {
      {"refused",
       [](auto& good) {
         Stream from;
         const Stream to = std::move(from);
         require_error(Errc::invalid_value, [&] { from.launch_host_func(function_that_holds(good)); });
       }},
      {"eager", [](auto& good) { current_stream().launch_host_func(function_that_holds(good)); }},
      {"discarded",
       [](auto& good) {
         const auto body = [&] {
           current_stream().launch_host_func(function_that_holds(good));
           throw Own{};
         };
         BOOST_CHECK_THROW(capture(body), Own);
       }},
      {"unjoined",
       [](auto& good) {
         const Stream origin;
         const Stream forked;
         require_error(Errc::capture_unjoined, [&] {
           capture(origin, [&] {
             forked.wait_stream(origin);
             forked.launch_host_func(function_that_holds(good));
           });
         });
       }},
      {"origin dropped",
       [](auto& good) {
         auto origin = std::make_unique<Stream>();
         const Capture capture(*origin);
         origin->launch_host_func(function_that_holds(good));
         origin.reset();
       }},
      {"never instantiated",
       [](auto& good) { capture([&] { current_stream().launch_host_func(function_that_holds(good)); }); }},
      {"never replayed",
       [](auto& good) {
         capture([&] { current_stream().launch_host_func(function_that_holds(good)); }).instantiate();
       }},
      {"in flight",
       [](auto& good) {
         const Stream stream;
         Gate gate(stream);
         capture([&] { current_stream().launch_host_func(function_that_holds(good)); }).instantiate().replay(stream);
         gate.open();
       }},
      {"live, in flight",
       [](auto& good) {
         const Stream stream;
         Gate gate(stream);
         capture([&] { current_stream().launch_host_func(function_that_holds(good)); }, {.live = true})
             .instantiate()
             .replay(stream);
         gate.open();
       }},
      {"of a graph in a graph",
       [](auto& good) {
         Graph outer;
         {
           const GraphExec inner =
               capture([&] { current_stream().launch_host_func(function_that_holds(good)); }).instantiate();
           outer = capture([&] { inner.replay(); });
         }
         outer.instantiate().replay();
       }},
  };
  for (const auto& [name, way] : ways) {
    BOOST_TEST_CONTEXT(name) {
      std::atomic<int> good{0};
      without_deadlock([&, &way = way] { way(good); });
      BOOST_TEST(eventually([&] { return good == 1; }));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_closure_issues_as_it_goes_is_in_no_capture) {
  struct Increments {
    Array array;
    explicit Increments(Array of) : array(std::move(of)) {}
    ~Increments() { array += 1; }
  };
  for (const bool live : live_modes) {
    for (const bool by_stream : {false, true}) {
      BOOST_TEST_CONTEXT("live: " << live << ", by stream: " << by_stream) {
        const Stream stream;
        const Stream origin;
        const Array counter = filled(0);
        const Array x = filled(2);
        stream.launch_host_func([held = std::make_shared<Increments>(counter)] {});
        const Event done = stream.record_event();
        while (!done.query()) std::this_thread::yield();  // the function is done, and perhaps not destroyed
        const auto body = [&] { return x * 2; };
        const auto [graph, result] = by_stream ? capture(origin, body, {.live = live}) : capture(body, {.live = live});
        BOOST_TEST(labels(graph) == std::vector<std::string>{"mul"}, boost::test_tools::per_element());
        graph.instantiate().replay();
        synchronize();
        BOOST_TEST(holds(result, 4));
        BOOST_TEST(holds(counter, 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_function_throws_uses_everything_as_it_goes) {
  struct Failure : std::runtime_error {
    explicit Failure(std::atomic<int>& good)
        : std::runtime_error("of the function"), held(std::make_shared<UsesEverything>(good)) {}
    std::shared_ptr<UsesEverything> held;
  };
  std::atomic<int> good{0};
  without_deadlock([&] {
    const Stream stream;
    for (int i = 0; i < 2; ++i) {
      stream.launch_host_func([&good] { throw Failure(good); });
      BOOST_CHECK_THROW(stream.synchronize(), Failure);
    }
    stream.synchronize();
  });
  BOOST_TEST(good == 2);
}

BOOST_AUTO_TEST_CASE(graphs_that_hold_each_other_go_one_after_another) {
  for (const Mode mode : graph_modes) {
    const auto witness = std::make_shared<int>(0);
    without_deadlock([&] {
      GraphExec last;
      for (int i = 0; i < 100; ++i) {
        last = capture([&] { current_stream().launch_host_func([before = last, held = witness] {}); },
                       capture_options(mode))
                   .instantiate(instantiate_options(mode));
      }
      last.replay();
    });
    BOOST_TEST(eventually([&] { return witness.use_count() == 1; }), mode);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
