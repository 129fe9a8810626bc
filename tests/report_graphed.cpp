// Reports of programs whose graphs other systems kept by a key of their own: frozen values, stale graphs, caches that
// grow or end the program.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <limits>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;

BOOST_AUTO_TEST_SUITE(report_graphed)

BOOST_AUTO_TEST_CASE(a_rate_that_changes_is_never_the_old_one, *label("report-36")) {
  rf::Array weight = filled(1);
  auto plain = rf::graphed([&](const rf::Array& gradient, float rate) { weight -= gradient * rate; });
  auto followed =
      rf::graphed([&](const rf::Array& gradient, const rf::Param<float>& rate) { weight -= gradient * rate; });
  auto by_array = rf::graphed([&](const rf::Array& gradient, const rf::Array& rate) { weight -= gradient * rate; });
  const rf::Array gradient = filled(1);
  rf::Array reference = filled(1);
  const auto agree = [&](float rate) {
    reference -= gradient * rate;
    return weight.to_vector<float>() == reference.to_vector<float>();
  };
  rf::Param<float> parameter(0);
  for (const float rate : {0.1F, 0.1F, 0.01F, 0.05F}) {
    plain(gradient, rate);
    BOOST_TEST(agree(rate));
    parameter = rate;
    followed(gradient, parameter);
    BOOST_TEST(agree(rate));
    by_array(gradient, filled(rate, 1));
    BOOST_TEST(agree(rate));
  }
  BOOST_TEST(plain.statistics().recordings == 3);  // one for each value
  BOOST_TEST(followed.statistics().recordings == 1);
  BOOST_TEST(by_array.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(each_new_buffer_is_read, *label("report-37")) {
  auto step = rf::graphed([](const rf::Array& x) { return rf::sum(x * x); });
  std::vector<rf::Array> images;
  for (int i = 0; i < 10; ++i) images.push_back(filled(static_cast<float>(i), 100));
  for (int i = 0; i < 10; ++i) BOOST_TEST(holds(step(images[static_cast<std::size_t>(i)]), 100 * i * i));
  images[3] += 1;  // the same buffer with other numbers
  BOOST_TEST(holds(step(images[3]), 1600));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(a_length_or_a_number_that_changes_is_another_graph, *label("report-38")) {
  const rf::Array left = rf::arange(1000).cast(rf::DType::float32);
  const rf::Array right = rf::ones({1000});
  const auto fn = [](const rf::Array& x, const rf::Array& y, double alpha) {
    return rf::sum(x) * alpha + rf::dot(x, y);
  };
  auto step = rf::graphed(fn);
  for (int round = 0; round < 2; ++round) {
    for (std::int64_t n = 1; n <= 25; ++n) {
      for (const double alpha : {1.0, 0.5}) {
        const rf::Array x = left.slice(0, n);
        const rf::Array y = right.slice(0, n);
        BOOST_TEST(step(x, y, alpha).item<float>() == fn(x, y, alpha).item<float>());
      }
    }
  }
  BOOST_TEST(step.statistics().recordings == 50);
  BOOST_TEST(step.statistics().hits == 50);
}

BOOST_AUTO_TEST_CASE(rows_of_padding_reach_no_other_row, *label("report-39")) {
  const auto fn = [](const rf::Array& x) {
    const rf::Array shifted = x - rf::max(x, {-1}, true);
    const rf::Array power = rf::exp(shifted);
    return power / rf::sum(power, {-1}, true);
  };
  for (const std::int64_t width :
       {std::int64_t{1}, std::int64_t{31}, std::int64_t{33}, std::int64_t{64}, std::int64_t{1025}}) {
    auto step = rf::graphed(fn);
    for (int i = 0; i < 3; ++i) {
      rf::manual_seed(static_cast<std::uint64_t>(i));
      const rf::Array padded = rf::randn({8, width});
      rf::Array padding = padded.slice(5, 8);
      padding.assign(std::numeric_limits<float>::quiet_NaN());
      const rf::Array all = step(padded);
      const rf::Array real = fn(padded.slice(0, 5));
      BOOST_TEST((all.slice(0, 5).to_vector<float>() == real.to_vector<float>()));
      for (const float value : all.slice(5, 8).to_vector<float>()) BOOST_TEST(value != value);
    }
  }
}

BOOST_AUTO_TEST_CASE(bodies_of_several_forms_in_turns_are_right_for_ever, *label("report-40") * label("report-41")) {
  const std::vector<rf::Stream> branches(4);
  const auto fn = [&](const rf::Array& x, int form) {
    if (form == 0) return (x + 1) * 2 - 3;
    if (form == 1) return ((x + 1) * 2 - 3) / 2;
    const rf::Stream main = rf::current_stream();
    std::vector<rf::Array> parts(branches.size());
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::size_t which = form == 2 ? i : branches.size() - 1 - i;  // in another order of creation
      branches[which].wait_stream(main);
      const rf::StreamGuard on(branches[which]);
      parts[which] = x * static_cast<int>(which + 1);
    }
    rf::Array sum = x + 0;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      main.wait_stream(branches[i]);
      sum = sum - parts[i];
    }
    return sum;
  };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 200; ++i) {
    const int form = (i * 7) % 4;
    const rf::Array x = filled(static_cast<float>(i));
    const double expected = form == 0 ? 2.0 * i - 1 : form == 1 ? (2.0 * i - 1) / 2 : -9.0 * i;
    BOOST_TEST(holds(step(x, form), expected));
  }
  BOOST_TEST(step.statistics().recordings == 4);
}

BOOST_AUTO_TEST_CASE(a_cache_of_one_for_two_forms_ends_each_call_in_bounded_time, *label("report-42")) {
  auto step = rf::graphed([](const rf::Array& x, bool more) { return more ? x + 1 : x * 2 - 1; }, {.capacity = 1});
  const rf::Array x = filled(3);
  for (int i = 0; i < 300; ++i) BOOST_TEST(holds(step(x, i % 2 == 0), i % 2 == 0 ? 4 : 5));
  const auto now = step.statistics();
  BOOST_TEST(now.recordings == 300);
  BOOST_TEST(now.evictions == 299);
  BOOST_TEST(now.signatures == 1);
}

BOOST_AUTO_TEST_CASE(two_shapes_in_turns_use_two_graphs, *label("report-43")) {
  auto step = rf::graphed([](const rf::Array& x) { return rf::sum(x, {1}); });
  const rf::Array one = rf::ones({1, 16});
  const rf::Array four = rf::ones({4, 16});
  for (int i = 0; i < 200; ++i) {
    const rf::Array sums = step(i % 2 == 0 ? one : four);
    BOOST_TEST(holds(sums, 16));
  }
  BOOST_TEST(step.statistics().recordings == 2);
  BOOST_TEST(step.statistics().hits == 198);
  BOOST_TEST(step.statistics().rebinds == 0);
}

BOOST_AUTO_TEST_CASE(many_shapes_never_end_the_program, *label("report-44")) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; }, {.capacity = 16});
  const rf::Array all = rf::zeros({2000});
  for (std::int64_t n = 1; n <= 1000; ++n) (void)step(all.slice(0, n));
  BOOST_TEST(step.statistics().signatures == 16);
  const rf::Array x = all.slice(0, 7);
  for (int i = 0; i < 5000; ++i) (void)step(x);
  BOOST_TEST(holds(step(x), 1));
  BOOST_TEST(step.statistics().hits == 5000);
  BOOST_TEST(step.statistics().signatures == 16);
}

BOOST_AUTO_TEST_CASE(many_graphs_of_products_cost_what_one_costs_each, *label("report-46")) {
  const rf::Array weight = rf::ones({64, 64});
  auto step =
      rf::graphed([&](const rf::Array& x, int copy) { return rf::matmul(x, weight) + copy; }, {.capacity = 100});
  const rf::Array x = rf::ones({32, 64});
  for (int copy = 0; copy < 10; ++copy) BOOST_TEST(holds(step(x, copy), 64 + copy));
  const std::int64_t ten = step.statistics().bytes;
  for (int copy = 10; copy < 100; ++copy) BOOST_TEST(holds(step(x, copy), 64 + copy));
  BOOST_TEST(step.statistics().bytes <= 10 * ten);
}

BOOST_AUTO_TEST_CASE(addresses_that_keep_changing_do_not_grow_the_cache, *label("report-47")) {
  auto step = rf::graphed([](const rf::Array& a, const rf::Array& b) { return (a + b) * 2 - a; });
  std::vector<rf::Array> kept;
  std::int64_t bytes = 0;
  for (int i = 0; i < 2000; ++i) {
    const rf::Array a = filled(static_cast<float>(i), 16);
    const rf::Array b = filled(1, 16);
    const rf::Array y = step(a, b);
    if (i % 97 == 0) kept.push_back(a);  // no address comes back in order
    if (i % 100 == 0) BOOST_TEST(holds(y, i + 2));
    if (i == 100) bytes = step.statistics().bytes;
  }
  const auto now = step.statistics();
  BOOST_TEST(now.signatures == 1);
  BOOST_TEST(now.hits == 1999);
  BOOST_TEST(now.bytes == bytes);
  BOOST_TEST(now.instantiations <= 4);
}

BOOST_AUTO_TEST_CASE(a_body_of_one_op_needs_one_executable_and_nothing_a_call, *label("report-63")) {
  for (const int ops : {1, 10, 100}) {
    auto step = rf::graphed([&](const rf::Array& x) {
      rf::Array y = x + 1;
      for (int i = 1; i < ops; ++i) y = y + 1;
      return y;
    });
    const rf::Array x = filled(2);
    for (int i = 0; i < 200; ++i) (void)step(x);
    BOOST_TEST(holds(step(x), 2 + ops));
    const auto now = step.statistics();
    BOOST_TEST(now.hits == 200);
    BOOST_TEST(now.instantiations == 1);
    BOOST_TEST(now.rebinds == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
