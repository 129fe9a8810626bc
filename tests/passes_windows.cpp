// Fused commands with updates of a part of an array that one of them writes as a whole.

#include "support.hpp"
#include "support_passes.hpp"
#include "support_views.hpp"

#include <refrain/movement.hpp>

#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(passes_windows, *label("sanitize"))

BOOST_AUTO_TEST_CASE(a_stencil_of_updates_is_a_command) {
  for (const Shape& shape : {Shape{16, 24}, Shape{7, 5}, Shape{2, 2}, Shape{40, 256}, Shape{3, 3000}}) {
    const Array p = wave(shape);
    BOOST_TEST_CONTEXT("shape " << shape.str()) {
      BOOST_TEST(nodes_with([&] { return poisson(p); }) == 1);
      BOOST_TEST(nodes_with([&] { return poisson(p) * p + 1; }, only(&Passes::fusion)) == 1);
      BOOST_TEST(nodes_with([&] { return poisson(p.flip(0)) + roll(p, 1, 1); }) == 1);
      BOOST_TEST(nodes_with([&] { return poisson(rand(shape) + p); }) == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_makes_its_operand_is_a_command_of_its_own) {
  const Array r = wave({16, 24});
  const Array start = wave({16, 24}, 3);
  BOOST_TEST(nodes_with([&] {
               Array p = start;
               for (int i = 0; i < 4; ++i) {
                 p = r + p * 0.5F;
                 p = poisson(p) * 0.125F;
               }
               return p;
             }) == 5);
}

BOOST_AUTO_TEST_CASE(any_rows_and_columns_are_updated) {
  const Array x = wave({6, 10, 8});
  const Array y = wave({6, 10, 8}, 5);
  const Array row = wave({8}, 2);
  const Slice some{.begin = 2, .end = 5};
  const Slice odd{.begin = 1, .step = 2};
  const auto updated = [&](auto&& update) {
    return nodes_with([&] {
      Array z = x * 2;
      update(z);
      return z - y;
    });
  };
  for (const int axis : {0, 1, 2}) {
    BOOST_TEST_CONTEXT("axis " << axis) {
      BOOST_TEST(updated([&](Array& z) { z.slice(some, axis) += y.slice(some, axis); }) == 1);
      BOOST_TEST(updated([&](Array& z) { z.slice(some, axis) *= 3; }) == 1);
      BOOST_TEST(updated([&](Array& z) { z.slice(odd, axis) -= y.slice(odd, axis).flip(axis); }) == 1);
      BOOST_TEST(updated([&](Array& z) { z.select(3, axis).assign(y.select(0, axis)); }) == 1);
      BOOST_TEST(updated([&](Array& z) { z.slice(some, axis).slice(odd, 2) += 1; }) == 1);
      BOOST_TEST(updated([&](Array& z) {
                   z.slice(some, axis) += 1;
                   z.slice({.begin = 3}, 0) *= y.slice({.begin = 3}, 0);
                   z.slice({.end = 7}, 1) += y.slice({.begin = 3}, 1);
                   z.slice(some, 2) -= x.slice(some, 2);
                 }) == 1);
    }
  }
  BOOST_TEST(updated([&](Array& z) { z.slice(some, 1) += row; }) == 1);
  BOOST_TEST(updated([&](Array& z) { z.select(5, 0).select(9, 0).select(7, 0) += 1; }) == 1);
  // Not rows and columns of it: backwards, and across.
  BOOST_TEST(updated([&](Array& z) { z.slice({.begin = 4, .end = 1, .step = -1}) += y.slice(some); }) == 3);
}

BOOST_AUTO_TEST_CASE(values_of_every_dtype_outside_of_a_part_stay) {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                            DType::float32, DType::float64}) {
    const Array x = (wave({9, 33}) * 100).cast(dtype);
    const Array y = (wave({9, 33}, 3) * 50).cast(dtype);
    BOOST_TEST_CONTEXT("dtype " << to_string(dtype)) {
      BOOST_TEST(nodes_with([&] {
                   Array z = where(x > y, x, y);
                   z.slice({.begin = 1}, 1).assign(y.slice({.end = -1}, 1));
                   z.slice(2, 7).assign(x.slice(0, 5));
                   return z;
                 }) == 1);
    }
  }
  // What is read as 0 outside of the part is divided by there.
  const Array whole = (counted({40}) + 1).cast(DType::int32);
  BOOST_TEST(nodes_with([&] {
               Array z = whole * 7;
               z.slice(3, 20).assign(z.slice(3, 20) + 1);
               return z;
             }) >= 1);
  BOOST_TEST(nodes_with([&] {
               const Array z = whole * 7;
               z.slice(3, 20).assign(floor_divide(z.slice(3, 20), whole.slice(5, 22)));
               return z;
             }) >= 1);
}

BOOST_AUTO_TEST_CASE(what_a_part_was_before_is_there_for_others) {
  const Array x = wave({9, 33});
  BOOST_TEST(nodes_with([&] {
               Array z = x * 2;
               Array before = empty({9, 33});
               before.assign(z);
               z.slice(2, 7) += 1;
               Array between = empty({9, 33});
               between.assign(z);
               z.slice({.begin = 5}, 1) *= before.slice({.begin = 4, .end = -1}, 1);
               return z - before * between;
             }) == 3);
  BOOST_TEST(nodes_with([&] {
               Array z = x * 2;
               Array before = empty({9, 33});
               before.assign(z);
               z.slice(2, 7) += 1;
               z.slice({.begin = 5}, 1) *= before.slice({.begin = 5}, 1);
               return z - before;
             }) == 1);
}

BOOST_AUTO_TEST_CASE(drawn_numbers_are_updated) {
  BOOST_TEST(nodes_with([] {
               Array z = randn({30, 40});
               z.slice(3, 20) *= 0.5F;
               z.slice({.begin = 7}, 1) += 1;
               return z + rand({30, 40});
             }) == 1);
}

BOOST_AUTO_TEST_CASE(parts_that_lie_apart_are_one_command_and_what_reads_the_whole_another) {
  const Array x = wave({8, 16});
  const Stream side;
  const Array before = snapshot(x);
  const auto [graph, y] = capture([&] {
    side.wait_stream(current_stream());
    x.slice(0, 4) += 1;
    {
      const StreamGuard on(side);
      x.slice(4, 8) *= 2;
    }
    current_stream().wait_stream(side);
    return x + 0;
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 2);
  exec.replay();
  BOOST_TEST(same_bits(y.slice(0, 4), before.slice(0, 4) + 1));
  BOOST_TEST(same_bits(y.slice(4, 8), before.slice(4, 8) * 2));
}

BOOST_AUTO_TEST_CASE(parts_of_what_is_read_as_a_whole_are_all_that_is_written) {
  const Array x = wave({8, 16});
  const Array before = snapshot(x);
  const auto [graph, y] = capture([&] {
    const Array read = x * 3;
    x.slice(0, 4) += 1;  // others may be reading the rest meanwhile
    return read;
  });
  const GraphExec exec = graph.instantiate();
  BOOST_TEST(exec.node_count() == 2);
  exec.replay();
  BOOST_TEST(same_bits(y, before * 3));
  BOOST_TEST(same_bits(x.slice(0, 4), before.slice(0, 4) + 1));
}

BOOST_AUTO_TEST_CASE(updates_by_what_the_command_writes_elsewhere_stay_apart) {
  const Array x = wave({8, 16});
  BOOST_TEST(nodes_with([&] {
               Array z = x * 2;
               z.slice(0, 4) += z.slice(4, 8);
               return z;
             }) == 2);
  const GraphExec exec = capture([&] {
                           Array z = x * 2;
                           z.slice(0, 4) += z.slice(4, 8);
                           return z;
                         }).first.instantiate();
  BOOST_TEST(says(exec, "touches what another writes at other positions"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
