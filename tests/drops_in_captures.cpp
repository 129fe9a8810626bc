// What may be destroyed while a capture is open, by whom, and that the capture does not notice.

#include "support.hpp"
#include "support_concurrency.hpp"

#include <functional>
#include <memory>
#include <optional>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// Captures (x + 1) * 3 with `middle` between the two ops; the graph is what it is without, and its replays are right.
void require_unharmed(CaptureKind kind, const std::function<void()>& middle) {
  Array x = filled(1);
  const Stream origin;
  const auto body = [&] {
    Array sum = x + 1;
    middle();
    return sum * 3;
  };
  const auto [graph, result] = capture_as(kind, origin, body);
  BOOST_TEST(labels(graph) == (std::vector<std::string>{"add", "mul"}), boost::test_tools::per_element());
  const GraphExec exec = graph.instantiate();
  exec.replay();
  BOOST_TEST(holds(result, 6));
  x += 4;
  exec.replay();
  BOOST_TEST(holds(result, 18));
}

using Drop = std::function<void()>;

/// Something with work on the stream, and how it is dropped.
struct Leaving {
  const char* name;
  std::function<Drop(const Stream&)> make;
};

template <class T>
Drop dropping(T object) {
  return [held = std::make_shared<std::optional<T>>(std::move(object))] { held->reset(); };
}

/// A graph that the stream has replayed, or is about to, with its executable.
std::pair<Graph, GraphExec> replayed_on(const Stream& stream) {
  auto [graph, output] = capture([] { return filled(1) + 1; });
  GraphExec exec = graph.instantiate();
  exec.replay(stream);
  return {std::move(graph), std::move(exec)};
}

const Leaving leavings[] = {
    {"array",
     [](const Stream& stream) {
       const StreamGuard on(stream);
       return dropping(filled(1) + 1);
     }},
    {"array read on another stream",
     [](const Stream& stream) {
       const Array read = filled(1);
       stream.wait_stream(current_stream());
       const StreamGuard on(stream);
       const Array result = read + 1;
       return dropping(read);
     }},
    {"event", [](const Stream& stream) { return dropping(stream.record_event()); }},
    {"event with a time",
     [](const Stream& stream) {
       Event event({.timing = true});
       event.record(stream);
       return dropping(event);
     }},
    {"stream",
     [](const Stream& stream) {
       const Stream follows;
       follows.wait_stream(stream);
       bench::empty(follows);
       return dropping(follows);
     }},
    {"executable", [](const Stream& stream) { return dropping(replayed_on(stream).second); }},
    {"graph", [](const Stream& stream) { return dropping(replayed_on(stream).first); }},
    {"graph and executable", [](const Stream& stream) { return dropping(replayed_on(stream)); }},
    {"executable of a live capture",
     [](const Stream& stream) {
       GraphExec exec = capture([] { bench::empty(current_stream()); }, {.live = true}).instantiate();
       exec.replay(stream);
       return dropping(exec);
     }},
    {"function",
     [](const Stream& stream) {
       GraphExec exec = capture([&] {
                          current_stream().launch_host_func([held = std::make_shared<Array>(filled(1))] {});
                        }).instantiate();
       exec.replay(stream);
       return dropping(exec);
     }},
    {"open capture",
     [](const Stream&) {
       const auto origin = std::make_shared<Stream>();
       auto capture = std::make_shared<Capture>(*origin);
       bench::empty(*origin);
       return dropping(std::pair(origin, capture));
     }},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(drops_in_captures)

BOOST_AUTO_TEST_CASE(an_old_graph_may_go_in_the_capture_of_the_next, *label("report-4")) {
  for (const CaptureKind kind : capture_kinds) {
    for (const bool graph_first : {true, false}) {
      BOOST_TEST_CONTEXT(kind) {
        Array counter = filled(0);
        std::optional<Graph> graph = capture([&] { counter += 1; }, {.live = kind.live});
        std::optional<GraphExec> exec = graph->instantiate();
        exec->replay();
        require_unharmed(kind, [&] {
          graph_first ? graph.reset() : exec.reset();
          graph_first ? exec.reset() : graph.reset();
        });
        BOOST_TEST(holds(counter, 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(anything_idle_may_go_in_a_capture, *label("report-5")) {
  for (const CaptureKind kind : capture_kinds) {
    for (const Leaving& leaving : leavings) {
      BOOST_TEST_CONTEXT(kind << ", " << leaving.name) {
        const Stream stream;
        const Drop drop = leaving.make(stream);
        stream.synchronize();
        require_unharmed(kind, drop);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(anything_in_flight_may_go_in_a_capture, *label("report-5")) {
  for (const CaptureKind kind : capture_kinds) {
    for (const Leaving& leaving : leavings) {
      BOOST_TEST_CONTEXT(kind << ", " << leaving.name) {
        const Stream stream;
        Gate gate(stream);
        const Drop drop = leaving.make(stream);
        require_unharmed(kind, drop);
        BOOST_TEST(gate.open());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_functions_object_may_go_before_the_replay, *label("report-5")) {
  struct Adds {
    std::shared_ptr<int> sum;
    int by;
    void operator()() const { *sum += by; }
  };
  for (const bool live : live_modes) {
    const auto sum = std::make_shared<int>(0);
    GraphExec exec;
    {
      auto adds = std::make_unique<Adds>(Adds{sum, 5});
      exec = capture([&] { current_stream().launch_host_func(*adds); }, {.live = live}).instantiate();
      adds->by = -100;
      adds.reset();
    }
    for (int i = 0; i < 3; ++i) exec.replay();
    synchronize();
    BOOST_TEST(*sum == 15);
  }
}

BOOST_AUTO_TEST_CASE(frees_of_several_streams_may_be_pending_before_a_capture_and_made_in_it,
                     *label("conformance-41")) {
  constexpr std::int64_t size = 4096;
  for (const CaptureKind kind : capture_kinds) {
    BOOST_TEST_CONTEXT(kind) {
      const Stream origin;
      const Stream side;
      const Stream forked;
      Array pending = filled(3, size);
      Array in_capture = filled(4, size);
      side.wait_stream(current_stream());
      Gate gate(side);
      std::vector<Array> read;
      {
        const StreamGuard on(side);
        read = {pending + 0, in_capture + 0};
      }
      pending = Array();  // its reader has not run
      const auto body = [&] {
        Array made = filled(5, size);
        Array result;
        forked.wait_stream(current_stream());
        {
          const StreamGuard on(forked);
          result = made * 2;
        }
        made = Array();
        in_capture = Array();
        std::vector<Array> others;
        for (int i = 0; i < 4; ++i) others.push_back(filled(-1, size));
        current_stream().wait_stream(forked);
        others.push_back(result);
        return others;
      };
      const auto [graph, results] = capture_as(kind, origin, body);
      const std::vector<Array> outside = {filled(-2, size), filled(-2, size)};
      const GraphExec exec = graph.instantiate({.optimize = Optimize::none});  // at once, for the gate's sake
      BOOST_TEST(gate.open());
      for (int i = 0; i < 3; ++i) {
        exec.replay();
        BOOST_TEST(holds(results.back(), 10));
        for (int other = 0; other < 4; ++other) BOOST_TEST(holds(results[static_cast<std::size_t>(other)], -1));
      }
      BOOST_TEST(holds(read[0], 3));
      BOOST_TEST(holds(read[1], 4));
      for (const Array& other : outside) BOOST_TEST(holds(other, -2));
    }
  }
}

BOOST_AUTO_TEST_CASE(arrays_streams_and_events_of_a_capture_may_go_in_it_on_another_thread) {
  for (const CaptureKind kind : capture_kinds) {
    BOOST_TEST_CONTEXT(kind) {
      Array x = filled(1);
      synchronize();
      const Stream origin;
      const auto body = [&] {
        auto member = std::make_unique<Stream>();
        auto event = std::make_unique<Event>(current_stream().record_event());
        member->wait_event(*event);
        Array made;
        {
          const StreamGuard on(*member);
          made = x + 1;
          x += made;
        }
        const Event joined = member->record_event();
        current_stream().wait_event(joined);
        on_another_thread([&] {
          made = Array();
          event.reset();
          member.reset();
        });
        x *= 2;
      };
      const Graph graph = capture_as(kind, origin, body);
      BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}}));
      const GraphExec exec = graph.instantiate();
      exec.replay();
      BOOST_TEST(holds(x, 6));
      exec.replay();
      BOOST_TEST(holds(x, 26));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
