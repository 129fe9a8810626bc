// Broadcasting against a loop over all index tuples.

#include "support.hpp"
#include "support_reference.hpp"

#include <random>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Extents = std::vector<std::int64_t>;

Shape shape_of(const Extents& extents) { return Shape(std::span<const std::int64_t>(extents)); }

std::int64_t count(const Extents& extents) {
  std::int64_t size = 1;
  for (const std::int64_t extent : extents) size *= extent;
  return size;
}

/// The flat index, in an array of shape `extents`, of the element that `index` of the result's shape reads.
std::size_t flat(const Extents& extents, const Extents& index) {
  std::int64_t at = 0;
  const std::size_t skipped = index.size() - extents.size();
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    at = at * extents[axis] + (extents[axis] == 1 ? 0 : index[axis + skipped]);
  }
  return static_cast<std::size_t>(at);
}

/// a - b, element by element.
std::vector<float> naive_difference(const std::vector<float>& a, const Extents& a_extents, const std::vector<float>& b,
                                    const Extents& b_extents, const Extents& result) {
  std::vector<float> out;
  Extents index(result.size(), 0);
  for (std::int64_t i = 0; i < count(result); ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = result.size(); axis-- > 0;) {
      index[axis] = rest % result[axis];
      rest /= result[axis];
    }
    out.push_back(a[flat(a_extents, index)] - b[flat(b_extents, index)]);
  }
  return out;
}

std::vector<float> random_values(std::int64_t size, std::mt19937& generator) {
  std::vector<float> values;
  std::uniform_real_distribution<float> uniform(-100, 100);
  for (std::int64_t i = 0; i < size; ++i) values.push_back(uniform(generator));
  return values;
}

/// An operand's shape: the result's with some axes of extent 1, or leading ones missing.
Extents operand_of(const Extents& result, std::mt19937& generator) {
  Extents extents = result;
  for (std::int64_t& extent : extents) {
    if (generator() % 3 == 0) extent = 1;
  }
  const auto missing = static_cast<std::ptrdiff_t>(generator() % 3 == 0 ? generator() % (result.size() + 1) : 0);
  extents.erase(extents.begin(), extents.begin() + missing);
  return extents;
}

struct Case {
  Extents a;
  Extents b;
  Extents result;
};

/// Shapes of 0 to 5 axes; one of eight has an axis without elements.
Case random_case(std::mt19937& generator) {
  Extents full(generator() % 6);
  for (std::int64_t& extent : full) extent = 1 + static_cast<std::int64_t>(generator() % 5);
  if (!full.empty() && generator() % 8 == 0) full[generator() % full.size()] = 0;
  Case made{operand_of(full, generator), operand_of(full, generator), {}};
  made.result.resize(std::max(made.a.size(), made.b.size()));
  for (std::size_t i = 0; i < made.result.size(); ++i) {  // from the last axis
    const std::int64_t x = i < made.a.size() ? made.a[made.a.size() - 1 - i] : 1;
    const std::int64_t y = i < made.b.size() ? made.b[made.b.size() - 1 - i] : 1;
    made.result[made.result.size() - 1 - i] = x == 1 ? y : x;
  }
  return made;
}

void require_difference(const Case& shapes, std::mt19937& generator, std::initializer_list<Mode> modes) {
  const std::vector<float> a_values = random_values(count(shapes.a), generator);
  const std::vector<float> b_values = random_values(count(shapes.b), generator);
  const std::vector<float> expected = naive_difference(a_values, shapes.a, b_values, shapes.b, shapes.result);
  const Array a = from_host(a_values, shape_of(shapes.a));
  const Array b = from_host(b_values, shape_of(shapes.b));
  for (const Mode mode : modes) {
    BOOST_TEST_CONTEXT(a.shape() << " - " << b.shape() << ", " << mode) {
      const Array result = run_as(mode, [&] { return a - b; });
      BOOST_TEST(result.shape() == shape_of(shapes.result));
      BOOST_TEST(result.to_vector<float>() == expected, per_element());
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(broadcasting, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(random_shapes_equal_a_naive_loop) {
  std::mt19937 generator(1);
  for (int i = 0; i < 300; ++i) require_difference(random_case(generator), generator, {Mode::eager});
}

BOOST_AUTO_TEST_CASE(replays_of_random_shapes_equal_a_naive_loop) {
  std::mt19937 generator(2);
  for (int i = 0; i < 40; ++i) require_difference(random_case(generator), generator, graph_modes);
}

BOOST_AUTO_TEST_CASE(rows_and_columns_of_awkward_sizes_equal_a_naive_loop) {
  std::mt19937 generator(3);
  for (const std::int64_t size : {1, 31, 33, 1025}) {
    require_difference({{size}, {3, size}, {3, size}}, generator, all_modes);
    require_difference({{3, size}, {3, 1}, {3, size}}, generator, all_modes);
    require_difference({{size, 1}, {1, 3}, {size, 3}}, generator, all_modes);
    require_difference({{2, 1, size}, {3, 1}, {2, 3, size}}, generator, all_modes);
    require_difference({{}, {size}, {size}}, generator, all_modes);
  }
}

BOOST_AUTO_TEST_CASE(shapes_of_8_axes_equal_a_naive_loop) {
  std::mt19937 generator(4);
  require_difference({{2, 1, 2, 1, 2, 1, 2, 1}, {1, 2, 1, 2, 1, 2, 1, 2}, {2, 2, 2, 2, 2, 2, 2, 2}}, generator,
                     all_modes);
  require_difference({{2, 1, 2, 1, 2, 1, 2, 3}, {2, 1}, {2, 1, 2, 1, 2, 1, 2, 3}}, generator, all_modes);
}

BOOST_AUTO_TEST_CASE(in_place_ops_broadcast_their_operand) {
  std::mt19937 generator(5);
  for (int i = 0; i < 100; ++i) {
    const Extents target = random_case(generator).result;
    const Extents operand = operand_of(target, generator);
    const std::vector<float> target_values = random_values(count(target), generator);
    const std::vector<float> operand_values = random_values(count(operand), generator);
    const std::vector<float> expected = naive_difference(target_values, target, operand_values, operand, target);
    BOOST_TEST_CONTEXT(shape_of(target) << " -= " << shape_of(operand)) {
      Array a = from_host(target_values, shape_of(target));
      a -= from_host(operand_values, shape_of(operand));
      BOOST_TEST(a.to_vector<float>() == expected, per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_operand_of_another_dtype_is_broadcast_too) {
  const Array left = from_host(std::vector<std::int32_t>{1, 2, 3}, {3, 1});
  const Array right = from_host(std::vector<double>{0.5, 0.25}, {2});
  const std::vector<double> expected = {0.5, 0.75, 1.5, 1.75, 2.5, 2.75};
  for (const Mode mode : all_modes) {
    BOOST_TEST(numbers(run_as(mode, [&] { return left - right; })) == expected, per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
