#include "support_foreign_work.hpp"

#include <refrain/cuda.hpp>
#include <refrain/enqueue.hpp>

namespace refrain::test {

namespace {

constexpr unsigned block = 128;

__global__ void blend(float* to, const float* from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x;
  if (i < count) to[i] = to[i] / 2 + from[i];
}

__global__ void triple(float* to, const float* from, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * block + threadIdx.x;
  if (i < count) to[i] = 3 * from[i];
}

unsigned blocks_for(std::int64_t count) { return static_cast<unsigned>((count + block - 1) / block); }

LaunchConfig config(const char* label, std::int64_t count) {
  return {.grid = blocks_for(count), .block = block, .label = label};
}

}  // namespace

void cuda_blend(const Stream& stream, Way way, const Array& to, const Array& from) {
  const std::int64_t count = to.size();
  if (way == Way::launch) return stream.launch(config("blend", count), blend, readwrite(to), read(from), count);
  stream.enqueue("blend", readwrite(to), read(from), [&](cudaStream_t on, float* y, const float* x) {
    blend<<<blocks_for(count), block, 0, on>>>(y, x, count);
  });
}

void cuda_triple(const Stream& stream, Way way, const Array& to, const Array& from) {
  const std::int64_t count = to.size();
  if (way == Way::launch) return stream.launch(config("triple", count), triple, write(to), read(from), count);
  stream.enqueue("triple", write(to), read(from), [&](cudaStream_t on, float* y, const float* x) {
    triple<<<blocks_for(count), block, 0, on>>>(y, x, count);
  });
}

void cuda_undeclared_blend(const Stream& stream, Way way, float* to, const float* from, std::int64_t count) {
  if (way == Way::launch) return stream.launch(config("undeclared_blend", count), blend, to, from, count);
  stream.enqueue("undeclared_blend",
                 [&](cudaStream_t on) { blend<<<blocks_for(count), block, 0, on>>>(to, from, count); });
}

}  // namespace refrain::test
