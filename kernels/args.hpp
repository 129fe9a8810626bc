#pragma once

#include "kernels/config.hpp"

// The plain parameters of Refrain's kernels, the same struct on the host, in a recorded command and as a CUDA kernel
// parameter. `data` pointers are null in a command and are filled in when its addresses are known.

namespace refrain::kernels {

inline constexpr int max_ndim = 8;

/// Mirrors refrain::DType (checked where both are visible).
enum class Type : unsigned char { bool_, uint8, int32, int64, float16, bfloat16, float32, float64 };

inline constexpr int type_count = 8;

/// Ops of the table, then what the table cannot say: `copy` moves and converts (input and output types may differ),
/// `where` takes from its second input where the first, of bool, is true, and else from the third.
enum class ElementwiseOp : unsigned char {
#define REFRAIN_UNARY(name, domain, result, expression) name,
#define REFRAIN_BINARY(name, domain, result, expression) name,
#define REFRAIN_TERNARY(name, domain, result, expression) name,
#include "kernels/elementwise_table.hpp"
  copy,
  where
};

/// A scalar kernel parameter, read as the member of its type.
union Value {
  i64 i;
  double f;
};

inline constexpr int max_inputs = 3;

/// One input: an array (`data` set, strides in elements, 0 where broadcast) or a scalar (`data` null).
struct ElementwiseInput {
  const void* data;       ///< of the first element; strides may be negative
  Value scalar;           ///< i for bool and integers, f for floats; already converted to the input type
  i64 strides[max_ndim];  ///< meaningful unless `contiguous`
};

/// out[i] = op(inputs[0][i], inputs[1][i], ...) over `size` elements. Reads size x sizeof(input) per array input,
/// writes size x sizeof(output) bytes. Deterministic. `data` pointers are aligned to their element.
struct ElementwiseArgs {
  ElementwiseOp op;
  Type in_type;  ///< of all inputs but the first of `where`
  Type out_type;
  bool contiguous;  ///< the output is dense and row-major, and every array input is laid out as it is
  int input_count;  ///< 1 to max_inputs
  int ndim;         ///< after merging axes; strides and extents run from the outermost axis
  i64 size;         ///< > 0
  void* out;        ///< the first element; no two lie at one address
  ElementwiseInput inputs[max_inputs];
  i64 extents[max_ndim];
  i64 out_strides[max_ndim];  ///< meaningful unless `contiguous`
};

/// The reductions, then what reduces the results of their chunks where their own op does not.
enum class ReduceOp : unsigned char {
  sum,
  prod,
  sum_of_squares,
  min,
  max,
  argmin,
  argmax,
  any,
  all,
  dot,
  var,
  logsumexp,
  softmax,
  found,      ///< of argmin and argmax
  log_of_sum  ///< of logsumexp
};

/// out[row * chunks + c] = op over the elements of a row: of chunk c where there is more than one, in the order of
/// `reduce.hpp`. softmax: an element of `out` for each of `in`. Reads rows x n x sizeof(in) bytes (twice for var and
/// logsumexp where `other` is null, up to three times for softmax), writes rows x chunks x sizeof(out). Deterministic.
struct ReduceArgs {
  ReduceOp op;
  Type in_type;
  Type acc_type;   ///< of intermediate results
  Type out_type;   ///< acc_type where `chunks` > 1
  bool root;       ///< the result is the square root of the sum
  i64 rows;        ///< > 0
  i64 n;           ///< elements of a row, > 0
  i64 chunks;      ///< results of a row
  double divisor;  ///< of the result
  const void* in;  ///< the first element
  /// dot: the other factor. var, logsumexp: the mean, or the maximum, of each row, if that is known; the maximum for
  /// log_of_sum too.
  const void* other;
  i64 other_stride;  ///< of dot
  void* out;         ///< dense
  // Axes that are kept and axes that are reduced, after merging; strides in elements.
  int kept_ndim;
  int reduced_ndim;
  i64 kept_extents[max_ndim];
  i64 kept_strides[max_ndim];
  i64 reduced_extents[max_ndim];
  i64 reduced_strides[max_ndim];
  // Of softmax, which has one reduced axis.
  i64 out_kept_strides[max_ndim];
  i64 out_stride;
};

/// `count`: numbers at equal distances. `gather`: elements from other places of an array.
enum class MoveOp : unsigned char { count, gather };

/// out[i] for i < `size`, dense. Deterministic. Writes size x sizeof(type) bytes; `gather` reads as many of the input,
/// and an index for each position of the axes that have them.
///
/// `count`: start + i * step, each of the two steps rounded to float64, or in integers where `is_whole`, which is
/// exact; then converted to the type. With `has_last` the last number is `last`.
///
/// `gather`: walks through axes whose strides lead through the input (`in`), through indices (`indices`), or neither.
/// What an index names is found along the taken axes and added. Every position of an axis is that of the input `shift`
/// before it, around the axis's end; every i likewise is that `flat_shift` before it.
struct MoveArgs {
  MoveOp op;
  Type type;
  i64 size;   ///< > 0
  void* out;  ///< the first element

  bool is_whole;  ///< `i` of the values, else `f`
  bool has_last;
  Value start, step, last;

  const void* in;       ///< of the first element; strides may be negative
  const void* indices;  ///< the first one; they are counted from the end when negative
  bool has_indices;
  bool wide_indices;  ///< int64, else int32
  u64 fill;           ///< what an index that is out of range gives: scalar_bits
  i64 flat_shift;     ///< 0 to size - 1
  int ndim;           ///< after merging axes, >= 1
  i64 extents[max_ndim];
  i64 strides[max_ndim];
  i64 index_strides[max_ndim];
  i64 shifts[max_ndim];  ///< 0 to extent - 1
  // The axes that an index counts along, in row-major order, after merging.
  i64 taken_size;
  int taken_ndim;
  i64 taken_extents[max_ndim];
  i64 taken_strides[max_ndim];
};

enum class Distribution : unsigned char {
  uniform,      ///< [first, second): floating types
  normal,       ///< of mean `first` and standard deviation `second`: floating types
  bernoulli,    ///< 1 with probability `first`, else 0: bool and floating types
  exponential,  ///< of rate `first`: floating types
  randint32,    ///< low + (32 random bits % range): int32, int64
  randint64     ///< low + (64 random bits % range): int32, int64
};

/// Cells before the offsets of a device's counters: the seed, and how far one replay moves the generator.
inline constexpr int counter_header = 2;

/// `size` random numbers of Philox4x32-10 in the layout of PyTorch's CUDA generator: grid x 256 threads, thread t is
/// subsequence t; each of its 4-word draws fills elements t + k * grid * 256. Writes size x sizeof(type) bytes.
struct RandomArgs {
  Distribution distribution;
  Type type;
  int grid;              ///< blocks of 256 threads, part of the layout
  i64 size;              ///< > 0
  i64 low;               ///< randint
  u64 range;             ///< randint, > 0
  double first, second;  ///< the other distributions
  u64 seed;
  u64 offset;  ///< multiple of 4; what the generator stood at
  void* out;
  // CUDA graphs: when `counters` is not null, block b takes its offset from counters[b] and the seed from
  // counter_cells[0] in place of `seed` and `offset`, and leaves counters[b] counter_cells[1] further.
  const u64* counter_cells;
  u64* counters;
};

}  // namespace refrain::kernels
