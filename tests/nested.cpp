// Graphs in graphs: a replay inside a capture is one command of the outer program.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/refrain.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace rf = refrain;
using refrain::test::labels;
using Numbers = std::vector<float>;

namespace {

/// Both ways of recording the outer capture, and both of lowering it.
struct Way {
  bool live;
  rf::Optimize optimize;
};
const Way ways[] = {{false, rf::Optimize::none}, {false, rf::Optimize::all}, {true, rf::Optimize::all}};

}  // namespace

BOOST_AUTO_TEST_SUITE(nested, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_replay_in_a_capture_is_one_command, *boost::unit_test::label("report-9")) {
  rf::Array x = rf::zeros({3});
  const rf::GraphExec inner = rf::capture([&] {
                                x += 1;
                                x += 2;
                              }).instantiate();
  const rf::Graph outer = rf::capture([&] {
    inner.replay();
    x *= 10;
  });
  BOOST_TEST(labels(outer) == (std::vector<std::string>{"graph", "mul"}), boost::test_tools::per_element());
  BOOST_TEST(outer.nodes()[0].kind == "graph");
  BOOST_TEST(outer.edge_count() == 1);
  BOOST_TEST(outer.instantiate({.optimize = rf::Optimize::none}).node_count() == 3);
  BOOST_TEST(outer.instantiate().node_count() == 1);
  BOOST_TEST(x.to_vector<float>() == (Numbers{0, 0, 0}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_outer_graph_does_what_the_calls_do) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({3});
    const rf::GraphExec inner = rf::capture([&] {
                                  x += 1;
                                  x *= 2;
                                }).instantiate();
    const rf::GraphExec outer = rf::capture(
                                    [&] {
                                      inner.replay();
                                      x += 5;
                                      inner.replay();
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
    for (int i = 0; i < 3; ++i) outer.replay();
    float expected = 0;
    for (int i = 0; i < 3; ++i) expected = ((expected + 1) * 2 + 5 + 1) * 2;
    BOOST_TEST(x.to_vector<float>() == Numbers(3, expected), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_graph_on_parallel_branches_has_temporaries_of_its_own_on_each) {
  for (const Way& way : ways) {
    const rf::Array x = rf::test::filled(3, 1000);
    rf::Array a = rf::zeros({1000});
    rf::Array b = rf::zeros({1000});
    const auto into = [&](rf::Array& target) {
      return rf::capture([&] { target.assign((x + 1) * (x + 2)); }).instantiate();
    };
    const rf::GraphExec first = into(a);
    const rf::GraphExec second = into(b);
    const rf::Stream side;
    const rf::GraphExec outer = rf::capture(
                                    [&] {
                                      first.replay();
                                      second.replay(side);
                                      first.replay(side);
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
    for (int i = 0; i < 20; ++i) outer.replay();
    BOOST_TEST(rf::test::holds(a, 20));
    BOOST_TEST(rf::test::holds(b, 20));
  }
}

BOOST_AUTO_TEST_CASE(an_inner_graph_with_streams_of_its_own_keeps_its_order) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({64});
    const rf::Stream inner_side;
    const rf::GraphExec inner = rf::capture([&] {
                                  rf::Array left = x + 1;
                                  rf::Array right;
                                  {
                                    const rf::StreamGuard on(inner_side);
                                    right = x + 2;
                                  }
                                  rf::current_stream().wait_stream(inner_side);
                                  x.assign(left + right);
                                }).instantiate();
    const rf::Graph outer = rf::capture(
        [&] {
          x += 1;
          inner.replay();
          x += 1;
        },
        {.live = way.live});
    const rf::GraphExec exec = outer.instantiate({.optimize = way.optimize});
    exec.replay();
    exec.replay();
    float expected = 0;
    for (int i = 0; i < 2; ++i) expected = (expected + 1 + 1) + (expected + 1 + 2) + 1;
    BOOST_TEST(rf::test::holds(x, static_cast<double>(expected)));
  }
}

BOOST_AUTO_TEST_CASE(three_levels_nest) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({3});
    const rf::GraphExec one = rf::capture([&] { x += 1; }).instantiate();
    const rf::GraphExec two = rf::capture([&] {
                                one.replay();
                                x *= 3;
                                one.replay();
                              }).instantiate();
    const rf::GraphExec three = rf::capture(
                                    [&] {
                                      two.replay();
                                      two.replay();
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
    three.replay();
    BOOST_TEST(x.to_vector<float>() == Numbers(3, ((0 + 1) * 3 + 1 + 1) * 3 + 1), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(random_draws_of_inner_graphs_go_on_as_eager_calls_would) {
  for (const Way& way : ways) {
    rf::manual_seed(7);
    std::vector<Numbers> eager;
    for (int i = 0; i < 9; ++i) eager.push_back(rf::randn({100}).to_vector<float>());

    rf::manual_seed(7);
    rf::Array first = rf::zeros({100});
    rf::Array second = rf::zeros({100});
    rf::Array third = rf::zeros({100});
    const auto draw_into = [](rf::Array& target) {
      return rf::capture([&] { target.assign(rf::randn({100})); }).instantiate();
    };
    const rf::GraphExec draw_first = draw_into(first);
    const rf::GraphExec draw_third = draw_into(third);
    const rf::GraphExec outer = rf::capture(
                                    [&] {
                                      draw_first.replay();
                                      second.assign(rf::randn({100}));
                                      draw_third.replay();
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
    for (std::size_t i = 0; i < 9; i += 3) {
      outer.replay();
      BOOST_TEST((first.to_vector<float>() == eager[i]));
      BOOST_TEST((second.to_vector<float>() == eager[i + 1]));
      BOOST_TEST((third.to_vector<float>() == eager[i + 2]));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_output_of_the_inner_graph_has_the_values_of_the_outer_replay) {
  for (const Way& way : ways) {
    const rf::Array x = rf::test::filled(2, 8);
    auto [graph, twice] = rf::capture([&] { return x * 2; });
    const rf::GraphExec inner = graph.instantiate();
    auto [outer_graph, result] = rf::capture(
        [&, doubled = twice] {
          inner.replay();
          return doubled + 1;
        },
        {.live = way.live});
    outer_graph.instantiate({.optimize = way.optimize}).replay();
    BOOST_TEST(rf::test::holds(result, 5));
    BOOST_TEST(rf::test::holds(twice, 4));
  }
}

BOOST_AUTO_TEST_CASE(an_inner_graph_may_die_before_the_outer_one_runs) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({3});
    rf::Graph outer;
    {
      const rf::GraphExec inner = rf::capture([&] { x.assign((x + 1) * 2); }).instantiate();
      outer = rf::capture([&] { inner.replay(); }, {.live = way.live});
    }
    const rf::GraphExec exec = outer.instantiate({.optimize = way.optimize});
    exec.replay();
    BOOST_TEST(x.to_vector<float>() == Numbers(3, 2.0F), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_empty_inner_graph_keeps_the_order_around_it, *boost::unit_test::label("report-10")) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({3});
    const rf::GraphExec nothing = rf::capture([] {}).instantiate();
    const rf::GraphExec outer = rf::capture(
                                    [&] {
                                      x += 1;
                                      nothing.replay();
                                      x *= 2;
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
    outer.replay();
    BOOST_TEST(x.to_vector<float>() == Numbers(3, 2.0F), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(draws_three_levels_deep_go_on_as_eager_calls_would) {
  for (const bool seeded : {false, true}) {
    for (const Way& way : ways) {
      rf::manual_seed(7);
      std::vector<Numbers> eager;
      for (int i = 0; i < 3; ++i) eager.push_back(rf::randn({10}).to_vector<float>());

      rf::manual_seed(7);
      rf::Array outer = rf::zeros({10});
      rf::Array middle = rf::zeros({10});
      rf::Array inner = rf::zeros({10});
      const rf::GraphExec two = rf::capture([&] { inner.assign(rf::randn({10})); }).instantiate();
      const rf::GraphExec one = rf::capture([&] {
                                  middle.assign(rf::randn({10}));
                                  two.replay();
                                }).instantiate();
      const rf::GraphExec all = rf::capture(
                                    [&] {
                                      if (seeded) rf::manual_seed(7);
                                      outer.assign(rf::randn({10}));
                                      one.replay();
                                    },
                                    {.live = way.live})
                                    .instantiate({.optimize = way.optimize});
      all.replay();
      BOOST_TEST((outer.to_vector<float>() == eager[0]));
      BOOST_TEST((middle.to_vector<float>() == eager[1]));
      BOOST_TEST((inner.to_vector<float>() == eager[2]));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_outer_graph_dropped_in_flight_keeps_the_temporaries_of_the_inner_one) {
  for (const bool live : rf::test::live_modes) {
    rf::Array x = rf::zeros({1 << 16});
    const rf::GraphExec inner = rf::capture([&] {
                                  rf::Array more = x + 1;
                                  for (int i = 0; i < 100; ++i) more = more + 1;
                                  x.assign(more);
                                }).instantiate();
    rf::GraphExec outer = rf::capture([&] { inner.replay(); }, {.live = live}).instantiate();
    rf::synchronize();
    rf::test::keep_busy(rf::current_stream(), 10);
    outer.replay();
    outer = {};
    const rf::Stream other;
    {
      const rf::StreamGuard on(other);
      for (int i = 0; i < 200; ++i) rf::full({1 << 16}, 1000);
    }
    BOOST_TEST(rf::test::holds(x, 101));
  }
}

BOOST_AUTO_TEST_SUITE_END()
