#include "cuda/counters.hpp"

#include "cuda/scopes.hpp"
#include "cuda/stream.hpp"
#include "cuda/upload.hpp"
#include "kernels/cuda.cuh"

#include <algorithm>

namespace refrain::cuda {

namespace {

// Chunks grow, so that many graphs of few small draws are as cheap as one of many large ones.
constexpr std::int64_t first_chunk_entries = 512;
constexpr std::int64_t most_chunk_entries = 16 * 1024;

static_assert(sizeof(kernels::u64) == sizeof(std::uint64_t));
kernels::u64* as_u64(std::uint64_t* cells) noexcept { return reinterpret_cast<kernels::u64*>(cells); }

std::uint64_t* allocate_cells(std::int64_t count) {
  void* address = nullptr;
  REFRAIN_CUDA_CHECK(cudaMalloc(&address, static_cast<std::size_t>(count) * sizeof(std::uint64_t)));
  return static_cast<std::uint64_t*>(address);
}

}  // namespace

Counters::~Counters() {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  for (const Chunk& chunk : chunks_) {
    ignore(cudaFree(chunk.cells));
    ignore(cudaFree(chunk.relative));
  }
  if (own_stream_ != nullptr) ignore(cudaStreamDestroy(own_stream_));
  if (after_ != nullptr) ignore(cudaEventDestroy(after_));
}

void Counters::place(std::uint64_t offset, int grid, kernels::RandomArgs& args) {
  if (chunks_.empty() || static_cast<std::int64_t>(chunks_.back().table.size()) + grid > chunks_.back().capacity) {
    const DeviceScope current(device_);
    const CallScope call;
    const std::int64_t usual =
        chunks_.empty() ? first_chunk_entries : std::min(2 * chunks_.back().capacity, most_chunk_entries);
    Chunk& chunk = chunks_.emplace_back();
    chunk.capacity = std::max<std::int64_t>(grid, usual);
    chunk.cells = allocate_cells(chunk.capacity + kernels::counter_header);
    chunk.relative = allocate_cells(chunk.capacity);
  }
  Chunk& chunk = chunks_.back();
  args.counter_cells = as_u64(chunk.cells);
  args.counters = as_u64(chunk.cells) + kernels::counter_header + chunk.table.size();
  chunk.table.insert(chunk.table.end(), static_cast<std::size_t>(grid), offset);
}

void Counters::finish(std::uint64_t increment) {
  increment_ = increment;
  for (Chunk& chunk : chunks_) {
    upload(device_, chunk.relative, chunk.table.data(), chunk.table.size() * sizeof(std::uint64_t));
  }
}

void Counters::prepare(runtime::GeneratorPosition at, runtime::StreamCore& stream) {
  if (known_ && at == expected_) return;
  const NativeUse native(stream);
  if (stream.device.index == device_) {
    const DeviceScope current(device_);
    set(at, native);
  } else {
    // A kernel runs on its own device: a stream there does it, between what came before on the replay's stream and the
    // replay.
    if (own_stream_ == nullptr) {
      const DeviceScope current(device_);
      REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&own_stream_, cudaStreamNonBlocking));
      REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&after_, cudaEventDisableTiming));
    }
    const DeviceScope current(stream.device.index);
    cudaEvent_t before = nullptr;
    REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
    REFRAIN_CUDA_CHECK(cudaEventRecord(before, native));
    REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(own_stream_, before, 0));
    ignore(cudaEventDestroy(before));
    {
      const DeviceScope own(device_);
      set(at, own_stream_);
      REFRAIN_CUDA_CHECK(cudaEventRecord(after_, own_stream_));
    }
    REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(native, after_, 0));
  }
  expected_ = at;
  known_ = true;
}

void Counters::set(runtime::GeneratorPosition at, cudaStream_t stream) {
  for (Chunk& chunk : chunks_) {
    check(kernels::launch_set_counters(as_u64(chunk.cells), as_u64(chunk.relative),
                                       static_cast<kernels::i64>(chunk.table.size()), at.seed, at.offset, increment_,
                                       stream),
          "launch_set_counters");
  }
}

}  // namespace refrain::cuda
