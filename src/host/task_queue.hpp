#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace refrain::host {

class HostStream;

/// A first-in first-out queue of callables of any size, stored in place. One thread at a time pushes, one at a time
/// pops; the two need no lock: `HostStream` publishes how many tasks there are. A task is `bool(HostStream&)`: false
/// means that it could not go on and is to be called again.
class TaskQueue {
 public:
  TaskQueue() : tail_(new Chunk), head_(tail_) {}
  /// Tasks that never ran are destroyed.
  ~TaskQueue() {
    while (head_ != tail_ || head_used_ != tail_used_) {
      Header* header = front();
      header->run(header + 1, nullptr);
      head_used_ += header->size;
    }
    for (Chunk* chunk = head_; chunk != nullptr;) delete std::exchange(chunk, chunk->next.load());
    delete spare_.load();
  }
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  template <class Task>
  void push(Task&& task) {
    using T = std::decay_t<Task>;
    static_assert(sizeof(T) + sizeof(Header) <= chunk_bytes, "a task must fit a chunk");
    static_assert(alignof(T) <= alignment);
    Header* header = reserve(sizeof(T));
    new (header + 1) T(std::forward<Task>(task));
    header->run = [](void* stored, HostStream* stream) {
      T& self = *static_cast<T*>(stored);
      if (stream != nullptr && !self(*stream)) return false;
      self.~T();
      return true;
    };
  }

  /// Runs the oldest task and, if it is done, removes it. There must be one.
  bool run_front(HostStream& stream) {
    Header* header = front();
    const std::size_t size = header->size;
    if (!header->run(header + 1, &stream)) return false;
    head_used_ += size;
    return true;
  }

 private:
  static constexpr std::size_t alignment = 16;
  static constexpr std::size_t chunk_bytes = 32 * 1024;

  struct alignas(alignment) Header {
    /// Runs the task and, if it is done, destroys it; without a stream only destroys it. Null: the queue goes on in the
    /// next chunk.
    bool (*run)(void*, HostStream*) = nullptr;
    std::size_t size = 0;  ///< with this header
  };
  struct Chunk {
    std::atomic<Chunk*> next{nullptr};
    alignas(alignment) std::byte bytes[chunk_bytes + sizeof(Header)];
  };

  Header* reserve(std::size_t payload) {
    const std::size_t size = (sizeof(Header) + payload + alignment - 1) / alignment * alignment;
    if (tail_used_ + size > chunk_bytes) {
      Chunk* fresh = spare_.exchange(nullptr, std::memory_order_acquire);
      if (fresh == nullptr) fresh = new Chunk;
      new (tail_->bytes + tail_used_) Header;
      tail_->next.store(fresh, std::memory_order_release);
      tail_ = fresh;
      tail_used_ = 0;
    }
    auto* header = new (tail_->bytes + tail_used_) Header{nullptr, size};
    tail_used_ += size;
    return header;
  }

  Header* front() {
    auto* header = std::launder(reinterpret_cast<Header*>(head_->bytes + head_used_));
    if (header->run != nullptr) return header;
    Chunk* used = std::exchange(head_, head_->next.load(std::memory_order_acquire));
    head_used_ = 0;
    used->next.store(nullptr, std::memory_order_relaxed);
    delete spare_.exchange(used, std::memory_order_acq_rel);
    return std::launder(reinterpret_cast<Header*>(head_->bytes));
  }

  // Apart, so that producer and consumer do not share a cache line.
  alignas(64) Chunk* tail_;
  std::size_t tail_used_ = 0;
  alignas(64) Chunk* head_;
  std::size_t head_used_ = 0;
  alignas(64) std::atomic<Chunk*> spare_{nullptr};
};

}  // namespace refrain::host
