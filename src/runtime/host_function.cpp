#include "runtime/host_function.hpp"

#include "runtime/thread_state.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace refrain::runtime {

namespace {

enum Inside { nothing, host_function, enqueued };
thread_local int inside = nothing;

/// Failures not thrown yet, and functions to be destroyed.
struct Pending {
  std::mutex mutex;
  std::vector<std::pair<Device, std::exception_ptr>> failures;
  std::vector<std::shared_ptr<const void>> retired;
  // Looked at without the mutex: there is nothing, nearly always.
  std::atomic<bool> has_failures{false};
  std::atomic<bool> has_retired{false};
};

Pending& pending() {
  static Pending& all = *new Pending;
  return all;
}

}  // namespace

void HostFunction::operator()(void* const* addresses) const noexcept {
  const int outer = std::exchange(inside, host_function);
  try {
    fn_(addresses);
  } catch (...) {
    const std::lock_guard lock(pending().mutex);
    pending().failures.emplace_back(device_, std::current_exception());
    pending().has_failures.store(true, std::memory_order_release);
  }
  inside = outer;
}

EnqueuedScope::EnqueuedScope() noexcept : outer_(std::exchange(inside, enqueued)) {}
EnqueuedScope::~EnqueuedScope() { inside = outer_; }

bool in_callback() noexcept { return inside != nothing; }

void refuse_in_callback(const char* call, SourceLocation where) {
  if (inside == nothing) return;
  if (inside == enqueued) {
    throw Error(Errc::not_permitted, call, "an enqueued function",
                "puts work on the native stream that it is given and cannot use Refrain's streams meanwhile; do that "
                "before or after the enqueue",
                where);
  }
  throw Error(
      Errc::not_permitted, call, "a host function",
      "runs in a stream's order and cannot reach a device, whose work may wait for it; do that outside, and let "
      "the stream order the two",
      where);
}

void throw_host_failure(Device device) {
  if (!pending().has_failures.load(std::memory_order_acquire)) return;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(pending().mutex);
    auto& failures = pending().failures;
    const auto oldest =
        std::find_if(failures.begin(), failures.end(), [&](const auto& each) { return each.first == device; });
    if (oldest == failures.end()) return;
    failure = std::move(oldest->second);
    failures.erase(oldest);
    pending().has_failures.store(!failures.empty(), std::memory_order_release);
  }
  std::rethrow_exception(failure);
}

void retire(std::shared_ptr<const void> what) {
  const std::lock_guard lock(pending().mutex);
  pending().retired.push_back(std::move(what));
  pending().has_retired.store(true, std::memory_order_release);
}

void destroy_retired() {
  if (!pending().has_retired.load(std::memory_order_acquire) || in_callback()) return;
  // What destructors issue belongs to no capture: later then.
  if (thread_state().is_recording()) return;
  std::vector<std::shared_ptr<const void>> retired;  // destroyed after the lock is given back
  const std::lock_guard lock(pending().mutex);
  retired.swap(pending().retired);
  pending().has_retired.store(false, std::memory_order_release);
}

}  // namespace refrain::runtime
