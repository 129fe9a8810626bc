// Views in graphs and between streams: inputs, outputs, bindings and order.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

Numbers values(const Array& array) { return array.to_vector<float>(); }

Array every_second(const Array& x, std::int64_t begin = 0, int axis = 0) {
  return x.slice({.begin = begin, .step = 2}, axis);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(view_graphs, *label("sanitize"))

BOOST_AUTO_TEST_CASE(an_input_that_is_written_in_part_keeps_the_rest) {
  for (const Mode mode : graph_modes) {
    Array x = counted({5});  // from the first to the last, with gaps
    auto [graph, y] = capture(
        [&] {
          every_second(x) += 10;
          return x + 0;
        },
        capture_options(mode));
    const GraphExec exec = graph.instantiate(instantiate_options(mode));
    exec.replay();
    BOOST_TEST(values(y) == (Numbers{10, 1, 12, 3, 14}), per_element());
    x += 100;
    exec.replay();
    BOOST_TEST(values(y) == (Numbers{120, 101, 122, 103, 124}), per_element());
    BOOST_TEST(values(x) == (Numbers{120, 101, 122, 103, 124}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_array_without_values_cannot_be_written_in_part) {
  using View = Array (*)(const Array&);
  constexpr View parts[] = {
      [](const Array& x) { return every_second(x, 0, 1); },
      [](const Array& x) { return every_second(x, 0, 1).flip(1); },
      [](const Array& x) { return x.transpose(0, 1).slice(0, 4); },
      [](const Array& x) { return x.select(2); },
  };
  for (const View part : parts) {
    auto [first, made] = capture([] { return ones({3, 5}); });
    const GraphExec second = capture([made = made, part] { part(made).assign(2); }).instantiate();
    require_error(Errc::illegal_state, [&] { second.replay(); }, {"replay that graph first"});
    first.instantiate().replay();
    second.replay();
    Array expected = ones({3, 5});
    part(expected).assign(2);
    BOOST_TEST(same_bits(made, expected));
  }
}

BOOST_AUTO_TEST_CASE(an_array_without_values_may_be_overwritten_in_any_order) {
  using View = Array (*)(const Array&);
  constexpr View wholes[] = {
      [](const Array& x) { return x.flip(1); },
      [](const Array& x) {
        return x.permute({1, 0}).flip(0);
      },
      [](const Array& x) {
        return x.reshape({5, 3}).unsqueeze(0);
      },
  };
  for (const View whole : wholes) {
    auto [first, made] = capture([] { return ones({3, 5}); });
    const GraphExec exec = first.instantiate();
    const GraphExec second = capture([made = made, whole] { whole(made).assign(2); }).instantiate();
    second.replay();
    exec.replay();
    second.replay();
    BOOST_TEST(holds(made, 2));
  }
}

BOOST_AUTO_TEST_CASE(views_are_outputs) {
  for (const Mode mode : all_modes) {
    const Array column = run_as(mode, [] { return (counted({4, 3}) * 2).select(1, 1); });
    BOOST_TEST(values(column) == (Numbers{2, 8, 14, 20}), per_element());
    const Array turned = run_as(mode, [] { return every_second(counted({2, 3}).transpose(0, 1).flip(0)) + 0; });
    BOOST_TEST(values(turned) == (Numbers{2, 5, 0, 3}), per_element());
    const auto [front, back] = run_as(mode, [] {
      const Array x = counted({5}) + 1;
      return std::pair(x.slice(0, 2), x.slice({.begin = 4, .end = 2, .step = -1}));
    });
    BOOST_TEST(values(front) == (Numbers{1, 2}), per_element());
    BOOST_TEST(values(back) == (Numbers{5, 4}), per_element());
    const Array repeated = run_as(mode, [] { return (ones({2, 1}) + 1).expand({2, 3}); });
    BOOST_TEST(values(repeated) == (Numbers(6, 2.0F)), per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_view_is_kept_with_all_that_it_is_of) {
  for (const Mode mode : graph_modes) {
    Array kept;
    Array all;
    const Graph graph = capture(
        [&] {
          const Array x = counted({3, 4}) + 1;
          all = x;
          kept = keep(x.transpose(0, 1).slice(1, 3));
        },
        capture_options(mode));
    const GraphExec exec = graph.instantiate(instantiate_options(mode));
    all = Array();
    exec.replay();
    BOOST_TEST(values(kept) == (Numbers{2, 6, 10, 3, 7, 11}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(views_of_a_bound_array_move_with_it) {
  Array x = zeros({4, 8});
  const GraphExec exec = capture([&] {
                           every_second(x, 1, 1) += 1;
                           x.transpose(0, 1).flip(0).slice(0, 2) += 10;
                         }).instantiate();
  Array big = zeros({10, 8});
  exec.bind(x, big.slice(2, 6));
  exec.replay();
  BOOST_TEST(holds(x, 0));
  Array expected = zeros({10, 8});
  every_second(expected.slice(2, 6), 1, 1) += 1;
  expected.slice(2, 6).slice({.begin = 6}, 1) += 10;
  BOOST_TEST(same_bits(big, expected));
  exec.bind(x, x);
  exec.replay();
  BOOST_TEST(same_bits(x, expected.slice(2, 6)));
  BOOST_TEST(same_bits(big, expected));
}

BOOST_AUTO_TEST_CASE(arrays_in_another_order_are_not_bound) {
  const Array x = zeros({4, 4});
  auto [graph, y] = capture([&] { return x + 1; });
  const GraphExec exec = graph.instantiate();
  require_error(Errc::invalid_value, [&] { exec.bind(x, ones({4, 4}).transpose(0, 1)); }, {"x.contiguous()"});
  require_error(Errc::invalid_value, [&] { exec.bind(x, ones({4, 1}).expand({4, 4})); }, {"x.contiguous()"});
  require_error(Errc::invalid_value, [&] { exec.bind(x.transpose(0, 1), ones({4, 4})); }, {"bind the whole"});
  require_error(Errc::invalid_value, [&] { exec.bind(x.flip(0), ones({4, 4})); }, {"bind the whole"});
  require_error(Errc::invalid_value, [&] { exec.bind(x.select(0), ones({4})); }, {"bind the whole"});
  exec.bind(x, full({2, 4, 4}, 5).select(1));
  exec.replay();
  BOOST_TEST(holds(y, 6));
  exec.bind(x.reshape({16}), full({16}, 7));
  exec.replay();
  BOOST_TEST(holds(y, 8));
}

BOOST_AUTO_TEST_CASE(an_output_that_is_a_view_is_found_where_the_executable_writes_it) {
  const Array x = counted({2, 3});
  auto [graph, y] = capture([&] { return (x + 1).transpose(0, 1); });
  const GraphExec exec = graph.instantiate();
  const GraphExec other = exec.clone();
  const Array bound = zeros({2, 2, 3});
  const Array whole_y = y.transpose(0, 1);
  exec.replay();
  BOOST_TEST(values(y) == (Numbers{1, 4, 2, 5, 3, 6}), per_element());
  exec.bind(x, x + 10);
  exec.bind(whole_y, bound.select(1));
  exec.replay();
  other.replay();
  BOOST_TEST(values(exec.output(y)) == (Numbers{11, 14, 12, 15, 13, 16}), per_element());
  BOOST_TEST(values(exec.output(y.flip(0).select(1))) == (Numbers{12, 15}), per_element());
  BOOST_TEST(values(other.output(y)) == (Numbers{1, 4, 2, 5, 3, 6}), per_element());
  BOOST_TEST(values(bound) == (Numbers{0, 0, 0, 0, 0, 0, 11, 12, 13, 14, 15, 16}), per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_in_a_graph_writes_its_views) {
  for (const Mode mode : graph_modes) {
    auto [first, made] = capture([] { return ones({5}); });
    const GraphExec inner = capture([made = made] { every_second(made) += 1; }).instantiate();
    const GraphExec outer = capture(
                                [&, made = made] {
                                  inner.replay();
                                  made.flip(0).slice(0, 4) *= 10;
                                },
                                capture_options(mode))
                                .instantiate(instantiate_options(mode));
    require_error(Errc::illegal_state, [&] { outer.replay(); }, {"replay that graph first"});
    first.instantiate().replay();
    outer.replay();
    BOOST_TEST(values(made) == (Numbers{2, 10, 20, 10, 20}), per_element());
    outer.replay();
    BOOST_TEST(values(made) == (Numbers{3, 100, 210, 100, 210}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_executable_becomes_one_of_other_views) {
  using View = Array (*)(const Array&);
  constexpr View views[] = {
      [](const Array& x) { return x; },
      [](const Array& x) { return every_second(x, 1, 1); },
      [](const Array& x) { return x.transpose(0, 1).flip(0).slice(1, 3); },
      [](const Array& x) { return x.select(2); },
      [](const Array& x) {
        return x.reshape({2, 2, 3, 2}).permute({3, 1, 0, 2}).select(0);
      },
  };
  std::optional<GraphExec> exec;
  Array x = counted({4, 6});
  Array expected = counted({4, 6});
  for (const View view : views) {
    const Graph graph = capture([&] { view(x) += 1; });
    if (exec) {
      exec->update(graph);
    } else {
      exec = graph.instantiate();
    }
    exec->replay();
    exec->replay();
    view(expected) += 2;
    BOOST_TEST(same_bits(x, expected));
  }
}

BOOST_AUTO_TEST_CASE(views_that_lie_apart_on_two_streams_are_not_ordered) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({6, 8});
  synchronize();
  const Graph graph = capture([&] {
    const Stream a;
    const Stream b;
    const Array upper = x.slice(0, 3).transpose(0, 1);
    const Array lower = x.slice(3, 6).flip(0).flip(1);
    {
      const StreamGuard on(a);
      every_second(upper).assign(1);
    }
    const StreamGuard on(b);
    every_second(lower, 0, 1).assign(2);
  });
  BOOST_TEST(graph.edge_count() == 0);
}

BOOST_AUTO_TEST_CASE(views_with_an_element_in_common_on_two_streams_are_refused_under_error) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({6, 8});
  synchronize();
  const Stream a;
  const Stream b;
  {
    const StreamGuard on(a);
    x.select(0, 1) += 1;  // a column
  }
  const StreamGuard on(b);
  require_error(Errc::illegal_state, [&] { x.select(5).flip(0) += 1; }, {"[add]"});
  require_error(Errc::illegal_state, [&] { x.transpose(0, 1) + 1; }, {"[add]"});
  require_error(Errc::illegal_state, [&] { x.flip(0).contiguous(); }, {"[contiguous]"});
  require_error(Errc::illegal_state, [&] { x.flip(0).reshape({48}); }, {"[reshape]"});
}

BOOST_AUTO_TEST_CASE(programs_of_views_on_streams_that_do_not_wait_give_what_one_stream_gives) {
  const HazardsScope hazards(Hazards::add);
  const std::vector<Stream> streams(3);
  using View = Array (*)(const Array&);
  constexpr View views[] = {
      [](const Array& x) { return every_second(x, 0, 1); },
      [](const Array& x) { return every_second(x, 1, 1).flip(0); },
      [](const Array& x) { return x.transpose(0, 1).slice({.begin = 8, .end = 0, .step = -1}); },
      [](const Array& x) {
        return x.slice(10, 14).reshape({8, 4, 2}).permute({2, 0, 1});
      },
      [](const Array& x) { return x.select(3, 1); },
      [](const Array& x) { return x.slice({.step = 5}); },
  };
  for (unsigned seed = 0; seed < 24; ++seed) {
    const auto program = [&](Array& x, const std::function<const Stream&(std::size_t)>& stream) {
      std::mt19937 random(seed);
      for (int step = 0; step < 12; ++step) {
        const StreamGuard on(stream(random() % 3));
        Array to = views[random() % std::size(views)](x);
        const auto value = static_cast<float>(random() % 5);
        switch (random() % 4) {
          case 0: to.assign(value); break;
          case 1: to += value; break;
          case 2: to.assign(to.flip(0) - value); break;
          default: to -= to.flip(0);
        }
      }
    };
    Array expected = counted({40, 16});
    const Stream one;
    one.wait_stream(current_stream());
    program(expected, [&](std::size_t) -> const Stream& { return one; });
    synchronize();
    for (const Mode mode : all_modes) {
      Array x = counted({40, 16});
      synchronize();
      const auto spread = [&] { program(x, [&](std::size_t k) -> const Stream& { return streams[k]; }); };
      if (mode == Mode::eager) {
        spread();
      } else {
        const auto forked = [&] {
          for (const Stream& stream : streams) stream.wait_stream(current_stream());
          spread();
          for (const Stream& stream : streams) current_stream().wait_stream(stream);
        };
        capture(forked, capture_options(mode)).instantiate(instantiate_options(mode)).replay();
      }
      BOOST_TEST(same_bits(x, expected), "seed " << seed << " " << mode);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
