#include "prepared.hpp"

#include <refrain/random.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace refrain::bench {
namespace {

template <class T>
Bytes bytes_as(const Array& array) {
  const std::vector<T> values = array.to_vector<T>();
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes bytes_of(const Array& array) {
  switch (array.dtype()) {
    case DType::bool_: {
      const std::vector<bool> values = array.to_vector<bool>();
      Bytes bytes(values.size());
      std::transform(values.begin(), values.end(), bytes.begin(), [](bool value) { return std::byte{value}; });
      return bytes;
    }
    case DType::uint8: return bytes_as<std::uint8_t>(array);
    case DType::float16: return bytes_as<float16>(array);
    case DType::bfloat16: return bytes_as<bfloat16>(array);
    case DType::int32: return bytes_as<std::int32_t>(array);
    case DType::int64: return bytes_as<std::int64_t>(array);
    case DType::float32: return bytes_as<float>(array);
    case DType::float64: return bytes_as<double>(array);
  }
  return {};
}

template <class T>
std::vector<double> numbers_as(const Bytes& bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(value);
  }
  return numbers;
}

}  // namespace

std::vector<double> numbers_of(const Bytes& bytes, DType dtype) {
  switch (dtype) {
    case DType::bool_:
    case DType::uint8: return numbers_as<std::uint8_t>(bytes);
    case DType::float16: return numbers_as<float16>(bytes);
    case DType::bfloat16: return numbers_as<bfloat16>(bytes);
    case DType::int32: return numbers_as<std::int32_t>(bytes);
    case DType::int64: return numbers_as<std::int64_t>(bytes);
    case DType::float32: return numbers_as<float>(bytes);
    case DType::float64: return numbers_as<double>(bytes);
  }
  return {};
}

std::vector<Bytes> bytes_of(const std::vector<Array>& arrays) {
  std::vector<Bytes> all;
  all.reserve(arrays.size());
  for (const Array& array : arrays) all.push_back(bytes_of(array));
  return all;
}

std::vector<Array> run_eagerly(const Program& program, int number) {
  if (program.set) program.set(nullptr, number);
  return program.step();
}

void restart(const Program& program) {
  manual_seed(0);
  if (program.reset) program.reset();
}

std::vector<std::vector<Bytes>> eager_reference(const Program& program, int steps) {
  restart(program);
  std::vector<std::vector<Bytes>> results;
  results.reserve(static_cast<std::size_t>(steps));
  for (int i = 0; i < steps; ++i) results.push_back(bytes_of(run_eagerly(program, i)));
  return results;
}

std::string difference(const std::vector<Bytes>& expected, const std::vector<Bytes>& found) {
  if (expected.size() != found.size()) {
    return std::to_string(found.size()) + " results where eager has " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto [a, b] = std::mismatch(expected[i].begin(), expected[i].end(), found[i].begin(), found[i].end());
    if (a != expected[i].end() || b != found[i].end()) {
      return "result " + std::to_string(i) + " differs from eager at byte " + std::to_string(a - expected[i].begin());
    }
  }
  return {};
}

std::string difference(const std::vector<double>& expected, const std::vector<double>& found, double tolerance) {
  if (found.size() != expected.size()) {
    return std::to_string(found.size()) + " elements where there should be " + std::to_string(expected.size());
  }
  double largest = 0;
  for (const double each : expected) largest = std::max(largest, std::abs(each));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!(std::abs(found[i] - expected[i]) <= tolerance * largest)) {
      return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + " where another calculation gives " +
             std::to_string(expected[i]);
    }
  }
  return {};
}

std::string difference(const std::vector<double>& expected, const std::vector<float>& found, double tolerance) {
  return difference(expected, std::vector<double>(found.begin(), found.end()), tolerance);
}

std::string difference(const std::vector<double>& expected, const Array& found, double tolerance) {
  return difference(expected, found.to_vector<float>(), tolerance);
}

std::string difference(const std::vector<Bytes>& expected, const std::vector<Array>& found, double tolerance) {
  const std::vector<Bytes> bytes = bytes_of(found);
  if (expected.size() != found.size()) return difference(expected, bytes);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const DType dtype = found[i].dtype();
    std::string text = difference(numbers_of(expected[i], dtype), numbers_of(bytes[i], dtype), tolerance);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  return {};
}

std::string count_difference(const Workload& workload, int nodes, int edges) {
  if (nodes == workload.commands && edges == workload.edges) return {};
  return std::to_string(nodes) + " nodes and " + std::to_string(edges) + " edges where the program has " +
         std::to_string(workload.commands) + " and " + std::to_string(workload.edges);
}

void note(Prepared& prepared, std::string failure) {
  prepared.verified = prepared.verified.value_or(true) && failure.empty();
  if (prepared.failure.empty()) prepared.failure = std::move(failure);
}

}  // namespace refrain::bench
