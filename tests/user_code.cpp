// Code of the user's that Refrain calls: it may use Refrain, and no lock is held meanwhile.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <atomic>
#include <memory>

using boost::unit_test::label;

namespace refrain::test {

namespace {

bool is_host() { return current_device().kind == DeviceKind::host; }

/// A log sink until the end of the scope.
class SinkScope {
 public:
  explicit SinkScope(std::function<void(const Diagnostic&)> sink) { set_log_sink(std::move(sink)); }
  ~SinkScope() { set_log_sink({}); }
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;
};

struct Own {};

}  // namespace

BOOST_AUTO_TEST_SUITE(user_code)

// Bodies of captures

BOOST_AUTO_TEST_CASE(other_threads_use_everything_while_a_body_runs) {
  for (const bool live : live_modes) {
    for (const bool by_stream : {false, true}) {
      const bool is_right = without_deadlock([&] {
        const Stream origin;
        const Array x = filled(2);
        bool is_fine = false;
        const auto body = [&] {
          const Array sum = x + 1;
          is_fine = on_another_thread([] { return use_everything(); });
          return sum * 2;
        };
        const auto [graph, result] = by_stream ? capture(origin, body, {.live = live}) : capture(body, {.live = live});
        graph.instantiate().replay();
        return is_fine && holds(result, 6);
      });
      BOOST_TEST(is_right, "live: " << live << ", by stream: " << by_stream);
    }
  }
}

BOOST_AUTO_TEST_CASE(guards_of_a_body_run_when_one_of_them_throws, *label("conformance-100")) {
  struct Guard {
    int* ran;
    bool throws;
    ~Guard() noexcept(false) {
      *ran += is_capturing() ? 1 : 100;
      bench::empty(current_stream());
      if (throws) throw Own{};
    }
  };
  for (const bool live : live_modes) {
    const Stream origin;
    int ran = 0;
    const auto body = [&] {
      const Guard last{&ran, false};
      const Guard throws{&ran, true};
      const Guard first{&ran, false};
      bench::empty(current_stream());
    };
    BOOST_CHECK_THROW(capture(origin, body, {.live = live}), Own);
    BOOST_CHECK_THROW(capture(body, {.live = live}), Own);
    BOOST_TEST(ran == 6);
    BOOST_TEST(!is_capturing());
    BOOST_TEST(!origin.is_capturing());
    BOOST_TEST(use_everything());
  }
}

// Host functions

BOOST_AUTO_TEST_CASE(other_threads_use_everything_while_a_function_runs) {
  // On a GPU a function must not wait for work of the device.
  const bool waits = is_host();
  BOOST_TEST(use_everything());
  for (const Mode mode : all_modes) {
    const bool is_right = without_deadlock([&] {
      const Stream stream;
      std::atomic<int> good{0};
      const auto body = [&] {
        current_stream().launch_host_func([&, waits] {
          if (on_another_thread([waits] { return use_everything(waits); })) ++good;
        });
      };
      const StreamGuard on(stream);
      if (mode == Mode::eager) {
        body();
      } else {
        capture(body, capture_options(mode)).instantiate(instantiate_options(mode)).replay();
      }
      stream.synchronize();
      return good == 1;
    });
    BOOST_TEST(is_right, mode);
  }
}

BOOST_AUTO_TEST_CASE(a_graphs_function_may_drop_that_graph) {
  for (const Mode mode : graph_modes) {
    const Array x = filled(2);
    const bool is_right = without_deadlock([&] {
      struct Everything {
        Graph graph;
        GraphExec exec;
        Array output;
        Stream stream;
      };
      auto all = std::make_unique<Everything>();
      const auto witness = std::make_shared<int>(0);
      Array later;
      all->graph = capture(
          [&] {
            all->output = x + 1;
            current_stream().launch_host_func([&all, held = witness] { all.reset(); });
            later = x * 5;
          },
          capture_options(mode));
      all->exec = all->graph.instantiate(instantiate_options(mode));
      const Stream stream = all->stream;
      Gate gate(stream);  // until replay has returned, which uses what the function drops
      all->exec.replay(stream);
      gate.open();
      stream.synchronize();
      return all == nullptr && holds(later, 10) && eventually([&] { return witness.use_count() == 1; });
    });
    BOOST_TEST(is_right, mode);
  }
}

// Log sinks

BOOST_AUTO_TEST_CASE(a_sink_uses_everything) {
  const HazardsScope hazards(Hazards::add);
  const Array shared = filled(1);
  synchronize();
  const auto conflict = [&](const std::function<void(Array&)>& second) {
    const Stream first;
    Array x = filled(1);
    first.wait_stream(current_stream());
    {
      const StreamGuard on(first);
      keep_busy(first, 2);
      x += 1;
    }
    second(x);
    return holds(x, 3);
  };
  const std::pair<const char*, std::function<bool()>> causes[] = {
      {"eager", [&] { return conflict([](Array& x) { x += 1; }); }},
      {"replay",
       [&] {
         return conflict([](Array& x) {
           const GraphExec exec = capture([&] { x += 1; }).instantiate();
           exec.replay();
         });
       }},
      {"end of a capture", [] { return capture([] {}).node_count() == 0; }},
      {"end of a live capture", [] { return capture([] {}, {.live = true}).node_count() == 0; }},
      {"end of a capture by stream",
       [] {
         const Stream origin;
         return capture(origin, [] {}).node_count() == 0;
       }},
  };
  for (const auto& [name, cause] : causes) {
    std::atomic<int> told{0};
    std::atomic<int> good{0};
    const bool is_right = without_deadlock([&, &cause = cause] {
      const SinkScope sink([&](const Diagnostic&) {
        if (told++ == 0 && use_everything() && on_another_thread([] { return use_everything(); })) ++good;
      });
      return cause();
    });
    BOOST_TEST(is_right, name);
    BOOST_TEST(told > 0, name);
    BOOST_TEST(good == 1, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
