#include "runtime/stream_core.hpp"

#include "runtime/environment.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace refrain::runtime {

namespace {

std::uint64_t next_stream_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Slots and their streams. Guarded by the order lock. A retired stream keeps its slot until its work is done and
/// nothing refers to it; what is known of the slot's positions then holds for the stream that gets it next.
struct Registry {
  std::vector<std::shared_ptr<StreamCore>> slots;

  static Registry& get() {
    static Registry& registry = *new Registry;
    return registry;
  }
};

bool is_done(StreamCore& core) noexcept {
  try {
    return core.backend().is_complete(core, core.position);
  } catch (...) {
    return false;  // a lost device: the slot stays taken
  }
}

/// Destroys retired streams whose work is done, but for the object that keeps the slot's position.
void reclaim(Registry& registry) {
  for (auto& slot : registry.slots) {
    if (slot && slot->has_native() && slot->retired && slot.use_count() == 1 && slot->recorder == nullptr &&
        is_done(*slot)) {
      slot->drop_native();
    }
  }
}

}  // namespace

StreamCore::StreamCore(Device device, int priority, Slot slot, std::uint64_t position)
    : device(device),
      priority(priority),
      slot(slot),
      id(next_stream_id()),
      base_position(position),
      position(position),
      native_(backend().create_stream(device.index, priority, slot, position)) {}

std::string StreamCore::str() const { return "stream " + std::to_string(id) + " on " + device.str(); }

Stream StreamCore::make_handle(std::shared_ptr<StreamCore> core) {
  return Stream(own(new StreamLife(std::move(core))));
}

StreamLife::~StreamLife() {
  std::shared_ptr<void> left;  // destroyed after the lock is given back
  OrderLock lock(order_mutex());
  if (Recorder* recorder = core->recorder.load(std::memory_order_acquire)) {
    wait_for_calls(lock, *recorder);
    recorder = core->recorder.load(std::memory_order_acquire);
    if (recorder != nullptr) left = recorder->stream_destroyed(*core);
  }
  core->retired = true;
  core.reset();
  reclaim(Registry::get());
}

namespace {

std::shared_ptr<StreamCore> make_core(Device device, int priority) {
  const auto [lowest, highest] = backend(device.kind).priority_range(device.index);
  priority = std::clamp(priority, highest, lowest);
  const OrderLock lock(order_mutex());
  Registry& registry = Registry::get();
  reclaim(registry);
  for (Slot i = 0; i < registry.slots.size(); ++i) {
    if (registry.slots[i]->has_native()) continue;
    registry.slots[i] = std::make_shared<StreamCore>(device, priority, i, registry.slots[i]->position);
    return registry.slots[i];
  }
  const auto slot = static_cast<Slot>(registry.slots.size());
  return registry.slots.emplace_back(std::make_shared<StreamCore>(device, priority, slot, 0));
}

}  // namespace

std::shared_ptr<StreamCore> create_stream_core(Device device, int priority, SourceLocation where) {
  require_device(device, "Stream", where);
  refuse_in_callback("Stream", where);
  service_stream(device);  // is there before it is needed under the lock
  return make_core(device, priority);
}

void come_after(StreamCore& stream, StreamPoint point) {
  stream.clock.raise(point);
  stream.clock_is_news = true;
}

void come_after(StreamCore& stream, const Clock& clock) {
  stream.clock.merge(clock);
  stream.clock_is_news = true;
}

StreamCore& stream_at(Slot slot) { return *Registry::get().slots[slot]; }

std::vector<std::shared_ptr<StreamCore>> streams_of(Device device) {
  const OrderLock lock(order_mutex());
  std::vector<std::shared_ptr<StreamCore>> found;
  for (const auto& core : Registry::get().slots) {
    if (core->device == device && core->has_native()) found.push_back(core);
  }
  return found;
}

StreamCore& service_stream(Device device) {
  struct Cell {
    std::once_flag once;
    std::shared_ptr<StreamCore> core;
  };
  static auto& all = *new std::array<std::array<Cell, most_devices>, 2>{};
  Cell& cell = all[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
  std::call_once(cell.once, [&] { cell.core = make_core(device, 0); });
  return *cell.core;
}

}  // namespace refrain::runtime
