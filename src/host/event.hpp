#pragma once

#include "host/backend.hpp"

#include <atomic>
#include <chrono>
#include <memory>

namespace refrain::host {

/// A record is a position of a queue; with timing, also the time that it was reached at.
class HostEvent final : public runtime::BackendEvent {
 public:
  using Clock = std::chrono::steady_clock;

  struct Record {
    std::shared_ptr<HostStream> queue;
    std::uint64_t position = 0;
    std::atomic<Clock::time_point> time{};

    void reach() noexcept { time.store(Clock::now(), std::memory_order_release); }
  };

  explicit HostEvent(EventFlags flags) : timing_(flags.timing) {}

  void record(runtime::StreamCore& stream) override;
  /// The stream's next task, a replay, records the event: it calls `reach` when it gets there.
  std::shared_ptr<Record> record_in_next(runtime::StreamCore& stream);
  void wait(runtime::StreamCore& stream) override;
  bool query() override;
  void synchronize() override;
  std::chrono::nanoseconds elapsed(runtime::BackendEvent& end) override;

 private:
  const bool timing_;
  std::atomic<std::shared_ptr<Record>> record_;
};

}  // namespace refrain::host
