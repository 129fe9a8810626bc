#include "runtime/recorder.hpp"

#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::runtime {

namespace {

thread_local Recorder* current_recorder = nullptr;

struct Open {
  const Recorder* recorder;
  std::thread::id thread;
};

/// Guarded by the order lock.
std::vector<Open>& open_recorders() {
  static auto& all = *new std::vector<Open>;
  return all;
}

}  // namespace

Recorder* thread_recorder() noexcept { return current_recorder; }
void set_thread_recorder(Recorder* recorder) noexcept { current_recorder = recorder; }

Recorder* recorder_of(const StreamCore& stream) noexcept {
  return current_recorder != nullptr ? current_recorder : stream.recorder.load(std::memory_order_acquire);
}

void add_open_recorder(const Recorder& recorder) { open_recorders().push_back({&recorder, std::this_thread::get_id()}); }

void remove_open_recorder(const Recorder& recorder) noexcept {
  std::erase_if(open_recorders(), [&](const Open& open) { return open.recorder == &recorder; });
}

bool captures_here(Device device) noexcept {
  const OrderLock lock(order_mutex());
  return std::any_of(open_recorders().begin(), open_recorders().end(), [&](const Open& open) {
    return open.thread == std::this_thread::get_id() && open.recorder->spans(device);
  });
}

}  // namespace refrain::runtime
