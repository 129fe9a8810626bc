// Elements moved around, picked out and put together, of random views, in every mode what naive loops over positions
// give.

#include "support.hpp"
#include "support_draws.hpp"
#include "support_reference.hpp"

#include <refrain/movement.hpp>

#include <functional>

namespace refrain::test {

namespace {

using Position = std::vector<std::int64_t>;  ///< one entry an axis

Position position_of(const Shape& shape, std::int64_t i) {
  Position position(static_cast<std::size_t>(shape.ndim()));
  for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
    position[static_cast<std::size_t>(axis)] = i % shape[axis];
    i /= shape[axis];
  }
  return position;
}

std::size_t order_of(const Shape& shape, const Position& position) {
  std::int64_t i = 0;
  for (int axis = 0; axis < shape.ndim(); ++axis) i = i * shape[axis] + position[static_cast<std::size_t>(axis)];
  return static_cast<std::size_t>(i);
}

/// An array of this shape whose element at each position is `source(position)`.
Model made(DType dtype, const Shape& shape, const std::function<Real(const Position&)>& source) {
  std::vector<Real> values;
  for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(source(position_of(shape, i)));
  return {dtype, shape, values};
}

std::int64_t around(std::int64_t position, std::int64_t extent) { return (position % extent + extent) % extent; }

Model rolled(const Model& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes) {
  const std::vector<Real> from = x.elements();
  const Shape shape = x.shape();
  return made(x.dtype(), shape, [&](Position position) {
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const auto axis = static_cast<int>(around(axes[k], shape.ndim()));
      std::int64_t& at = position[static_cast<std::size_t>(axis)];
      at = around(at - shifts[k], shape[axis]);
    }
    return from[order_of(shape, position)];
  });
}

Model rolled(const Model& x, std::int64_t shift) {
  std::vector<Real> values = x.elements();
  if (!values.empty()) {
    const auto begin = around(-shift, std::ssize(values));
    std::rotate(values.begin(), values.begin() + begin, values.end());
  }
  return {x.dtype(), x.shape(), values};
}

/// What stands for an element that is not there.
Real missing(DType dtype) {
  switch (dtype) {
    case DType::bool_: return 1;
    case DType::uint8: return 255;
    case DType::int32: return std::numeric_limits<std::int32_t>::min();
    case DType::int64: return static_cast<Real>(std::numeric_limits<std::int64_t>::min());
    default: return std::numeric_limits<Real>::quiet_NaN();
  }
}

Model taken(const Model& x, const Model& indices, int axis) {
  const std::vector<Real> from = x.elements();
  const std::vector<Real> names = indices.elements();
  const Shape shape = x.shape();
  const Shape index_shape = indices.shape();
  const int index_ndim = index_shape.ndim();
  Extents extents(shape.begin(), shape.begin() + axis);
  extents.insert(extents.end(), index_shape.begin(), index_shape.end());
  extents.insert(extents.end(), shape.begin() + axis + 1, shape.end());
  return made(x.dtype(), shape_of(extents), [&](const Position& position) {
    const Position index(position.begin() + axis, position.begin() + axis + index_ndim);
    auto name = static_cast<std::int64_t>(names[order_of(index_shape, index)]);
    if (name < 0) name += shape[axis];
    if (name < 0 || name >= shape[axis]) return missing(x.dtype());
    Position at(position.begin(), position.begin() + axis);
    at.push_back(name);
    at.insert(at.end(), position.begin() + axis + index_ndim, position.end());
    return from[order_of(shape, at)];
  });
}

Model flat(const Model& x) { return {x.dtype(), {x.shape().size()}, x.elements()}; }

Model joined(const std::vector<Model>& parts, int axis) {
  DType dtype = parts.front().dtype();
  const Shape first = parts.front().shape();
  Extents extents(first.begin(), first.end());
  std::int64_t& along = extents[static_cast<std::size_t>(axis)];
  along = 0;
  for (const Model& part : parts) {
    dtype = promote(dtype, part.dtype());
    along += part.shape()[axis];
  }
  std::vector<std::vector<Real>> from;
  for (const Model& part : parts) from.push_back(part.cast(dtype).elements());
  return made(dtype, shape_of(extents), [&](Position position) {
    std::int64_t& at = position[static_cast<std::size_t>(axis)];
    std::size_t part = 0;
    for (; at >= parts[part].shape()[axis]; ++part) at -= parts[part].shape()[axis];
    return from[part][order_of(parts[part].shape(), position)];
  });
}

/// A random view, as an array and as a model.
struct Drawn {
  Array array;
  Model model;
};

Drawn drawn(DType dtype, const Extents& extents, const View& view, const std::vector<Real>& numbers) {
  const Shape base = shape_of(view.base);
  return {view_of(array_of(dtype, base, numbers), view, extents), view_of(Model(dtype, base, numbers), view, extents)};
}

View random_view(Draw& draw, const Extents& extents) {
  View view = random_views(draw, extents, /*may_repeat=*/true).first;
  view.is_expanded = true;
  return view;
}

Drawn drawn(Draw& draw, DType dtype, const Extents& extents) {
  const View view = random_view(draw, extents);
  const auto size = static_cast<std::size_t>(count(view.base));
  return drawn(dtype, extents, view, random_numbers(dtype, size, static_cast<unsigned>(draw.below(1 << 30))));
}

/// Every mode gives the model.
void require_model(const std::string& context, const std::function<Array()>& fn, const Model& expected) {
  for (const Mode mode : all_modes) {
    const std::string wrong = difference(run_as(mode, fn), expected);
    BOOST_TEST(wrong == "", context << ", " << mode << ":\n" << wrong);
  }
}

template <class... Words>
std::string text(const Words&... words) {
  std::ostringstream out;
  ((out << words << ' '), ...);
  return out.str();
}

std::int64_t random_shift(Draw& draw, std::int64_t extent) {
  return draw.from<std::int64_t>({0, 1, -1, extent, extent + 1, -extent / 2, extent / 2, 5 * extent + 3, -7});
}

Array roll_axes(const Array& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& axes) {
  switch (shifts.size()) {
    case 0: return roll(x, {}, {});
    case 1: return roll(x, shifts[0], axes[0]);
    case 2: return roll(x, {shifts[0], shifts[1]}, {axes[0], axes[1]});
    default: return roll(x, {shifts[0], shifts[1], shifts[2]}, {axes[0], axes[1], axes[2]});
  }
}

/// Indices in range, and now and then some that are not, as a view.
Drawn random_indices(Draw& draw, const Extents& extents, std::int64_t size) {
  const DType dtype = draw.from<DType>({DType::int32, DType::int64});
  const View view = random_view(draw, extents);
  std::vector<Real> names(static_cast<std::size_t>(count(view.base)));
  const bool may_miss = draw.one_of(3);
  for (Real& name : names) {
    name = static_cast<Real>(draw.below(2 * size + (may_miss ? 4 : 0)) - size - (may_miss ? 2 : 0));
    if (may_miss && draw.one_of(9)) name = draw.from<Real>({-2147483648.0L, 2147483647.0L});
  }
  return drawn(dtype, extents, view, names);
}

Extents random_index_extents(Draw& draw, const Extents& extents) {
  Extents shape(static_cast<std::size_t>(draw.below(3)));
  for (std::int64_t& extent : shape) extent = draw.from<std::int64_t>({0, 1, 2, 5, 33, 40});
  while (count(shape) > 1 && count(shape) * count(extents) > 200000) shape.pop_back();
  return shape;
}

void require_rolls(unsigned seed) {
  Draw draw(seed);
  const Extents extents = random_extents(draw);
  const Drawn x = drawn(draw, random_dtype(draw), extents);
  const auto ndim = static_cast<int>(extents.size());
  std::vector<std::int64_t> shifts;
  std::vector<int> axes;
  for (std::int64_t i = ndim == 0 ? 0 : draw.below(4); i > 0; --i) {
    axes.push_back(static_cast<int>(draw.below(2 * ndim)) - ndim);
    shifts.push_back(random_shift(draw, extents[static_cast<std::size_t>(around(axes.back(), ndim))]));
  }
  const std::string context = text("seed", seed, x.model.dtype(), shape_of(extents), axes.size(), "axes");
  require_model(
      context, [&] { return roll_axes(x.array, shifts, axes); }, rolled(x.model, shifts, axes));
  const std::int64_t shift = random_shift(draw, count(extents));
  require_model(
      text(context, "flat", shift), [&] { return roll(x.array, shift); }, rolled(x.model, shift));
}

void require_takes(unsigned seed) {
  Draw draw(seed);
  const Extents extents = random_extents(draw);
  const Drawn x = drawn(draw, random_dtype(draw), extents);
  const std::string context = text("seed", seed, x.model.dtype(), shape_of(extents));
  if (count(extents) > 0) {
    const Extents shape = random_index_extents(draw, {});
    const Drawn indices = random_indices(draw, shape, count(extents));
    require_model(
        text(context, "flat by", shape_of(shape)), [&] { return take(x.array, indices.array); },
        taken(flat(x.model), indices.model, 0));
  }
  if (extents.empty()) return;
  const auto axis = static_cast<int>(draw.below(std::ssize(extents)));
  const std::int64_t extent = extents[static_cast<std::size_t>(axis)];
  const Extents shape = extent == 0 ? Extents{2, 0} : random_index_extents(draw, extents);
  const Drawn indices = random_indices(draw, shape, std::max<std::int64_t>(extent, 1));
  const int named = draw.one_of(2) ? axis : axis - static_cast<int>(extents.size());
  require_model(
      text(context, "axis", axis, "by", indices.model.dtype(), shape_of(shape)),
      [&] { return take(x.array, indices.array, named); }, taken(x.model, indices.model, axis));
}

void require_joins(unsigned seed) {
  Draw draw(seed);
  Extents extents = random_extents(draw);
  if (extents.empty()) extents.push_back(3);
  const auto axis = static_cast<int>(draw.below(std::ssize(extents)));
  std::vector<Array> arrays;
  std::vector<Model> models;
  for (std::int64_t parts = 1 + draw.below(4); parts > 0; --parts) {
    Extents own = extents;
    own[static_cast<std::size_t>(axis)] = draw.from<std::int64_t>({0, 1, 2, 2, 31});
    if (count(own) > 100000) own[static_cast<std::size_t>(axis)] = 1;
    const Drawn part = drawn(draw, random_dtype(draw), own);
    arrays.push_back(part.array);
    models.push_back(part.model);
  }
  const int named = draw.one_of(2) ? axis : axis - static_cast<int>(extents.size());
  require_model(
      text("seed", seed, arrays.size(), "arrays like", shape_of(extents), "axis", axis),
      [&] { return concatenate(arrays, named); }, joined(models, axis));
}

void require_stacks(unsigned seed) {
  Draw draw(seed);
  const Extents extents = random_extents(draw);
  const auto axis = static_cast<int>(draw.below(std::ssize(extents) + 1));
  Extents as_row = extents;
  as_row.insert(as_row.begin() + axis, 1);
  std::vector<Array> arrays;
  std::vector<Model> rows;
  for (std::int64_t parts = 1 + draw.below(3); parts > 0; --parts) {
    const Drawn part = drawn(draw, random_dtype(draw), extents);
    arrays.push_back(part.array);
    rows.emplace_back(part.model.dtype(), shape_of(as_row), part.model.elements());
  }
  const int named = draw.one_of(2) ? axis : axis - static_cast<int>(as_row.size());
  require_model(
      text("seed", seed, arrays.size(), "arrays of", shape_of(extents), "axis", axis),
      [&] { return stack(arrays, named); }, joined(rows, axis));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(movement_properties, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(rolled_views_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 150; ++seed) require_rolls(seed);
}

BOOST_AUTO_TEST_CASE(what_is_taken_of_views_equals_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 150; ++seed) require_takes(seed);
}

BOOST_AUTO_TEST_CASE(views_in_a_line_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 100; ++seed) require_joins(seed);
}

BOOST_AUTO_TEST_CASE(views_side_by_side_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 100; ++seed) require_stacks(seed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
