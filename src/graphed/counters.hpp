#pragma once

#include <atomic>
#include <cstdint>

namespace refrain::detail {

/// A number that one thread at a time changes and any may read.
class Counter {
 public:
  operator std::int64_t() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT
  void operator++() noexcept { *this += 1; }
  void operator+=(std::int64_t more) noexcept { value_.store(*this + more, std::memory_order_relaxed); }
  void operator=(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_{0};
};

/// GraphedStatistics while calls are made.
struct GraphedCounters {
  Counter hits;
  Counter recordings;
  Counter eager;
  Counter rebinds;
  Counter instantiations;
  Counter instantiations_for_arguments;
  Counter instantiations_for_results;
  Counter evictions;
  Counter checks;
  Counter signatures;
  Counter bytes;
};

}  // namespace refrain::detail
