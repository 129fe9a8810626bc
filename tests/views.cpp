// Rows of an array as arrays of their own: what they name, and how they are ordered.

#include "support.hpp"
#include "support_views.hpp"

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

Numbers numbers(const Array& array) { return array.to_vector<float>(); }

/// Runs the program eagerly, then as a graph that is replayed once, and gives both results.
std::vector<Numbers> eager_and_replayed(const std::function<Array()>& program) {
  std::vector<Numbers> results{numbers(program())};
  for (const bool live : live_modes) {
    auto [graph, result] = capture(program, {.live = live});
    graph.instantiate().replay();
    results.push_back(numbers(result));
  }
  return results;
}

/// Two streams that each run a function, nothing ordering them.
void on_two_streams(const std::function<void()>& first, const std::function<void()>& second) {
  const Stream a;
  const Stream b;
  {
    const StreamGuard on(a);
    first();
  }
  const StreamGuard on(b);
  second();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(views, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_slice_names_rows_of_the_first_axis) {
  const Array x = counted({4, 2});
  BOOST_TEST((x.slice(1, 3).shape() == Shape{2, 2}));
  BOOST_TEST(numbers(x.slice(1, 3)) == (Numbers{2, 3, 4, 5}), per_element());
  BOOST_TEST(numbers(x.slice(-1, 4)) == (Numbers{6, 7}), per_element());
  BOOST_TEST(numbers(x.slice(1, -1).slice(1, 2)) == (Numbers{4, 5}), per_element());
  BOOST_TEST(x.slice(3, 4).slice(0, 1).size_bytes() == 8);
  BOOST_TEST(counted({5}).slice(3, 4).item<float>() == 3);
}

BOOST_AUTO_TEST_CASE(an_empty_slice_is_an_array_without_elements) {
  Array x = counted({4, 2});
  BOOST_TEST(x.slice(2, 2).size() == 0);
  BOOST_TEST(numbers(x.slice(4, 4) + 1).empty());
  x.slice(0, 0) += 1;
  BOOST_TEST((zeros({0, 3}).slice(0, 0).shape() == Shape{0, 3}));
  BOOST_TEST(numbers(x) == (Numbers{0, 1, 2, 3, 4, 5, 6, 7}), per_element());
}

BOOST_AUTO_TEST_CASE(rows_outside_of_the_axis_are_refused) {
  const Array x = counted({4, 2});
  require_error(Errc::invalid_value, [&] { x.slice(0, 5); }, {"0:5", "[4, 2]", "views.cpp:"});
  require_error(Errc::invalid_value, [&] { x.slice(-5, 2); }, {"-5:2"});
  require_error(Errc::invalid_value, [&] { x.slice(3, 2); }, {"3:2"});
  require_error(Errc::invalid_value, [&] { zeros({}).slice(0, 0); }, {"no axis"});
  require_error(Errc::invalid_value, [&] { Array().slice(0, 0); });
}

BOOST_AUTO_TEST_CASE(a_slice_and_its_array_see_each_others_writes) {
  const auto program = [] {
    Array x = zeros({4, 2});
    Array middle = x.slice(1, 3);
    middle += 1;
    x *= 3;
    middle.slice(1, 2).assign(7);
    return x + 0;
  };
  for (const Numbers& result : eager_and_replayed(program)) {
    BOOST_TEST(result == (Numbers{0, 0, 3, 3, 7, 7, 0, 0}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_target_that_overlaps_its_source_gets_what_a_temporary_would_give) {
  const auto shift_up = [] {
    Array x = counted({1000});
    x.slice(1, 1000).assign(x.slice(0, 999));
    return x;
  };
  const auto add_neighbour = [] {
    Array x = counted({1000});
    x.slice(0, 999) += x.slice(1, 1000);
    return x;
  };
  const auto add_first_row = [] {
    Array x = counted({4, 250});
    x += x.slice(0, 1);
    return x;
  };
  for (const Numbers& result : eager_and_replayed(shift_up)) {
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(result[static_cast<std::size_t>(i)] == std::max(i - 1, 0));
  }
  for (const Numbers& result : eager_and_replayed(add_neighbour)) {
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(result[static_cast<std::size_t>(i)] == (i < 999 ? 2 * i + 1 : i));
  }
  for (const Numbers& result : eager_and_replayed(add_first_row)) {
    for (int i = 0; i < 1000; ++i) BOOST_TEST_REQUIRE(result[static_cast<std::size_t>(i)] == i + i % 250);
  }
}

BOOST_AUTO_TEST_CASE(disjoint_slices_on_two_streams_are_not_ordered) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({4, 2});
  synchronize();
  on_two_streams([&] { x.slice(0, 2) += 1; }, [&] { x.slice(2, 4) += 2; });
  synchronize();
  BOOST_TEST(numbers(x) == (Numbers{1, 1, 1, 1, 2, 2, 2, 2}), per_element());
  const Graph graph = capture([&] { on_two_streams([&] { x.slice(0, 2) += 1; }, [&] { x.slice(2, 4).assign(5); }); });
  BOOST_TEST(graph.edge_count() == 0);
}

BOOST_AUTO_TEST_CASE(overlapping_slices_on_two_streams_are_ordered_and_reported) {
  const HazardsScope hazards(Hazards::add);
  Array x = zeros({4, 2});
  synchronize();
  on_two_streams([&] { x.slice(0, 3) += 1; }, [&] { x.slice(2, 4) *= 2; });
  BOOST_TEST(numbers(x) == (Numbers{1, 1, 1, 1, 2, 2, 0, 0}), per_element());
  BOOST_TEST(of_kind(diagnostics(), DiagnosticKind::edge_added).size() == 1U);
  const Graph graph = capture([&] { on_two_streams([&] { x.slice(0, 3) += 1; }, [&] { x.slice(2, 4) *= 2; }); });
  BOOST_TEST((edges(graph) == Edges{{0, 1}}));
  graph.instantiate().replay();
  BOOST_TEST(numbers(x) == (Numbers{2, 2, 2, 2, 6, 6, 0, 0}), per_element());
}

BOOST_AUTO_TEST_CASE(overlapping_slices_on_two_streams_are_refused_under_error) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({4, 2});
  synchronize();
  require_error(Errc::illegal_state, [&] { on_two_streams([&] { x.slice(0, 3) += 1; }, [&] { x.slice(2, 4) *= 2; }); });
  synchronize();
  BOOST_TEST(numbers(x) == (Numbers{1, 1, 1, 1, 1, 1, 0, 0}), per_element());
}

BOOST_AUTO_TEST_CASE(a_replay_conflicts_with_the_rows_alone_that_it_touches) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({4, 2});
  const GraphExec exec = capture([&] { x.slice(0, 2) += 1; }).instantiate();
  synchronize();
  const Stream a;
  exec.replay(a);
  const Stream b;
  const StreamGuard on(b);
  x.slice(2, 4) += 5;
  require_error(Errc::illegal_state, [&] { x.slice(1, 2) += 5; });
  synchronize();
  BOOST_TEST(numbers(x) == (Numbers{1, 1, 1, 1, 5, 5, 5, 5}), per_element());
}

BOOST_AUTO_TEST_CASE(rows_that_a_graph_does_not_write_keep_their_values) {
  Array x = counted({4});
  auto [graph, y] = capture([&] {
    x.slice(0, 1).assign(9);
    return x + 0;
  });
  graph.instantiate().replay();
  BOOST_TEST(numbers(y) == (Numbers{9, 1, 2, 3}), per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_that_writes_rows_of_an_array_without_values_is_refused) {
  auto [first, made] = capture([] { return ones({4}); });
  const GraphExec second = capture([&] { made.slice(0, 2).assign(2); }).instantiate();
  require_error(Errc::illegal_state, [&] { second.replay(); });
  first.instantiate().replay();
  second.replay();
  BOOST_TEST(numbers(made) == (Numbers{2, 2, 1, 1}), per_element());
}

BOOST_AUTO_TEST_CASE(a_block_used_through_a_slice_on_another_stream_is_not_reused_early, *label("conformance-9")) {
  const Stream user;
  Array copy = zeros({512});
  synchronize();
  {
    Array x = full({1024}, 3);
    const Array tail = x.slice(512, 1024);
    user.wait_stream(current_stream());
    keep_busy(user, 20);
    const StreamGuard on(user);
    copy.assign(tail);
  }
  std::vector<Array> others;
  for (int i = 0; i < 20; ++i) others.push_back(full({1024}, 9));
  BOOST_TEST(holds(copy, 3));
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_an_array_of_which_it_uses_a_slice, *label("conformance-109")) {
  Array out = zeros({2});
  GraphExec view_dropped;
  GraphExec array_dropped;
  Array view;
  {
    Array x = counted({4});
    {
      const Array rows = x.slice(1, 3);
      view_dropped = capture([&] { out += rows; }).instantiate();
    }
    view = x.slice(2, 4);
    array_dropped = capture([&] { out += view; }).instantiate();
  }
  for (int i = 0; i < 20; ++i) full({4}, 100);  // would take the place of memory that is let go
  view_dropped.replay();
  array_dropped.replay();
  BOOST_TEST(numbers(out) == (Numbers{3, 5}), per_element());
  view += 10;
  array_dropped.replay();
  BOOST_TEST(numbers(out) == (Numbers{15, 18}), per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
