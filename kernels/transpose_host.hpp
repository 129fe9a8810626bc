#pragma once

#include "kernels/config.hpp"

#include <cstring>
#include <utility>

// Transposed blocks of host memory, for copies and for operands that lie across the output.

namespace refrain::kernels {

/// Copies `columns` x `rows` elements of T: in[column * in_step + row] to out[row * out_step + column]. Steps are in
/// elements.
template <class T>
class Transpose {
 public:
  static void run(void* out, i64 out_step, const void* in, i64 in_step, i64 rows, i64 columns) {
    auto* to = static_cast<T*>(out);
    const auto* from = static_cast<const T*>(in);
    const i64 row_end = rows - rows % n;
    const i64 column_end = columns - columns % n;
    for (i64 row = 0; row < row_end; row += n) {
      for (i64 column = 0; column < column_end; column += n) {
        square(to + row * out_step + column, out_step, from + column * in_step + row, in_step);
      }
    }
    edge(to, out_step, from, in_step, {0, row_end}, {column_end, columns});
    edge(to, out_step, from, in_step, {row_end, rows}, {0, columns});
  }

 private:
  static constexpr int n = 16 / sizeof(T);
  using Vector __attribute__((vector_size(16))) = T;
  struct Range {
    i64 begin, end;
  };

  static void edge(T* out, i64 out_step, const T* in, i64 in_step, Range rows, Range columns) {
    for (i64 row = rows.begin; row < rows.end; ++row) {
      for (i64 column = columns.begin; column < columns.end; ++column) {
        out[row * out_step + column] = in[column * in_step + row];
      }
    }
  }

  /// a[0], b[0], a[1], b[1], ... of the lower (0) or upper (n / 2) halves.
  template <int half, int... i>
  static Vector interleave(Vector a, Vector b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (half + i / 2 + i % 2 * n)...);
  }

  /// n x n: as often as n is a power of two, vectors i and i + n / 2 are interleaved.
  static void square(T* out, i64 out_step, const T* in, i64 in_step) {
    constexpr auto all = std::make_integer_sequence<int, n>();
    Vector v[n];
    Vector next[n];
    for (int i = 0; i < n; ++i) std::memcpy(&v[i], in + i * in_step, sizeof v[i]);
    for (int done = 1; done < n; done *= 2) {
      for (int i = 0; i < n / 2; ++i) {
        next[2 * i] = interleave<0>(v[i], v[i + n / 2], all);
        next[2 * i + 1] = interleave<n / 2>(v[i], v[i + n / 2], all);
      }
      for (int i = 0; i < n; ++i) v[i] = next[i];
    }
    for (int i = 0; i < n; ++i) std::memcpy(out + i * out_step, &v[i], sizeof v[i]);
  }
};

using TransposeBlock = void (*)(void* out, i64 out_step, const void* in, i64 in_step, i64 rows, i64 columns);

/// For elements of 2^exponent bytes.
inline TransposeBlock find_transpose(int exponent) {
  constexpr TransposeBlock blocks[] = {Transpose<u8>::run, Transpose<u16>::run, Transpose<u32>::run,
                                       Transpose<u64>::run};
  return blocks[exponent];
}

}  // namespace refrain::kernels
