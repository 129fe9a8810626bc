#include "runtime/thread_state.hpp"

#include "runtime/environment.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_core.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace refrain::runtime {

namespace {

thread_local ThreadState* state = nullptr;

/// Frees the thread's state after the destructors of its thread_locals, which may still use it or begin it anew.
pthread_key_t state_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    const int status = pthread_key_create(&made, [](void* over) {
      state = nullptr;
      delete static_cast<ThreadState*>(over);
    });
    if (status != 0) throw std::system_error(status, std::generic_category(), "pthread_key_create");
    return made;
  }();
  return key;
}

}  // namespace

ThreadState& thread_state() {
  if (state == nullptr) {
    auto made = std::make_unique<ThreadState>();
    pthread_setspecific(state_key(), made.get());
    state = made.release();
  }
  return *state;
}

bool ThreadState::is_recording() const {
  return thread_recorder() != nullptr || std::any_of(streams_.begin(), streams_.end(), [](const auto& current) {
           return current.second.core().recorder != nullptr;
         });
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
