#pragma once

#include "runtime/access_history.hpp"

#include <refrain/device.hpp>
#include <refrain/dtype.hpp>
#include <refrain/shape.hpp>
#include <refrain/source_location.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace refrain::runtime {

class Backend;
class Recorder;
class StreamCore;

/// A block of device memory with its users. Arrays hold handles, commands and graphs hold references; the memory goes
/// back to the pool, in stream order after all its users, when both are gone.
class alignas(64) Buffer {
 public:
  enum class State : std::uint8_t {
    ready,     ///< has a block; ordered by its history
    recorded,  ///< made in a capture; has values from the first replay on
    discarded  ///< its capture was discarded: no use but destruction
  };

 private:
  static constexpr std::uint64_t a_reference = 1;
  static constexpr std::uint64_t least_handle = std::uint64_t{1} << 32;
  static constexpr std::uint64_t most_references = least_handle - 1;
  static constexpr std::uint64_t a_handle = least_handle + a_reference;

  // What each op and replay looks at: in the first two lines of the cache, with the newest accesses.
  std::atomic<std::uint64_t> users_{0};  ///< references, and from least_handle on those that are handles
  std::atomic<void*> address_{nullptr};
  Buffer* named_ = nullptr;  ///< of an alias, which holds a reference
  Backend* pinned_by_ = nullptr;
  Device device_;
  std::int64_t size_bytes_;
  std::atomic<State> state_{State::ready};
  bool is_foreign_ = false;
  bool shared_ = false;
  AccessHistory history_;

 public:
  /// A block from the pool, usable in stream order. Zero bytes: no block. With the order lock held.
  /// @throws Error(Errc::out_of_memory)
  static Buffer* allocate(StreamCore& stream, std::int64_t size_bytes, SourceLocation where);
  /// A block of the host device that devices of another kind copy to. With the order lock held.
  /// @throws Error(Errc::out_of_memory)
  static Buffer* pinned(Device device, Backend& by, std::int64_t size_bytes, SourceLocation where);
  /// Memory that is not Refrain's: the buffer only names it. Its history is shared by all that names such memory, so
  /// that the same bytes given twice are the same bytes.
  static Buffer* foreign(Device device, void* address, std::int64_t size_bytes, SourceLocation where);
  /// A block for what another one was recorded for, of the same array. With the order lock held.
  /// @throws Error(Errc::out_of_memory)
  static Buffer* like(const Buffer& recorded, StreamCore& stream, SourceLocation where);
  /// The name of other memory from now on: of one that nobody else has.
  void move_to(void* address) noexcept { address_ = address; }
  /// Another name of that buffer's block, with its history, so that what is recorded by this name can be told from what
  /// is recorded by the other. Keeps the buffer.
  static Buffer* alias(Buffer& of);
  /// An alias becomes another name of that one. With the order lock held, where neither is the last reference.
  void rename(Buffer& of) noexcept;
  /// An alias, or a name of other code's memory, becomes the name of nothing, as which a recording goes on to know it.
  /// With the order lock held; the result is the buffer that it kept, to be let go without the lock.
  class BufferRef detach() noexcept;
  /// What an alias is a name of; null: it is none.
  Buffer* named() const noexcept { return named_; }
  /// Whether another buffer may be the same memory.
  bool has_other_names() const noexcept { return is_foreign_ || named_ != nullptr || aliases_ > 0; }
  /// Called once with the address when the buffer is gone and its users are done.
  void set_deleter(std::function<void(void*)> deleter) {
    deleter_ = std::make_unique<std::function<void(void*)>>(std::move(deleter));
  }
  /// No block yet: made while `recorder` records. `pinned_by`: as above, or null.
  static Buffer* record(Recorder& recorder, Device device, Backend* pinned_by, std::int64_t size_bytes,
                        SourceLocation where);

  /// Gives a recorded buffer its own block, if it has none. With the order lock held.
  /// @throws Error(Errc::out_of_memory)
  void materialize();
  /// The same with memory of that stream's.
  void materialize(StreamCore& stream);

  // What the block was made to hold; set once, by the array layer.
  Shape shape;
  DType dtype = DType::float32;
  bool is_array = true;       ///< false for bytes at an address
  bool is_read_only = false;  ///< other code's, which lets nobody write it
  /// Bytes from the address to the one that other code gave: not 0 where strides lead to lower ones.
  std::int64_t given_at = 0;

  Device device() const noexcept { return device_; }
  std::int64_t size_bytes() const noexcept { return size_bytes_; }
  /// Null until there is a block. Set once, with the order lock held; read without it too.
  void* address() const noexcept { return address_.load(std::memory_order_acquire); }
  SourceLocation where() const noexcept { return where_; }

  // Guarded by the order lock, as is everything that ordering reads.
  AccessHistory& history() noexcept {
    if (is_foreign_) return foreign_history(device_.kind);
    return named_ != nullptr ? named_->history_ : history_;
  }
  /// Where the buffer begins in what its history counts.
  std::int64_t history_origin() const noexcept {
    return is_foreign_ ? static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address())) : 0;
  }
  bool is_foreign() const noexcept { return is_foreign_; }
  bool has_deleter() const noexcept { return deleter_ != nullptr; }
  State state() const noexcept { return state_.load(std::memory_order_acquire); }
  void set_state(State state) noexcept { state_.store(state, std::memory_order_release); }
  Recorder* recorder() const noexcept { return recorder_; }
  void leave_recorder() noexcept { recorder_ = nullptr; }
  /// Whether devices of two kinds use the block, which cannot wait for one another (`settle`).
  bool crosses_kinds() const noexcept { return pinned_by_ != nullptr; }
  /// Recorded, and used by another program too: keeps a block of its own whoever holds the array.
  bool is_shared() const noexcept { return shared_; }
  void share() noexcept { shared_ = true; }

  void retain() noexcept { users_.fetch_add(a_reference, std::memory_order_relaxed); }
  void release() noexcept { leave(a_reference); }
  void retain_handle() noexcept { users_.fetch_add(a_handle, std::memory_order_relaxed); }
  void release_handle() noexcept { leave(a_handle); }
  /// Handles and the library's own references.
  int references() const noexcept { return static_cast<int>(users_.load(std::memory_order_acquire) & most_references); }
  /// How many of the user's arrays name this buffer.
  int handles() const noexcept { return static_cast<int>(users_.load(std::memory_order_relaxed) / least_handle); }

 private:
  Buffer(Device device, std::int64_t size_bytes, SourceLocation where) noexcept
      : device_(device), size_bytes_(size_bytes), where_(where) {}
  ~Buffer() = default;

  static AccessHistory& foreign_history(DeviceKind kind) noexcept;
  static void forget(DeviceKind kind, void* address, std::int64_t bytes, std::span<const StreamPoint> done);
  void leave(std::uint64_t user) noexcept {
    if ((users_.fetch_sub(user, std::memory_order_acq_rel) & most_references) == 1) end();
  }
  /// Nobody has it any more.
  void end() noexcept;
  void destroy() noexcept;
  std::vector<StreamPoint> users();

  Recorder* recorder_ = nullptr;
  std::atomic<int> aliases_{0};
  std::unique_ptr<std::function<void(void*)>> deleter_;
  SourceLocation where_;
};

/// A counted reference to a buffer, not a user's handle.
class BufferRef {
 public:
  BufferRef() noexcept = default;
  explicit BufferRef(Buffer* buffer) noexcept : buffer_(buffer) {
    if (buffer_ != nullptr) buffer_->retain();
  }
  BufferRef(const BufferRef& other) noexcept : BufferRef(other.buffer_) {}
  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferRef& operator=(BufferRef other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferRef() {
    if (buffer_ != nullptr) buffer_->release();
  }

  Buffer* get() const noexcept { return buffer_; }
  Buffer* operator->() const noexcept { return buffer_; }

 private:
  Buffer* buffer_ = nullptr;
};

}  // namespace refrain::runtime
