#pragma once

#include <cuda_runtime_api.h>

#include "kernels/elementwise.hpp"

// The kernels of elementwise ops, for the files that have tables of them.

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
  if (params.vectors) {
    run_strided<F, vector_width<F>()>(params);
  } else {
    run_strided<F, 1>(params);
  }
}

struct ElementwiseKernels {
  void (*contiguous)(Contiguous);
  void (*strided)(Strided);
  int vector_width;
};

/// The table entry of a functor.
template <class F>
struct KernelsOf {
  static constexpr ElementwiseKernels make() { return {contiguous<F>, strided<F>, vector_width<F>()}; }
};

/// The kernels of the ops with so many operands; empty where the op has another number, or the type none.
ElementwiseKernels find_unary_kernels(ElementwiseOp op, Type type);
ElementwiseKernels find_binary_kernels(ElementwiseOp op, Type type);
ElementwiseKernels find_ternary_kernels(ElementwiseOp op, Type type);
ElementwiseKernels find_copy_kernels(Type to, Type from);

}  // namespace refrain::kernels
