// Objects that go in any order: in flight, in captures, on other threads.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <optional>

using boost::unit_test::label;

namespace refrain::test {

namespace {

using Calls = std::shared_ptr<std::atomic<int>>;

Calls no_calls() { return std::make_shared<std::atomic<int>>(0); }

std::int64_t live_bytes() { return memory_stats(current_device()).live; }

/// What a program has of one graph. A run of it adds 1 to the input, gives twice the input, adds that to a total that
/// lives on, and counts a call.
struct Parts {
  std::optional<Stream> stream{std::in_place};
  std::optional<Event> event{std::in_place};
  Array input = filled(1);
  Array output;
  Graph graph;
  GraphExec exec;

  static constexpr int count = 6;

  void drop(int part) {
    switch (part) {
      case 0: stream.reset(); break;
      case 1: event.reset(); break;
      case 2: input = {}; break;
      case 3: output = {}; break;
      case 4: graph = {}; break;
      case 5: exec = {}; break;
    }
  }
};

/// The same as members, in two orders.
struct GraphLast {
  Stream stream;
  Event event;
  Array input = filled(1);
  Array output;
  Graph graph;
  GraphExec exec;
};
struct GraphFirst {
  GraphExec exec;
  Graph graph;
  Array output;
  Array input = filled(1);
  Event event;
  Stream stream;
};

template <class Owner>
void make_graph(Owner& owner, Array& total, const Calls& calls, Mode mode) {
  owner.graph = capture(
      [&] {
        owner.input += 1;
        owner.output = owner.input * 2;
        total += owner.output;
        current_stream().launch_host_func([calls] { ++*calls; });
      },
      capture_options(mode));
  owner.exec = owner.graph.instantiate(instantiate_options(mode));
}

/// What is left of the parts works, `value` being what the input holds.
void require_rest_works(Parts& parts, float value, Mode mode) {
  if (parts.output.defined()) BOOST_TEST(holds(parts.output, 2 * value));
  if (parts.input.defined()) BOOST_TEST(holds(parts.input, value));
  if (parts.event) {
    parts.event->synchronize();
    BOOST_TEST(parts.event->query());
  }
  if (parts.stream) {
    parts.stream->synchronize();
    BOOST_TEST(parts.stream->query());
  }
  if (parts.exec.defined()) {
    parts.exec.replay();
    ++value;
  }
  if (parts.graph.defined()) {
    parts.graph.instantiate(instantiate_options(mode)).replay();
    ++value;
  }
  if (parts.output.defined()) BOOST_TEST(holds(parts.output, 2 * value));
  if (parts.input.defined()) BOOST_TEST(holds(parts.input, value));
}

struct Own {};

/// Owners as locals, in containers, erased, and left by an exception, each with a replay in flight.
template <class Owner>
void require_members_may_go() {
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Calls calls = no_calls();
      Array total = filled(0);
      std::vector<std::unique_ptr<Gate>> gates;
      const auto begin = [&](Owner& owner) {
        make_graph(owner, total, calls, mode);
        gates.push_back(std::make_unique<Gate>(owner.stream));
        owner.exec.replay(owner.stream);
        owner.event.record(owner.stream);
      };
      {
        Owner local;
        begin(local);
        std::vector<Owner> several(3);
        for (Owner& each : several) begin(each);
        several.erase(several.begin());
      }
      const auto left_by_an_exception = [&] {
        Owner local;
        begin(local);
        throw Own{};
      };
      BOOST_CHECK_THROW(left_by_an_exception(), Own);
      for (const auto& gate : gates) BOOST_TEST(gate->open());
      BOOST_TEST(holds(total, 4 * 5));
      BOOST_TEST(eventually([&] { return *calls == 5 && calls.use_count() == 1; }));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(destruction)

BOOST_AUTO_TEST_CASE(a_graph_and_all_it_works_with_may_go_in_any_order_in_flight) {
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : {Mode::graph, Mode::live}) {
    BOOST_TEST_CONTEXT(mode) {
      const Calls calls = no_calls();
      Array total = filled(0);
      synchronize();
      const std::int64_t live = live_bytes();
      std::array<int, Parts::count> order{};
      std::iota(order.begin(), order.end(), 0);
      int rounds = 0;
      bool held = true;
      do {
        Parts parts;
        make_graph(parts, total, calls, mode);
        Gate gate(*parts.stream);
        parts.exec.replay(*parts.stream);
        parts.event->record(*parts.stream);
        for (const int part : order) parts.drop(part);
        held = gate.open() && held;
        ++rounds;
      } while (std::next_permutation(order.begin(), order.end()));
      BOOST_TEST(held);
      BOOST_TEST(holds(total, 4 * rounds));
      BOOST_TEST(eventually([&] { return calls.use_count() == 1 && live_bytes() == live; }));
      BOOST_TEST(*calls == rounds);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_left_works_when_any_of_the_rest_went_in_flight) {
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : graph_modes) {
    for (unsigned gone = 0; gone < 1U << Parts::count; ++gone) {
      BOOST_TEST_CONTEXT(mode << ", gone: " << gone) {
        const Calls calls = no_calls();
        Array total = filled(0);
        Parts parts;
        make_graph(parts, total, calls, mode);
        Gate gate(*parts.stream);
        parts.exec.replay(*parts.stream);
        parts.event->record(*parts.stream);
        for (int part = 0; part < Parts::count; ++part) {
          if ((gone >> part & 1U) != 0) parts.drop(part);
        }
        BOOST_TEST(gate.open());
        BOOST_TEST(holds(total, 4));
        require_rest_works(parts, 2, mode);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(members_before_the_graph_go_after_it_in_flight, *label("report-51")) {
  require_members_may_go<GraphLast>();
}

BOOST_AUTO_TEST_CASE(members_after_the_graph_go_before_it_in_flight, *label("report-51")) {
  require_members_may_go<GraphFirst>();
}

BOOST_AUTO_TEST_CASE(another_thread_may_drop_them_in_flight) {
  const HazardsScope hazards(Hazards::ignore);
  for (const Mode mode : graph_modes) {
    for (unsigned there = 1; there < 1U << Parts::count; there += 5) {
      BOOST_TEST_CONTEXT(mode << ", there: " << there) {
        const Calls calls = no_calls();
        Array total = filled(0);
        Parts parts;
        make_graph(parts, total, calls, mode);
        Gate gate(*parts.stream);
        parts.exec.replay(*parts.stream);
        parts.event->record(*parts.stream);
        auto other = std::async(std::launch::async, [&] {
          for (int part = 0; part < Parts::count; ++part) {
            if ((there >> part & 1U) != 0) parts.drop(part);
          }
        });
        for (int part = Parts::count - 1; part >= 0; --part) {
          if ((there >> part & 1U) == 0) parts.drop(part);
        }
        other.get();
        BOOST_TEST(gate.open());
        BOOST_TEST(holds(total, 4));
        BOOST_TEST(eventually([&] { return calls.use_count() == 1; }));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(draws_and_host_values_of_a_graph_may_go_in_flight) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const std::vector<float> values(1000, 3);
      manual_seed(2);
      const Array expected = rand({1000}) + 3;
      const std::int64_t live = live_bytes();
      manual_seed(2);
      for (const bool graph_first : {true, false}) {
        auto [graph, output] = capture([&] { return rand({1000}) + from_host(values, {1000}); }, capture_options(mode));
        GraphExec exec = graph.instantiate(instantiate_options(mode));
        const Stream stream;
        keep_busy(stream, 5);
        exec.replay(stream);
        if (graph_first) graph = {};
        exec = {};
        graph = {};
        if (graph_first) BOOST_TEST(same_bits(output, expected));
      }
      BOOST_TEST(eventually([&] { return live_bytes() == live; }));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
