#include "host/backend.hpp"

#include <atomic>

namespace refrain::host {

namespace {

using Clock = std::chrono::steady_clock;

/// A record is a position of a queue; with timing, also a task that notes the time it is reached at.
class HostEvent final : public runtime::BackendEvent {
 public:
  explicit HostEvent(EventFlags flags) : timing_(flags.timing) {}

  void record(runtime::StreamCore& stream) override {
    auto record = std::make_shared<Record>();
    if (timing_) {
      enqueue(stream, [record](HostStream&) {
        record->time.store(Clock::now(), std::memory_order_release);
        return true;
      });
    }
    record->queue = static_cast<StreamHandle&>(stream.native()).queue;
    record->position = stream.position;
    record_.store(std::move(record));
  }

  void wait(runtime::StreamCore& stream) override {
    enqueue(stream, [record = record_.load()](HostStream& self) {
      return record->queue->reached_or_park(record->position, self);
    });
  }

  bool query() override {
    const auto record = record_.load();
    return record->queue->reached(record->position);
  }

  void synchronize() override {
    const auto record = record_.load();
    record->queue->wait(record->position);
  }

  std::chrono::nanoseconds elapsed(runtime::BackendEvent& end) override {
    const auto first = record_.load();
    const auto last = static_cast<HostEvent&>(end).record_.load();
    return last->time.load(std::memory_order_acquire) - first->time.load(std::memory_order_acquire);
  }

 private:
  struct Record {
    std::shared_ptr<HostStream> queue;
    std::uint64_t position = 0;
    std::atomic<Clock::time_point> time{};
  };

  const bool timing_;
  std::atomic<std::shared_ptr<Record>> record_;
};

}  // namespace

std::unique_ptr<runtime::BackendEvent> create_host_event(EventFlags flags) {
  return std::make_unique<HostEvent>(flags);
}

}  // namespace refrain::host
