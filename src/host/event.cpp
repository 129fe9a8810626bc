#include "host/event.hpp"

namespace refrain::host {

void HostEvent::record(runtime::StreamCore& stream) {
  auto record = std::make_shared<Record>();
  if (timing_) {
    enqueue(stream, [record](HostStream&) {
      record->reach();
      return true;
    });
  }
  record->queue = static_cast<StreamHandle&>(stream.native()).queue;
  record->position = stream.position;
  record_.store(std::move(record));
}

std::shared_ptr<HostEvent::Record> HostEvent::record_in_next(runtime::StreamCore& stream) {
  auto record = std::make_shared<Record>();
  record->queue = static_cast<StreamHandle&>(stream.native()).queue;
  record->position = stream.position + 1;
  record_.store(record);
  return record;
}

void HostEvent::wait(runtime::StreamCore& stream) {
  auto newest = record_.load();
  if (newest == nullptr) return;
  enqueue(stream, [record = std::move(newest)](HostStream& self) {
    return record->queue->reached_or_park(record->position, self);
  });
}

bool HostEvent::query() {
  const auto record = record_.load();
  return record->queue->reached(record->position);
}

void HostEvent::synchronize() {
  const auto record = record_.load();
  record->queue->wait(record->position);
}

std::chrono::nanoseconds HostEvent::elapsed(runtime::BackendEvent& end) {
  const auto first = record_.load();
  const auto last = static_cast<HostEvent&>(end).record_.load();
  return last->time.load(std::memory_order_acquire) - first->time.load(std::memory_order_acquire);
}

}  // namespace refrain::host
