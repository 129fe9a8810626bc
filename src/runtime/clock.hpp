#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace refrain::runtime {

/// Number of a stream among those alive; reused only after the work of the stream that had it is done.
using Slot = std::uint32_t;

/// Everything issued on a slot up to and including `position`.
struct StreamPoint {
  Slot slot = 0;
  std::uint64_t position = 0;
  friend bool operator==(const StreamPoint&, const StreamPoint&) = default;
};

/// A vector clock: for each slot, the position up to which its work is known to come before.
class Clock {
 public:
  std::uint64_t operator[](Slot slot) const noexcept { return slot < at_.size() ? at_[slot] : 0; }

  bool covers(StreamPoint point) const noexcept { return (*this)[point.slot] >= point.position; }

  void raise(StreamPoint point) {
    if (point.slot >= at_.size()) at_.resize(point.slot + 1, 0);
    at_[point.slot] = std::max(at_[point.slot], point.position);
  }

  void merge(const Clock& other) {
    if (other.at_.size() > at_.size()) at_.resize(other.at_.size(), 0);
    for (std::size_t i = 0; i < other.at_.size(); ++i) at_[i] = std::max(at_[i], other.at_[i]);
  }

 private:
  std::vector<std::uint64_t> at_;
};

}  // namespace refrain::runtime
