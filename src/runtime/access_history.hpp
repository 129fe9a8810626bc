#pragma once

#include "runtime/clock.hpp"
#include "runtime/command.hpp"

#include <refrain/source_location.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace refrain::runtime {

/// Where the newest replay of a graph stands; shared by the histories of all buffers that the graph touches, so that a
/// replay need not touch them. Guarded by the order lock.
struct ReplayMark {
  StreamPoint point;
  bool replayed = false;
  /// Moves on when another command meets one of those buffers, or an executable leaves one: the next replay of each
  /// executable looks at its own again.
  std::uint64_t generation = 0;
};

/// The label of the access that stands for a block's allocation: ordered like a write, but no fault of the program.
inline constexpr const char allocate_label[] = "allocate";

/// One earlier access of a buffer.
struct AccessRecord {
  StreamPoint point;           ///< when `mark` is null
  ReplayMark* mark = nullptr;  ///< a graph's accesses: the newest replay's point
  std::int64_t begin = 0;
  std::int64_t end = 0;
  AccessMode mode = AccessMode::read;
  const char* label = "";
  SourceLocation where;

  StreamPoint at() const noexcept { return mark != nullptr ? mark->point : point; }
};

/// The accesses of a buffer that a later command may still have to be ordered after. A write drops what it covers, for
/// it was ordered after that; so the list is as long as there are streams reading or parts written, usually 1 or 2.
class AccessHistory {
 public:
  int size() const noexcept { return size_; }
  AccessRecord& operator[](int i) noexcept {
    return i < inline_count ? inline_[static_cast<std::size_t>(i)] : more_[static_cast<std::size_t>(i - inline_count)];
  }

  /// Makes room for so many records more, so that `add` cannot fail.
  void reserve(int count) {
    if (size_ + count > inline_count) more_.reserve(static_cast<std::size_t>(size_ + count));
  }

  /// A record more, to be filled in.
  AccessRecord& add() {
    if (size_ >= inline_count) more_.emplace_back();
    return (*this)[size_++];
  }

  /// Drops the records for which `gone` holds.
  template <class Predicate>
  void drop_if(Predicate gone) {
    if (size_ == 1) {  // nearly always
      if (gone((*this)[0])) size_ = 0;
      return;
    }
    int kept = 0;
    for (int i = 0; i < size_; ++i) {
      if (gone((*this)[i])) continue;
      if (kept != i) (*this)[kept] = (*this)[i];
      ++kept;
    }
    size_ = kept;
    if (size_ > inline_count) {
      more_.resize(static_cast<std::size_t>(size_ - inline_count));
    } else {
      more_.clear();
    }
  }

 private:
  static constexpr int inline_count = 4;
  int size_ = 0;
  std::array<AccessRecord, inline_count> inline_;
  std::vector<AccessRecord> more_;
};

}  // namespace refrain::runtime
