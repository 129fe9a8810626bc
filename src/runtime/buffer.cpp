#include "runtime/buffer.hpp"

#include "runtime/host_function.hpp"
#include "runtime/ledger.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/thread_state.hpp"

#include <algorithm>
#include <memory>
#include <vector>

namespace refrain::runtime {

Buffer* Buffer::allocate(StreamCore& stream, std::int64_t size_bytes, SourceLocation where) {
  // The deleter frees the object alone if taking memory throws.
  auto* buffer = new Buffer(stream.device, size_bytes, where);
  if (size_bytes > 0) {
    try {
      buffer->address_ = take_memory(stream, size_bytes, where);
    } catch (...) {
      delete buffer;
      throw;
    }
    // The block may be another's until this point of the stream: only later work of it may use the block.
    buffer->history_.add() = {.point = {stream.slot, stream.position},
                              .begin = 0,
                              .end = size_bytes,
                              .mode = AccessMode::write,
                              .label = allocate_label,
                              .where = where};
  }
  return buffer;
}

Buffer* Buffer::pinned(Device device, Backend& by, std::int64_t size_bytes, SourceLocation where) {
  std::unique_ptr<Buffer, void (*)(Buffer*)> buffer(new Buffer(device, size_bytes, where),
                                                    [](Buffer* unused) { delete unused; });
  buffer->pinned_by_ = &by;
  if (size_bytes > 0) buffer->address_ = take_pinned(device, by, size_bytes, where);
  return buffer.release();
}

Buffer* Buffer::foreign(Device device, void* address, std::int64_t size_bytes, SourceLocation where) {
  auto* buffer = new Buffer(device, size_bytes, where);
  buffer->is_foreign_ = true;
  buffer->address_ = address;
  return buffer;
}

Buffer* Buffer::like(const Buffer& recorded, StreamCore& stream, SourceLocation where) {
  Buffer* const buffer = recorded.pinned_by_ != nullptr
                             ? pinned(recorded.device_, *recorded.pinned_by_, recorded.size_bytes_, where)
                             : allocate(stream, recorded.size_bytes_, where);
  buffer->shape = recorded.shape;
  buffer->dtype = recorded.dtype;
  return buffer;
}

Buffer* Buffer::alias(Buffer& of) {
  auto* buffer = new Buffer(of.device(), of.size_bytes(), of.where());
  buffer->shape = of.shape;
  buffer->dtype = of.dtype;
  buffer->is_array = of.is_array;
  buffer->is_read_only = of.is_read_only;
  buffer->given_at = of.given_at;
  buffer->is_foreign_ = of.is_foreign_;
  buffer->pinned_by_ = of.pinned_by_;
  buffer->address_ = of.address();
  // An alias of an alias would have to outlive it.
  buffer->named_ = of.named_ != nullptr ? of.named_ : &of;
  buffer->named_->retain();
  ++buffer->named_->aliases_;
  return buffer;
}

void Buffer::rename(Buffer& of) noexcept {
  of.retain();
  ++of.aliases_;
  --named_->aliases_;
  named_->release();
  named_ = &of;
  is_foreign_ = of.is_foreign_;
  pinned_by_ = of.pinned_by_;
  address_ = of.address();
}

BufferRef Buffer::detach() noexcept {
  BufferRef kept(named_);
  if (named_ != nullptr) {
    --named_->aliases_;
    named_->release();
    named_ = nullptr;
  }
  is_foreign_ = false;
  pinned_by_ = nullptr;
  address_ = nullptr;
  return kept;
}

AccessHistory& Buffer::foreign_history(DeviceKind kind) noexcept {
  static auto& all = *new std::array<AccessHistory, 2>;
  return all[static_cast<std::size_t>(kind)];
}

Buffer* Buffer::record(Recorder& recorder, Device device, Backend* pinned_by, std::int64_t size_bytes,
                       SourceLocation where) {
  auto* buffer = new Buffer(device, size_bytes, where);
  buffer->pinned_by_ = pinned_by;
  if (size_bytes > 0) buffer->state_.store(State::recorded, std::memory_order_relaxed);
  buffer->recorder_ = &recorder;
  return buffer;
}

void Buffer::materialize() {
  if (address_ != nullptr || size_bytes_ == 0) return;
  if (pinned_by_ != nullptr) {
    address_ = take_pinned(device_, *pinned_by_, size_bytes_, where_);
    return;
  }
  materialize(service_stream(device_));
}

void Buffer::materialize(StreamCore& stream) {
  if (address_ != nullptr || size_bytes_ == 0) return;
  address_ = take_memory(stream, size_bytes_, where_);
  history_.add() = {.point = {stream.slot, stream.position},
                    .begin = 0,
                    .end = size_bytes_,
                    .mode = AccessMode::write,
                    .label = allocate_label,
                    .where = where_};
}

void Buffer::end() noexcept {
  if (in_callback()) {
    // The device may wait for this function, and another thread for the device with the order lock held.
    retire(std::shared_ptr<Buffer>(this, [](Buffer* buffer) { buffer->destroy(); }));
  } else {
    destroy();
  }
}

namespace {

/// Memory that its buffer has left and that is given back by the host. Given back when its users are done, for which
/// it is asked whenever retired things are let go.
struct LeftBlock {
  std::vector<StreamPoint> users;
  /// The backend that may give it to its next user in the order of a stream that is still using it; null: no.
  const Backend* by = nullptr;
  std::function<void(const std::shared_ptr<StreamCore>& until)> give;

  static void let_go(std::unique_ptr<LeftBlock> block) noexcept {
    try {
      const auto busy = busy_streams(block->users);
      const bool by_one = busy.size() == 1 && block->by != nullptr && busy.front()->device.kind == block->by->kind() &&
                          !busy.front()->native().is_captured();
      // A deleter may free in a way that no live capture of the thread allows, and belongs to no capture.
      const bool may_give = block->by != nullptr || !thread_state().is_recording();
      if (may_give && (by_one || std::all_of(block->users.begin(), block->users.end(), is_done))) {
        block->give(by_one ? busy.front() : nullptr);
        return;
      }
      retire(std::shared_ptr<LeftBlock>(block.release(),
                                        [](LeftBlock* later) { let_go(std::unique_ptr<LeftBlock>(later)); }));
    } catch (...) {
      // Asking fails on a lost device alone, whose work may have left anything: the block is not used again.
    }
  }
};

}  // namespace

std::vector<StreamPoint> Buffer::users() {
  std::vector<StreamPoint> users;
  const std::int64_t begin = history_origin();
  const OrderLock lock(order_mutex());
  AccessHistory& all = history();
  for (int i = 0; i < all.size(); ++i) {
    if (all[i].begin < begin + size_bytes_ && begin < all[i].end) users.push_back(all[i].at());
  }
  return users;
}

/// Other memory may come to lie at the address of what is given back, and has nothing to do with its users.
void Buffer::forget(DeviceKind kind, void* address, std::int64_t bytes, std::span<const StreamPoint> done) {
  const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address));
  const OrderLock lock(order_mutex());
  foreign_history(kind).drop_if([&](const AccessRecord& record) {
    const auto is_up_to = [&](StreamPoint point) {
      return point.slot == record.point.slot && record.point.position <= point.position;
    };
    return record.mark == nullptr && begin <= record.begin && record.end <= begin + bytes &&
           std::any_of(done.begin(), done.end(), is_up_to);
  });
}

void Buffer::destroy() noexcept {
  if (named_ != nullptr) {
    --named_->aliases_;
    named_->release();
  } else if (is_foreign_) {
    if (deleter_ != nullptr) {
      const std::vector<StreamPoint> done_then = users();
      const auto give = [deleter = std::shared_ptr(std::move(deleter_)), address = address(), bytes = size_bytes_,
                         kind = device_.kind, done_then](const auto&) {
        forget(kind, address, bytes, done_then);
        (*deleter)(address);
      };
      LeftBlock::let_go(std::make_unique<LeftBlock>(LeftBlock{done_then, nullptr, give}));
    }
  } else if (address_ != nullptr && pinned_by_ != nullptr) {
    const auto give = [device = device_, by = pinned_by_, address = address(),
                       bytes = size_bytes_](const std::shared_ptr<StreamCore>& until) {
      give_pinned(device, *by, address, bytes, until);
    };
    LeftBlock::let_go(std::make_unique<LeftBlock>(LeftBlock{users(), pinned_by_, give}));
  } else if (address_ != nullptr) {
    const OrderLock lock(order_mutex());
    std::array<StreamPoint, 8> few;
    std::vector<StreamPoint> many;
    std::size_t count = 0;
    for (int i = 0; i < history_.size(); ++i) {
      const StreamPoint point = history_[i].at();
      if (count < few.size()) {
        few[count++] = point;
      } else {
        if (many.empty()) many.assign(few.begin(), few.end());
        many.push_back(point);
      }
    }
    give_memory(device_, address_, size_bytes_,
                many.empty() ? std::span<const StreamPoint>(few.data(), count) : std::span<const StreamPoint>(many));
  }
  delete this;
}

}  // namespace refrain::runtime
