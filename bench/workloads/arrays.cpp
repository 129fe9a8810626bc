// Large arrays: what the memory's bandwidth allows, and chains of ops at three sizes.

#include "inputs.hpp"
#include "workload.hpp"

#include <refrain/movement.hpp>
#include <refrain/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

namespace refrain::bench {
namespace {

/// What is wrong with `size` elements, of which element i is to be `expected(i)` to within `bound` of the larger of it
/// and `scale`.
template <class Expected>
std::string first_difference(const Array& result, std::int64_t size, double bound, Expected expected,
                             double scale = 1) {
  const std::vector<float> found = result.to_vector<float>();
  if (std::ssize(found) != size) {
    return std::to_string(found.size()) + " elements where there should be " + std::to_string(size);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double wanted = expected(static_cast<std::int64_t>(i));
    const double off = std::abs(static_cast<double>(found[i]) - wanted);
    if (off <= bound * std::max(std::abs(wanted), scale)) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(found[i]) + " and not " + std::to_string(wanted);
  }
  return "";
}

double real(float x) { return static_cast<double>(x); }

Program copy() {
  const Array x = number_array({large});
  Array y = zeros({large});
  return {[x, y]() mutable -> std::vector<Array> {
            y.assign(x);
            return {y};
          },
          {},
          [](const std::vector<Array>& results, int) {
            return first_difference(results[0], large, 0, [](std::int64_t i) { return real(number_at(i)); });
          }};
}

Program add() {
  const Array x = number_array({large});
  const Array y = number_array({large}).flip(0).contiguous();
  return {[x, y]() -> std::vector<Array> { return {x + y}; },
          {},
          [](const std::vector<Array>& results, int) {
            return first_difference(results[0], large, 1e-7,
                                    [](std::int64_t i) { return real(number_at(i)) + real(number_at(large - 1 - i)); });
          }};
}

Program total() {
  const Array x = number_array({large});
  double exact = 0;
  for (std::int64_t i = 0; i < large; ++i) exact += real(number_at(i));
  return {[x]() -> std::vector<Array> { return {sum(x)}; },
          {},
          [exact](const std::vector<Array>& results, int) {
            return first_difference(results[0], 1, 1e-7, [exact](std::int64_t) { return exact; });
          }};
}

/// Sums of a matrix along one axis.
Program totals(std::int64_t rows, std::int64_t columns, int axis) {
  const Array x = number_array({rows, columns});
  return {[x, axis]() -> std::vector<Array> { return {sum(x, axis)}; },
          {},
          [=](const std::vector<Array>& results, int) {
            std::vector<double> exact(static_cast<std::size_t>(axis == 0 ? columns : rows));
            for (std::int64_t i = 0; i < rows * columns; ++i) {
              exact[static_cast<std::size_t>(axis == 0 ? i % columns : i / columns)] += real(number_at(i));
            }
            return first_difference(results[0], std::ssize(exact), 1e-7,
                                    [&](std::int64_t i) { return exact[static_cast<std::size_t>(i)]; });
          }};
}

Program rolled() {
  const Array x = number_array({transposed_extent, transposed_extent});
  return {[x]() -> std::vector<Array> { return {roll(x, 1, 1)}; },
          {},
          [](const std::vector<Array>& results, int) {
            return first_difference(results[0], large, 0, [](std::int64_t i) {
              return real(number_at(i % transposed_extent == 0 ? i + transposed_extent - 1 : i - 1));
            });
          }};
}

Program transpose() {
  const Array x = number_array({transposed_extent, transposed_extent});
  return {[x]() -> std::vector<Array> { return {x.transpose(0, 1).contiguous()}; },
          {},
          [](const std::vector<Array>& results, int) {
            return first_difference(results[0], large, 0, [](std::int64_t i) {
              return real(number_at(i % transposed_extent * transposed_extent + i / transposed_extent));
            });
          }};
}

Program chain(std::int64_t elements) {
  const Array start = number_array({elements});
  const Array y = start * 0.25f + 1;
  return {[start, y]() -> std::vector<Array> {
            Array z = start;
            for (int i = 0; i < chain_pairs; ++i) {
              z = z * chain_scale;
              z = z + y;
            }
            return {z};
          },
          {},
          [elements](const std::vector<Array>& results, int) {
            return first_difference(results[0], elements, 1e-5, [](std::int64_t i) {
              double z = real(number_at(i));
              const double addend = z * 0.25 + 1;
              for (int k = 0; k < chain_pairs; ++k) z = z * real(chain_scale) + addend;
              return z;
            });
          }};
}

Program shares() {
  const Array x = number_array({matrix_rows, matrix_columns}) * 8;
  return {[x]() -> std::vector<Array> { return {softmax(x)}; },
          {},
          [](const std::vector<Array>& results, int) {
            std::vector<double> totals(matrix_rows);
            for (std::int64_t i = 0; i < matrix_rows * matrix_columns; ++i) {
              totals[static_cast<std::size_t>(i / matrix_columns)] += std::exp(real(number_at(i)) * 8);
            }
            const auto share = [&](std::int64_t i) {
              return std::exp(real(number_at(i)) * 8) / totals[static_cast<std::size_t>(i / matrix_columns)];
            };
            return first_difference(results[0], matrix_rows * matrix_columns, 2e-6, share, 0);
          }};
}

Workload chain_workload(const char* name, const char* size, std::int64_t elements) {
  return {name, std::string("50 times z = z * 0.999f; z = z + y on ") + size + " float32", 2 * chain_pairs,
          2 * chain_pairs - 1, [elements] { return chain(elements); }};
}

}  // namespace

std::vector<Workload> array_workloads() {
  return {{"copy_64m", "y = x of 2^26 float32, 256 MiB", 1, 0, copy},
          {"add_64m", "z = x + y of 2^26 float32", 1, 0, add},
          {"sum_64m", "the sum of 2^26 float32", 2, 1, total},
          {"sum_rows_64m", "the sums of 65536 rows of 1024 float32", 1, 0, [] { return totals(65536, 1024, 1); }},
          {"sum_columns_64m", "the sums of 8192 columns of 8192 float32", 1, 0, [] { return totals(8192, 8192, 0); }},
          {"roll_64m", "each row of 8192 x 8192 float32 moved on by one", 1, 0, rolled},
          {"transpose_8k", "the transpose of 8192 x 8192 float32, 256 MiB, side by side", 1, 0, transpose},
          chain_workload("chain_100_1k", "1 000", 1000),
          chain_workload("chain_100_1m", "2^20", std::int64_t{1} << 20),
          chain_workload("chain_100_64m", "2^26", large),
          {"softmax_4096x1024", "softmax of 4096 rows of 1024 float32", 1, 0, shares}};
}

}  // namespace refrain::bench
