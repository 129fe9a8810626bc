#include "cuda/memory.hpp"

#include "cuda/stream.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace refrain::cuda {

namespace {

/// Lets other GPUs reach the pool's memory, so that copies between devices can be made.
void open_to_peers(cudaMemPool_t pool, int device) {
  int count = 0;
  REFRAIN_CUDA_CHECK(cudaGetDeviceCount(&count));
  std::vector<cudaMemAccessDesc> peers;
  for (int other = 0; other < count; ++other) {
    int can = 0;
    if (other != device) REFRAIN_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, other, device));
    if (can == 0) continue;
    cudaMemAccessDesc peer{};
    peer.location.type = cudaMemLocationTypeDevice;
    peer.location.id = other;
    peer.flags = cudaMemAccessFlagsProtReadWrite;
    peers.push_back(peer);
  }
  if (!peers.empty()) REFRAIN_CUDA_CHECK(cudaMemPoolSetAccess(pool, peers.data(), peers.size()));
}

}  // namespace

MemoryPool::MemoryPool(int device) : device_(device) {
  const CallScope call;
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
  open_to_peers(own_, device);
  pool_ = own_;
  const DeviceScope current(device);
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&free_stream_, cudaStreamNonBlocking));
}

void* MemoryPool::allocate(runtime::StreamCore& stream, std::int64_t bytes) {
  if (!deferred_.empty()) free_deferred();
  void* address = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  const DeviceScope current(device_);
  const RelaxedWhileCapturing relaxed;
  const NativeUse native(stream);
  cudaError_t status = cudaMallocFromPoolAsync(&address, size, pool_, native);
  if (status == cudaErrorMemoryAllocation) {
    ignore(cudaGetLastError());
    for (const cudaMemPool_t pool : {own_, pool_}) ignore(cudaMemPoolTrimTo(pool, 0));
    status = cudaMallocFromPoolAsync(&address, size, pool_, native);
  }
  check(status, "cudaMallocFromPoolAsync");
  ++stream.position;
  return address;
}

void MemoryPool::free(void* address, std::span<const runtime::StreamPoint> users) noexcept {
  if (ends_elsewhere()) return;
  try {
    const DeviceScope current(device_);
    const RelaxedWhileCapturing relaxed;
    const auto is_capturing = [](runtime::StreamPoint point) {
      runtime::StreamCore& core = runtime::stream_at(point.slot);
      return core.has_native() && core.device.kind == DeviceKind::cuda && stream_of(core).is_captured();
    };
    // CUDA allows no call of its own in a host function.
    if (runtime::in_callback() || std::any_of(users.begin(), users.end(), is_capturing)) {
      deferred_.push_back({address, {users.begin(), users.end()}});
      return;
    }
    const bool one_stream = std::all_of(users.begin(), users.end(),
                                        [&](runtime::StreamPoint point) { return point.slot == users[0].slot; });
    if (!users.empty() && one_stream) {
      runtime::StreamCore& core = runtime::stream_at(users[0].slot);
      const bool is_here = core.has_native() && core.device == Device{DeviceKind::cuda, device_};
      if (is_here && !stream_of(core).is_away()) {
        REFRAIN_CUDA_CHECK(cudaFreeAsync(address, NativeUse(core)));
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
  const CallScope call;
  REFRAIN_CUDA_CHECK(cudaMemPoolTrimTo(pool_, static_cast<std::size_t>(keep_bytes)));
}

bool Staging::Block::is_free() noexcept {
  if (is_taken) return false;
  if (is_pending && cudaEventQuery(done) != cudaSuccess) {
    ignore(cudaGetLastError());
    return false;
  }
  is_pending = false;
  return true;
}

void* Staging::take(std::int64_t bytes) {
  constexpr std::int64_t smallest = 1 << 16;
  constexpr std::int64_t most_kept = 256 << 20;
  const std::lock_guard lock(mutex_);
  const CallScope call;
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.bytes >= bytes && (best == nullptr || block.bytes < best->bytes) && block.is_free()) best = &block;
  }
  if (best == nullptr) {
    bytes = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max(bytes, smallest))));
    if (reserved_ + bytes > most_kept) {
      std::erase_if(blocks_, [&](Block& block) {
        if (!block.is_free()) return false;
        drop(block);
        return true;
      });
    }
    Block block;
    REFRAIN_CUDA_CHECK(cudaMallocHost(&block.address, static_cast<std::size_t>(bytes)));
    block.bytes = bytes;
    reserved_ += bytes;
    best = &blocks_.emplace_back(block);
  }
  best->is_taken = true;
  return best->address;
}

void Staging::give(void* address, runtime::StreamCore* stream) noexcept {
  const std::lock_guard lock(mutex_);
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  const auto block = std::find_if(blocks_.begin(), blocks_.end(), [&](const Block& b) { return b.address == address; });
  try {
    if (stream != nullptr) {
      const DeviceScope current(stream->device.index);
      // An event belongs to a device: one for each use, lest the block goes to another GPU next.
      if (block->done != nullptr) ignore(cudaEventDestroy(std::exchange(block->done, nullptr)));
      REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&block->done, cudaEventDisableTiming));
      REFRAIN_CUDA_CHECK(cudaEventRecord(block->done, NativeUse(*stream)));
      block->is_pending = true;
    }
    block->is_taken = false;
  } catch (...) {
    // The device is lost: the block stays taken, for nobody knows what still reads it.
  }
}

void Staging::trim() noexcept {
  const std::lock_guard lock(mutex_);
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  std::erase_if(blocks_, [&](Block& block) {
    if (!block.is_free()) return false;
    drop(block);
    return true;
  });
}

void Staging::drop(Block& block) noexcept {
  ignore(cudaFreeHost(block.address));
  if (block.done != nullptr) ignore(cudaEventDestroy(block.done));
  reserved_ -= block.bytes;
}

}  // namespace refrain::cuda
