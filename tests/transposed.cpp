// Operands that lie across the result: copies, casts and ops of transposed and permuted arrays, whose elements are
// moved in blocks. Shapes are no multiples of a block's.

#include "support_model.hpp"
#include "support_reference.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr DType dtypes[] = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                            DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// An array and what it has to be.
struct Pair {
  Array array;
  Model model;

  Pair(const Shape& shape, DType dtype, std::int64_t seed = 1) : Pair(numbered(shape, seed), shape, dtype) {}
  Pair(Array a, Model m) : array(std::move(a)), model(std::move(m)) {}

  Pair slice(Slice positions, int axis) const { return {array.slice(positions, axis), model.slice(positions, axis)}; }
  Pair permute(std::initializer_list<int> axes) const { return {array.permute(axes), model.permute(axes)}; }
  Pair backwards(int axis) const { return slice({.begin = array.shape()[axis] - 1, .step = -1}, axis); }

 private:
  static std::vector<std::int64_t> numbered(const Shape& shape, std::int64_t seed) {
    std::vector<std::int64_t> numbers;
    for (std::int64_t i = 0; i < shape.size(); ++i) numbers.push_back((i + seed) * 7919 / 16 % 251 * (i % 3));
    return numbers;
  }
  Pair(const std::vector<std::int64_t>& numbers, const Shape& shape, DType dtype)
      : array(from_host(numbers, shape).cast(dtype)),
        model(Model(DType::int64, shape, {numbers.begin(), numbers.end()}).cast(dtype)) {}
};

void check(const Array& array, const Model& model) {
  const std::vector<Real> expected = model.elements();
  BOOST_TEST(array.shape() == model.shape());
  BOOST_TEST(array.dtype() == model.dtype());
  BOOST_TEST(numbers(array) == std::vector<double>(expected.begin(), expected.end()), per_element());
}

void check_copies(const Pair& pair) {
  check(pair.array.contiguous(), pair.model);
  check(run_as(Mode::graph, [&] { return pair.array.contiguous(); }), pair.model);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transposed, *label("sanitize"))

BOOST_AUTO_TEST_CASE(matrices_of_every_shape_are_copied) {
  for (const DType dtype : dtypes) {
    for (const Shape& shape :
         {Shape{65, 33}, Shape{31, 130}, Shape{64, 64}, Shape{2, 3}, Shape{300, 4}, Shape{5, 100}}) {
      BOOST_TEST_CONTEXT(to_string(dtype) << shape) check_copies(Pair(shape, dtype).permute({1, 0}));
    }
  }
}

BOOST_AUTO_TEST_CASE(axes_are_copied_in_every_order) {
  for (const DType dtype : {DType::uint8, DType::bfloat16, DType::float32, DType::int64}) {
    const Pair x({5, 37, 66}, dtype);
    for (const auto& [a, b, c] : {std::array{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
      BOOST_TEST_CONTEXT(to_string(dtype) << a << b << c) check_copies(x.permute({a, b, c}));
    }
    check_copies(Pair({3, 4, 35, 34}, dtype).permute({1, 0, 3, 2}));
    check_copies(Pair({2, 36, 3, 34}, dtype).permute({3, 2, 1, 0}));
  }
}

BOOST_AUTO_TEST_CASE(parts_of_arrays_are_copied) {
  for (const DType dtype : {DType::bool_, DType::float16, DType::float32, DType::float64}) {
    const Pair x({4, 70, 75}, dtype);
    const Pair odd = x.slice({.begin = 1, .end = 70}, 1).slice({.begin = 3, .end = 74}, 2);
    check_copies(odd.permute({0, 2, 1}));
    check_copies(odd.permute({2, 1, 0}));
    for (const int axis : {0, 1, 2}) {
      check_copies(odd.backwards(axis).permute({0, 2, 1}));
      check_copies(odd.backwards(axis).permute({2, 0, 1}));
      check_copies(x.slice({.begin = 0, .end = x.array.shape()[axis], .step = 2}, axis).permute({0, 2, 1}));
    }
    check_copies(x.backwards(2));
    check_copies(x.slice({.begin = 1, .end = 75, .step = 3}, 2));
  }
}

BOOST_AUTO_TEST_CASE(transposed_arrays_are_cast) {
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      const Pair x = Pair({3, 70, 35}, from).permute({0, 2, 1});
      BOOST_TEST_CONTEXT(to_string(from) << " to " << to_string(to)) check(x.array.cast(to), x.model.cast(to));
    }
  }
}

BOOST_AUTO_TEST_CASE(targets_lie_across_their_sources) {
  for (const DType dtype : {DType::uint8, DType::float16, DType::int32, DType::float64}) {
    const Pair source({70, 3, 65}, dtype);
    const Pair outer({72, 5, 67}, dtype, 5);
    const Pair target = outer.slice({.begin = 1, .end = 66}, 2)
                            .slice({.begin = 2, .end = 72}, 0)
                            .slice({.begin = 0, .end = 5, .step = 2}, 1);
    Pair across = target.permute({2, 1, 0});
    across.array.assign(Operand(source.permute({2, 1, 0}).array));
    across.model.assign(source.permute({2, 1, 0}).model);
    check(outer.array, outer.model);
    Pair turned({65, 3, 70}, dtype, 3);
    turned.array.assign(Operand(source.permute({2, 1, 0}).array));
    turned.model.assign(source.permute({2, 1, 0}).model);
    check(turned.array, turned.model);
  }
}

BOOST_AUTO_TEST_CASE(an_array_is_transposed_in_place) {
  for (const DType dtype : {DType::uint8, DType::float32, DType::float64}) {
    Pair x({67, 67}, dtype);
    x.array.assign(Operand(x.permute({1, 0}).array));
    x.model.assign(x.permute({1, 0}).model);
    check(x.array, x.model);
  }
}

BOOST_AUTO_TEST_CASE(ops_take_transposed_operands) {
  for (const DType dtype : {DType::uint8, DType::int32, DType::float32, DType::float64}) {
    const Pair a({4, 70, 35}, dtype);
    const Pair b({4, 35, 70}, dtype, 9);
    const Pair c({35, 70, 4}, dtype, 4);
    const Pair bt = b.permute({0, 2, 1});
    const Pair ct = c.permute({2, 1, 0});
    check(a.array + bt.array, apply(Op::add, a.model, bt.model));
    check(bt.array - a.array, apply(Op::sub, bt.model, a.model));
    check(bt.array - bt.backwards(1).array, apply(Op::sub, bt.model, bt.backwards(1).model));
    check(ct.array - a.array, apply(Op::sub, ct.model, a.model));
    check(ct.array - bt.array, apply(Op::sub, ct.model, bt.model));
    check(bt.array < ct.array, apply(Op::less, bt.model, ct.model));
    const Pair is_less(bt.array < a.array, apply(Op::less, bt.model, a.model));
    check(where(is_less.array, bt.array, ct.array), where(is_less.model, bt.model, ct.model));
    const Pair condition = Pair({4, 35, 70}, DType::bool_).permute({0, 2, 1});
    check(where(condition.array, bt.array, ct.array), where(condition.model, bt.model, ct.model));
    check(where(condition.array, a.array, ct.array), where(condition.model, a.model, ct.model));
  }
}

BOOST_AUTO_TEST_CASE(scalars_and_broadcast_operands_go_with_transposed_ones) {
  const Pair x = Pair({70, 35}, DType::float32).permute({1, 0});
  const Pair row({70}, DType::float32, 2);
  const Pair column({35, 1}, DType::float32, 7);
  const Model two(DType::float32, {}, {2});
  check(x.array * 2, apply(Op::mul, x.model, two));
  check(x.array + row.array, apply(Op::add, x.model, row.model));
  check(column.array - x.array, apply(Op::sub, column.model, x.model));
  check(where(x.array < column.array, x.array, row.array),
        where(apply(Op::less, x.model, column.model), x.model, row.model));
}

// More than goes through caches, and so past them on the host; rows that begin anywhere in a cache line.
BOOST_AUTO_TEST_CASE(large_arrays_are_copied_and_computed) {
  constexpr std::int64_t rows = 2903;
  constexpr std::int64_t columns = 2911;
  std::vector<float> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 16777213);
  const Array x = from_host(values, {rows, columns});
  const std::vector<float> copied = x.transpose(0, 1).contiguous().to_vector<float>();
  const Array y = x.reshape({columns, rows});
  const std::vector<float> added = (y + x.transpose(0, 1)).to_vector<float>();
  const std::vector<float> scaled = (x.flatten() * 2).to_vector<float>();
  const std::vector<float> shifted =
      (x.flatten().slice(1, rows * columns) - x.flatten().slice(0, rows * columns - 1)).to_vector<float>();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const auto at = static_cast<std::size_t>(i * rows + j);
      const float across = values[static_cast<std::size_t>(j * columns + i)];
      wrong += copied[at] != across;
      wrong += added[at] != values[at] + across;
      wrong += scaled[at] != 2 * values[at];
      wrong += at > 0 && shifted[at - 1] != values[at] - values[at - 1];
    }
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
