#pragma once

#include "runtime/plan.hpp"
#include "runtime/stream_core.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace refrain::cuda {

/// An executable's copy of a generator: one offset per block of each drawing kernel, which the block reads and
/// moves on itself, so that a replay that goes on where the last one ended has nothing to do.
class Counters {
 public:
  explicit Counters(int device) : device_(device) {}
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// Room for a draw of `grid` blocks that starts `offset` after the replay's position; fills in where its kernel
  /// finds seed and offsets.
  void place(std::uint64_t offset, int grid, kernels::RandomArgs& args);
  /// No more draws: uploads the tables. `increment`: how far a replay moves the generator.
  void finish(std::uint64_t increment);

  /// Makes the copy stand at `at` before the next launch on `stream`, if it does not already.
  void prepare(runtime::GeneratorPosition at, runtime::StreamCore& stream);
  /// The copy may stand anywhere: the next run sets it.
  void forget() noexcept { known_ = false; }
  void launched() noexcept { expected_.offset += increment_; }
  bool empty() const noexcept { return chunks_.empty(); }

 private:
  struct Chunk {
    std::uint64_t* cells = nullptr;     ///< seed, increment, then the offsets
    std::uint64_t* relative = nullptr;  ///< on the device: each offset less the replay's position
    std::vector<std::uint64_t> table;   ///< the same on the host, until `finish`
    std::int64_t capacity = 0;
  };

  void set(runtime::GeneratorPosition at, cudaStream_t stream);

  int device_;
  std::vector<Chunk> chunks_;
  std::uint64_t increment_ = 0;
  runtime::GeneratorPosition expected_;
  bool known_ = false;
  cudaStream_t own_stream_ = nullptr;  ///< for replays on streams of other devices
  cudaEvent_t after_ = nullptr;
};

}  // namespace refrain::cuda
