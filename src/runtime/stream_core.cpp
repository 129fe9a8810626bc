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
    if (core.is_exposed && !has_unseen_issues(core)) return true;  // it may be out of reach
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

StreamCore::StreamCore(const NativeStream& wrapped, Slot slot, std::uint64_t position)
    : device{DeviceKind::cuda, wrapped.device},
      priority(wrapped.priority),
      slot(slot),
      id(next_stream_id()),
      base_position(position),
      position(position),
      is_wrapped(true),
      is_exposed(true),
      native_(backend().wrap_stream(wrapped)) {}

void StreamCore::expose() noexcept {
  if (is_exposed.exchange(true)) return;
  native_->expose();
  tell_exposed(*this);
}

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
  if (core->has_native()) core->native().leave(has_unseen_issues(*core));
  core.reset();
  reclaim(Registry::get());
}

namespace {

/// Puts what `make(slot, position)` makes into a free slot. With the order lock held.
template <class Make>
std::shared_ptr<StreamCore> into_free_slot(Make make) {
  Registry& registry = Registry::get();
  reclaim(registry);
  for (Slot i = 0; i < registry.slots.size(); ++i) {
    if (registry.slots[i]->has_native()) continue;
    registry.slots[i] = make(i, registry.slots[i]->position);
    return registry.slots[i];
  }
  return registry.slots.emplace_back(make(static_cast<Slot>(registry.slots.size()), 0));
}

std::shared_ptr<StreamCore> make_core(Device device, int priority) {
  const auto [lowest, highest] = backend(device.kind).priority_range(device.index);
  priority = std::clamp(priority, highest, lowest);
  const OrderLock lock(order_mutex());
  return into_free_slot([&](Slot slot, std::uint64_t position) {
    return std::make_shared<StreamCore>(device, priority, slot, position);
  });
}

}  // namespace

std::shared_ptr<StreamLife> create_stream(Device device, int priority, SourceLocation where) {
  require_device(device, "Stream", where);
  refuse_in_callback("Stream", where);
  service_stream(device);  // is there before it is needed under the lock
  std::shared_ptr<StreamLife> life = own(new StreamLife(make_core(device, priority)));
  const OrderLock lock(order_mutex());
  life->core->life = life;
  return life;
}

std::shared_ptr<StreamLife> wrap_stream(const NativeStream& native, SourceLocation where) {
  const Device device{DeviceKind::cuda, native.device};
  require_device(device, "wrap", where);
  service_stream(device);
  const OrderLock lock(order_mutex());
  for (const auto& core : Registry::get().slots) {
    if (core->device != device || !core->has_native() || core->native().native() != native.handle) continue;
    if (auto known = core->life.lock()) return known;
  }
  std::shared_ptr<StreamLife> life = own(new StreamLife(into_free_slot(
      [&](Slot slot, std::uint64_t position) { return std::make_shared<StreamCore>(native, slot, position); })));
  life->core->life = life;
  return life;
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

namespace {

/// A stream of the library's own for each device.
class OwnStreams {
 public:
  StreamCore& of(Device device) {
    Cell& cell = cells_[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
    std::call_once(cell.once, [&] { cell.core = make_core(device, 0); });
    return *cell.core;
  }

 private:
  struct Cell {
    std::once_flag once;
    std::shared_ptr<StreamCore> core;
  };
  std::array<std::array<Cell, most_devices>, 2> cells_;
};

}  // namespace

StreamCore& service_stream(Device device) {
  static auto& all = *new OwnStreams;
  return all.of(device);
}

StreamCore& memory_stream(Device device) {
  static auto& all = *new OwnStreams;
  return all.of(device);
}

}  // namespace refrain::runtime
