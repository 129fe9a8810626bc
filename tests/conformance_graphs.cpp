// Graphs that follow one another, run at once, are looked at, or are made again.

#include "support.hpp"
#include "support_scopes.hpp"

#include <algorithm>

using boost::test_tools::per_element;
using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::Hazards;
using rf::Optimize;
using rf::test::Edges;
using rf::test::filled;
using rf::test::HazardsScope;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

constexpr std::int64_t size = 20000;

/// Both ways of recording, and both of lowering.
struct Way {
  bool live;
  Optimize optimize;
};
constexpr std::initializer_list<Way> ways = {
    {false, Optimize::none}, {false, Optimize::all}, {true, Optimize::none}, {true, Optimize::all}};

/// x -> 2 (x + 1) + ... + 2 (x + rounds), with many temporaries of one size.
rf::Array with_temporaries(const rf::Array& x, int rounds) {
  rf::Array sum = rf::zeros({size});
  for (int i = 1; i <= rounds; ++i) {
    const rf::Array moved = x + i;
    const rf::Array doubled = moved * 2;
    sum = sum + doubled;
  }
  return sum;
}

double with_temporaries(double x, int rounds) {
  double sum = 0;
  for (int i = 1; i <= rounds; ++i) sum += 2 * (x + i);
  return sum;
}

/// A graph and its output.
struct Made {
  rf::GraphExec exec;
  rf::Array output;
};

template <class Fn>
Made make(const Way& way, Fn&& fn) {
  const auto [graph, output] = rf::capture(std::forward<Fn>(fn), {.live = way.live});
  return {graph.instantiate({.optimize = way.optimize}), output};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(conformance_graphs)

// Graphs that follow one another

BOOST_AUTO_TEST_CASE(a_graph_goes_on_with_what_the_one_before_made, *label("conformance-37")) {
  for (const Way& way : ways) {
    rf::Array x = filled(0, size);
    const Made first = make(way, [&] { return with_temporaries(x, 3); });
    const Made second = make(way, [&] { return with_temporaries(first.output, 4); });
    for (int i = 0; i < 10; ++i) {
      x.assign(i);
      first.exec.replay();
      const double between = with_temporaries(i, 3);
      if (i % 2 == 0) BOOST_TEST(holds(first.output, between));
      second.exec.replay();
      BOOST_TEST(holds(second.output, with_temporaries(between, 4)));
      BOOST_TEST(holds(first.output, between));  // the second graph's temporaries are elsewhere
      second.exec.replay();
      BOOST_TEST(holds(second.output, with_temporaries(between, 4)));
    }
  }
}

BOOST_AUTO_TEST_CASE(three_graphs_give_the_right_values_in_every_order, *label("conformance-39")) {
  for (const Way& way : ways) {
    rf::Array x = filled(1, size);
    std::vector<Made> all;
    for (int rounds = 1; rounds <= 3; ++rounds) {
      all.push_back(make(way, [&] {
        x += rounds;
        return with_temporaries(x, rounds);
      }));
    }
    std::vector<std::size_t> order = {0, 1, 2};
    double expected = 1;
    do {
      for (const std::size_t i : order) {
        all[i].exec.replay();
        expected += static_cast<double>(i + 1);
      }
      double at = expected;
      for (std::size_t position = order.size(); position-- > 0; at -= static_cast<double>(order[position] + 1)) {
        const std::size_t i = order[position];
        BOOST_TEST(holds(all[i].output, with_temporaries(at, static_cast<int>(i + 1))));
      }
    } while (std::next_permutation(order.begin(), order.end()));
    BOOST_TEST(holds(x, expected));
  }
}

BOOST_AUTO_TEST_CASE(graphs_replay_at_once_on_two_streams, *label("conformance-38")) {
  const HazardsScope mode(Hazards::error);  // they share what they read, and nothing that they write
  for (const Way& way : ways) {
    const rf::Array x = filled(2, size);
    rf::Array first_sum = filled(0, size);
    rf::Array second_sum = filled(0, size);
    rf::synchronize();
    const Made first = make(way, [&] {
      const rf::Array made = with_temporaries(x, 5);
      first_sum += made;
      return made;
    });
    const Made second = make(way, [&] {
      const rf::Array made = with_temporaries(x, 4);
      second_sum += made;
      return made;
    });
    rf::synchronize();
    const rf::Stream one;
    const rf::Stream two;
    constexpr int replays = 30;
    for (int i = 0; i < replays; ++i) {
      first.exec.replay(one);
      second.exec.replay(two);
    }
    one.synchronize();
    two.synchronize();
    BOOST_TEST(holds(first.output, with_temporaries(2, 5)));
    BOOST_TEST(holds(second.output, with_temporaries(2, 4)));
    BOOST_TEST(holds(first_sum, replays * with_temporaries(2, 5)));
    BOOST_TEST(holds(second_sum, replays * with_temporaries(2, 4)));
  }
}

// Looking at graphs

BOOST_AUTO_TEST_CASE(nodes_of_a_graph_can_be_listed_before_it_is_instantiated, *label("conformance-50")) {
  for (const Scope scope : scopes) {
    const rf::Stream origin;
    const rf::Stream side;
    rf::Array x = filled(1);
    rf::Array y = filled(1);
    rf::synchronize();
    const rf::Graph graph = record(scope, origin, [&] {
      x += 1;
      side.wait_stream(origin);
      {
        const rf::StreamGuard on(side);
        y *= 2;
      }
      x -= 3;
      origin.wait_stream(side);
      x += y;
    });
    const auto check = [&] {
      BOOST_TEST(graph.node_count() == 4);
      BOOST_TEST(rf::test::labels(graph) == (std::vector<std::string>{"add", "mul", "sub", "add"}), per_element());
      BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
      std::vector<std::uint64_t> streams;
      for (const rf::GraphNode& node : graph.nodes()) streams.push_back(node.stream);
      BOOST_TEST(streams == (std::vector<std::uint64_t>{origin.id(), side.id(), origin.id(), origin.id()}),
                 per_element());
      if (origin.device().kind == rf::DeviceKind::host) {
        require_error(Errc::not_supported, [&] { graph.native(); }, {"host"});
      } else if (scope.live) {
        BOOST_TEST((graph.native() != nullptr));
      } else {
        require_error(Errc::capture_unsupported, [&] { graph.native(); }, {"instantiate"});
      }
    };
    check();
    const rf::GraphExec exec = graph.instantiate({.optimize = Optimize::none});
    check();
    exec.replay();
    BOOST_TEST(holds(x, 1));  // 2, -1, 1
    check();
  }
}

BOOST_AUTO_TEST_CASE(the_native_executable_is_there_after_instantiating_alone, *label("conformance-51")) {
  for (const Scope scope : scopes) {
    rf::Array x = filled(0);
    rf::synchronize();
    const rf::Graph graph = record(scope, rf::Stream(), [&] { x += 1; });
    rf::GraphExec first;
    require_error(Errc::illegal_state, [&] { first.native(); }, {"GraphExec"});
    require_error(Errc::illegal_state, [&] { first.native_graph(); }, {"GraphExec"});
    first = graph.instantiate();
    const rf::GraphExec second = graph.instantiate({.optimize = Optimize::none});
    if (x.device().kind == rf::DeviceKind::host) {
      for (const rf::GraphExec& exec : {first, second}) {
        require_error(Errc::not_supported, [&] { exec.native(); }, {"host"});
        require_error(Errc::not_supported, [&] { exec.native_graph(); }, {"host"});
      }
    } else {
      for (const rf::GraphExec& exec : {first, second}) {
        BOOST_TEST((exec.native() != nullptr));
        BOOST_TEST((exec.native_graph() != nullptr));
      }
      BOOST_TEST((first.native() == second.native()) == scope.live);  // live: the captured one
    }
    first.replay();
    BOOST_TEST(holds(x, 1));
    first = rf::GraphExec();
    require_error(Errc::illegal_state, [&] { first.native(); });
  }
}

BOOST_AUTO_TEST_CASE(a_graph_is_instantiated_twice_given_up_and_captured_again_elsewhere, *label("conformance-52")) {
  for (const Scope scope : scopes) {
    const rf::Stream origin;
    rf::Array x = filled(0);
    rf::Array y = filled(10);
    rf::synchronize();
    rf::Graph graph = record(scope, origin, [&] { x += 1; });
    rf::GraphExec exec = graph.instantiate();
    exec.replay();
    exec = graph.instantiate();
    exec.replay();
    exec.replay();
    BOOST_TEST(holds(x, 3));
    exec = graph.instantiate();  // and never replayed
    graph = rf::Graph();
    exec = rf::GraphExec();
    require_error(Errc::illegal_state, [&] { exec.replay(); });
    require_error(Errc::illegal_state, [&] { graph.instantiate(); });
    rf::synchronize();
    graph = record(scope, origin, [&] { y += 1; });
    exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(holds(y, 11));
    BOOST_TEST(holds(x, 3));
    exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(holds(y, 12));
  }
}

BOOST_AUTO_TEST_SUITE_END()
