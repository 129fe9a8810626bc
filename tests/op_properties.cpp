// Random programs of elementwise ops on random views, in every mode bit for bit what a naive loop gives.

#include "support.hpp"
#include "support_model.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

#include <numeric>
#include <stdexcept>

namespace refrain::test {

namespace {

using Extents = std::vector<std::int64_t>;

/// One seed's choices.
class Draw {
 public:
  explicit Draw(unsigned seed) : bits_(seed) {}

  /// 0 to end - 1.
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(end)); }
  bool one_of(int n) { return below(n) == 0; }
  template <class T>
  T from(const std::vector<T>& choices) {
    return choices[static_cast<std::size_t>(below(static_cast<std::int64_t>(choices.size())))];
  }

 private:
  std::mt19937_64 bits_;
};

std::int64_t count(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

Shape shape_of(const Extents& extents) { return Shape(std::span<const std::int64_t>(extents)); }

Extents random_extents(Draw& draw) {
  const std::int64_t limit = draw.one_of(10) ? 40000 : 2500;
  Extents extents(static_cast<std::size_t>(draw.below(7)));
  for (std::int64_t& extent : extents) extent = draw.from<std::int64_t>({1, 1, 2, 2, 2, 31, 33, 1025});
  while (count(extents) > limit) *std::max_element(extents.begin(), extents.end()) = draw.below(2) + 1;
  if (!extents.empty() && draw.one_of(12)) extents[static_cast<std::size_t>(draw.below(std::ssize(extents)))] = 0;
  return extents;
}

/// How a view of a larger array is made: permute, slice every axis, select a position of one, expand or leave that to
/// the op.
struct View {
  Extents base;
  std::vector<int> axes;
  std::vector<Slice> slices;
  std::optional<std::pair<int, std::int64_t>> selected;  ///< axis and position
  bool is_expanded = false;
};

/// Some positions of an axis of `size` elements, `extent` of them.
Slice random_slice(Draw& draw, std::int64_t extent, std::int64_t step, std::int64_t size) {
  if (extent == 0) return {.begin = size / 2, .end = size / 2};
  const std::int64_t reach = (extent - 1) * step;
  const std::int64_t low = draw.below(size - reach);
  if (draw.one_of(2)) return {.begin = low, .end = low + reach + 1, .step = step};
  Slice backwards{.begin = low + reach, .step = -step};
  if (low > 0) backwards.end = low - 1;
  return backwards;
}

/// One of the same base and shape: other positions or directions, other steps where there is room, two axes swapped.
View moved(Draw& draw, View view, const Extents& extents) {
  for (std::size_t axis = 1; axis < extents.size(); ++axis) {
    int& before = view.axes[axis - 1];
    int& here = view.axes[axis];
    const bool is_alike = extents[axis - 1] == extents[axis] &&
                          view.base[static_cast<std::size_t>(before)] == view.base[static_cast<std::size_t>(here)];
    if (is_alike && draw.one_of(2)) std::swap(before, here);
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t size = view.base[static_cast<std::size_t>(view.axes[axis])];
    if (view.selected && view.selected->first == static_cast<int>(axis)) continue;
    const std::int64_t longest = extents[axis] > 1 ? (size - 1) / (extents[axis] - 1) : 1;
    const std::int64_t step = longest > 1 && draw.one_of(2) ? 1 + draw.below(longest) : longest;
    const Slice positions = random_slice(draw, extents[axis], step, size);
    if (!draw.one_of(3)) view.slices[axis] = positions;
  }
  return view;
}

/// A view of this shape, and one more of the same base that overlaps it, as likely as not. `may_repeat`: axes may be
/// expanded ones.
std::pair<View, View> random_views(Draw& draw, const Extents& shape, bool may_repeat) {
  Extents extents = shape;
  if (may_repeat) {
    for (std::int64_t& extent : extents) extent = draw.one_of(4) ? 1 : extent;
    if (draw.one_of(4)) extents.erase(extents.begin(), extents.begin() + draw.below(std::ssize(extents) + 1));
  }
  View view;
  view.is_expanded = may_repeat && draw.one_of(2);
  if (draw.one_of(3)) {
    view.selected = {static_cast<int>(draw.below(std::ssize(extents) + 1)), 0};
    extents.insert(extents.begin() + view.selected->first, 1 + draw.below(3));
    view.selected->second = draw.below(extents[static_cast<std::size_t>(view.selected->first)]);
  }
  view.axes.resize(extents.size());
  std::iota(view.axes.begin(), view.axes.end(), 0);
  const bool is_permuted = draw.one_of(2);
  for (std::size_t i = view.axes.size(); is_permuted && i > 1; --i) {
    std::swap(view.axes[i - 1], view.axes[static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(i)))]);
  }
  const bool is_sliced = !draw.one_of(3);
  view.base.resize(extents.size());
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const bool is_small = count(extents) < 40000 && is_sliced;
    const std::int64_t step = is_small && draw.one_of(3) ? 2 + draw.below(2) : 1;
    const std::int64_t reach = extents[axis] == 0 ? 0 : (extents[axis] - 1) * step + 1;
    const std::int64_t size = reach + (is_small && draw.one_of(2) ? draw.below(3) : 0);
    view.base[static_cast<std::size_t>(view.axes[axis])] = size;
    view.slices.push_back({.begin = 0, .end = size, .step = 1});
    if (is_sliced) view.slices[axis] = random_slice(draw, extents[axis], step, size);
  }
  if (view.selected) {
    // Sliced as a whole, for the position to be there.
    const auto axis = static_cast<std::size_t>(view.selected->first);
    view.slices[axis] = {.begin = 0, .end = view.base[static_cast<std::size_t>(view.axes[axis])], .step = 1};
    view.selected->second = draw.below(*view.slices[axis].end);
  }
  return {view, moved(draw, view, extents)};
}

Array permuted(const Array& array, const std::vector<int>& axes) {
  const auto& a = axes;
  switch (a.size()) {
    case 0: return array.permute({});
    case 1: return array.permute({a[0]});
    case 2: return array.permute({a[0], a[1]});
    case 3: return array.permute({a[0], a[1], a[2]});
    case 4: return array.permute({a[0], a[1], a[2], a[3]});
    case 5: return array.permute({a[0], a[1], a[2], a[3], a[4]});
    case 6: return array.permute({a[0], a[1], a[2], a[3], a[4], a[5]});
    default: return array.permute({a[0], a[1], a[2], a[3], a[4], a[5], a[6]});
  }
}
Model permuted(const Model& model, const std::vector<int>& axes) { return model.permute(axes); }

template <class A>
A view_of(const A& base, const View& how, const Extents& shape) {
  A view = permuted(base, how.axes);
  for (std::size_t axis = 0; axis < how.slices.size(); ++axis) {
    view = view.slice(how.slices[axis], static_cast<int>(axis));
  }
  if (how.selected) view = view.select(how.selected->second, how.selected->first);
  return how.is_expanded ? view.expand(shape_of(shape)) : view;
}

Array apply(Op op, const Array& left, const Array& right) {
  switch (op) {
    case Op::add: return left + right;
    case Op::sub: return left - right;
    case Op::mul: return left * right;
    case Op::div: return left / right;
    case Op::remainder: return left % right;
    case Op::floor_divide: return floor_divide(left, right);
    case Op::minimum: return minimum(left, right);
    case Op::maximum: return maximum(left, right);
    case Op::less: return left < right;
    case Op::equal: return left == right;
    case Op::logical_or: return logical_or(left, right);
    case Op::bitwise_and: return left & right;
    case Op::bitwise_xor: return left ^ right;
  }
  throw std::logic_error("no such op");
}

void apply_in_place(Op op, Array target, const Array& right) {
  switch (op) {
    case Op::add: target += right; return;
    case Op::sub: target -= right; return;
    case Op::mul: target *= right; return;
    case Op::div: target /= right; return;
    case Op::remainder: target %= right; return;
    case Op::bitwise_and: target &= right; return;
    case Op::bitwise_xor: target ^= right; return;
    default: throw std::logic_error("no such op in place");
  }
}
void apply_in_place(Op op, const Model& target, const Model& right) { target.assign(apply(op, target, right)); }

void assign(Array target, const Array& source) { target.assign(source); }
void assign(const Model& target, const Model& source) { target.assign(source); }

/// Of a scalar and the array.
Array three_and(const Array& array) { return array.dtype() == DType::bool_ ? true < array : 3 - array; }
Model three_and(const Model& model) {
  const bool is_bool = model.dtype() == DType::bool_;
  return apply(is_bool ? Op::less : Op::sub, Model(model.dtype(), {}, {is_bool ? Real{1} : Real{3}}), model);
}

/// Ops that operands of this dtype have, exact ones or correctly rounded.
Op random_op(Draw& draw, DType dtype) {
  if (dtype == DType::bool_) {
    return draw.from<Op>({Op::bitwise_and, Op::bitwise_xor, Op::less, Op::equal, Op::logical_or, Op::div});
  }
  if (is_floating(dtype)) {
    return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder, Op::minimum, Op::maximum, Op::less,
                          Op::equal, Op::logical_or});
  }
  return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder, Op::floor_divide, Op::minimum, Op::maximum,
                        Op::less, Op::equal, Op::logical_or, Op::bitwise_and, Op::bitwise_xor});
}

Op random_op_in_place(Draw& draw, DType dtype) {
  if (dtype == DType::bool_) return draw.from<Op>({Op::bitwise_and, Op::bitwise_xor});
  if (is_floating(dtype)) return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder});
  return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::remainder, Op::bitwise_and, Op::bitwise_xor});
}

DType random_dtype(Draw& draw) { return static_cast<DType>(draw.below(8)); }

/// A program of ops on views of four arrays, the last of which it writes.
struct Program {
  unsigned seed;
  Extents shape;
  std::vector<View> views;  ///< of each array
  View overlapping;         ///< of the last one, too
  std::vector<DType> dtypes;

  explicit Program(unsigned seed_) : seed(seed_) {
    Draw draw(seed);
    shape = random_extents(draw);
    for (int i = 0; i < 4; ++i) {
      const auto [view, other] = random_views(draw, shape, /*may_repeat=*/i < 3);
      views.push_back(view);
      overlapping = other;
      dtypes.push_back(i > 0 && draw.one_of(2) ? dtypes.back() : random_dtype(draw));
    }
  }

  /// Its results. The choices depend on dtypes alone, so they are the same for arrays and models.
  template <class A>
  std::vector<A> run(const std::vector<A>& bases, std::string* text = nullptr) const {
    Draw draw(seed + 1'000'000);
    std::ostringstream out;
    const A x = view_of(bases[0], views[0], shape);
    const A y = view_of(bases[1], views[1], shape);
    const A z = view_of(bases[2], views[2], shape);
    const A target = view_of(bases[3], views[3], shape);
    const Op first = random_op(draw, promote(x.dtype(), y.dtype()));
    const A a = apply(first, x, y);
    const Op in_place = random_op_in_place(draw, target.dtype());
    apply_in_place(in_place, target, view_of(bases[3], overlapping, shape));
    const Op second = random_op(draw, promote(a.dtype(), target.dtype()));
    const A b = apply(second, a, target);
    const A chosen = where(apply(Op::less, z, x), b, z);
    const Op third = random_op_in_place(draw, target.dtype());
    apply_in_place(third, target, chosen.cast(target.dtype()));
    const Op fourth = random_op(draw, promote(target.dtype(), a.dtype()));
    const A c = apply(fourth, target, a);
    if (draw.one_of(2)) assign(view_of(bases[3], overlapping, shape), target);
    if (text != nullptr) {
      out << first << ", " << in_place << "=, " << second << ", where, " << third << "=, " << fourth;
      *text = out.str();
    }
    return {a, b, chosen, c, three_and(y), three_and(target), bases[3]};
  }
};

/// Random numbers of the dtype.
std::vector<Real> random_numbers(DType dtype, std::size_t size, unsigned seed) {
  return with_type(dtype, [&]<class T>(T) {
    std::vector<Real> values;
    if constexpr (std::is_same_v<T, bool>) {
      for (const std::uint8_t x : random_values<std::uint8_t>(size, seed)) values.push_back(x & 1);
    } else {
      for (const T x : random_values<T>(size, seed)) values.push_back(real(x));
    }
    return values;
  });
}

Array array_of(DType dtype, const Shape& shape, const std::vector<Real>& values) {
  return with_type(dtype, [&]<class T>(T) {
    using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
    std::vector<Stored> stored;
    for (const Real x : values) {
      if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        stored.push_back(T(static_cast<float>(x)));
      } else {
        stored.push_back(static_cast<Stored>(x));
      }
    }
    return from_host(stored, shape).cast(dtype);
  });
}

std::vector<Real> elements(const Array& array) {
  return with_type(array.dtype(), [&]<class T>(T) {
    std::vector<Real> values;
    for (const T x : array.to_vector<T>()) values.push_back(real<T>(x));
    return values;
  });
}

/// What an array is not as the model; empty when it is.
std::string difference(const Array& got, const Model& expected) {
  if (got.dtype() != expected.dtype()) return std::string(to_string(got.dtype())) + " of another dtype";
  if (got.shape() != expected.shape()) return got.shape().str() + " of another shape";
  const std::vector<Real> values = elements(got);
  const std::vector<Real> wanted = expected.elements();
  return wrong_ones(
      values.size(), [&](std::size_t i) { return !is_identical(values[i], wanted[i]); },
      [&](std::size_t i) { return digits(i, values[i], wanted[i]); });
}

/// Runs the seed's program as models, and in each mode.
void require_program(unsigned seed) {
  const Program program(seed);
  std::vector<std::vector<Real>> numbers;
  std::vector<Model> models;
  std::ostringstream context;
  context << "seed " << seed << ", " << shape_of(program.shape) << ", operands";
  for (std::size_t i = 0; i < program.views.size(); ++i) {
    const Extents& base = program.views[i].base;
    numbers.push_back(
        random_numbers(program.dtypes[i], static_cast<std::size_t>(count(base)), seed * 4 + static_cast<unsigned>(i)));
    models.emplace_back(program.dtypes[i], shape_of(base), numbers.back());
    context << ' ' << program.dtypes[i] << shape_of(base);
  }
  std::string ops;
  const std::vector<Model> expected = program.run(models, &ops);
  for (const Mode mode : all_modes) {
    std::vector<Array> bases;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bases.push_back(array_of(program.dtypes[i], models[i].shape(), numbers[i]));
    }
    const std::vector<Array> got = run_as(mode, [&] { return program.run(bases); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::string wrong = difference(got[i], expected[i]);
      BOOST_TEST(wrong == "", context.str() << "; " << ops << "; " << mode << ", result " << i << ":\n" << wrong);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(op_properties, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(random_programs_on_random_views_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 200; ++seed) require_program(seed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
