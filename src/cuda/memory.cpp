#include "cuda/memory.hpp"

#include "cuda/stream.hpp"
#include "runtime/order.hpp"

#include <algorithm>
#include <limits>

namespace refrain::cuda {

MemoryPool::MemoryPool(int device) : device_(device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  REFRAIN_CUDA_CHECK(cudaMemPoolCreate(&own_, &properties));
  // Freed memory stays for the next allocation until `trim`.
  std::uint64_t threshold = std::numeric_limits<std::uint64_t>::max();
  REFRAIN_CUDA_CHECK(cudaMemPoolSetAttribute(own_, cudaMemPoolAttrReleaseThreshold, &threshold));
  // No stream is made to wait for another's free.
  int allow = 0;
  REFRAIN_CUDA_CHECK(cudaMemPoolSetAttribute(own_, cudaMemPoolReuseAllowInternalDependencies, &allow));
  pool_ = own_;
  const DeviceScope current(device);
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&free_stream_, cudaStreamNonBlocking));
}

void* MemoryPool::allocate(runtime::StreamCore& stream, std::int64_t bytes) {
  void* address = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const DeviceScope current(device_);
  const RelaxedWhileCapturing relaxed;
  cudaError_t status = cudaMallocFromPoolAsync(&address, size, pool_, native_of(stream));
  if (status == cudaErrorMemoryAllocation) {
    // Blocks that are free but not yet reusable: wait for the device once, give all back, try again.
    ignore(cudaGetLastError());
    for (const cudaMemPool_t pool : {own_, pool_}) ignore(cudaMemPoolTrimTo(pool, 0));
    status = cudaMallocFromPoolAsync(&address, size, pool_, native_of(stream));
  }
  check(status, "cudaMallocFromPoolAsync");
  ++stream.position;
  return address;
}

void MemoryPool::free(void* address, std::span<const runtime::StreamPoint> users) noexcept {
  try {
    const DeviceScope current(device_);
    const RelaxedWhileCapturing relaxed;
    const auto is_capturing = [](runtime::StreamPoint point) {
      runtime::StreamCore& core = runtime::stream_at(point.slot);
      return core.has_native() && core.device.kind == DeviceKind::cuda && stream_of(core).before_capture() != nullptr;
    };
    if (std::any_of(users.begin(), users.end(), is_capturing)) {
      deferred_.push_back({address, {users.begin(), users.end()}});
      return;
    }
    const bool one_stream = std::all_of(users.begin(), users.end(),
                                        [&](runtime::StreamPoint point) { return point.slot == users[0].slot; });
    if (!users.empty() && one_stream) {
      runtime::StreamCore& core = runtime::stream_at(users[0].slot);
      if (core.has_native() && core.device == Device{DeviceKind::cuda, device_}) {
        REFRAIN_CUDA_CHECK(cudaFreeAsync(address, native_of(core)));
        return;
      }
    }
    for (const runtime::StreamPoint point : users) {
      runtime::StreamCore& core = runtime::stream_at(point.slot);
      if (core.has_native() && point.position > core.base_position) wait_for_stream(free_stream_, core);
    }
    REFRAIN_CUDA_CHECK(cudaFreeAsync(address, free_stream_));
  } catch (...) {
    // A lost or dying device: its memory goes with it.
  }
}

void MemoryPool::free_deferred() noexcept {
  for (const Deferred& deferred : std::exchange(deferred_, {})) free(deferred.address, deferred.users);
}

std::int64_t MemoryPool::reserved() const {
  std::uint64_t bytes = 0;
  REFRAIN_CUDA_CHECK(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &bytes));
  return static_cast<std::int64_t>(bytes);
}

void MemoryPool::trim(std::int64_t keep_bytes) {
  const RelaxedScope relaxed;
  REFRAIN_CUDA_CHECK(cudaMemPoolTrimTo(pool_, static_cast<std::size_t>(keep_bytes)));
}

void* Staging::take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Block& block : blocks_) {
    if (block.in_use || block.bytes < bytes) continue;
    block.in_use = true;
    return block.address;
  }
  constexpr std::int64_t smallest = 1 << 16;
  bytes = std::max(bytes, smallest);
  void* address = nullptr;
  const RelaxedScope relaxed;
  REFRAIN_CUDA_CHECK(cudaMallocHost(&address, static_cast<std::size_t>(bytes)));
  blocks_.push_back({address, bytes, true});
  return address;
}

void Staging::give(void* address) noexcept {
  constexpr std::int64_t largest_kept = 64 << 20;
  const std::lock_guard lock(mutex_);
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.address == address; });
  block->in_use = false;
  if (block->bytes <= largest_kept) return;
  const RelaxedScope relaxed;
  ignore(cudaFreeHost(address));
  blocks_.erase(block);
}

}  // namespace refrain::cuda
