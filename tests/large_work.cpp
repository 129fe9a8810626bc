// Commands that are long enough for a device to work on them in parts.

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/movement.hpp>
#include <refrain/refrain.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace refrain::test {

namespace {

constexpr std::int64_t rows = 401;
constexpr std::int64_t columns = 503;

struct Operands {
  Array x;
  Array y;
};

Operands operands() {
  manual_seed(5);
  return {randn({rows, columns}), randn({rows, columns})};
}

using Results = std::vector<Array>;

/// Every result has the rows of what it is made of.
Results by_rows(const Array& x, const Array& y) {
  return {x * y + 0.5F,           exp(x) - erf(y), where(x < y, x, y * 2), (x * 100).cast(DType::int32),
          x.cast(DType::float16), sum(x, {1}),     logsumexp(x, {1}),      argmax(x, 1),
          softmax(x, 1),          roll(x, 3, 1)};
}

template <class T>
void require_rows(const std::string& what, const Array& all, const std::vector<Array>& each) {
  const std::vector<T> found = all.to_vector<T>();
  std::vector<T> expected;
  for (const Array& row : each) {
    const std::vector<T> values = row.to_vector<T>();
    expected.insert(expected.end(), values.begin(), values.end());
  }
  BOOST_TEST((found == expected), what);
}

/// 20 updates of 100 000 elements on a stream, and their sum.
Array updated(const Stream& stream, const Array& start, int number) {
  const StreamGuard on(stream);
  Array z = start + static_cast<float>(number);
  for (int i = 0; i < 20; ++i) z = tanh(z) * 0.999F + start;
  return stack({sum(z), max(z)}, 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(large_work)

BOOST_AUTO_TEST_CASE(a_large_op_gives_what_its_rows_give) {
  const auto [x, y] = operands();
  std::vector<std::vector<Array>> each(10);
  for (std::int64_t row = 0; row < rows; ++row) {
    const Results results = by_rows(x.slice(row, row + 1).contiguous(), y.slice(row, row + 1).contiguous());
    for (std::size_t i = 0; i < results.size(); ++i) each[i].push_back(results[i]);
  }
  for (const Mode mode : all_modes) {
    const Results all = run_as(mode, [&] { return by_rows(x, y); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string what = "result " + std::to_string(i);
      if (i == 3) {
        require_rows<std::int32_t>(what, all[i], each[i]);
      } else if (i == 7) {
        require_rows<std::int64_t>(what, all[i], each[i]);
      } else {
        std::vector<Array> wide;
        for (const Array& row : each[i]) wide.push_back(row.cast(DType::float32));
        require_rows<float>(what, all[i].cast(DType::float32), wide);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(many_streams_have_large_work_at_once) {
  constexpr int count = 16;
  manual_seed(6);
  const Array start = randn({100'000});
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < count; ++i) expected.push_back(updated(current_stream(), start, i).to_vector<float>());
  std::vector<Stream> streams(count);
  for (const Mode mode : {Mode::eager, Mode::graph}) {
    const Results found = run_as(mode, [&] {
      Results results;
      Event forked;
      forked.record();
      for (int i = 0; i < count; ++i) {
        streams[static_cast<std::size_t>(i)].wait_event(forked);
        results.push_back(updated(streams[static_cast<std::size_t>(i)], start, i));
      }
      for (const Stream& stream : streams) current_stream().wait_stream(stream);
      return results;
    });
    for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST((found[i].to_vector<float>() == expected[i]));
  }
}

BOOST_AUTO_TEST_CASE(many_threads_have_large_work_at_once) {
  manual_seed(7);
  const Array start = randn({100'000});
  const std::vector<float> expected = updated(current_stream(), start, 0).to_vector<float>();
  const Device device = current_device();
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      const DeviceGuard on(device);
      const Stream stream;
      for (int round = 0; round < 5; ++round) {
        wrong += updated(stream, start, 0).to_vector<float>() != expected;
        stream.synchronize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(large_work_is_done_while_functions_block) {
  manual_seed(8);
  const Array start = randn({100'000});
  const std::vector<float> expected = updated(current_stream(), start, 0).to_vector<float>();
  std::atomic<bool> may_end{false};
  std::vector<Stream> blocked(4);
  for (const Stream& stream : blocked) {
    stream.launch_host_func([&] {
      while (!may_end) std::this_thread::yield();
    });
  }
  const Stream stream;
  const Array result = updated(stream, start, 0);
  stream.synchronize();
  may_end = true;
  for (const Stream& each : blocked) each.synchronize();
  BOOST_TEST((result.to_vector<float>() == expected));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
