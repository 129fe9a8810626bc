#pragma once

#include <atomic>

// At exit the CUDA runtime goes while other threads may still run, and a call that meets its end crashes. So from the
// beginning of exit on the other threads make no call: they get shutting_down, and destructors leave things alone.

namespace refrain::cuda {

/// Watches for the end of the process. Called at the first use of CUDA, so that this is noticed before CUDA's own end.
void watch_process_end();

namespace detail {
extern std::atomic<bool> is_ending;
extern std::atomic<int> unlocked_calls;
bool ends_in_another_thread() noexcept;
[[noreturn]] void refuse_at_end();
}  // namespace detail

/// Whether the process is ending in another thread.
inline bool ends_elsewhere() noexcept {
  return detail::is_ending.load(std::memory_order_seq_cst) && detail::ends_in_another_thread();
}

/// @throws Error(Errc::shutting_down) when the process is ending in another thread
inline void refuse_at_end() {
  if (ends_elsewhere()) detail::refuse_at_end();
}

/// Calls made without the order lock, which the end waits for.
class UnlockedCall {
 public:
  UnlockedCall() noexcept { detail::unlocked_calls.fetch_add(1, std::memory_order_seq_cst); }
  ~UnlockedCall() { detail::unlocked_calls.fetch_sub(1, std::memory_order_seq_cst); }
  UnlockedCall(const UnlockedCall&) = delete;
  UnlockedCall& operator=(const UnlockedCall&) = delete;
};

}  // namespace refrain::cuda
