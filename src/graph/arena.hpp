#pragma once

#include "runtime/access_history.hpp"
#include "runtime/clock.hpp"
#include "runtime/plan.hpp"

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace refrain::runtime {
class StreamCore;
}  // namespace refrain::runtime

namespace refrain::graph {

class ArenaRoom;

/// Blocks of an arena begin at multiples of this.
inline constexpr std::int64_t arena_alignment = 256;

/// Memory for temporaries, given back when nobody plans with it any more and its newest user is done.
class ArenaBlock {
 public:
  /// @throws Error(Errc::out_of_memory)
  ArenaBlock(std::shared_ptr<const ArenaRoom> room, Device device, std::int64_t size_bytes, SourceLocation where);
  ~ArenaBlock();
  ArenaBlock(const ArenaBlock&) = delete;
  ArenaBlock& operator=(const ArenaBlock&) = delete;

  Device device() const noexcept { return device_; }
  std::int64_t size_bytes() const noexcept { return size_bytes_; }
  void* address() const noexcept { return address_; }

 private:
  const std::shared_ptr<const ArenaRoom> room_;
  const Device device_;
  const std::int64_t size_bytes_;
  void* address_ = nullptr;
  runtime::StreamPoint allocated_;
};

/// Where executables whose replays are ordered one after another take their blocks from.
class ArenaRoom : public std::enable_shared_from_this<ArenaRoom> {
 public:
  /// `mark`: that of all replays that use the room, which keeps them in order; without one `enter` does.
  explicit ArenaRoom(std::shared_ptr<const runtime::ReplayMark> mark = nullptr) : mark_(std::move(mark)) {}

  /// The smallest block there is of so many bytes or more, or a new one.
  /// @throws Error(Errc::out_of_memory)
  std::shared_ptr<const ArenaBlock> take(Device device, std::int64_t bytes, SourceLocation where);

  // Of a room without a mark, with the order lock held:
  /// Orders what follows on the stream, a replay with that mark, after the newest user.
  void enter(runtime::StreamCore& stream, const std::shared_ptr<runtime::ReplayMark>& mark) const;
  /// The replay was issued up to this point.
  void leave(const std::shared_ptr<runtime::ReplayMark>& mark, runtime::StreamPoint point) noexcept {
    if (newest_mark_ != mark) newest_mark_ = mark;
    newest_ = point;
  }

  /// With the order lock held.
  runtime::StreamPoint newest() const noexcept { return mark_ != nullptr ? mark_->point : newest_; }

 private:
  const std::shared_ptr<const runtime::ReplayMark> mark_;
  std::shared_ptr<const runtime::ReplayMark> newest_mark_;  ///< held, so that no other one gets its address
  runtime::StreamPoint newest_;
  std::mutex mutex_;  ///< taken before the order lock
  std::vector<std::weak_ptr<const ArenaBlock>> blocks_;
};

/// The memory of one executable's temporaries: a block per device.
class Arena {
 public:
  explicit Arena(std::shared_ptr<ArenaRoom> room) : room_(std::move(room)) {}

  /// Reserves room; the offset in the device's block. `at`: where a plan has put it; -1: behind all others.
  std::int64_t reserve(Device device, std::int64_t bytes, std::int64_t at);
  /// Takes the blocks.
  /// @throws Error(Errc::out_of_memory)
  void allocate(SourceLocation where);
  void* address(Device device, std::int64_t offset) const;
  /// Of all devices.
  std::int64_t size_bytes() const noexcept;
  std::vector<runtime::PlannedArena> sizes() const;

 private:
  struct Part {
    Device device;
    std::int64_t size_bytes = 0;
    std::shared_ptr<const ArenaBlock> block;
  };
  Part& part_on(Device device);

  std::shared_ptr<ArenaRoom> room_;
  std::vector<Part> parts_;
};

}  // namespace refrain::graph
