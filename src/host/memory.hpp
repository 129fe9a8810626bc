#pragma once

#include "runtime/clock.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace refrain::host {

/// A stream-ordered pool of host memory: a freed block goes to the next allocation of a stream that its users come
/// before, or of any stream once they are done. Guarded by the order lock.
class MemoryPool {
 public:
  /// 64-byte aligned.
  /// @throws Error(Errc::out_of_memory)
  void* allocate(runtime::Slot slot, std::int64_t bytes);
  void free(void* address, std::int64_t bytes, std::span<const runtime::StreamPoint> users) noexcept;
  /// Gives free blocks whose users are done back to the system while more than `keep_bytes` are reserved.
  void trim(std::int64_t keep_bytes) noexcept;
  std::int64_t reserved() const noexcept { return reserved_; }

 private:
  struct FreeBlock {
    void* address = nullptr;
    std::array<runtime::StreamPoint, 3> users{};
    std::uint32_t user_count = 0;
    std::vector<runtime::StreamPoint> more_users;

    bool usable_by(runtime::Slot slot) const noexcept;
    bool done() const noexcept;
  };
  static constexpr std::size_t class_count = 256;

  std::array<std::vector<FreeBlock>, class_count> free_;
  std::int64_t reserved_ = 0;
};

}  // namespace refrain::host
