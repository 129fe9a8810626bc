// Every op on arrays of no elements: nothing is launched that has no blocks, and what comes next is right.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/distributions.hpp>
#include <refrain/movement.hpp>
#include <refrain/ops.hpp>
#include <refrain/reduce.hpp>

#include <sstream>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr DType all_dtypes[] = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                                DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// Some shapes of no elements, as views of an array that has some too.
std::vector<Array> empties(DType dtype) {
  const Array some = ones({3, 4}, {.dtype = dtype});
  return {zeros({0}, {.dtype = dtype}),
          zeros({3, 0}, {.dtype = dtype}),
          zeros({2, 1, 0, 1025, 31, 1}, {.dtype = dtype}),
          some.slice(2, 2),
          some.slice({.begin = 1, .end = 1, .step = -2}, 1).transpose(0, 1),
          zeros({1, 0}, {.dtype = dtype}).expand({5, 1, 0}),
          from_blob(nullptr, {0, 7}, dtype),
          from_blob(nullptr, {0, 7, 4}, dtype, {.strides = {1, std::numeric_limits<std::int64_t>::max(), 3}})};
}

std::vector<Array> elementwise_results(const Array& x) {
  std::vector<Array> results = {x == x,
                                x < 1,
                                logical_and(x, x),
                                logical_not(x),
                                where(x == 0, x, x),
                                x.cast(DType::float16),
                                x.cast(DType::bool_),
                                x.contiguous(),
                                x / 3};
  for (const auto function :
       {floor, ceil, round, trunc, exp, log, log1p, expm1, sqrt, rsqrt, sin, cos, tanh, erf, sigmoid, gelu, silu}) {
    results.push_back(function(x, SourceLocation::current()));
  }
  if (is_floating(x.dtype())) {
    for (const auto function : {isnan, isfinite}) results.push_back(function(x, SourceLocation::current()));
  } else {
    const std::vector<Array> bits = {x & x, x | x, x ^ x, ~x};
    results.insert(results.end(), bits.begin(), bits.end());
  }
  if (x.dtype() == DType::bool_) return results;
  const std::vector<Array> numbers = {x + x,
                                      x - 1,
                                      2 * x,
                                      -x,
                                      abs(x),
                                      sign(x),
                                      relu(x),
                                      x % 2,
                                      pow(x, 2),
                                      minimum(x, x),
                                      maximum(x, 0),
                                      clamp(x, 0, 1),
                                      x + full({}, 1, {.dtype = x.dtype()}),
                                      floor_divide(x, x)};
  results.insert(results.end(), numbers.begin(), numbers.end());
  return results;
}

std::vector<Array> movement_results(const Array& x) {
  const int last = x.ndim() - 1;
  const Array none = zeros({0}, {.dtype = DType::int32});
  return {roll(x, 3),
          roll(x, -1, last),
          roll(x, {1, 2}, {0, last}),
          take(x, none).reshape({0}),
          take(x, none, 0),
          concatenate({x, x}, last),
          stack({x, x}).flatten(),
          x.flatten(),
          x.reshape({0, 5}),
          x.flip(last),
          arange(0, 0),
          linspace(0, 1, 0)};
}

std::vector<Array> drawn_results(const Array& x) {
  const Shape& shape = x.shape();
  return {rand(shape),         randn(shape),          randint(0, 9, shape),  uniform(1, 2, shape),
          normal(0, 1, shape), bernoulli(0.5, shape), exponential(1, shape), zeros(shape),
          ones(shape),         full(shape, 2),        empty(shape)};
}

void write_in_place(Array x) {
  x.assign(x);
  x.assign(true);
  if (x.dtype() != DType::bool_) {
    x += x;
    x -= 1;
    x *= x;
    x %= 2;
  }
  if (is_floating(x.dtype())) x /= 2;
  if (!is_floating(x.dtype())) {
    x &= x;
    x |= x;
    x ^= x;
  }
}

/// Reductions of nothing to one element.
void require_reductions(const Array& x) {
  BOOST_TEST(holds(sum(x), 0));
  BOOST_TEST(holds(prod(x), 1));
  BOOST_TEST(holds(any(x), 0));
  BOOST_TEST(holds(all(x), 1));
}

/// All ops on an array of no elements, then one that shows whether the device still does what it is told.
void require_nothing_happens(const Array& x, Mode mode) {
  const Array some = filled(2);
  std::vector<Array> results;
  const Array good = run_as(mode, [&] {
    for (const auto& make : {elementwise_results, movement_results, drawn_results}) {
      for (const Array& result : make(x)) results.push_back(result);
    }
    write_in_place(x);
    return some * 3 + 1;
  });
  for (const Array& result : results) BOOST_TEST(result.size() == 0);
  BOOST_TEST(holds(good, 7));
  synchronize();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(zero_sizes, *label("sanitize"))

BOOST_AUTO_TEST_CASE(every_op_on_no_elements_and_then_a_good_one, *label("report-67")) {
  for (const DType dtype : all_dtypes) {
    for (const Mode mode : all_modes) {
      for (const Array& x : empties(dtype)) {
        BOOST_TEST_CONTEXT(dtype << x.shape() << ' ' << mode) { require_nothing_happens(x, mode); }
      }
    }
    for (const Array& x : empties(dtype)) require_reductions(x);
  }
}

BOOST_AUTO_TEST_CASE(ops_on_no_elements_are_no_nodes, *label("report-67")) {
  const Array none = zeros({3, 0});
  const Array index = zeros({0}, {.dtype = DType::int64});
  const auto [graph, good] = capture([&] {
    elementwise_results(none);
    movement_results(none);
    drawn_results(none);
    write_in_place(none);
    take(ones({4}), index);
    return filled(1) + 1;
  });
  // ones and full of the good ops, and what reductions of nothing are filled with, are nodes.
  BOOST_TEST(labels(graph) == (std::vector<std::string>{"full", "ones", "full", "add"}), per_element());
  graph.instantiate().replay();
  BOOST_TEST(holds(good, 2));
}

BOOST_AUTO_TEST_CASE(copies_of_no_bytes, *label("report-67")) {
  for (const Mode mode : all_modes) {
    Array none = from_blob(static_cast<float*>(nullptr), {0, 3});
    const Array some = filled(5);
    const Array good = run_as(mode, [&] {
      copy_to(none, borrowed(std::span<float>()));
      copy_from(none, borrowed(std::span<const float>()));
      const Array there = to_device(none, {DeviceKind::host, 1});
      BOOST_TEST((there.shape() == Shape{0, 3}));
      return some + 1;
    });
    BOOST_TEST(holds(good, 6));
    synchronize();
  }
  const Array none = from_host(std::vector<double>{}, {2, 0});
  BOOST_TEST(none.to_vector<double>().empty());
  std::ostringstream text;
  text << none;
  BOOST_TEST(text.str().find("float64") != std::string::npos);
  require_error(Errc::invalid_value, [&] { none.item<double>(); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
