#pragma once

#include <refrain/source_location.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

namespace refrain::bench {

/// @throws std::runtime_error with CUDA's name for the status and the line, unless it is success
void check(cudaError_t status, SourceLocation where = SourceLocation::current());

// CUDA's objects with an owner; destroyed when the last copy goes.
using StreamHandle = std::shared_ptr<CUstream_st>;
using EventHandle = std::shared_ptr<CUevent_st>;
using GraphHandle = std::shared_ptr<CUgraph_st>;
using GraphExecHandle = std::shared_ptr<CUgraphExec_st>;
using PoolHandle = std::shared_ptr<CUmemPoolHandle_st>;

StreamHandle make_stream();  ///< not ordered with the legacy default stream
EventHandle make_event();    ///< without timing
/// Keeps all memory it ever held.
PoolHandle make_pool(int device);

std::shared_ptr<std::byte> make_device_bytes(std::size_t bytes);
template <class T>
std::shared_ptr<T> make_device_array(std::size_t count) {
  return std::reinterpret_pointer_cast<T>(make_device_bytes(count * sizeof(T)));
}
/// With these elements.
template <class T = float>
std::shared_ptr<T> make_device_copy(const std::vector<T>& values) {
  auto made = make_device_array<T>(values.size());
  check(cudaMemcpy(made.get(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return made;
}

/// Elements that begin at a multiple of 16 bytes, four by four.
inline __host__ __device__ const float4* quads_of(const float* values) {
  return reinterpret_cast<const float4*>(values);
}
inline __host__ __device__ float4* quads_of(float* values) { return reinterpret_cast<float4*>(values); }

/// Launches without shared memory, `arguments` being exactly of the kernel's parameter types.
template <class... Parameter>
void launch(void (*kernel)(Parameter...), int grid, int block, cudaStream_t stream, Parameter... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(grid)),
                         dim3(static_cast<unsigned>(block)), pointers, 0, stream));
}

}  // namespace refrain::bench
