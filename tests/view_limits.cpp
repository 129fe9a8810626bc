// What views are refused, or are at the edge of it: extents that are worked out, steps, positions, sizes, axes.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_views.hpp"

#include <limits>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Values = std::vector<double>;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

}  // namespace

BOOST_AUTO_TEST_SUITE(view_limits)

BOOST_AUTO_TEST_CASE(strides_that_lead_nowhere_are_not_followed) {
  const Array none = from_blob(static_cast<float*>(nullptr), {0, 4}, {.strides = {1, most}});
  BOOST_TEST((none.flip(1).slice({.begin = 3, .step = -2}, 1).shape() == Shape{0, 2}));
  BOOST_TEST(numbers(none.transpose(0, 1) + 1).empty());
}

BOOST_AUTO_TEST_CASE(one_extent_is_worked_out) {
  const Array x = counted({12});
  BOOST_TEST((x.reshape({-1}).shape() == Shape{12}));
  BOOST_TEST((x.reshape({3, -1}).shape() == Shape{3, 4}));
  BOOST_TEST((x.reshape({2, -1, 3}).shape() == Shape{2, 2, 3}));
  BOOST_TEST((x.reshape({-1, 12}).shape() == Shape{1, 12}));
  BOOST_TEST((x.reshape({3, 4}).transpose(0, 1).reshape({2, -1}).shape() == Shape{2, 6}));
  BOOST_TEST(
      numbers(x.reshape({3, 4}).transpose(0, 1).reshape({2, -1})) == (Values{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}),
      per_element());
  BOOST_TEST((zeros({}).reshape({-1}).shape() == Shape{1}));
  BOOST_TEST((zeros({0, 3}).reshape({-1}).shape() == Shape{0}));
  BOOST_TEST((zeros({0, 3}).reshape({5, -1}).shape() == Shape{5, 0}));
}

BOOST_AUTO_TEST_CASE(shapes_that_cannot_be_are_refused, *label("report-66")) {
  const Array none = zeros({1, 0, 32});
  require_error(Errc::invalid_value, [&] { none.reshape({1, 0, -1}); }, {"[reshape]", "[1, 0, 32]"});
  BOOST_TEST((none.reshape({0}).shape() == Shape{0}));
  BOOST_TEST((none.reshape({5, 0, 7}).shape() == Shape{5, 0, 7}));
  const Array twelve = ones({12});
  require_error(Errc::invalid_value, [&] { twelve.reshape({5, -1}); }, {"12 elements"});
  require_error(Errc::invalid_value, [&] { twelve.reshape({-1, -1}); }, {"-1"});
  require_error(Errc::invalid_value, [&] { twelve.reshape({-2, -6}); }, {"-2"});
  require_error(Errc::invalid_value, [&] { twelve.reshape({0, -1}); });
  require_error(Errc::invalid_value, [&] { twelve.reshape({}); });
  require_error(Errc::invalid_value, [] { full({-1, 2}, 1); }, {"[-1, 2]"});
  require_error(Errc::invalid_value, [] { empty({3, -5}); }, {"[3, -5]"});
}

BOOST_AUTO_TEST_CASE(products_of_extents_do_not_wrap_around, *label("report-66")) {
  constexpr std::int64_t large = std::int64_t{1} << 40;
  require_error(Errc::invalid_value, [] { empty({large, large}); }, {"2^60"});
  require_error(Errc::invalid_value, [] { ones({1}).expand({large, large}); }, {"2^60"});
  require_error(Errc::invalid_value, [] { ones({12}).reshape({large, large, -1}); }, {"2^60"});
  const Array none = zeros({0, large, large, large});
  BOOST_TEST(none.size() == 0);
  BOOST_TEST((none.transpose(0, 3).shape() == Shape{large, large, large, 0}));
  BOOST_TEST((none.flip(2).slice({.begin = 3, .step = 5}, 1).slice({.step = -2}, 3).shape()[3] == large / 2));
  BOOST_TEST((none.flatten().shape() == Shape{0}));
  BOOST_TEST((none.flatten(0, 1).shape() == Shape{0, large, large}));
  require_error(Errc::invalid_value, [&] { none.flatten(1, 2); }, {"2^60"});
  BOOST_TEST(numbers(none + 1).empty());
}

BOOST_AUTO_TEST_CASE(slices_take_steps_as_in_python) {
  const Array x = counted({6});
  const auto sliced = [&](Slice positions) { return numbers(x.slice(positions)); };
  BOOST_TEST(sliced({.step = 2}) == (Values{0, 2, 4}), per_element());
  BOOST_TEST(sliced({.begin = 1, .step = 2}) == (Values{1, 3, 5}), per_element());
  BOOST_TEST(sliced({.begin = -2}) == (Values{4, 5}), per_element());
  BOOST_TEST(sliced({.end = -4}) == (Values{0, 1}), per_element());
  BOOST_TEST(sliced({.step = -1}) == (Values{5, 4, 3, 2, 1, 0}), per_element());
  BOOST_TEST(sliced({.begin = 4, .end = 1, .step = -2}) == (Values{4, 2}), per_element());
  BOOST_TEST(sliced({.begin = -2, .step = -3}) == (Values{4, 1}), per_element());
  BOOST_TEST(sliced({.step = most}) == (Values{0}), per_element());
  BOOST_TEST(sliced({.step = least}) == (Values{5}), per_element());
  BOOST_TEST(sliced({.begin = 6}).empty());
  BOOST_TEST(sliced({.begin = 3, .end = 3, .step = -1}).empty());
  BOOST_TEST(zeros({0}).slice({.step = -1}).size() == 0);
}

BOOST_AUTO_TEST_CASE(positions_and_axes_that_are_not_there_are_refused) {
  const Array x = counted({6, 2});
  const std::function<void()> wrong[] = {
      [&] { x.slice({.begin = 7}); },
      [&] { x.slice({.begin = -7}); },
      [&] { x.slice({.end = 7}); },
      [&] { x.slice({.begin = least}); },
      [&] { x.slice({.end = most}); },
      [&] { x.slice({.begin = 6, .step = -1}); },
      [&] { x.slice({.end = -7, .step = -1}); },
      [&] { x.slice({.begin = 2, .end = 4, .step = -1}); },
      [&] { x.slice({.begin = 4, .end = 2}); },
      [&] { x.slice({.step = 0}); },
      [&] { x.slice(Slice{}, 2); },
      [&] { x.slice(Slice{}, -3); },
      [&] { x.select(6); },
      [&] { x.select(-7); },
      [&] { x.select(least); },
      [&] { x.select(0, 2); },
      [&] {
        zeros({0, 2}).select(0);
      },
      [&] { x.flip(2); },
      [&] { x.transpose(0, -3); },
      [&] { x.permute({0}); },
      [&] {
        x.permute({0, 0});
      },
      [&] {
        x.permute({0, -2});
      },
      [&] {
        x.permute({0, 1, 2, 3, 4, 5, 6, 7, 8});
      },
      [&] { x.squeeze(0); },
      [&] { x.unsqueeze(3); },
      [&] { x.unsqueeze(-4); },
      [&] { x.flatten(1, 0); },
      [&] { x.expand({2}); },
      [&] {
        x.expand({6, 3});
      },
      [&] { Array().transpose(0, 1); },
  };
  for (const auto& call : wrong) require_error(Errc::invalid_value, call, {"view_limits.cpp:"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
