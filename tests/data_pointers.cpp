// Elements where they lie: addresses and spans.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"

#include <refrain/data.hpp>

#include <cstdint>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

constexpr Device host{DeviceKind::host, 0};

/// What lies at an address of the device that is current.
std::vector<float> at(float* address, std::int64_t count) { return from_blob(address, {count}).to_vector<float>(); }

}  // namespace

BOOST_AUTO_TEST_SUITE(data_pointers, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(an_address_is_that_of_the_first_element) {
  const Array x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  float* const first = data<float>(x);
  synchronize();
  BOOST_TEST(at(first, 6) == (std::vector<float>{1, 2, 3, 4, 5, 6}), per_element());
  BOOST_TEST(data<const float>(x) == first);
  BOOST_TEST(data<float>(x.slice(1, 2)) == first + 3);
  BOOST_TEST(data<float>(x.flip(1)) == first + 2);
  BOOST_TEST(data<float>(x.transpose(0, 1).select(2)) == first + 2);
  BOOST_TEST(data<float>(zeros({2, 0})) == nullptr);
}

BOOST_AUTO_TEST_CASE(an_address_is_of_the_arrays_own_type) {
  require_error(Errc::invalid_value, [] { data<double>(ones({2})); }, {"float32", "float64"});
  require_error(Errc::invalid_value, [] { data<float>(Array()); });
  BOOST_TEST(data<std::uint8_t>(ones({2}, {.dtype = DType::uint8})) != nullptr);
  BOOST_TEST(data<bool>(ones({2}, {.dtype = DType::bool_})) != nullptr);
  BOOST_TEST(data<bfloat16>(ones({2}, {.dtype = DType::bfloat16})) != nullptr);
}

BOOST_AUTO_TEST_CASE(an_address_waits_for_nothing, *boost::unit_test::label("pending")) {
  const Stream stream;
  Array x = ones({4});
  BOOST_TEST(holds(x, 1));
  Gate gate(stream);
  {
    const StreamGuard on(stream);
    x += 1;
  }
  BOOST_TEST(data<float>(x) != nullptr);
  BOOST_TEST(gate.open());
  stream.synchronize();
}

BOOST_AUTO_TEST_CASE(an_array_of_a_capture_has_an_address_once_there_is_memory) {
  for (const bool live : live_modes) {
    auto [graph, x] = capture(
        [&] {
          Array made = ones({4});
          require_error(Errc::illegal_state, [&] { data<float>(made); }, {"capture", "instantiate"});
          return made + 1;
        },
        {.live = live});
    GraphExec exec = graph.instantiate();
    float* const first = data<float>(x);
    exec.replay();
    synchronize();
    BOOST_TEST(at(first, 4) == (std::vector<float>{2, 2, 2, 2}), per_element());
    BOOST_TEST(data<float>(x) == first);
  }
}

BOOST_AUTO_TEST_CASE(an_array_with_an_address_keeps_its_block_without_a_holder) {
  Array x;
  auto graph = capture([&] { return x = ones({4}) + 1; }).first;
  GraphExec first_one = graph.instantiate();
  float* const first = data<float>(x);
  x = Array();
  GraphExec second_one = graph.instantiate();
  second_one.replay();
  synchronize();
  BOOST_TEST(at(first, 4) == (std::vector<float>{2, 2, 2, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(an_array_from_outside_has_an_address_in_a_capture) {
  for (const bool live : live_modes) {
    const Array x = ones({4});
    float* const first = data<float>(x);
    auto graph = capture([&] { BOOST_TEST(data<float>(x) == first); }, {.live = live});
  }
}

BOOST_AUTO_TEST_CASE(an_array_of_a_discarded_capture_has_none) {
  Array x;
  const Stream stream;
  {
    const StreamGuard on(stream);
    Capture discarded(stream);
    x = ones({4});
  }
  require_error(Errc::illegal_state, [&] { data<float>(x); }, {"discarded"});
}

BOOST_AUTO_TEST_CASE(a_span_is_the_elements) {
  const DeviceGuard on(host);
  Array x = from_host(std::vector<std::int64_t>{1, 2, 3, 4}, {2, 2});
  const std::span<std::int64_t> all = span<std::int64_t>(x);
  BOOST_TEST(all.size() == 4);
  all[3] = 40;
  BOOST_TEST((x + 1).to_vector<std::int64_t>() == (std::vector<std::int64_t>{2, 3, 4, 41}), per_element());
  BOOST_TEST(span<const std::int64_t>(x.select(1))[1] == 40);
  BOOST_TEST(span<float>(zeros({0})).empty());
}

BOOST_AUTO_TEST_CASE(a_span_waits_for_the_writer_on_another_stream) {
  const DeviceGuard on(host);
  const Stream stream;
  Array x;
  {
    const StreamGuard there(stream);
    x = slowly(3);
  }
  BOOST_TEST(span<const float>(x)[0] == 3);
}

BOOST_AUTO_TEST_CASE(a_span_to_write_waits_for_readers_and_one_to_read_does_not) {
  const DeviceGuard on(host);
  const Array x = ones({4});
  BOOST_TEST(holds(x, 1));
  const Stream stream;
  Array copy;
  {
    Gate gate(stream);
    {
      const StreamGuard there(stream);
      copy = x + 1;
    }
    BOOST_TEST(span<const float>(x)[0] == 1);
    BOOST_TEST(gate.open());
  }
  {
    const StreamGuard there(stream);
    slowly(1);
    copy = x + 1;
  }
  for (float& element : span<float>(x)) element = 7;
  BOOST_TEST(holds(copy, 2));
}

BOOST_AUTO_TEST_CASE(a_span_is_of_contiguous_arrays_of_the_host) {
  {
    const DeviceGuard on(host);
    const Array x = ones({2, 3});
    require_error(Errc::invalid_value, [&] { span<float>(x.transpose(0, 1)); }, {"contiguous"});
    require_error(Errc::invalid_value, [&] { span<double>(x); }, {"float64"});
    auto [graph, y] = capture([&] {
      Array made = x + 1;
      require_error(Errc::capture_unsupported, [&] { span<float>(x); });
      require_error(Errc::capture_unsupported, [&] { span<float>(made); });
      return made;
    });
    require_error(Errc::illegal_state, [&, &array = y] { span<float>(array); }, {"replay"});
    GraphExec exec = graph.instantiate();
    exec.replay();
    BOOST_TEST(span<const float>(y)[5] == 2);
  }
  if (!a_gpu()) return;
  require_error(Errc::wrong_device, [] { span<float>(ones({4})); }, {"to_device"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
