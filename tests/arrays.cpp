// Making arrays, handles and aliases, in-place ops, reading values, sizes of every kind.

#include "support.hpp"
#include "support_reference.hpp"

#include <cmath>
#include <limits>
#include <numeric>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t sizes[] = {0, 1, 31, 33, 1025};

std::vector<float> ramp(std::int64_t size, float first = 0) {
  std::vector<float> values(static_cast<std::size_t>(size));
  std::iota(values.begin(), values.end(), first);
  return values;
}

using Numbers = std::vector<double>;

}  // namespace

BOOST_AUTO_TEST_SUITE(arrays, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(literals_have_the_dtype_of_their_values) {
  BOOST_TEST(array({1, 2, 3}).dtype() == DType::int64);
  BOOST_TEST(array({std::int64_t{1} << 40}).dtype() == DType::int64);
  BOOST_TEST(array({1.5, 2.0}).dtype() == DType::float32);
  BOOST_TEST(array({1.5f, 2.0f}).dtype() == DType::float32);
  BOOST_TEST(array({true, false}).dtype() == DType::bool_);
}

BOOST_AUTO_TEST_CASE(literals_hold_their_values) {
  BOOST_TEST(array({1, -2, 3}).to_vector<std::int64_t>() == (std::vector<std::int64_t>{1, -2, 3}), per_element());
  BOOST_TEST(array({std::int64_t{1} << 40}).to_vector<std::int64_t>() == (std::vector{std::int64_t{1} << 40}));
  BOOST_TEST(array({1.5, -0.25}).to_vector<float>() == (std::vector{1.5f, -0.25f}), per_element());
  BOOST_TEST((array({true, false}).to_vector<bool>() == std::vector<bool>{true, false}));
  BOOST_TEST(array({1, 2, 3}).shape().str() == "[3]");
}

BOOST_AUTO_TEST_CASE(literals_take_a_dtype) {
  const Array doubles = array({0.1}, {.dtype = DType::float64});
  BOOST_TEST(doubles.to_vector<double>().at(0) == 0.1);
  BOOST_TEST(array({1, 2}, {.dtype = DType::int32}).to_vector<std::int32_t>() == (std::vector<std::int32_t>{1, 2}));
  BOOST_TEST(array({1, 2}, {.dtype = DType::float32}).to_vector<float>() == (std::vector{1.0f, 2.0f}));
}

BOOST_AUTO_TEST_CASE(literals_convert_as_casts_do) {
  // An out-of-range static_cast would be undefined.
  const Array saturated = array({1e20, -1e20, std::nan(""), 2.9}, {.dtype = DType::int32});
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  constexpr double least = std::numeric_limits<std::int32_t>::min();
  BOOST_TEST(numbers(saturated) == (Numbers{most, least, 0, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(zeros_ones_full_and_empty_are_float32_unless_told_otherwise) {
  for (const Array& made : {zeros({2}), ones({2}), full({2}, 7), empty({2})}) {
    BOOST_TEST(made.dtype() == DType::float32);
    BOOST_TEST(made.device() == current_device());
    BOOST_TEST(made.size_bytes() == 8);
  }
  for (const DType dtype : {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64}) {
    const ArrayOptions options{.dtype = dtype};
    BOOST_TEST(empty({2}, options).dtype() == dtype);
    BOOST_TEST(numbers(zeros({2}, options)) == (Numbers{0, 0}), per_element());
    BOOST_TEST(numbers(ones({2}, options)) == (Numbers{1, 1}), per_element());
    BOOST_TEST(numbers(full({2}, 1, options)) == (Numbers{1, 1}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(full_keeps_extreme_values) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
  BOOST_TEST(full({2}, least, {.dtype = DType::int64}).to_vector<std::int64_t>().at(1) == least);
  BOOST_TEST(full({2}, 0.1, {.dtype = DType::float64}).to_vector<double>().at(1) == 0.1);
  BOOST_TEST(full({2}, 0.1).to_vector<float>().at(1) == 0.1f);
  BOOST_TEST(std::isnan(full({2}, std::nan("")).to_vector<float>().at(1)));
}

BOOST_AUTO_TEST_CASE(arrays_are_made_on_the_device_named) {
  const auto devices = two_devices();
  if (!devices) return;
  BOOST_TEST(ones({2}, {.device = devices->second}).device() == devices->second);
  BOOST_TEST(array({1, 2}, {.device = devices->second}).device() == devices->second);
  BOOST_TEST(from_host(std::vector<float>{1}, {1}, devices->second).device() == devices->second);
  const DeviceGuard on(devices->second);
  BOOST_TEST(ones({2}).device() == devices->second);
}

BOOST_AUTO_TEST_CASE(from_host_and_to_vector_return_what_they_were_given) {
  for (const std::int64_t size : sizes) {
    const std::vector<float> values = ramp(size, 0.5f);
    BOOST_TEST(from_host(values, {size}).to_vector<float>() == values, per_element());
  }
  const std::vector<std::int32_t> integers = {1, 2, 3, 4, 5, 6};
  const Array matrix = from_host(integers, {2, 3});
  BOOST_TEST(matrix.shape().str() == "[2, 3]");
  BOOST_TEST(matrix.dtype() == DType::int32);
  BOOST_TEST(matrix.to_vector<std::int32_t>() == integers, per_element());
  const bool flags[] = {true, false, true};
  const Array bools = from_host(std::span<const bool>(flags), {3});
  BOOST_TEST((bools.to_vector<bool>() == std::vector<bool>{true, false, true}));
}

BOOST_AUTO_TEST_CASE(memory_given_to_from_host_may_be_reused_at_once) {
  std::vector<float> values = ramp(100000);
  const std::vector<float> before = values;
  std::vector<Array> made;
  for (int i = 0; i < 8; ++i) {
    made.push_back(from_host(values, {100000}));
    for (float& value : values) value += 1;
  }
  for (int i = 0; i < 8; ++i) {
    const std::vector<float> got = made[static_cast<std::size_t>(i)].to_vector<float>();
    BOOST_TEST(got.front() == before.front() + static_cast<float>(i));
    BOOST_TEST(got.back() == before.back() + static_cast<float>(i));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_the_host_values_it_was_captured_with) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      std::vector<float> values = {5, 6};
      auto captured = capture([&] { return from_host(values, {2}); }, capture_options(mode));
      values = {9, 9};
      captured.first.instantiate(instantiate_options(mode)).replay();
      BOOST_TEST(numbers(captured.second) == (Numbers{5, 6}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(every_op_works_on_every_size) {
  for (const std::int64_t size : sizes) {
    const std::vector<float> left = ramp(size, 1);
    const std::vector<float> right = ramp(size, 3);
    const Array a = from_host(left, {size});
    const Array b = from_host(right, {size});
    for (const Mode mode : all_modes) {
      BOOST_TEST_CONTEXT(size << " elements, " << mode) {
        const auto compare = [&](auto op) {
          std::vector<float> expected;
          for (std::size_t i = 0; i < left.size(); ++i) expected.push_back(op(left[i], right[i]));
          BOOST_TEST(run_as(mode, [&] { return Array(op(a, b)); }).template to_vector<float>() == expected,
                     per_element());
        };
        compare([](const auto& x, const auto& y) { return x + y; });
        compare([](const auto& x, const auto& y) { return x - y; });
        compare([](const auto& x, const auto& y) { return x * y; });
        compare([](const auto& x, const auto& y) { return x / y; });
        compare([](const auto& x, const auto&) { return -x; });
        compare([](const auto& x, const auto&) { return x * 0.1f; });
        compare([](const auto& x, const auto&) { return 2.5f - x; });
        compare([](const auto& x, const auto&) { return 1.0f / x; });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(arrays_without_elements_work_everywhere) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array nothing = run_as(mode, [] {
        Array a = zeros({0, 3});
        a += 1;
        a.assign(2.0f);
        return -(a + ones({1, 3}) * full({3}, 2)).cast(DType::float64);
      });
      BOOST_TEST(nothing.shape().str() == "[0, 3]");
      BOOST_TEST(nothing.size() == 0);
      BOOST_TEST(nothing.dtype() == DType::float64);
      BOOST_TEST(numbers(nothing).empty());
      BOOST_TEST(numbers(ones({2})) == (Numbers{1, 1}), per_element());  // and the device goes on
    }
  }
}

BOOST_AUTO_TEST_CASE(ops_without_elements_are_no_nodes) {
  const Graph graph = capture([] { return zeros({0}) + ones({0}); }).first;
  BOOST_TEST(graph.node_count() == 0);
}

BOOST_AUTO_TEST_CASE(a_scalar_array_has_one_element) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array scalar = run_as(mode, [] { return full({}, 3) * 2; });
      BOOST_TEST(scalar.ndim() == 0);
      BOOST_TEST(scalar.size() == 1);
      BOOST_TEST(scalar.item<float>() == 6.0f);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_in_place_op_is_seen_through_every_handle) {
  Array a = zeros({3});
  const Array alias = a;
  a += 2;
  a *= ones({3}) * 5;
  a -= 1;
  a /= 3;
  BOOST_TEST(numbers(alias) == (Numbers{3, 3, 3}), per_element());
}

BOOST_AUTO_TEST_CASE(assigning_a_handle_only_rebinds_the_name) {
  Array a = zeros({3});
  const Array alias = a;
  a = a + 2;
  BOOST_TEST(numbers(alias) == (Numbers{0, 0, 0}), per_element());
  BOOST_TEST(numbers(a) == (Numbers{2, 2, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(in_place_ops_take_their_own_target_as_operand) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array result = run_as(mode, [] {
        Array a = array({1.0, 2.0, 3.0});
        const Array alias = a;
        a += alias;
        a *= a;
        a.assign(a);
        a -= alias * 0.5f;
        return a;
      });
      BOOST_TEST(numbers(result) == (Numbers{2, 8, 18}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_op_may_write_to_the_name_that_it_reads) {
  Array a = ones({4});
  for (int i = 0; i < 100; ++i) a = a + a * 0.5f - a / 2.0f + 1;
  BOOST_TEST(numbers(a) == (Numbers{101, 101, 101, 101}), per_element());
}

BOOST_AUTO_TEST_CASE(assign_broadcasts_its_source_and_keeps_the_dtype) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const Array target = run_as(mode, [] {
        Array a = zeros({2, 3});
        a.assign(array({1, 2, 3}));
        return a;
      });
      BOOST_TEST(target.dtype() == DType::float32);
      BOOST_TEST(numbers(target) == (Numbers{1, 2, 3, 1, 2, 3}), per_element());
    }
  }
  Array a = zeros({2});
  a.assign(4);
  BOOST_TEST(numbers(a) == (Numbers{4, 4}), per_element());
}

BOOST_AUTO_TEST_CASE(replays_write_in_place_targets_from_outside_again) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Array counter = zeros({3});
      const Graph graph = capture([&] { counter += 1; }, capture_options(mode));
      BOOST_TEST(numbers(counter) == (Numbers{0, 0, 0}), per_element());
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      for (int i = 0; i < 5; ++i) exec.replay();
      BOOST_TEST(numbers(counter) == (Numbers{5, 5, 5}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(item_converts_the_only_element) {
  BOOST_TEST(full({1, 1}, 2.75).item<float>() == 2.75f);
  BOOST_TEST(full({}, 2.75).item<double>() == 2.75);
  BOOST_TEST(array({7}).item<int>() == 7);
  BOOST_TEST(array({7}).item<float>() == 7.0f);
  BOOST_TEST(array({true}).item<bool>());
  constexpr std::int64_t big = (std::int64_t{1} << 62) + 1;
  BOOST_TEST(array({big}).item<std::int64_t>() == big);
}

BOOST_AUTO_TEST_CASE(values_cannot_be_read_while_recording, *label("conformance-54")) {
  for (const bool live : live_modes) {
    const Array before = ones({1});
    const Graph graph = capture(
        [&] {
          const Array made = before + 1;
          require_error(Errc::capture_unsupported, [&] { made.item<float>(); }, {"item"});
          require_error(Errc::capture_unsupported, [&] { made.to_vector<float>(); }, {"to_vector"});
          require_error(Errc::capture_unsupported, [&] { before.item<float>(); }, {"item"});
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(reading_waits_for_the_last_writer_on_whatever_stream) {
  const Stream other;
  for (int i = 0; i < 20; ++i) {
    Array a;
    {
      const StreamGuard on(other);
      a = slowly(static_cast<float>(i), 5);
    }
    BOOST_TEST(holds(a, i));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
