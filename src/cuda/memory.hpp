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
  /// Frees what had to wait for the end of a live capture.
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

/// Page-locked host memory that downloads land in; kept for the next one. May be used from any thread.
class Staging {
 public:
  void* take(std::int64_t bytes);
  void give(void* address) noexcept;

 private:
  struct Block {
    void* address;
    std::int64_t bytes;
    bool in_use;
  };
  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace refrain::cuda
