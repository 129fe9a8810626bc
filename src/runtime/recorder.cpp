#include "runtime/recorder.hpp"

#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::runtime {

namespace {

ThreadRecorder no_recorder{nullptr};

/// This thread's slot: a plain pointer, so that ops of threads that never capture, and destructors at the thread's end,
/// find one without further ado.
thread_local ThreadRecorder* current_slot = &no_recorder;

struct Open {
  Recorder* recorder;
  std::thread::id thread;
};

/// Guarded by the order lock.
std::vector<Open>& open_recorders() {
  static auto& all = *new std::vector<Open>;
  return all;
}

}  // namespace

std::shared_ptr<ThreadRecorder> thread_recorder_slot() {
  using Slot = std::shared_ptr<ThreadRecorder>;
  struct Owner {
    Slot*& slot;
    ~Owner() {
      delete std::exchange(slot, nullptr);
      current_slot = &no_recorder;
    }
  };
  static thread_local Slot* slot = nullptr;
  if (slot == nullptr) {  // the first capture of the thread, or one after its thread_locals are gone
    slot = new Slot(std::make_shared<ThreadRecorder>(nullptr));
    static thread_local const Owner owner{slot};
  }
  current_slot = slot->get();
  return *slot;
}

Recorder* thread_recorder() noexcept { return current_slot->load(std::memory_order_acquire); }

Recorder* recorder_of(const StreamCore& stream) noexcept {
  Recorder* recorder = thread_recorder();
  return recorder != nullptr ? recorder : stream.recorder.load(std::memory_order_acquire);
}

bool taken_in(StreamCore& stream, std::uint64_t capture) {
  return std::any_of(open_recorders().begin(), open_recorders().end(),
                     [&](const Open& open) { return open.recorder->takes_in(stream, capture); });
}

void tell_exposed(StreamCore& stream) noexcept {
  for (const Open& open : open_recorders()) open.recorder->exposed(stream);
}

void add_open_recorder(Recorder& recorder) { open_recorders().push_back({&recorder, std::this_thread::get_id()}); }

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
