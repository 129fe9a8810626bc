// Which elements a view names, by shape, strides and values, against a walk over indices that knows no strides.

#include "support.hpp"
#include "support_memory.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Index = std::vector<std::int64_t>;
using Values = std::vector<double>;
using Random = std::mt19937;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

std::int64_t product(const Index& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
}

/// An array as a list of its values in row-major order.
struct Walked {
  Index shape;
  Values values;

  double at(const Index& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
    return values[static_cast<std::size_t>(place)];
  }
};

/// The values at `source(index)` for each index of the shape.
template <class Source>
Walked walk(const Walked& from, const Index& shape, Source source) {
  Walked result{shape, {}};
  Index index(shape.size(), 0);
  for (std::int64_t left = product(shape); left > 0; --left) {
    result.values.push_back(from.at(source(index)));
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

/// 0, 1, 2, ...
Walked counted(const Index& shape) {
  Walked result{shape, Values(static_cast<std::size_t>(product(shape)))};
  std::iota(result.values.begin(), result.values.end(), 0.0);
  return result;
}

Array array_of(const Walked& walked) {
  const std::vector<float> values(walked.values.begin(), walked.values.end());
  return from_host(values, Shape(std::span<const std::int64_t>(walked.shape)));
}

/// What one index more along each axis adds to the value, and whether that tells all values.
struct Steps {
  Index along;
  bool tell_all = true;
};

Steps steps_of(const Walked& walked) {
  Steps steps{Index(walked.shape.size(), 0), true};
  if (walked.values.empty()) return steps;
  const Index origin(walked.shape.size(), 0);
  for (std::size_t axis = 0; axis < walked.shape.size(); ++axis) {
    if (walked.shape[axis] < 2) continue;
    Index next = origin;
    next[axis] = 1;
    steps.along[axis] = static_cast<std::int64_t>(walked.at(next) - walked.at(origin));
  }
  const Walked told = walk(walked, walked.shape, [&](const Index& index) {
    double value = walked.at(origin);
    for (std::size_t i = 0; i < index.size(); ++i) value += static_cast<double>(index[i] * steps.along[i]);
    steps.tell_all = steps.tell_all && value == walked.at(index);
    return index;
  });
  return steps;
}

bool lies_row_major(const Walked& walked) {
  for (std::size_t i = 1; i < walked.values.size(); ++i) {
    if (walked.values[i] != walked.values[i - 1] + 1) return false;
  }
  return true;
}

/// An array, and what it has to be. The values are places in its memory as long as `is_view`.
struct Pair {
  Array array;
  Walked walked;
  bool is_view = true;
};

void check(const Pair& pair) {
  const Index shape(pair.array.shape().begin(), pair.array.shape().end());
  BOOST_TEST_REQUIRE(shape == pair.walked.shape, per_element());
  BOOST_TEST_REQUIRE(numbers(pair.array) == pair.walked.values, per_element());
  BOOST_TEST_REQUIRE(numbers(pair.array + 1 - 1) == pair.walked.values, per_element());
  if (!pair.is_view) return;
  const Steps steps = steps_of(pair.walked);
  BOOST_TEST_REQUIRE(steps.tell_all);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 2 || pair.walked.values.empty()) continue;
    BOOST_TEST_REQUIRE(pair.array.strides()[axis] == steps.along[axis]);
  }
  BOOST_TEST_REQUIRE(pair.array.is_contiguous() == lies_row_major(pair.walked));
}

std::int64_t pick(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

int pick_axis(Random& random, const Pair& pair) { return static_cast<int>(pick(random, 0, pair.array.ndim() - 1)); }

/// The axis counted from either end.
int either(Random& random, int axis, int ndim) { return pick(random, 0, 1) == 0 ? axis : axis - ndim; }

Array permuted(const Array& array, const std::vector<int>& a) {
  switch (a.size()) {
    case 0: return array.permute({});
    case 1: return array.permute({a[0]});
    case 2: return array.permute({a[0], a[1]});
    case 3: return array.permute({a[0], a[1], a[2]});
    case 4: return array.permute({a[0], a[1], a[2], a[3]});
    case 5: return array.permute({a[0], a[1], a[2], a[3], a[4]});
    default: return array.permute({a[0], a[1], a[2], a[3], a[4], a[5]});
  }
}

Pair permute(const Pair& from, Random& random) {
  const int ndim = from.array.ndim();
  std::vector<int> axes(static_cast<std::size_t>(ndim));
  std::iota(axes.begin(), axes.end(), 0);
  std::shuffle(axes.begin(), axes.end(), random);
  Index shape;
  for (const int axis : axes) shape.push_back(from.walked.shape[static_cast<std::size_t>(axis)]);
  const Walked walked = walk(from.walked, shape, [&](const Index& index) {
    Index source(index.size());
    for (std::size_t i = 0; i < index.size(); ++i) source[static_cast<std::size_t>(axes[i])] = index[i];
    return source;
  });
  for (int& axis : axes) axis = either(random, axis, ndim);
  return {permuted(from.array, axes), walked, from.is_view};
}

Pair transpose(const Pair& from, Random& random) {
  const int ndim = from.array.ndim();
  const auto a = static_cast<std::size_t>(pick_axis(random, from));
  const auto b = static_cast<std::size_t>(pick_axis(random, from));
  Index shape = from.walked.shape;
  std::swap(shape[a], shape[b]);
  const Walked walked = walk(from.walked, shape, [&](Index index) {
    std::swap(index[a], index[b]);
    return index;
  });
  return {from.array.transpose(either(random, static_cast<int>(a), ndim), either(random, static_cast<int>(b), ndim)),
          walked, from.is_view};
}

/// Positions that Python's range(begin, end, step) has.
Index range(std::int64_t begin, std::int64_t end, std::int64_t step) {
  Index positions;
  for (std::int64_t at = begin; step > 0 ? at < end : at > end; at += step) {
    positions.push_back(at);
    if (step > 0 ? step >= end - at : step <= end - at) break;  // a step that large cannot be added
  }
  return positions;
}

Walked at_positions(const Walked& from, std::size_t axis, const Index& positions) {
  Index shape = from.shape;
  shape[axis] = std::ssize(positions);
  return walk(from, shape, [&](Index index) {
    index[axis] = positions[static_cast<std::size_t>(index[axis])];
    return index;
  });
}

Pair slice(const Pair& from, Random& random) {
  const int axis = pick_axis(random, from);
  const std::int64_t extent = from.array.shape()[axis];
  constexpr std::int64_t steps[] = {1, 1, 2, 3, 7, most, -1, -2, -3, -7, -most, least};
  Slice slice{.step = steps[pick(random, 0, 11)]};
  const bool forward = slice.step > 0;
  std::int64_t begin = forward ? 0 : extent - 1;
  std::int64_t end = forward ? extent : -1;
  const auto as_given = [&](std::int64_t position) {
    return position < extent && pick(random, 0, 1) == 0 ? position - extent : position;
  };
  if (extent > 0 && pick(random, 0, 2) > 0) {
    begin = pick(random, 0, forward ? extent : extent - 1);
    slice.begin = as_given(begin);
  }
  if (extent > 0 && pick(random, 0, 2) > 0) {
    end = forward ? pick(random, begin, extent) : pick(random, 0, begin);
    slice.end = as_given(end);
  }
  return {from.array.slice(slice, either(random, axis, from.array.ndim())),
          at_positions(from.walked, static_cast<std::size_t>(axis), range(begin, end, slice.step)), from.is_view};
}

Pair flip(const Pair& from, Random& random) {
  const int axis = pick_axis(random, from);
  return {from.array.flip(either(random, axis, from.array.ndim())),
          at_positions(from.walked, static_cast<std::size_t>(axis), range(from.array.shape()[axis] - 1, -1, -1)),
          from.is_view};
}

Pair select(const Pair& from, Random& random) {
  const int axis = pick_axis(random, from);
  const std::int64_t extent = from.array.shape()[axis];
  if (extent == 0) return from;
  const std::int64_t position = pick(random, 0, extent - 1);
  Walked walked = at_positions(from.walked, static_cast<std::size_t>(axis), {position});
  walked.shape.erase(walked.shape.begin() + axis);
  return {from.array.select(pick(random, 0, 1) == 0 ? position : position - extent,
                            either(random, axis, from.array.ndim())),
          walked, from.is_view};
}

Pair expand(const Pair& from, Random& random) {
  Index shape = from.walked.shape;
  for (std::int64_t& extent : shape) extent = extent == 1 ? pick(random, 0, 3) : extent;
  const std::int64_t fresh = from.array.ndim() < 6 ? pick(random, 0, 1) : 0;
  for (std::int64_t i = 0; i < fresh; ++i) shape.insert(shape.begin(), pick(random, 1, 3));
  const Walked walked = walk(from.walked, shape, [&](const Index& index) {
    Index source(index.begin() + fresh, index.end());
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = from.walked.shape[i] == 1 ? 0 : source[i];
    return source;
  });
  return {from.array.expand(Shape(std::span<const std::int64_t>(shape))), walked, from.is_view};
}

Pair squeeze(const Pair& from, Random& random) {
  Walked walked = from.walked;
  const auto one = std::find(walked.shape.begin(), walked.shape.end(), 1);
  if (one == walked.shape.end() || pick(random, 0, 1) == 0) {
    std::erase(walked.shape, 1);
    return {from.array.squeeze(), walked, from.is_view};
  }
  const int axis = static_cast<int>(one - walked.shape.begin());
  walked.shape.erase(one);
  return {from.array.squeeze(either(random, axis, from.array.ndim())), walked, from.is_view};
}

Pair unsqueeze(const Pair& from, Random& random) {
  if (from.array.ndim() == 6) return from;
  const int axis = static_cast<int>(pick(random, 0, from.array.ndim()));
  Walked walked = from.walked;
  walked.shape.insert(walked.shape.begin() + axis, 1);
  return {from.array.unsqueeze(either(random, axis, from.array.ndim() + 1)), walked, from.is_view};
}

/// Another shape of the same values: a view if steps tell it, and a copy if not.
Pair as_shape(const Pair& from, const Index& shape, const Array& array) {
  Pair result{array, {shape, from.walked.values}, from.is_view};
  if (!from.is_view) return result;
  result.is_view = array.buffer() == from.array.buffer();
  BOOST_TEST_REQUIRE(result.is_view == steps_of(result.walked).tell_all);
  if (!result.is_view) BOOST_TEST_REQUIRE(array.is_contiguous());
  return result;
}

Pair reshape(const Pair& from, Random& random) {
  Index shape;
  std::int64_t left = from.array.size();
  while (left > 1 && shape.size() < 4) {
    std::int64_t extent = pick(random, 1, left);
    while (left % extent != 0) --extent;
    shape.push_back(extent);
    left /= extent;
  }
  if (left != 1) shape.push_back(left);
  if (shape.size() < 6 && pick(random, 0, 1) == 0) shape.insert(shape.begin() + pick(random, 0, std::ssize(shape)), 1);
  return as_shape(from, shape, from.array.reshape(Shape(std::span<const std::int64_t>(shape))));
}

Pair flatten(const Pair& from, Random& random) {
  const int ndim = from.array.ndim();
  if (ndim == 0) return as_shape(from, {1}, from.array.flatten());
  const int first = static_cast<int>(pick(random, 0, ndim - 1));
  const int last = static_cast<int>(pick(random, first, ndim - 1));
  const Index& old = from.walked.shape;
  Index shape(old.begin(), old.begin() + first);
  shape.push_back(product(Index(old.begin() + first, old.begin() + last + 1)));
  shape.insert(shape.end(), old.begin() + last + 1, old.end());
  return as_shape(from, shape, from.array.flatten(either(random, first, ndim), either(random, last, ndim)));
}

Pair view_of(const Pair& from, Random& random) {
  using Step = Pair (*)(const Pair&, Random&);
  constexpr Step any[] = {expand, squeeze, unsqueeze, reshape, flatten, permute};
  constexpr Step with_axes[] = {transpose, slice, slice, flip, select, permute};
  const bool has_axes = from.array.ndim() > 0 && pick(random, 0, 1) == 0;
  return (has_axes ? with_axes : any)[pick(random, 0, 5)](from, random);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(view_shapes, *label("sanitize"))

BOOST_AUTO_TEST_CASE(chains_of_views_name_what_a_walk_over_indices_names) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    Random random(seed);
    Index shape(static_cast<std::size_t>(seed % 7));
    for (std::int64_t& extent : shape) extent = pick(random, pick(random, 0, 9) == 0 ? 0 : 1, shape.size() > 4 ? 3 : 5);
    const Walked walked = counted(shape);
    Pair pair{array_of(walked), walked};
    for (int step = 0; step < 7; ++step) {
      BOOST_TEST_CONTEXT("seed " << seed << ", view " << step << " of shape " << pair.array.shape()) {
        pair = view_of(pair, random);
        check(pair);
      }
      if (pair.array.size() > 1000) break;
    }
    BOOST_TEST_CONTEXT("seed " << seed) {
      const Array dense = pair.array.contiguous();
      BOOST_TEST(dense.is_contiguous());
      BOOST_TEST((dense.buffer() == pair.array.buffer()) == pair.array.is_contiguous());
      BOOST_TEST(numbers(dense) == pair.walked.values, per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_other_code_has_any_strides) {
  constexpr std::int64_t size = 300;
  const Memory memory(size);
  from_blob(memory.at(), {size}).assign(array_of(counted({size})));
  for (unsigned seed = 0; seed < 200; ++seed) {
    Random random(seed);
    Index shape(static_cast<std::size_t>(seed % 5));
    Index strides(shape.size());
    for (std::int64_t& extent : shape) extent = pick(random, pick(random, 0, 9) == 0 ? 0 : 1, 4);
    for (std::int64_t& stride : strides) stride = pick(random, -12, 12);
    const Walked walked = walk(counted({size}), shape, [&](const Index& index) {
      return Index{std::inner_product(index.begin(), index.end(), strides.begin(), size / 2)};
    });
    const Array array =
        from_blob(memory.at(size / 2), Shape(std::span<const std::int64_t>(shape)), {.strides = strides});
    BOOST_TEST_CONTEXT("seed " << seed) {
      Pair pair{array, walked};
      check(pair);
      for (int step = 0; step < 3 && pair.array.size() < 1000; ++step) {
        pair = view_of(pair, random);
        check(pair);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
