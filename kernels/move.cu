#include "kernels/dependency.hpp"
#include "kernels/launch.cuh"
#include "kernels/move.hpp"

namespace refrain::kernels {
namespace {

constexpr int block_size = 256;

/// Bytes that a thread writes at a time.
constexpr int access_bytes = 16;

template <class T>
struct alignas(access_bytes) Elements {
  static constexpr int count = access_bytes / sizeof(T);
  T at[count];
};

__device__ bool is_aligned(const void* pointer) { return reinterpret_cast<u64>(pointer) % access_bytes == 0; }

/// block_size threads a block, any grid. Writes size x sizeof(T) bytes, 16 per access where the output is aligned to
/// them, else and at the end single elements. Deterministic.
template <class T>
__global__ void __launch_bounds__(block_size) count(const __grid_constant__ MoveArgs args) {
  wait_for_dependency();
  constexpr int width = Elements<T>::count;
  T* out = static_cast<T*>(args.out);
  const i64 thread = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;
  for (i64 i = thread * width; i < args.size; i += threads * width) {
    if (i + width <= args.size && is_aligned(out)) {
      Elements<T> numbers;
#pragma unroll
      for (int k = 0; k < width; ++k) numbers.at[k] = number_at<T>(args, i + k);
      *reinterpret_cast<Elements<T>*>(out + i) = numbers;
    } else {
      for (int k = 0; k < width && i + k < args.size; ++k) out[i + k] = number_at<T>(args, i + k);
    }
  }
}

/// Elements<Bits>::count elements of one run.
template <class Bits, class Index>
__device__ Elements<Bits> elements_of(const MoveArgs& args, const Run& run) {
  constexpr int width = Elements<Bits>::count;
  Elements<Bits> elements;
  const int last = args.ndim - 1;
  i64 place = 0;
  if (args.index_strides[last] != 0) {
#pragma unroll
    for (int k = 0; k < width; ++k) elements.at[k] = element_of<Bits, Index>(args, run, k);
  } else if (!find_element<Index>(args, run, 0, place)) {
#pragma unroll
    for (int k = 0; k < width; ++k) elements.at[k] = from_bits<Bits>(args.fill);
  } else {
    const Bits* from = static_cast<const Bits*>(args.in) + place;
    const i64 stride = args.strides[last];
    if (stride == 1 && is_aligned(from)) return *reinterpret_cast<const Elements<Bits>*>(from);
#pragma unroll
    for (int k = 0; k < width; ++k) elements.at[k] = from[k * stride];
  }
  return elements;
}

/// block_size threads a block, any grid. Reads and writes size x sizeof(Bits) bytes, and the indices. A thread writes
/// 16 bytes at a time, and works out once where they come from (a division by the extent of each axis but the first),
/// unless an axis ends or turns among them or the output is not aligned. Reads 16 bytes at a time where the input is
/// aligned, else element by element, of lines that its neighbours read too. Deterministic.
template <class Bits, class Index>
__global__ void __launch_bounds__(block_size) gather(const __grid_constant__ MoveArgs args) {
  wait_for_dependency();
  constexpr int width = Elements<Bits>::count;
  Bits* out = static_cast<Bits*>(args.out);
  const i64 thread = static_cast<i64>(blockIdx.x) * block_size + threadIdx.x;
  const i64 threads = static_cast<i64>(gridDim.x) * block_size;
  for (i64 i = thread * width; i < args.size; i += threads * width) {
    Run run = run_at(args, i);
    if (run.length >= width && is_aligned(out)) {
      *reinterpret_cast<Elements<Bits>*>(out + i) = elements_of<Bits, Index>(args, run);
      continue;
    }
    i64 begin = i;  // of the run
    for (i64 at = i; at < i + width && at < args.size; ++at) {
      if (at - begin == run.length) {
        run = run_at(args, at);
        begin = at;
      }
      out[at] = element_of<Bits, Index>(args, run, at - begin);
    }
  }
}

template <class T>
struct CountKernel {
  static constexpr auto make() { return count<T>; }
};

template <class Bits, class Index>
struct GatherKernel {
  static constexpr auto make() { return gather<Bits, Index>; }
};

}  // namespace

cudaError_t launch_move(const MoveArgs& args, const Target& target) {
  constexpr i64 most_blocks = 2147483647;
  const auto kernel = args.op == MoveOp::count ? find_count<CountKernel>(args.type) : find_gather<GatherKernel>(args);
  if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  const i64 width = access_bytes >> size_exponent(args.type);
  const i64 needed = ((args.size - 1) / width) / block_size + 1;
  return launch(kernel, needed < most_blocks ? needed : most_blocks, block_size, args, target);
}

}  // namespace refrain::kernels
