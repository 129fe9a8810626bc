#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// What PyTorch gave on a CUDA device: tests/data/torch_cuda_rng.json, whose origin tests/data/README.md tells.

namespace refrain::test {

/// One random call and what it gave.
struct TorchCall {
  std::uint64_t seed = 0;
  std::string op;
  std::vector<double> args;
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::uint64_t offset_before = 0;
  std::uint64_t offset_after = 0;
  std::vector<std::pair<std::int64_t, double>> values;  ///< flat index, value

  std::int64_t size() const;
};

/// The calls in order; those of one seed follow one another.
const std::vector<TorchCall>& torch_calls();
/// The seeds of torch_calls, in order.
std::vector<std::uint64_t> torch_seeds();

/// Multiprocessors of the device that the numbers come from, and the threads that each has room for.
inline constexpr int torch_multiprocessors = 132;
inline constexpr int torch_threads_per_multiprocessor = 2048;

/// A list of numbers of the programs, e.g. "seed2.t2".
std::vector<double> torch_numbers(const std::string& path);
/// A single number of the programs, e.g. "seed3.sum_result_double".
double torch_number(const std::string& path);

}  // namespace refrain::test
