#pragma once

#include "runtime/clock.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace refrain::cuda {

/// Stream-ordered memory of one device, from a pool of Refrain's own or the user's. Guarded by the order lock.
class MemoryPool {
 public:
  explicit MemoryPool(int device);

  void* allocate(runtime::StreamCore& stream, std::int64_t bytes);
  void free(void* address, std::span<const runtime::StreamPoint> users) noexcept;
  /// Frees what had to wait for the end of a live capture or of a host function.
  void free_deferred() noexcept;
  std::int64_t reserved() const;
  void trim(std::int64_t keep_bytes);
  /// Null: Refrain's own again.
  void use(cudaMemPool_t pool) { pool_ = pool != nullptr ? pool : own_; }

 private:
  struct Deferred {
    void* address;
    std::vector<runtime::StreamPoint> users;
  };

  int device_;
  cudaMemPool_t own_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t free_stream_ = nullptr;  ///< waits for all users of a block that several streams used
  std::vector<Deferred> deferred_;
};

/// Page-locked host memory for copies; kept for the next one, up to a limit. May be used from any thread, without the
/// order lock.
class Staging {
 public:
  void* take(std::int64_t bytes);
  /// `stream`: the block is in use until what was issued there is done; null: it is free.
  void give(void* address, runtime::StreamCore* stream) noexcept;
  void trim() noexcept;

 private:
  struct Block {
    void* address = nullptr;
    std::int64_t bytes = 0;
    bool is_taken = false;
    bool is_pending = false;  ///< `done` was recorded
    cudaEvent_t done = nullptr;

    bool is_free() noexcept;
  };
  void drop(Block& block) noexcept;

  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::int64_t reserved_ = 0;
};

}  // namespace refrain::cuda
