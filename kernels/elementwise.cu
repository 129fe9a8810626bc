#include "kernels/elementwise.hpp"

#include "kernels/cuda.hpp"
#include "kernels/launch.hpp"

namespace refrain::kernels {
namespace {

constexpr int block_size = 256;
constexpr int blocks_per_multiprocessor = 8;

/// Bytes of the widest access.
constexpr int access = 16;

// Contiguous ----------------------------------------------------------------------------------------

struct Contiguous {
  const void* a;  ///< null: a scalar
  const void* b;
  void* out;
  i64 size;
  i64 vector_end;  ///< elements before it are accessed as vectors
  u64 scalar_a;  ///< scalar_bits
  u64 scalar_b;
};

/// Elements per vector: 16 bytes of each array if In and Out are of one size, else 4 elements.
template <class F>
constexpr int vector_width = sizeof(typename F::In) == sizeof(typename F::Out) ? access / sizeof(typename F::In) : 4;

template <class T, int n>
struct alignas(n * sizeof(T) < access ? n * sizeof(T) : access) Vector {
  T at[n];
};

/// One operand: element i, or `scalar` where there is no array.
template <class T>
struct Source {
  const T* data;
  T scalar;

  __device__ T load(i64 i) const { return data != nullptr ? data[i] : scalar; }

  template <int n>
  __device__ Vector<T, n> load_vector(i64 i) const {
    if (data != nullptr) return *reinterpret_cast<const Vector<T, n>*>(data + i);
    Vector<T, n> filled;
#pragma unroll
    for (int k = 0; k < n; ++k) filled.at[k] = scalar;
    return filled;
  }
};

/// 256 threads a block, any grid. Reads size x sizeof(In) bytes per array, writes size x sizeof(Out); 16 bytes per access
/// before vector_end (where a, b and out must be aligned to 16), single elements from there on. Deterministic.
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
    const auto x = a.template load_vector<width>(i);
    Vector<Out, width> result;
    if constexpr (F::arity == 2) {
      const auto y = b.template load_vector<width>(i);
#pragma unroll
      for (int k = 0; k < width; ++k) result.at[k] = F::apply(x.at[k], y.at[k]);
    } else {
#pragma unroll
      for (int k = 0; k < width; ++k) result.at[k] = F::apply(x.at[k]);
    }
    *reinterpret_cast<Vector<Out, width>*>(out + i) = result;
  }
  for (i64 i = params.vector_end + thread; i < params.size; i += threads) {
    if constexpr (F::arity == 2) {
      out[i] = F::apply(a.load(i), b.load(i));
    } else {
      out[i] = F::apply(a.load(i));
    }
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

/// 256 threads a block, any grid. Reads size x sizeof(In) bytes per array (fewer from memory where it is broadcast), writes
/// size x sizeof(Out), element by element. Deterministic.
template <class F>
__global__ void __launch_bounds__(block_size) strided(const __grid_constant__ Strided params) {
  using In = typename F::In;
  using Out = typename F::Out;
  const Source<In> a{static_cast<const In*>(params.a), from_bits<In>(params.scalar_a)};
  const Source<In> b{static_cast<const In*>(params.b), from_bits<In>(params.scalar_b)};
  Out* out = static_cast<Out*>(params.out);
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;
  for (i64 i = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x; i < params.size; i += threads) {
    i64 rest = i;
    i64 at_a = 0;
    i64 at_b = 0;
    for (int axis = params.ndim - 1; axis >= 0; --axis) {
      const i64 outer = axis > 0 ? divide(rest, params.extents[axis]) : 0;
      const i64 index = rest - outer * params.extents[axis];
      at_a += index * params.a_strides[axis];
      if constexpr (F::arity == 2) at_b += index * params.b_strides[axis];
      rest = outer;
    }
    if constexpr (F::arity == 2) {
      out[i] = F::apply(a.load(at_a), b.load(at_b));
    } else {
      out[i] = F::apply(a.load(at_a));
    }
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

/// Enough blocks for one turn of each thread, at most what the device holds at a time.
i64 grid_for(i64 turns, int multiprocessors) {
  const i64 needed = (turns - 1) / block_size + 1;
  const i64 most = static_cast<i64>(multiprocessors) * blocks_per_multiprocessor;
  return needed < most ? needed : most;
}

bool is_aligned(const void* pointer) { return reinterpret_cast<u64>(pointer) % access == 0; }

cudaError_t launch_contiguous(const ElementwiseArgs& args, const Kernels& kernels, int multiprocessors,
                              cudaStream_t stream) {
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
  return launch(kernels.contiguous, grid_for(turns, multiprocessors), block_size, params, stream);
}

cudaError_t launch_strided(const ElementwiseArgs& args, const Kernels& kernels, int multiprocessors,
                           cudaStream_t stream) {
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
  return launch(kernels.strided, grid_for(args.size, multiprocessors), block_size, params, stream);
}

}  // namespace

cudaError_t launch_elementwise(const ElementwiseArgs& args, int multiprocessors, cudaStream_t stream) {
  const Kernels& kernels = find_kernels(args);
  if (kernels.contiguous == nullptr) return cudaErrorInvalidDeviceFunction;
  return args.contiguous ? launch_contiguous(args, kernels, multiprocessors, stream)
                         : launch_strided(args, kernels, multiprocessors, stream);
}

}  // namespace refrain::kernels
