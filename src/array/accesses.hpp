#pragma once

#include "runtime/buffer.hpp"
#include "runtime/command.hpp"

#include <refrain/access.hpp>

#include <array>
#include <span>
#include <vector>

namespace refrain {

/// The accesses of a command whose memory the program names: arrays, and bytes at addresses.
class Accesses {
 public:
  explicit Accesses(std::size_t count);

  /// @throws Error naming the argument, at `position` among the call's: wrong_device, invalid_value, as require_usable
  void add(const MemoryAccess& access, Device device, int position, const Label& label);
  std::span<const runtime::Access> get() const noexcept {
    return many_.empty() ? std::span(few_.data(), count_) : std::span<const runtime::Access>(many_);
  }

 private:
  std::array<runtime::Access, 8> few_;
  std::vector<runtime::Access> many_;
  std::size_t count_ = 0;
  std::vector<runtime::BufferRef> foreign_;  ///< made here
};

}  // namespace refrain
