#pragma once

#include <cuda_runtime_api.h>

#include "kernels/dependency.hpp"
#include "kernels/elementwise_find.hpp"

// The kernels of elementwise ops.

namespace refrain::kernels {

inline constexpr int elementwise_block = 256;

/// Bytes of the widest access.
inline constexpr int access_bytes = 16;

struct Contiguous {
  const void* inputs[max_inputs];  ///< null: a scalar
  u64 scalars[max_inputs];         ///< scalar_bits
  void* out;
  i64 size;
  i64 vector_end;  ///< elements before it are accessed as vectors
};

struct Strided {
  const void* inputs[max_inputs];  ///< null: a scalar
  u64 scalars[max_inputs];         ///< scalar_bits
  void* out;
  i64 size;
  bool vectors;                    ///< each row of the output is dense, of whole vectors, and aligned to access_bytes
  bool input_vectors[max_inputs];  ///< besides, each row of the input is
  int ndim;                        ///< >= 1
  i64 extents[max_ndim];
  i64 out_strides[max_ndim];
  i64 strides[max_inputs][max_ndim];
};

template <class F, int k>
constexpr int input_size() {
  if constexpr (k < F::arity) {
    return sizeof(typename F::template In<k>);
  } else {
    return 0;
  }
}

/// Elements per vector: access_bytes of the output, or 4 elements where it is narrower than an input (16 bool would
/// make neighbouring threads read far apart).
template <class F>
constexpr int vector_width() {
  constexpr int out = sizeof(typename F::Out);
  return out >= input_size<F, 0>() && out >= input_size<F, 1>() && out >= input_size<F, 2>() ? access_bytes / out : 4;
}

template <class T, int n>
struct alignas(n * sizeof(T) < access_bytes ? n * sizeof(T) : access_bytes) Vector {
  T at[n];
};

/// n elements of input k; nothing where F has fewer inputs.
template <class F, int k, int n, bool is_used = (k < F::arity)>
struct Loaded {
  __device__ void load(const Contiguous&, i64) {}
  __device__ void load(const Strided&, i64) {}
};

template <class F, int k, int n>
struct Loaded<F, k, n, true> {
  using T = typename F::template In<k>;
  Vector<T, n> values;

  /// From `at` on, which is aligned for a Vector; the scalar where there is no array.
  __device__ void load(const Contiguous& params, i64 at) { load(params.inputs[k], params.scalars[k], at); }
  /// From `at` on along the last axis.
  __device__ void load(const Strided& params, i64 at) {
    const T* first = static_cast<const T*>(params.inputs[k]) + at;
    const i64 stride = params.strides[k][params.ndim - 1];
    if (params.inputs[k] == nullptr || (n > 1 && params.input_vectors[k])) {
      load(params.inputs[k], params.scalars[k], at);
    } else if (stride == 0) {
      fill(*first);
    } else {
#pragma unroll
      for (int i = 0; i < n; ++i) values.at[i] = first[i * stride];
    }
  }

 private:
  __device__ void fill(T value) {
#pragma unroll
    for (int i = 0; i < n; ++i) values.at[i] = value;
  }
  __device__ void load(const void* data, u64 scalar, i64 at) {
    if (data == nullptr) {
      fill(from_bits<T>(scalar));
    } else {
      values = *reinterpret_cast<const Vector<T, n>*>(static_cast<const T*>(data) + at);
    }
  }
};

/// n elements of every input, and what F makes of them.
template <class F, int n>
struct Operands {
  Loaded<F, 0, n> a;
  Loaded<F, 1, n> b;
  Loaded<F, 2, n> c;

  __device__ Vector<typename F::Out, n> apply() const {
    Vector<typename F::Out, n> result;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if constexpr (F::arity == 1) {
        result.at[i] = F::apply(a.values.at[i]);
      } else if constexpr (F::arity == 2) {
        result.at[i] = F::apply(a.values.at[i], b.values.at[i]);
      } else {
        result.at[i] = F::apply(a.values.at[i], b.values.at[i], c.values.at[i]);
      }
    }
    return result;
  }
};

template <class F, int n>
__device__ void run_contiguous(const Contiguous& params, i64 at) {
  Operands<F, n> operands;
  operands.a.load(params, at);
  operands.b.load(params, at);
  operands.c.load(params, at);
  *reinterpret_cast<Vector<typename F::Out, n>*>(static_cast<typename F::Out*>(params.out) + at) = operands.apply();
}

/// elementwise_block threads a block, any grid. Reads size x sizeof(In) bytes per array, writes size x sizeof(Out); 16
/// bytes per access before vector_end (where all arrays must be aligned to 16), single elements from there on.
/// Deterministic.
template <class F>
__global__ void __launch_bounds__(elementwise_block) contiguous(const __grid_constant__ Contiguous params) {
  wait_for_dependency();
  constexpr int width = vector_width<F>();
  const i64 thread = static_cast<i64>(blockIdx.x) * elementwise_block + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * elementwise_block;
  for (i64 i = thread * width; i < params.vector_end; i += threads * width) run_contiguous<F, width>(params, i);
  for (i64 i = params.vector_end + thread; i < params.size; i += threads) run_contiguous<F, 1>(params, i);
}

/// n neighbours in one row a turn.
template <class F, int n>
__device__ void run_strided(const Strided& params) {
  const i64 thread = static_cast<i64>(blockIdx.x) * elementwise_block + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * elementwise_block;
  for (i64 i = thread * n; i < params.size; i += threads * n) {
    i64 rest = i;
    i64 at_out = 0;
    i64 at[max_inputs] = {};
    for (int axis = params.ndim - 1; axis >= 0; --axis) {
      const i64 outer = axis > 0 ? divide(rest, params.extents[axis]) : 0;
      const i64 index = rest - outer * params.extents[axis];
      at_out += index * params.out_strides[axis];
#pragma unroll
      for (int k = 0; k < F::arity; ++k) at[k] += index * params.strides[k][axis];
      rest = outer;
    }
    Operands<F, n> operands;
    operands.a.load(params, at[0]);
    operands.b.load(params, at[1]);
    operands.c.load(params, at[2]);
    *reinterpret_cast<Vector<typename F::Out, n>*>(static_cast<typename F::Out*>(params.out) + at_out) =
        operands.apply();
  }
}

/// elementwise_block threads a block, any grid. Reads size x sizeof(In) bytes per array (fewer from memory where it is
/// broadcast), writes size x sizeof(Out): 16 bytes per access where the params say so, else single elements.
/// Deterministic.
template <class F>
__global__ void __launch_bounds__(elementwise_block) strided(const __grid_constant__ Strided params) {
  wait_for_dependency();
  if (params.vectors) {
    run_strided<F, vector_width<F>()>(params);
  } else {
    run_strided<F, 1>(params);
  }
}

/// A copy whose input is dense along another axis than its output.
struct Across {
  const void* in;
  void* out;
  i64 rows;        ///< the input's step along them is 1
  i64 columns;     ///< the output's is
  i64 in_step;     ///< along columns, in elements
  i64 out_step;    ///< along rows, in elements
  bool in_words;   ///< every row's and column's beginning in the input is aligned to a word of the kernel
  bool out_words;  ///< the same of the output
  i64 row_tiles;
  i64 column_tiles;
  i64 tiles;  ///< at all outer indices
  int outer_ndim;
  i64 outer_extents[max_ndim];
  i64 in_steps[max_ndim];
  i64 out_steps[max_ndim];
};

/// Words along each edge of a tile, and how many of its lines a block of threads does at a time.
inline constexpr int tile_edge = 32;
inline constexpr int tile_lines = elementwise_block / tile_edge;

/// Elements in a word of a tile. Where bits are kept words have 4 bytes or more: half of what is moved by the byte is
/// the instructions for it.
template <class F>
inline constexpr int tile_width = 1;
template <>
inline constexpr int tile_width<Move<u8>> = 4;
template <>
inline constexpr int tile_width<Move<u16>> = 2;

/// `count` of n neighbours, all at once where `is_word`.
template <class T, int n>
__device__ Vector<T, n> load_word(const T* from, i64 count, bool is_word) {
  if (is_word && count >= n) return *reinterpret_cast<const Vector<T, n>*>(from);
  Vector<T, n> word{};
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < count) word.at[i] = from[i];
  }
  return word;
}
template <class T, int n>
__device__ void store_word(T* to, Vector<T, n> word, i64 count, bool is_word) {
  if (is_word && count >= n) {
    *reinterpret_cast<Vector<T, n>*>(to) = word;
    return;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if (i < count) to[i] = word.at[i];
  }
}

/// tile_edge x tile_lines threads a block, any grid; each tile goes through shared memory, so that both sides are
/// accessed along their dense axes. Reads size x sizeof(In) bytes, writes size x sizeof(Out). Deterministic.
template <class F>
__global__ void __launch_bounds__(elementwise_block) across(const __grid_constant__ Across params) {
  wait_for_dependency();
  using In = typename F::template In<0>;
  using Out = typename F::Out;
  constexpr int n = tile_width<F>;
  // Row x * n + j of the tile, columns y * n to y * n + n - 1, is words[j][x][y]. One more word a line, so that both
  // ways of going through it meet all banks.
  __shared__ Vector<Out, n> words[n][tile_edge][tile_edge + 1];
  const int x = threadIdx.x;
  for (i64 tile = blockIdx.x; tile < params.tiles; tile += gridDim.x) {
    // Neighbouring blocks read neighbouring tiles.
    i64 rest = divide(tile, params.row_tiles);
    const i64 first_row = (tile - rest * params.row_tiles) * (tile_edge * n);
    i64 outer = divide(rest, params.column_tiles);
    const i64 first_column = (rest - outer * params.column_tiles) * (tile_edge * n);
    const In* in = static_cast<const In*>(params.in) + first_column * params.in_step + first_row;
    Out* out = static_cast<Out*>(params.out) + first_row * params.out_step + first_column;
    for (int axis = params.outer_ndim - 1; axis >= 0; --axis) {
      rest = axis > 0 ? divide(outer, params.outer_extents[axis]) : 0;
      const i64 index = outer - rest * params.outer_extents[axis];
      in += index * params.in_steps[axis];
      out += index * params.out_steps[axis];
      outer = rest;
    }
    const i64 rows = params.rows - first_row;
    const i64 columns = params.columns - first_column;
    __syncthreads();  // for the tile before
    constexpr int turns = tile_edge / tile_lines;
    // Without bounds all of a thread's loads are under way at once.
    if (rows >= tile_edge * n && columns >= tile_edge * n && params.in_words && params.out_words) {
      Vector<In, n> lines[turns][n];
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int i = 0; i < n; ++i) {
          const i64 column = (threadIdx.y + turn * tile_lines) * n + i;
          lines[turn][i] = *reinterpret_cast<const Vector<In, n>*>(in + column * params.in_step + x * n);
        }
      }
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
#pragma unroll
        for (int j = 0; j < n; ++j) {
          Vector<Out, n> word;
#pragma unroll
          for (int i = 0; i < n; ++i) word.at[i] = F::apply(lines[turn][i].at[j]);
          words[j][x][threadIdx.y + turn * tile_lines] = word;
        }
      }
      __syncthreads();
#pragma unroll
      for (int turn = 0; turn < turns; ++turn) {
        const int y = threadIdx.y + turn * tile_lines;
#pragma unroll
        for (int j = 0; j < n; ++j) {
          *reinterpret_cast<Vector<Out, n>*>(out + (y * n + j) * params.out_step + x * n) = words[j][y][x];
        }
      }
      continue;
    }
#pragma unroll
    for (int y = threadIdx.y; y < tile_edge; y += tile_lines) {
      Vector<In, n> lines[n];
#pragma unroll
      for (int i = 0; i < n; ++i) {
        const i64 column = y * n + i;
        lines[i] = load_word<In, n>(in + column * params.in_step + x * n, column < columns ? rows - x * n : 0,
                                    params.in_words);
      }
#pragma unroll
      for (int j = 0; j < n; ++j) {
        Vector<Out, n> word;
#pragma unroll
        for (int i = 0; i < n; ++i) word.at[i] = F::apply(lines[i].at[j]);
        words[j][x][y] = word;
      }
    }
    __syncthreads();
#pragma unroll
    for (int y = threadIdx.y; y < tile_edge; y += tile_lines) {
#pragma unroll
      for (int j = 0; j < n; ++j) {
        const i64 row = y * n + j;
        if (row < rows)
          store_word<Out, n>(out + row * params.out_step + x * n, words[j][y][x], columns - x * n, params.out_words);
      }
    }
  }
}

struct ElementwiseKernels {
  void (*contiguous)(Contiguous);
  void (*strided)(Strided);
  int vector_width;
  void (*across)(Across);  ///< null: no copy
  int tile_width;
};

/// The table entry of a functor.
template <class F>
struct KernelsOf {
  static constexpr ElementwiseKernels make() { return {contiguous<F>, strided<F>, vector_width<F>(), nullptr, 0}; }
};
template <class Bits>
struct KernelsOf<Move<Bits>> {
  using F = Move<Bits>;
  static constexpr ElementwiseKernels make() {
    return {contiguous<F>, strided<F>, vector_width<F>(), across<F>, tile_width<F>};
  }
};
template <class To, class From>
struct KernelsOf<Convert<To, From>> {
  using F = Convert<To, From>;
  static constexpr ElementwiseKernels make() {
    return {contiguous<F>, strided<F>, vector_width<F>(), across<F>, tile_width<F>};
  }
};

template <>
ElementwiseKernels Finders<KernelsOf>::unary(ElementwiseOp op, Type type);
template <>
ElementwiseKernels Finders<KernelsOf>::binary(ElementwiseOp op, Type type);
template <>
ElementwiseKernels Finders<KernelsOf>::ternary(ElementwiseOp op, Type type);
template <>
ElementwiseKernels Finders<KernelsOf>::copy(Type to, Type from);

}  // namespace refrain::kernels
