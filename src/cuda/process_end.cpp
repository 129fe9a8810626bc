#include "cuda/process_end.hpp"

#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace refrain::cuda {

constinit std::atomic<bool> detail::is_ending{false};
constinit std::atomic<int> detail::unlocked_calls{0};

namespace {

std::thread::id ending_thread;  // written before is_ending

/// Lets the calls that are under way return. Those that wait for long work do not: they are left to CUDA.
void end() {
  constexpr auto longest = std::chrono::seconds(1);
  constexpr auto pause = std::chrono::milliseconds(1);
  ending_thread = std::this_thread::get_id();
  detail::is_ending.store(true, std::memory_order_seq_cst);
  const auto until = std::chrono::steady_clock::now() + longest;
  const auto is_late = [&] { return std::chrono::steady_clock::now() > until; };
  runtime::OrderLock lock(runtime::order_mutex(), std::defer_lock);
  while (!lock.try_lock() && !is_late()) std::this_thread::sleep_for(pause);
  if (lock.owns_lock()) lock.unlock();
  while (detail::unlocked_calls.load(std::memory_order_seq_cst) > 0 && !is_late()) std::this_thread::sleep_for(pause);
}

}  // namespace

bool detail::ends_in_another_thread() noexcept { return std::this_thread::get_id() != ending_thread; }

void detail::refuse_at_end() {
  throw Error(Errc::shutting_down, "cuda", "the process",
              "is ending in another thread, and CUDA with it; let threads "
              "end before exit");
}

void watch_process_end() {
  static const int registered = std::atexit(end);
  static_cast<void>(registered);
}

}  // namespace refrain::cuda
