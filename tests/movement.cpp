// concatenate, stack, roll and take: what they are for, on numbers that can be looked through.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>

#include <cmath>
#include <numeric>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Values = std::vector<double>;
using Labels = std::vector<std::string>;

constexpr DType all_dtypes[] = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                                DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// Every mode gives these numbers in this shape.
void require_numbers(const std::function<Array()>& fn, const Shape& shape, const Values& expected) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array got = run_as(mode, fn);
      BOOST_TEST(got.shape() == shape);
      BOOST_TEST(got.is_contiguous());
      BOOST_TEST(numbers(got) == expected, per_element());
    }
  }
}

Array indices(std::initializer_list<int> values, DType dtype = DType::int64) { return array(values, {.dtype = dtype}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(movement, *label("sanitize"))

BOOST_AUTO_TEST_CASE(concatenated_along_an_axis) {
  const Array x = counted({2, 2});
  const Array y = counted({1, 2}) + 10;
  require_numbers([&] { return concatenate({x, y}); }, {3, 2}, {0, 1, 2, 3, 10, 11});
  require_numbers([&] { return concatenate({x, y.transpose(0, 1)}, -1); }, {2, 3}, {0, 1, 10, 2, 3, 11});
  require_numbers([&] { return concatenate({y}); }, {1, 2}, {10, 11});
  require_numbers([&] { return concatenate({zeros({0, 2}), y, zeros({0, 2})}); }, {1, 2}, {10, 11});
  const std::vector<Array> many(20, y);
  BOOST_TEST((concatenate(many).shape() == Shape{20, 2}));
}

BOOST_AUTO_TEST_CASE(stacked_along_a_new_axis) {
  const Array x = counted({2});
  const Array y = counted({2}) + 10;
  require_numbers([&] { return stack({x, y}); }, {2, 2}, {0, 1, 10, 11});
  require_numbers([&] { return stack({x, y}, 1); }, {2, 2}, {0, 10, 1, 11});
  require_numbers([&] { return stack({x, y}, -1); }, {2, 2}, {0, 10, 1, 11});
  require_numbers([] { return stack({full({}, 3), full({}, 4)}); }, {2}, {3, 4});
}

BOOST_AUTO_TEST_CASE(dtypes_are_promoted_by_the_table) {
  for (const DType a : all_dtypes) {
    for (const DType b : all_dtypes) {
      const Array x = array({0, 1}).cast(a);
      const Array y = array({1, 0, 1}).cast(b);
      const Array together = concatenate({x, y});
      BOOST_TEST(together.dtype() == promote(a, b));
      BOOST_TEST(numbers(together) == (Values{0, 1, 1, 0, 1}), per_element());
      BOOST_TEST(stack({x, x.cast(b)}).dtype() == promote(a, b));
    }
  }
}

BOOST_AUTO_TEST_CASE(rolled_as_numpy_has_it) {
  const Array x = counted({2, 5});
  require_numbers([&] { return roll(x, 1); }, {2, 5}, {9, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  require_numbers([&] { return roll(x, -1); }, {2, 5}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0});
  require_numbers([&] { return roll(x, 1, 0); }, {2, 5}, {5, 6, 7, 8, 9, 0, 1, 2, 3, 4});
  require_numbers([&] { return roll(x, 1, 1); }, {2, 5}, {4, 0, 1, 2, 3, 9, 5, 6, 7, 8});
  require_numbers([&] { return roll(x, {1, 1}, {1, 0}); }, {2, 5}, {9, 5, 6, 7, 8, 4, 0, 1, 2, 3});
  require_numbers([&] { return roll(x, {2, 1}, {1, 0}); }, {2, 5}, {8, 9, 5, 6, 7, 3, 4, 0, 1, 2});
  require_numbers([&] { return roll(x, {1, 1}, {-1, 1}); }, {2, 5}, {3, 4, 0, 1, 2, 8, 9, 5, 6, 7});
  require_numbers([&] { return roll(x, {}, {}); }, {2, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  require_numbers([] { return roll(full({}, 3), 5); }, {}, {3});
  require_numbers([&] { return roll(x.transpose(0, 1), 1); }, {5, 2}, {9, 0, 5, 1, 6, 2, 7, 3, 8, 4});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  require_numbers([] { return roll(counted({4}), least + 1, 0); }, {4}, {3, 0, 1, 2});
}

BOOST_AUTO_TEST_CASE(taken_as_numpy_has_it) {
  const Array x = counted({2, 3}) + 10;
  for (const DType dtype : {DType::int32, DType::int64}) {
    const Array at = indices({2, 0, -1}, dtype);
    require_numbers([&] { return take(x, at, 1); }, {2, 3}, {12, 10, 12, 15, 13, 15});
    require_numbers([&] { return take(x, at.slice(1, 3), 0); }, {2, 3}, {10, 11, 12, 13, 14, 15});
    require_numbers([&] { return take(x, at); }, {3}, {12, 10, 15});
    require_numbers([&] { return take(x, at.slice(0, 2).reshape({2, 1}), 1); }, {2, 2, 1}, {12, 10, 15, 13});
    require_numbers([&] { return take(x, at.select(0), 1); }, {2}, {12, 15});
    require_numbers([&] { return take(x, at.select(0)); }, {}, {12});
    require_numbers([&] { return take(x.transpose(0, 1), at); }, {3}, {11, 10, 15});
    require_numbers([&] { return take(x, at.slice(0, 0), 1); }, {2, 0}, {});
    require_numbers([&] { return take(full({}, 7), indices({0, -1}, dtype)); }, {2}, {7, 7});
  }
}

BOOST_AUTO_TEST_CASE(an_index_out_of_range_gives_what_stands_out_and_reads_nothing) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Array at = array({std::int64_t{2}, std::int64_t{-3}, std::int64_t{1}, least, most, std::int64_t{-2}});
  const auto missing = [](DType dtype) -> double {
    switch (dtype) {
      case DType::bool_: return 1;
      case DType::uint8: return 255;
      case DType::int32: return -0x1p31;
      case DType::int64: return -0x1p63;
      default: return std::numeric_limits<double>::quiet_NaN();
    }
  };
  for (const DType dtype : all_dtypes) {
    // Rows of one and of many elements, along and across the axis; positions beyond its end are those of another array.
    const Array x = array({0, 1, 7}).cast(dtype).slice(0, 2);
    for (const Mode mode : all_modes) {
      BOOST_TEST_CONTEXT(dtype << ' ' << mode) {
        const Values one = numbers(run_as(mode, [&] { return take(x, at, 0); }));
        const Values flat = numbers(run_as(mode, [&] { return take(x, at); }));
        const Values rows = numbers(run_as(mode, [&] {
                                      return take(x.unsqueeze(1).expand({2, 40}), at, 0);
                                    }).select(39, 1));
        const Values dense = numbers(run_as(mode, [&] {
                                       return take(x.unsqueeze(1).expand({2, 40}).contiguous(), at, 0);
                                     }).select(39, 1));
        const double none = missing(dtype);
        const Values expected = {none, none, 1, none, none, 0};
        for (const Values& got : {one, flat, rows, dense}) {
          BOOST_TEST_REQUIRE(got.size() == expected.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            const bool is_same = got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i]));
            BOOST_TEST(is_same, i << ": " << got[i]);
          }
        }
      }
    }
  }
  BOOST_TEST(numbers(take(array({5, 6}), indices({2147483647, -2147483647, 1}, DType::int32))) ==
                 (Values{-0x1p63, -0x1p63, 6}),
             per_element());
}

BOOST_AUTO_TEST_CASE(each_is_one_node_whatever_the_view) {
  const Array x = counted({4, 6});
  const Array view = x.transpose(0, 1).slice({.step = -2});
  const Array at = indices({1, 0}).flip(0);
  const auto nodes = [](const std::function<Array()>& fn) { return labels(capture(fn).first); };
  BOOST_TEST(nodes([&] { return roll(view, 3); }) == (Labels{"roll"}), per_element());
  BOOST_TEST(nodes([&] { return roll(view, {1, 2}, {0, 1}); }) == (Labels{"roll"}), per_element());
  BOOST_TEST(nodes([&] { return take(view, at); }) == (Labels{"take"}), per_element());
  BOOST_TEST(nodes([&] { return take(view, at, 1); }) == (Labels{"take"}), per_element());
  // An array of no elements is no node.
  BOOST_TEST(nodes([&] {
               return concatenate({view, zeros({3, 0}), view.cast(DType::float16)}, 1);
             }) == (Labels{"cast", "concatenate", "concatenate"}),
             per_element());
  BOOST_TEST(nodes([&] { return stack({view, view}); }) == (Labels{"stack", "stack"}), per_element());
}

BOOST_AUTO_TEST_CASE(results_are_new_arrays) {
  Array x = counted({3});
  const Array at = indices({0, 1, 2});
  const std::vector<Array> results = {roll(x, 0),     roll(x, 3, 0),    take(x, at),
                                      take(x, at, 0), concatenate({x}), stack({x})};
  x *= -1;
  for (const Array& result : results) BOOST_TEST(numbers(result) == (Values{0, 1, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(a_stencil_of_many_rolls_in_one_graph) {
  constexpr std::int64_t n = 33;
  const Array start = (counted({n, n}) % 7).cast(DType::int64);
  const auto step = [](const Array& x) {
    return (roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -1, 1)) % 1009;
  };
  Array x = start.contiguous() + 0;
  const auto program = [&] {
    Array y = x;
    for (int i = 0; i < 50; ++i) y = step(y);
    x.assign(y);
  };
  GraphExec exec = capture(program).instantiate();
  exec.replay();
  exec.replay();
  std::vector<std::int64_t> naive = start.to_vector<std::int64_t>();
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return naive[static_cast<std::size_t>((row + n) % n * n + (column + n) % n)];
  };
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int64_t> next;
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::int64_t column = 0; column < n; ++column) {
        next.push_back((at(row - 1, column) + at(row + 1, column) + at(row, column - 1) + at(row, column + 1)) % 1009);
      }
    }
    naive = next;
  }
  BOOST_TEST(x.to_vector<std::int64_t>() == naive, per_element());
}

BOOST_AUTO_TEST_CASE(indices_that_a_graph_makes_are_those_of_each_replay) {
  Array at = indices({0, 0});
  const Array x = counted({4});
  auto [graph, y] = capture([&] {
    at += 1;
    return take(x, at);
  });
  GraphExec exec = graph.instantiate();
  for (const double expected : {1.0, 2.0, 3.0}) {
    exec.replay();
    BOOST_TEST(holds(y, expected));
  }
  exec.replay();
  BOOST_TEST(std::isnan(y.select(0).item<float>()));
}

BOOST_AUTO_TEST_CASE(bound_arrays_take_the_place_of_captured_ones) {
  // One element in, so that neither what is read nor what is written is aligned to more than an element.
  const Array x = counted({70});
  const auto [graph, y] = capture([&] { return roll(x, 1, 0); });
  GraphExec exec = graph.instantiate();
  const Array memory = counted({72}) + 100;
  const Array other = from_blob(data<float>(memory) + 1, {70});
  const Array target_memory = zeros({72});
  const Array target = from_blob(data<float>(target_memory) + 1, {70});
  exec.bind(x, other);
  exec.bind(y, target);
  exec.replay();
  Values expected(70);
  std::iota(expected.begin(), expected.end(), 100.0);
  expected[0] = 170;
  BOOST_TEST(numbers(target) == expected, per_element());
  BOOST_TEST(target_memory.select(0).item<float>() == 0);
  BOOST_TEST(target_memory.select(71).item<float>() == 0);
}

BOOST_AUTO_TEST_CASE(an_executable_is_updated_to_another_movement) {
  const Array x = counted({6});
  const auto [first, unused] = capture([&] { return roll(x, 1); });
  GraphExec exec = first.instantiate();
  exec.replay();
  const auto require_update = [&](const std::function<Array()>& fn, const Values& expected) {
    const auto [graph, result] = capture(fn);
    exec.update(graph);
    exec.replay();
    BOOST_TEST(numbers(result) == expected, per_element());
  };
  require_update([&] { return roll(x, -1); }, {1, 2, 3, 4, 5, 0});
  require_update([&] { return take(x, indices({1, 1})); }, {1, 1});
  require_update([&] { return take(x.cast(DType::float16), indices({5}, DType::int32), 0); }, {5});
  require_update([&] { return arange(3); }, {0, 1, 2});
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_and_a_capture_goes_on) {
  const auto refuse = [] {
    const Array x = ones({2, 3});
    require_error(Errc::invalid_value, [] { concatenate(std::vector<Array>{}); }, {"[concatenate]"});
    require_error(Errc::invalid_value, [&] { concatenate({x, Array()}); });
    require_error(Errc::invalid_value, [&] { concatenate({x, x}, 2); }, {"axis 2", "movement.cpp:"});
    require_error(Errc::invalid_value, [&] { concatenate({x, ones({3})}); }, {"[2, 3] and [3]"});
    require_error(Errc::invalid_value, [] { stack(std::vector<Array>{}); }, {"[stack]"});
    require_error(Errc::invalid_value, [&] { stack({x, x}, 3); }, {"axis 3"});
    require_error(Errc::invalid_value, [&] { stack({x, x.transpose(0, 1)}); }, {"[2, 3] and [3, 2]"});
    require_error(Errc::invalid_value, [] { stack({ones({1, 1, 1, 1, 1, 1, 1, 1})}); }, {"most axes"});
    require_error(Errc::invalid_value, [&] { roll(x, 1, 2); }, {"[roll]", "axis 2"});
    require_error(Errc::invalid_value, [&] { roll(x, {1}, {0, 1}); }, {"1 shifts and 2 axes"});
    require_error(Errc::invalid_value, [] { roll(Array(), 1); });
    require_error(Errc::invalid_value, [&] { take(x, indices({0}), -3); }, {"[take]", "axis -3"});
    require_error(Errc::invalid_value, [&] { take(x, x); }, {"float32"});
    require_error(Errc::invalid_value, [&] { take(x.slice(0, 0), indices({0})); }, {"no elements"});
    require_error(Errc::invalid_value, [&] { take(x, indices({0}).reshape({1, 1, 1, 1, 1, 1, 1, 1}), 0); }, {"8 axes"});
  };
  refuse();
  const Array x = run_as(Mode::graph, [&] {
    refuse();
    return roll(counted({3}), 1);
  });
  BOOST_TEST(numbers(x) == (Values{2, 0, 1}), per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
