// Large arrays and chains of ops of workloads/arrays.cpp; the sum is CUB's, which adds in float32.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

#include <cub/device/device_reduce.cuh>

namespace refrain::bench {
namespace {

constexpr int large_size = static_cast<int>(large);
constexpr std::size_t large_bytes = static_cast<std::size_t>(large) * sizeof(float);

RawProgram copy(int) {
  const auto x = make_device_copy(numbers(large));
  const auto y = make_device_array<float>(large_size);
  return {.step =
              [x, y](cudaStream_t stream) {
                check(cudaMemcpyAsync(y.get(), x.get(), large_bytes, cudaMemcpyDeviceToDevice, stream));
              },
          .results = {{y.get(), large_bytes}},
          .is_stateless = true};
}

RawProgram add(int) {
  const std::vector<float> values = numbers(large);
  const auto x = make_device_copy(values);
  const auto y = make_device_copy({values.rbegin(), values.rend()});
  const auto z = make_device_array<float>(large_size);
  return {.step = [x, y, z](cudaStream_t stream) { map(stream, Add{}, x.get(), y.get(), z.get(), large_size); },
          .results = {{z.get(), large_bytes}},
          .is_stateless = true};
}

RawProgram sum(int) {
  const auto x = make_device_copy(numbers(large));
  const auto result = make_device_array<float>(1);
  std::size_t scratch_bytes = 0;
  const auto call = [x, result](void* scratch, std::size_t& bytes, cudaStream_t stream) {
    check(cub::DeviceReduce::Sum(scratch, bytes, static_cast<const float*>(x.get()), result.get(), large_size, stream));
  };
  call(nullptr, scratch_bytes, nullptr);
  return {.step =
              [call, scratch = make_device_bytes(scratch_bytes), scratch_bytes](cudaStream_t stream) {
                std::size_t bytes = scratch_bytes;
                call(scratch.get(), bytes, stream);
              },
          .results = {{result.get(), sizeof(float)}},
          .is_stateless = true,
          .has_nodes_of_its_own = true,
          .tolerance = 1e-5};
}

constexpr int tile = 32;
constexpr int tile_rows = 8;  // that a block takes at once

/// Tiles of a square matrix through shared memory, so that reads and writes are both of whole lines.
__global__ void transpose_tiles(const float* in, float* out, int extent) {
  __shared__ float values[tile][tile + 1];  // the extra column spreads a column over the banks
  const int tiles = extent / tile;
  const int row = static_cast<int>(blockIdx.x) / tiles * tile;
  const int column = static_cast<int>(blockIdx.x) % tiles * tile;
  const int x = static_cast<int>(threadIdx.x) % tile;
  const int y = static_cast<int>(threadIdx.x) / tile;
  for (int k = y; k < tile; k += tile_rows) {
    values[k][x] = in[static_cast<std::int64_t>(row + k) * extent + column + x];
  }
  __syncthreads();
  for (int k = y; k < tile; k += tile_rows) {
    out[static_cast<std::int64_t>(column + k) * extent + row + x] = values[x][k];
  }
}

RawProgram transpose(int) {
  constexpr int extent = static_cast<int>(transposed_extent);
  static_assert(transposed_extent * transposed_extent == large);
  const auto x = make_device_copy(numbers(large));
  const auto result = make_device_array<float>(large_size);
  return {.step =
              [x, result](cudaStream_t stream) {
                launch(transpose_tiles, extent / tile * (extent / tile), tile * tile_rows, stream,
                       static_cast<const float*>(x.get()), result.get(), int{extent});
              },
          .results = {{result.get(), large_bytes}},
          .is_stateless = true};
}

RawProgram chain(int size) {
  const std::vector<float> values = numbers(size);
  std::vector<float> summands;
  for (const float value : values) summands.push_back(value * 0.25F + 1);
  const auto z = make_device_array<float>(static_cast<std::size_t>(size));
  return {.step =
              [start = make_device_copy(values), y = make_device_copy(summands), z, size](cudaStream_t stream) {
                for (int i = 0; i < chain_pairs; ++i) {
                  map(stream, Scale{chain_scale}, i == 0 ? start.get() : z.get(), z.get(), size);
                  map(stream, Add{}, z.get(), y.get(), z.get(), size);
                }
              },
          .results = {{z.get(), static_cast<std::size_t>(size) * sizeof(float)}},
          .is_stateless = true};
}

Baseline raw_chain(const char* workload, int size) {
  return raw_graph(workload, [size](int) { return chain(size); });
}

}  // namespace

std::vector<Baseline> raw_arrays() {
  return {raw_graph("copy_64m", copy),           raw_graph("add_64m", add),       raw_graph("sum_64m", sum),
          raw_graph("transpose_8k", transpose),  raw_chain("chain_100_1k", 1000), raw_chain("chain_100_1m", 1 << 20),
          raw_chain("chain_100_64m", large_size)};
}

}  // namespace refrain::bench
