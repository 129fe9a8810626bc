// Reductions of random views over random axes: every mode gives the same bits, near what a naive loop in wider
// arithmetic gives, as near as the published order promises.

#include "support.hpp"
#include "support_draws.hpp"
#include "support_reference.hpp"

#include <refrain/reduce.hpp>

#include <functional>

namespace refrain::test {

namespace {

using List = std::vector<Real>;

/// The lists of elements that are reduced to one each, in row-major order.
struct Lists {
  Shape shape;       ///< of the result
  Shape kept_shape;  ///< with reduced axes as extents of 1
  std::vector<List> all;
};

Lists lists_of(const Model& x, unsigned reduced) {
  const Shape shape = x.shape();
  Extents kept;
  Extents as_ones;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    const bool is_reduced = (reduced >> axis & 1) != 0;
    if (!is_reduced) kept.push_back(shape[axis]);
    as_ones.push_back(is_reduced ? 1 : shape[axis]);
  }
  Lists lists{shape_of(kept), shape_of(as_ones), std::vector<List>(static_cast<std::size_t>(count(kept)))};
  const std::vector<Real> values = x.elements();
  for (std::int64_t i = 0; i < std::ssize(values); ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    std::int64_t step = 1;
    for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
      if ((reduced >> axis & 1) == 0) {
        at += rest % shape[axis] * step;
        step *= shape[axis];
      }
      rest /= shape[axis];
    }
    lists.all[static_cast<std::size_t>(at)].push_back(values[static_cast<std::size_t>(i)]);
  }
  return lists;
}

/// A number, and how far a result may be from it.
struct Near {
  Real exact;
  Real tolerance = 0;
};

/// Half a unit of rounding to the dtype; integers are exact.
Real half_ulp(DType dtype, Real x) {
  if (!is_floating(dtype)) return 0;
  return with_type(dtype, [&]<class T>(T) -> Real {
    if constexpr (std::is_integral_v<T>)
      return 0;
    else
      return ulp<T>(x) * 0.5001L;
  });
}

/// The relative error of an addition in what the dtype is summed in: float32 for 16 bits, else float64.
Real unit_of_sums(DType dtype) {
  const bool is_narrow = dtype == DType::float16 || dtype == DType::bfloat16;
  return std::ldexp(Real{1}, is_narrow ? -24 : -53);
}

/// Additions in a row: 8 a lane and 10 of lanes, for each of at most two levels of chunks.
constexpr Real depth = 36;

Near sum_of(const List& x, DType dtype, DType out) {
  if (!is_floating(dtype)) {
    std::uint64_t total = 0;
    for (const Real value : x) total += static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return {static_cast<Real>(static_cast<std::int64_t>(total))};
  }
  Real total = 0;
  Real size = 0;
  for (const Real value : x) {
    total += value;
    size += std::abs(value);
  }
  return {total, depth * unit_of_sums(dtype) * size + half_ulp(out, total)};
}

Near product_of(const List& x, DType dtype, DType out) {
  if (!is_floating(dtype)) {
    std::uint64_t product = 1;
    for (const Real value : x) product *= static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
    return {static_cast<Real>(static_cast<std::int64_t>(product))};
  }
  Real product = 1;
  for (const Real value : x) product *= value;
  const auto n = static_cast<Real>(x.size());
  return {product, std::abs(product) * n * unit_of_sums(dtype) * 1.1L + half_ulp(out, product)};
}

Near mean_of(const List& x, DType dtype, DType out) {
  const auto n = static_cast<Real>(x.size());
  const Near sum = sum_of(x, dtype, DType::float64);
  // Integers are divided in float64 and then rounded.
  return {sum.exact / n, sum.tolerance / n + half_ulp(out, sum.exact / n) * 1.1L + std::abs(sum.exact / n) * 0x1p-50L};
}

Near variance_of(const List& x, DType dtype, DType out) {
  const auto n = static_cast<Real>(x.size());
  const Near mean = mean_of(x, dtype, out);
  Real squares = 0;
  for (const Real value : x) squares += (value - mean.exact) * (value - mean.exact);
  const Real variance = squares / (n - 1);
  // Distances are rounded to the dtype, from a mean that is.
  const Real unit = 2 * half_ulp(out, 1);
  return {variance,
          (4 * unit * squares + 2 * n * mean.tolerance * mean.tolerance + 4 * std::sqrt(n * squares) * mean.tolerance) /
                  (n - 1) +
              2 * half_ulp(out, variance)};
}

Near norm_of(const List& x, DType, DType out) {
  Real squares = 0;
  for (const Real value : x) squares += value * value;
  const Real norm = std::sqrt(squares);
  return {norm, norm * 0x1p-21L * (out == DType::float64 ? 0x1p-27L : 1) + 2 * half_ulp(out, norm)};
}

bool is_above(Real a, Real b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

std::size_t position_of(const List& x, bool least) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < x.size(); ++i) {
    const bool is_better = least && !std::isnan(x[i]) ? !std::isnan(x[at]) && x[i] < x[at] : is_above(x[i], x[at]);
    if (is_better) at = i;
  }
  return at;
}

/// A reduction: the library's, a naive one, what numbers it is given and what dtype comes out.
struct Case {
  const char* name;
  std::function<Array(const Array&, Axes, bool)> reduce;
  std::function<Near(const List&, DType, DType)> naive;
  bool takes_any_bits;  ///< NaNs and the largest numbers too
  bool needs_elements;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all_cases = {
      {"sum", [](const Array& x, Axes axes, bool keepdim) { return sum(x, axes, keepdim); }, sum_of, false, false},
      {"prod", [](const Array& x, Axes axes, bool keepdim) { return prod(x, axes, keepdim); }, product_of, false,
       false},
      {"mean", [](const Array& x, Axes axes, bool keepdim) { return mean(x, axes, keepdim); }, mean_of, false, true},
      {"var", [](const Array& x, Axes axes, bool keepdim) { return var(x, axes, 1, keepdim); }, variance_of, false,
       true},
      {"norm", [](const Array& x, Axes axes, bool keepdim) { return norm(x, axes, keepdim); }, norm_of, false, false},
      {"min", [](const Array& x, Axes axes, bool keepdim) { return min(x, axes, keepdim); },
       [](const List& x, DType, DType) { return Near{x[position_of(x, true)]}; }, true, true},
      {"max", [](const Array& x, Axes axes, bool keepdim) { return max(x, axes, keepdim); },
       [](const List& x, DType, DType) { return Near{x[position_of(x, false)]}; }, true, true},
      {"any", [](const Array& x, Axes axes, bool keepdim) { return any(x, axes, keepdim); },
       [](const List& x, DType, DType) {
         return Near{std::any_of(x.begin(), x.end(), [](Real value) { return value != 0; }) ? Real{1} : Real{0}};
       },
       true, false},
      {"all", [](const Array& x, Axes axes, bool keepdim) { return all(x, axes, keepdim); },
       [](const List& x, DType, DType) {
         return Near{std::all_of(x.begin(), x.end(), [](Real value) { return value != 0; }) ? Real{1} : Real{0}};
       },
       true, false}};
  return all_cases;
}

/// Numbers of which no sum or product overflows: about 1 in size for products, -20 to 20 for sums.
std::vector<Real> tame_numbers(Draw& draw, DType dtype, std::size_t size, bool for_products) {
  std::vector<Real> numbers(size);
  for (Real& number : numbers) {
    const auto any = static_cast<Real>(draw.below(1 << 16)) / (1 << 16);
    if (!is_floating(dtype)) {
      number = dtype == DType::bool_ ? static_cast<Real>(draw.below(2)) : static_cast<Real>(draw.below(21));
    } else {
      const Real wanted = for_products ? (any < 0.5L ? -1 : 1) * (0.92L + 0.16L * any) : 40 * any - 20;
      number = with_type(dtype, [&]<class T>(T) -> Real {
        if constexpr (std::is_integral_v<T>)
          return 0;
        else
          return nearest<T>(wanted);
      });
    }
  }
  return numbers;
}

Axes axes_of(Draw& draw, unsigned reduced, int ndim) {
  std::vector<int> named;
  for (int axis = 0; axis < ndim; ++axis) {
    if ((reduced >> axis & 1) != 0) named.push_back(draw.one_of(2) ? axis : axis - ndim);
  }
  switch (named.size()) {
    case 0: return {};
    case 1: return {named[0]};
    case 2: return {named[1], named[0]};
    case 3: return {named[0], named[1], named[2]};
    case 4: return {named[0], named[3], named[1], named[2]};
    case 5: return {named[0], named[1], named[2], named[3], named[4]};
    default: return {named[0], named[1], named[2], named[3], named[4], named[5]};
  }
}

void require_reduction(unsigned seed) {
  Draw draw(seed);
  const Case& tested = cases()[static_cast<std::size_t>(draw.below(std::ssize(cases())))];
  const Extents extents = random_extents(draw);
  const auto ndim = static_cast<int>(extents.size());
  const DType dtype = random_dtype(draw);
  View view = random_views(draw, extents, /*may_repeat=*/true).first;
  view.is_expanded = true;
  const auto size = static_cast<std::size_t>(count(view.base));
  const std::vector<Real> numbers = tested.takes_any_bits
                                        ? random_numbers(dtype, size, seed)
                                        : tame_numbers(draw, dtype, size, std::string(tested.name) == "prod");
  const Array x = view_of(array_of(dtype, shape_of(view.base), numbers), view, extents);
  const Model model = view_of(Model(dtype, shape_of(view.base), numbers), view, extents);
  const unsigned every = (1U << ndim) - 1;
  unsigned reduced = static_cast<unsigned>(draw.below(every + 1U));
  const Axes axes = axes_of(draw, reduced, ndim);
  if (axes.is_all()) reduced = every;
  const Lists lists = lists_of(model, reduced);
  if (tested.needs_elements && count(extents) == 0) return;
  const bool keepdim = draw.one_of(2);
  const Array first = tested.reduce(x, axes, keepdim);
  std::ostringstream context;
  context << "seed " << seed << ": " << tested.name << " of " << dtype << shape_of(extents) << " over " << reduced;
  BOOST_TEST_CONTEXT(context.str()) {
    BOOST_TEST(first.shape() == (keepdim ? lists.kept_shape : lists.shape));
    const std::vector<Real> got = elements(first);
    BOOST_TEST_REQUIRE(got.size() == lists.all.size());
    const auto near = [&](std::size_t i) { return tested.naive(lists.all[i], dtype, first.dtype()); };
    const auto is_wrong = [&](std::size_t i) {
      const Near expected = near(i);
      if (std::isnan(expected.exact)) return !std::isnan(got[i]);
      return expected.exact != got[i] && !(std::abs(got[i] - expected.exact) <= expected.tolerance);
    };
    BOOST_TEST(wrong_ones(got.size(), is_wrong,
                          [&](std::size_t i) { return digits(i, got[i], near(i).exact, near(i).tolerance); }) == "");
    for (const Mode mode : graph_modes) {
      BOOST_TEST(same_bits(run_as(mode, [&] { return tested.reduce(x, axes, keepdim); }), first), mode);
    }
  }
}

/// argmin and argmax along an axis, and of all.
void require_positions(unsigned seed) {
  Draw draw(seed);
  Extents extents = random_extents(draw);
  if (count(extents) == 0) return;
  const DType dtype = random_dtype(draw);
  View view = random_views(draw, extents, /*may_repeat=*/true).first;
  view.is_expanded = true;
  const std::vector<Real> numbers = random_numbers(dtype, static_cast<std::size_t>(count(view.base)), seed);
  const Array x = view_of(array_of(dtype, shape_of(view.base), numbers), view, extents);
  const Model model = view_of(Model(dtype, shape_of(view.base), numbers), view, extents);
  const auto ndim = static_cast<int>(extents.size());
  const bool least = draw.one_of(2);
  std::optional<int> axis;
  if (ndim > 0 && !draw.one_of(3)) axis = static_cast<int>(draw.below(ndim));
  const Lists lists = lists_of(model, axis ? 1U << *axis : (1U << ndim) - 1);
  for (const Mode mode : all_modes) {
    const Array got = run_as(mode, [&] { return least ? argmin(x, axis) : argmax(x, axis); });
    BOOST_TEST(got.shape() == lists.shape);
    const std::vector<Real> positions = elements(got);
    const auto expected = [&](std::size_t i) { return static_cast<Real>(position_of(lists.all[i], least)); };
    const std::string wrong = wrong_ones(
        positions.size(), [&](std::size_t i) { return positions[i] != expected(i); },
        [&](std::size_t i) { return digits(i, positions[i], expected(i)); });
    BOOST_TEST(wrong == "", "seed " << seed << ", " << dtype << shape_of(extents) << ' ' << mode << ":\n" << wrong);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reduction_properties, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(reductions_of_random_views_are_near_a_naive_loop_and_equal_in_every_mode) {
  for (unsigned seed = 1; seed <= 400; ++seed) require_reduction(seed);
}

BOOST_AUTO_TEST_CASE(positions_in_random_views_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 100; ++seed) require_positions(seed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
