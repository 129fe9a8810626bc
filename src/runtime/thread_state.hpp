#pragma once

#include "runtime/clock.hpp"

#include <refrain/device.hpp>
#include <refrain/stream.hpp>

#include <optional>
#include <vector>

namespace refrain::runtime {

/// What a thread carries: its current device and its current stream on each device.
class ThreadState {
 public:
  Device device();
  void set_device(Device device) noexcept { device_ = device; }

  /// Memory for a copy of a clock, kept between uses: a program that replays and waits allocates nothing.
  Clock clock;

  const Stream& stream(Device device);
  void set_stream(const Stream& stream);
  /// Whether what the thread issues on a current stream is recorded.
  bool is_recording() const;

 private:
  std::optional<Device> device_;
  std::vector<std::pair<Device, Stream>> streams_;
};

ThreadState& thread_state();

}  // namespace refrain::runtime
