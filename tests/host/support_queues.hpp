#pragma once

#include "host/scheduler.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

namespace refrain::test {

/// A stream, this its only producer, and the position of its newest task.
class Queue {
 public:
  explicit Queue(std::uint64_t position = 0)
      : stream_(std::make_shared<host::HostStream>(position)), position_(position) {}
  Queue(Queue&&) = default;
  template <class Fn>
  void run(Fn fn) {
    push([fn = std::move(fn)](host::HostStream&) mutable {
      fn();
      return true;
    });
  }
  /// Lets later tasks wait for a position of another queue, also one that nothing was issued for yet.
  void wait_for(const Queue& other, std::uint64_t position) {
    push([other = other.stream_, position](host::HostStream& self) { return other->reached_or_park(position, self); });
  }
  void wait_for(const Queue& other) { wait_for(other, other.position_); }

  host::HostStream& stream() const { return *stream_; }
  void synchronize() const { stream_->wait(position_); }
  /// Without running anything in this thread.
  void leave_to_workers() const { stream_->wait_until(position_, std::chrono::steady_clock::time_point::max()); }

 private:
  template <class Task>
  void push(Task task) {
    stream_->push(std::move(task));
    ++position_;
  }

  std::shared_ptr<host::HostStream> stream_;
  std::uint64_t position_;
};

/// Keeps every worker there may be inside a task until it is destroyed.
class NoWorkers {
 public:
  NoWorkers() : busy_(count()), queues_(static_cast<std::size_t>(count())) {
    for (Queue& queue : queues_) {
      queue.run([this] {
        busy_.count_down();
        over_.wait();
      });
    }
    busy_.wait();
  }
  ~NoWorkers() {
    over_.count_down();
    for (const Queue& queue : queues_) queue.synchronize();
  }

 private:
  static int count() { return host::Scheduler::get().most_workers(); }

  std::latch busy_;
  std::latch over_{1};
  std::vector<Queue> queues_;
};

}  // namespace refrain::test
