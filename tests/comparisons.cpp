// Comparisons with integers that the dtype cannot hold answer as numbers do.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/param.hpp>

#include <cstdint>
#include <limits>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

struct Relation {
  const char* name;
  Array (*to_scalar)(const Array& left, std::int64_t right);
  Array (*of_scalar)(std::int64_t left, const Array& right);
  bool (*holds)(std::int64_t left, std::int64_t right);
};

#define REFRAIN_RELATION(op)                                                                                           \
  {                                                                                                                    \
#op, [](const Array& a,                                                                                            \
            std::int64_t b) { return a op b; },                                                                        \
                                             [](std::int64_t a,                                                        \
                                                const Array& b) { return a op b; },                                    \
                                                                                 [](std::int64_t a,                    \
                                                                                    std::int64_t b) { return a op b; } \
  }
constexpr Relation relations[] = {REFRAIN_RELATION(==), REFRAIN_RELATION(!=), REFRAIN_RELATION(<),
                                  REFRAIN_RELATION(<=), REFRAIN_RELATION(>),  REFRAIN_RELATION(>=)};
#undef REFRAIN_RELATION

void check(const std::vector<std::int64_t>& values, DType dtype, const std::vector<std::int64_t>& scalars) {
  const Array x = from_host(values, {static_cast<std::int64_t>(values.size())}).cast(dtype);
  for (const Relation& relation : relations) {
    for (const std::int64_t scalar : scalars) {
      std::vector<bool> right;
      std::vector<bool> left;
      for (const std::int64_t value : values) {
        right.push_back(relation.holds(value, scalar));
        left.push_back(relation.holds(scalar, value));
      }
      for (const Mode mode : {Mode::eager, Mode::graph}) {
        BOOST_TEST_CONTEXT(to_string(dtype) << ' ' << relation.name << ' ' << scalar << ' ' << mode) {
          const Array to = run_as(mode, [&] { return relation.to_scalar(x, scalar); });
          const Array of = run_as(mode, [&] { return relation.of_scalar(scalar, x); });
          BOOST_TEST(to.to_vector<bool>() == right, per_element());
          BOOST_TEST(of.to_vector<bool>() == left, per_element());
        }
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(comparisons)

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

BOOST_AUTO_TEST_CASE(bytes_are_compared_with_any_integer) {
  check({0, 1, 200, 255}, DType::uint8, {least, -256, -1, 0, 1, 200, 255, 256, 300, most});
}

BOOST_AUTO_TEST_CASE(int32s_are_compared_with_any_integer) {
  constexpr std::int64_t most32 = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t least32 = std::numeric_limits<std::int32_t>::min();
  check({least32, -1, 0, 7, most32}, DType::int32, {least, least32 - 1, least32, -1, 7, most32, most32 + 1, most});
}

BOOST_AUTO_TEST_CASE(bools_and_int64s_are_compared_with_any_integer) {
  check({0, 1}, DType::bool_, {least, -1, 0, 1, 2, most});
  check({least, -5, 0, most}, DType::int64, {least, -5, 0, most});
}

BOOST_AUTO_TEST_CASE(a_parameter_has_to_fit) {
  const Array bytes = array({1, 2}).cast(DType::uint8);
  const Param<int> limit(300);
  require_error(Errc::invalid_value, [&] { bytes < limit; }, {"[less]", "300", "uint8"});
  require_error(Errc::invalid_value, [&] { limit < bytes; }, {"[less]", "300", "uint8"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
