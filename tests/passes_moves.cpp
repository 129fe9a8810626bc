// Fused commands that read elements elsewhere than at the position that they compute: rolls, and what indices name.

#include "support.hpp"
#include "support_passes.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>

#include <array>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

Array sweep(const Array& u, const Array& source) {
  return (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) + source) * 0.25F;
}

/// What two programs have left of a state after three runs each, and the commands of the second one's executable.
template <class Fn>
int nodes_that_change(const Array& state, Fn&& change) {
  const Array start = snapshot(state);
  std::vector<Array> eager;
  for (int i = 0; i < 3; ++i) {
    change();
    eager.push_back(snapshot(state));
  }
  const GraphExec exec = capture(change).instantiate();
  Array target = state;
  target.assign(start);
  for (const Array& expected : eager) {
    exec.replay();
    BOOST_TEST(same_bits(state, expected));
  }
  return exec.node_count();
}

constexpr std::array all_dtypes = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                                   DType::float16, DType::bfloat16, DType::float32, DType::float64};

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_moves, *label("sanitize"))

// Rolls

BOOST_AUTO_TEST_CASE(each_sweep_of_a_periodic_stencil_is_a_command) {
  for (const Shape& shape : {Shape{16, 24}, Shape{7, 5}, Shape{40, 256}, Shape{1, 9}, Shape{9, 1}, Shape{3, 3000}}) {
    const Array start = wave(shape);
    const Array source = wave(shape, 5);
    const auto program = [&] {
      Array u = start;
      for (int i = 0; i < 6; ++i) u = sweep(u, source);
      return u;
    };
    BOOST_TEST_CONTEXT("shape " << shape.str()) {
      BOOST_TEST(nodes_with(program) == 6);
      BOOST_TEST(nodes_with(program, only(&Passes::fusion)) == 6);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_shift_along_any_axes_is_part_of_it) {
  const Array x = wave({6, 5, 8});
  const Array y = wave({6, 5, 8}, 3);
  for (const std::int64_t shift : {0, 1, -1, 3, 4, 8, -13, 1000}) {
    BOOST_TEST_CONTEXT("shift " << shift) {
      for (const int axis : {0, 1, 2}) BOOST_TEST(nodes_with([&] { return roll(x, shift, axis) * y; }) == 1);
      BOOST_TEST(nodes_with([&] { return roll(x, shift) * y; }) == 1);
      BOOST_TEST(nodes_with([&] { return roll(x, {shift, -shift, 2}, {0, 2, 1}) * y - roll(y, shift, 1); }) == 1);
      BOOST_TEST(nodes_with([&] { return roll(x, {shift, 2}, {1, 2}) * y - roll(x, {shift, 2}, {0, 1}); }) == 1);
      BOOST_TEST(nodes_with([&] { return roll(x.flatten(), shift) * roll(y.flatten(), -shift); }) == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_dtype_is_moved) {
  const Array numbers = (wave({12, 36}) * 100).contiguous();
  const Array indices = from_host(std::vector<std::int64_t>{3, -1, 400, 7, 0, -433}, {6});
  for (const DType dtype : all_dtypes) {
    const Array x = numbers.cast(dtype);
    BOOST_TEST_CONTEXT("dtype " << to_string(dtype)) {
      BOOST_TEST(nodes_with([&] { return where(numbers > 0, roll(x, 1, 1), roll(x, {2, -4}, {0, 1})); }) == 1);
      BOOST_TEST(nodes_with([&] {
                   return where(indices > 0, take(x, indices), take(x, indices.cast(DType::int32) + 1));
                 }) == 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(views_are_moved) {
  const Array base = wave({20, 48});
  const Array y = wave({10, 12}, 3);
  const Array inner = base.slice({.begin = 3, .end = 13}).slice({.begin = 5, .end = 17}, 1);
  const Array stepped = base.slice({.step = 2}).slice({.begin = 40, .end = 4, .step = -3}, 1);
  const Array turned = wave({12, 10}).transpose(0, 1);
  const Array row = wave({12}).expand({10, 12});
  const Array column = wave({10, 1}).expand({10, 12});
  for (const Array& view : {inner, stepped, turned, row, column, inner.flip(0), inner.flip(1)}) {
    BOOST_TEST(nodes_with([&] { return roll(view, 3, 1) * y + roll(view, -2, 0); }) == 1);
    BOOST_TEST(nodes_with([&] { return view * y + roll(view, {1, 5}, {0, 1}); }) == 1);
  }
}

BOOST_AUTO_TEST_CASE(results_go_to_views_and_are_broadcast) {
  const Array x = wave({10, 12});
  Array target = zeros({12, 20});
  BOOST_TEST(nodes_that_change(target, [&] {
               target.slice({.begin = 3, .end = 15}, 1).slice({.begin = 1, .end = 11}).assign(roll(x, 1, 1) + 1);
             }) == 1);
  const Array row = wave({12}, 4);
  BOOST_TEST(nodes_with([&] { return x * row + roll(x, 1, 1); }) == 1);
  // A row that is rolled is read at other positions than its own, once it is broadcast.
  BOOST_TEST(nodes_with([&] { return x + roll(row, 1); }) == 2);
}

BOOST_AUTO_TEST_CASE(arrays_of_no_axes_one_element_and_none_are_moved) {
  const Array one = full({}, 3);
  BOOST_TEST(nodes_with([&] { return roll(one, 1) * 2; }) == 1);
  BOOST_TEST(nodes_with([&] { return roll(full({1, 1}, 2), {1, 1}, {0, 1}) * 2; }) >= 1);
  BOOST_TEST(nodes_with([&] { return roll(zeros({0, 3}), 1, 1) * 2; }) == 0);
  BOOST_TEST(nodes_with([&] { return take(wave({4}), full({}, 2, {.dtype = DType::int64})) * 2; }) >= 1);
  BOOST_TEST(nodes_with([&] {
               return take(wave({1}), from_host(std::vector<std::int32_t>{0, -1, 5, -2}, {4})) * 2;
             }) >= 1);
}

BOOST_AUTO_TEST_CASE(rolls_are_made_of_drawn_numbers_and_parameters_reach_them) {
  const Array x = wave({30, 40});
  BOOST_TEST(nodes_with([&] { return roll(x, 1, 1) * randn({30, 40}) + roll(x, 1, 0); }) == 1);
  BOOST_TEST(nodes_with([&] { return roll(rand({30, 40}), 1, 1) * 2; }) == 2);
  const Param<float> scale(2, "scale");
  auto [graph, y] = capture([&] { return roll(x, 3, 1) * scale; });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.set(scale, 5);
  const Array odd = wave({30 * 40 + 1}, 9).slice(1, 1201).reshape({30, 40});
  exec.bind(x, odd);
  exec.replay();
  BOOST_TEST(same_bits(y, roll(odd, 3, 1) * 5.0F));
}

// What keeps them apart

BOOST_AUTO_TEST_CASE(what_a_command_writes_it_reads_nowhere_else) {
  Array x = wave({8, 16});
  BOOST_TEST(nodes_that_change(x, [&] { x.assign(roll(x, 1, 1)); }) == 2);
  BOOST_TEST(nodes_that_change(x, [&] { x += roll(x, 1, 0); }) == 2);
  BOOST_TEST(nodes_that_change(x, [&] { x.assign(roll(x * 2, 1, 0)); }) == 2);
  BOOST_TEST(nodes_that_change(x, [&] { x.slice(0, 4).assign(roll(x.slice(4, 8), 1, 1)); }) == 1);
  BOOST_TEST(nodes_that_change(x, [&] { x.slice(0, 5).assign(roll(x.slice(3, 8), 1, 1)); }) == 2);
  BOOST_TEST(nodes_that_change(x, [&] {
               const Array before = roll(x, 1, 1);
               x *= 0.5F;
               x += before;
             }) == 2);
}

BOOST_AUTO_TEST_CASE(a_move_that_stays_apart_is_told_with_the_reason) {
  Array x = wave({8, 16});
  const GraphExec exec = capture([&] { x += roll(x, 1, 1); }).instantiate();
  BOOST_TEST(says(exec, "stays apart from 'roll' at"));
  BOOST_TEST(says(exec, "touches what another writes at other positions"));
  BOOST_TEST(says(capture([&] { return roll(x, 1, 1) + 1; }).first.instantiate(), "2 commands are one: 'roll' at"));
  // A roll that carries over from row to row of a view has no axis to wrap along.
  BOOST_TEST(nodes_with([&] { return roll(x.transpose(0, 1), 3) + 1; }) == 2);
}

BOOST_AUTO_TEST_CASE(moves_that_others_need_are_stored) {
  const Array x = wave({8, 16});
  Array kept;
  auto [graph, outputs] = capture([&] {
    kept = roll(x, 3, 1);
    const Array used = kept * x;
    return std::pair{sum(kept), used + roll(x, -3, 1)};
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 1);
  exec.replay();
  BOOST_TEST(same_bits(kept, roll(x, 3, 1)));
  BOOST_TEST(same_bits(outputs.first, sum(roll(x, 3, 1))));
  BOOST_TEST(same_bits(outputs.second, roll(x, 3, 1) * x + roll(x, -3, 1)));
}

BOOST_AUTO_TEST_CASE(a_roll_of_a_roll_reads_what_the_first_one_wrote) {
  const Array x = wave({8, 16});
  BOOST_TEST(nodes_with([&] { return roll(roll(x, 3, 1) * 2, 1, 0) + 1; }) == 2);
  BOOST_TEST(nodes_with([&] {
               const Array y = x * 2;
               return roll(y, 1, 1) + y;
             }) == 2);
}

// Indices

BOOST_AUTO_TEST_CASE(what_indices_name_is_part_of_it) {
  const Array x = wave({6, 8});
  const Array indices = from_host(std::vector<std::int64_t>{5, -1, 3, 0, 0, -7, 6, 2}, {2, 4});
  BOOST_TEST(nodes_with([&] { return take(x, indices) * 2; }) == 1);
  BOOST_TEST(nodes_with([&] { return take(x, indices * 3 - 1) * 2 + indices; }) == 1);
  BOOST_TEST(nodes_with([&] { return take(x, indices, 0) * 2; }) == 1);
  BOOST_TEST(nodes_with([&] { return take(x, indices, 1) * 2 - take(x.flip(1), indices, 1); }) == 1);
  BOOST_TEST(nodes_with([&] { return take(x.transpose(0, 1), indices.cast(DType::int32)) + 1; }) == 1);
  BOOST_TEST(nodes_with([&] { return take(x.slice({.step = 2}), indices.transpose(0, 1)) + 1; }) == 1);
  const Array wide = wave({3, 5000});
  const Array many = (counted({3, 5000}) * 7).cast(DType::int64);
  BOOST_TEST(nodes_with([&] { return take(wide, many) + roll(wide, 1, 1) * many; }) == 1);
}

BOOST_AUTO_TEST_CASE(what_is_taken_from_is_written_by_another) {
  Array x = wave({16});
  const Array indices =
      from_host(std::vector<std::int64_t>{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {16});
  BOOST_TEST(nodes_that_change(x, [&] { x.assign(take(x, indices)); }) == 2);
  Array order = counted({16}).cast(DType::int64);
  BOOST_TEST(nodes_that_change(order, [&] { order.assign(take(order, order * 5 + 3 - order)); }) == 2);
  // An index is read where it is written.
  const Array table = wave({16}) * 16;
  BOOST_TEST(nodes_that_change(order, [&] { order.assign(take(table, order).cast(DType::int64)); }) == 1);
}

// Slices

BOOST_AUTO_TEST_CASE(stencils_of_slices_are_a_command_a_sweep) {
  const Array u = wave({34, 66});
  const Slice low{.end = -2};
  const Slice middle{.begin = 1, .end = -1};
  const Slice high{.begin = 2};
  const auto inner = [&](const Array& of) {
    const Array rows = of.slice(middle);
    const Array columns = of.slice(middle, 1);
    return (columns.slice(low) + columns.slice(high) + rows.slice(low, 1) + rows.slice(high, 1)) * 0.25F;
  };
  BOOST_TEST(nodes_with([&] { return inner(u); }) == 1);
  Array next = snapshot(u);
  BOOST_TEST(nodes_that_change(next, [&] { next.slice(middle).slice(middle, 1).assign(inner(u)); }) == 1);
  BOOST_TEST(nodes_that_change(next, [&] { next.slice(middle).slice(middle, 1).assign(inner(next)); }) == 2);
  BOOST_TEST(nodes_with([&] { return inner(u) + inner(u.flip(0)) - inner(u.flip(1)); }) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
