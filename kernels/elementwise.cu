#include "kernels/elementwise.hpp"

#include "kernels/launch.cuh"

namespace refrain::kernels {
namespace {

constexpr int block_size = 256;

/// So many that nearly every thread has one turn. Adding 2^28 float32 on an H200 takes 783 us with 8 (all that are
/// resident at a time), 760 with 128, 744 with 512, 733 without a limit; blocks of 128 to 1024 threads make no
/// difference.
constexpr int blocks_per_multiprocessor = 4096;

/// Bytes of the widest access.
constexpr int access = 16;

// Contiguous ----------------------------------------------------------------------------------------

struct Contiguous {
  const void* a;  ///< null: a scalar
  const void* b;
  void* out;
  i64 size;
  i64 vector_end;  ///< elements before it are accessed as vectors
  u64 scalar_a;    ///< scalar_bits
  u64 scalar_b;
};

/// Elements per vector: 16 bytes of the output, or 4 elements where it is narrower than the input (16 bool would make
/// neighbouring threads read far apart).
template <class F>
constexpr int vector_width = sizeof(typename F::Out) >= sizeof(typename F::In) ? access / sizeof(typename F::Out) : 4;

template <class T, int n>
struct alignas(n * sizeof(T) < access ? n * sizeof(T) : access) Vector {
  T at[n];
};

template <class F, int n>
__device__ Vector<typename F::Out, n> apply(const Vector<typename F::In, n>& x, const Vector<typename F::In, n>& y) {
  Vector<typename F::Out, n> result;
#pragma unroll
  for (int k = 0; k < n; ++k) {
    if constexpr (F::arity == 2) {
      result.at[k] = F::apply(x.at[k], y.at[k]);
    } else {
      result.at[k] = F::apply(x.at[k]);
    }
  }
  return result;
}

/// One operand: an array, or `scalar` where there is none.
template <class T>
struct Source {
  const T* data;
  T scalar;

  template <int n>
  static __device__ Vector<T, n> fill(T value) {
    Vector<T, n> filled;
#pragma unroll
    for (int k = 0; k < n; ++k) filled.at[k] = value;
    return filled;
  }

  /// n elements from `at` on, which is aligned for a Vector.
  template <int n>
  __device__ Vector<T, n> load(i64 at) const {
    if (data == nullptr) return fill<n>(scalar);
    return *reinterpret_cast<const Vector<T, n>*>(data + at);
  }

  /// n elements from `at` on, `stride` apart.
  template <int n>
  __device__ Vector<T, n> load(i64 at, i64 stride, bool vectors) const {
    if (data == nullptr || vectors) return load<n>(at);
    if (stride == 0) return fill<n>(data[at]);
    Vector<T, n> loaded;
#pragma unroll
    for (int k = 0; k < n; ++k) loaded.at[k] = data[at + k * stride];
    return loaded;
  }
};

/// 256 threads a block, any grid. Reads size x sizeof(In) bytes per array, writes size x sizeof(Out); 16 bytes per
/// access before vector_end (where a, b and out must be aligned to 16), single elements from there on. Deterministic.
template <class F>
__global__ void __launch_bounds__(block_size) contiguous(const __grid_constant__ Contiguous params) {
  using In = typename F::In;
  using Out = typename F::Out;
  constexpr int width = vector_width<F>;
  const Source<In> a{static_cast<const In*>(params.a), from_bits<In>(params.scalar_a)};
  const Source<In> b{static_cast<const In*>(params.b), from_bits<In>(params.scalar_b)};
  Out* out = static_cast<Out*>(params.out);
  const i64 thread = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;

  for (i64 i = thread * width; i < params.vector_end; i += threads * width) {
    *reinterpret_cast<Vector<Out, width>*>(out + i) =
        apply<F, width>(a.template load<width>(i), b.template load<width>(i));
  }
  for (i64 i = params.vector_end + thread; i < params.size; i += threads) {
    out[i] = apply<F, 1>(a.template load<1>(i), b.template load<1>(i)).at[0];
  }
}

// Strided -------------------------------------------------------------------------------------------

struct Strided {
  const void* a;  ///< null: a scalar
  const void* b;
  void* out;
  i64 size;
  u64 scalar_a;  ///< scalar_bits
  u64 scalar_b;
  bool out_vectors;  ///< the last extent is a multiple of the vector width, and the output is aligned to 16
  bool a_vectors;    ///< besides, each row of the input is dense and aligned to 16
  bool b_vectors;
  int ndim;
  i64 extents[max_ndim];
  i64 a_strides[max_ndim];
  i64 b_strides[max_ndim];
};

/// Divides by 32 bits where both fit: several times faster.
__device__ i64 divide(i64 x, i64 y) {
  if (((x | y) >> 32) == 0) return static_cast<i64>(static_cast<u32>(x) / static_cast<u32>(y));
  return x / y;
}

/// n neighbours in one row a turn.
template <class F, int n>
__device__ void run_strided(const Strided& params) {
  using In = typename F::In;
  using Out = typename F::Out;
  const Source<In> a{static_cast<const In*>(params.a), from_bits<In>(params.scalar_a)};
  const Source<In> b{static_cast<const In*>(params.b), from_bits<In>(params.scalar_b)};
  Out* out = static_cast<Out*>(params.out);
  const int last = params.ndim - 1;
  const i64 thread = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;
  for (i64 i = thread * n; i < params.size; i += threads * n) {
    i64 rest = i;
    i64 at_a = 0;
    i64 at_b = 0;
    for (int axis = last; axis >= 0; --axis) {
      const i64 outer = axis > 0 ? divide(rest, params.extents[axis]) : 0;
      const i64 index = rest - outer * params.extents[axis];
      at_a += index * params.a_strides[axis];
      if constexpr (F::arity == 2) at_b += index * params.b_strides[axis];
      rest = outer;
    }
    const auto x = a.template load<n>(at_a, params.a_strides[last], n > 1 && params.a_vectors);
    const auto y = b.template load<n>(at_b, params.b_strides[last], n > 1 && params.b_vectors);
    *reinterpret_cast<Vector<Out, n>*>(out + i) = apply<F, n>(x, y);
  }
}

/// 256 threads a block, any grid, ndim >= 1. Reads size x sizeof(In) bytes per array (fewer from memory where it is
/// broadcast), writes size x sizeof(Out): 16 bytes per access where the params say so, else single elements.
/// Deterministic.
template <class F>
__global__ void __launch_bounds__(block_size) strided(const __grid_constant__ Strided params) {
  if (params.out_vectors) {
    run_strided<F, vector_width<F>>(params);
  } else {
    run_strided<F, 1>(params);
  }
}

// Tables --------------------------------------------------------------------------------------------

struct Kernels {
  void (*contiguous)(Contiguous);
  void (*strided)(Strided);
  int vector_width;
};

struct KernelsByType {
  Kernels of[5];  ///< indexed by Type
};

template <class F>
constexpr Kernels kernels_of() {
  return {contiguous<F>, strided<F>, vector_width<F>};
}

template <class Op, class T>
constexpr Kernels op_kernels() {
  if constexpr (is_defined<Op, T>) {
    return kernels_of<Apply<Op, T>>();
  } else {
    return {};
  }
}

template <class Op>
constexpr KernelsByType op_row() {
  return {{{}, op_kernels<Op, i32>(), op_kernels<Op, i64>(), op_kernels<Op, float>(), op_kernels<Op, double>()}};
}

/// Indexed by ElementwiseOp.
const KernelsByType op_table[] = {
#define REFRAIN_BINARY(name, expression) op_row<ops::name>(),
#define REFRAIN_UNARY(name, expression) op_row<ops::name>(),
#include "kernels/elementwise_table.hpp"
};

template <class To, class From>
constexpr Kernels copy_kernels() {
  if constexpr (!is_same<To, From>) {
    return kernels_of<Convert<To, From>>();
  } else if constexpr (sizeof(To) == 1) {
    return kernels_of<Move<unsigned char>>();
  } else if constexpr (sizeof(To) == 4) {
    return kernels_of<Move<u32>>();
  } else {
    return kernels_of<Move<u64>>();
  }
}

template <class To>
constexpr KernelsByType copy_row() {
  return {{copy_kernels<To, bool>(), copy_kernels<To, i32>(), copy_kernels<To, i64>(), copy_kernels<To, float>(),
           copy_kernels<To, double>()}};
}

/// Indexed by the output's Type, then by the input's.
const KernelsByType copy_table[] = {copy_row<bool>(), copy_row<i32>(), copy_row<i64>(), copy_row<float>(),
                                    copy_row<double>()};

const Kernels& find_kernels(const ElementwiseArgs& args) {
  const int in = static_cast<int>(args.in_type);
  if (args.op == ElementwiseOp::copy) return copy_table[static_cast<int>(args.out_type)].of[in];
  return op_table[static_cast<int>(args.op)].of[in];
}

// Launches ------------------------------------------------------------------------------------------

/// Enough blocks for one turn of each thread, up to a limit.
i64 grid_for(i64 turns, int multiprocessors) {
  const i64 needed = (turns - 1) / block_size + 1;
  const i64 most = static_cast<i64>(multiprocessors) * blocks_per_multiprocessor;
  return needed < most ? needed : most;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<u64>(pointer) % access == 0; }

cudaError_t launch_contiguous(const ElementwiseArgs& args, const Kernels& kernels, int multiprocessors,
                              const Target& target) {
  Contiguous params{};
  params.a = args.inputs[0].data;
  params.scalar_a = scalar_bits(args.in_type, args.inputs[0].scalar);
  if (args.input_count == 2) {
    params.b = args.inputs[1].data;
    params.scalar_b = scalar_bits(args.in_type, args.inputs[1].scalar);
  }
  params.out = args.out;
  params.size = args.size;
  i64 turns = args.size;
  if (is_aligned(params.a) && is_aligned(params.b) && is_aligned(params.out) && args.size >= kernels.vector_width) {
    turns = args.size / kernels.vector_width;
    params.vector_end = turns * kernels.vector_width;
  }
  return launch(kernels.contiguous, grid_for(turns, multiprocessors), block_size, params, target);
}

/// Whether each row of `width` elements or a multiple begins aligned to its vectors and is dense.
bool has_vectors(const ElementwiseInput& input, int ndim, int width) {
  if (input.data == nullptr || !is_aligned(input.data) || input.strides[ndim - 1] != 1) return false;
  for (int axis = 0; axis < ndim - 1; ++axis) {
    if (input.strides[axis] % width != 0) return false;
  }
  return true;
}

cudaError_t launch_strided(const ElementwiseArgs& args, const Kernels& kernels, int multiprocessors,
                           const Target& target) {
  const int width = kernels.vector_width;
  Strided params{};
  params.a = args.inputs[0].data;
  params.scalar_a = scalar_bits(args.in_type, args.inputs[0].scalar);
  if (args.input_count == 2) {
    params.b = args.inputs[1].data;
    params.scalar_b = scalar_bits(args.in_type, args.inputs[1].scalar);
  }
  params.out = args.out;
  params.size = args.size;
  params.ndim = args.ndim;
  for (int axis = 0; axis < args.ndim; ++axis) {
    params.extents[axis] = args.extents[axis];
    // A scalar's strides mean nothing, and nothing is read through them.
    params.a_strides[axis] = args.inputs[0].strides[axis];
    params.b_strides[axis] = args.inputs[1].strides[axis];
  }
  params.out_vectors = args.extents[args.ndim - 1] % width == 0 && is_aligned(args.out);
  if (params.out_vectors) {
    params.a_vectors = has_vectors(args.inputs[0], args.ndim, width);
    params.b_vectors = args.input_count == 2 && has_vectors(args.inputs[1], args.ndim, width);
  }
  const i64 turns = params.out_vectors ? args.size / width : args.size;
  return launch(kernels.strided, grid_for(turns, multiprocessors), block_size, params, target);
}

}  // namespace

cudaError_t launch_elementwise(const ElementwiseArgs& args, int multiprocessors, const Target& target) {
  const Kernels& kernels = find_kernels(args);
  if (kernels.contiguous == nullptr) return cudaErrorInvalidDeviceFunction;
  return args.contiguous ? launch_contiguous(args, kernels, multiprocessors, target)
                         : launch_strided(args, kernels, multiprocessors, target);
}

}  // namespace refrain::kernels
