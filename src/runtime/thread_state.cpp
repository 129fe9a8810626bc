#include "runtime/thread_state.hpp"

#include "runtime/environment.hpp"
#include "runtime/stream_core.hpp"

#include <utility>

namespace refrain::runtime {

namespace {

/// Frees the thread's state when the thread ends. Arrays with thread storage may be destroyed later still: they find an
/// empty slot and begin anew.
struct Owner {
  ThreadState*& slot;
  ~Owner() { delete std::exchange(slot, nullptr); }
};

}  // namespace

ThreadState& thread_state() {
  static thread_local ThreadState* state = nullptr;
  if (state == nullptr) {
    state = new ThreadState;
    static thread_local const Owner owner{state};
  }
  return *state;
}

Device ThreadState::device() {
  if (!device_) device_ = initial_device();
  return *device_;
}

const Stream& ThreadState::stream(Device device) {
  for (const auto& [of, stream] : streams_) {
    if (of == device) return stream;
  }
  return streams_.emplace_back(device, default_stream(device)).second;
}

void ThreadState::set_stream(const Stream& stream) {
  const Device device = stream.device();
  for (auto& [of, current] : streams_) {
    if (of == device) {
      current = stream;
      return;
    }
  }
  streams_.emplace_back(device, stream);
}

StreamCore& thread_stream(Device device) { return thread_state().stream(device).core(); }

}  // namespace refrain::runtime
