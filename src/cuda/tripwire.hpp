#pragma once

#include "runtime/backend.hpp"

#include <cuda_runtime_api.h>

#include <atomic>
#include <mutex>

namespace refrain::cuda {

/// A relaxed capture held open on a stream of which other code has the handle, while Refrain records the stream: what
/// that code puts there lands in the capture and is found, where it would otherwise run at once and be missing from the
/// graph. Calls of Refrain's own on the native stream lift it.
class Tripwire {
 public:
  explicit Tripwire(cudaStream_t stream) noexcept : stream_(stream) {}

  // By each recording of the stream, with the order lock held.
  void arm() noexcept;
  runtime::Strayed disarm() noexcept;
  bool has_strayed() noexcept;

  /// A capture on the stream that is not this one's.
  runtime::ForeignCapture foreign_capture() noexcept;

  bool is_armed() const noexcept { return armed_ > 0; }
  void lift() noexcept;
  void drop() noexcept;

 private:
  void open() noexcept;
  void close() noexcept;

  const cudaStream_t stream_;
  std::atomic<int> armed_{0};   ///< recordings
  std::atomic<int> lifted_{0};  ///< calls under way
  std::mutex mutex_;
  bool is_open_ = false;
  runtime::Strayed found_;
};

}  // namespace refrain::cuda
