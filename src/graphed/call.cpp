// One call of a graphed function: its signature, and its replay.

#include "array/make.hpp"
#include "graphed/frame.hpp"
#include "runtime/array_access.hpp"
#include "runtime/findings.hpp"
#include "runtime/host_function.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/error.hpp>

#include <functional>
#include <thread>
#include <utility>

namespace refrain::detail {

using runtime::Buffer;

namespace {

/// The device that a call is made on: of its first array.
Device device_of(const Signature& call, Device current) {
  for (const CallArray& each : call.arrays()) {
    if (each.block >= 0) return each.array->buffer()->device();
  }
  return current;
}

}  // namespace

GraphedCall::GraphedCall(GraphedCore& core) : core_(core) {
  runtime::refuse_in_callback(core.options.label, core.where);  // which the call that has the lock may wait for
  if (runtime::thread_recorder() != nullptr) return;            // which records what the function issues
  if (core.caller_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return;
  core.mutex_.lock();
  core.caller_.store(std::this_thread::get_id(), std::memory_order_relaxed);
  core.signature_.clear();
  core.parameters_.clear();
  core.assigned_.clear();
  core.entry_ = nullptr;
  is_outermost_ = true;
}

GraphedCall::~GraphedCall() { end(); }

void GraphedCall::end() noexcept {
  if (!std::exchange(is_outermost_, false)) return;
  if (frame_ != nullptr) frame_->abandon();
  frame_.reset();
  core_.caller_.store({}, std::memory_order_relaxed);
  core_.mutex_.unlock();
}

void GraphedCall::tell() {
  end();
  if (!told_.empty()) runtime::log({DiagnosticKind::runs_eagerly, Severity::warning, {}, told_});
}

void GraphedCall::take_word(std::uint64_t word) {
  if (frame_ == nullptr) {
    core_.signature_.add(word);
  } else {
    frame_->now.words.push_back(word);
  }
}

void GraphedCall::take_text(std::string_view text) {
  if (frame_ == nullptr) {
    core_.signature_.add(text);
  } else {
    frame_->now.words.push_back(std::hash<std::string_view>()(text));
  }
}

void GraphedCall::take_array(const Array& array, bool is_assignable) {
  if (frame_ == nullptr) {
    core_.signature_.add(array, is_assignable);
  } else {
    auto& arrays = is_assignable ? frame_->now.assignable : frame_->now.others;
    arrays.push_back(const_cast<Array*>(&array));
  }
}

void GraphedCall::take_parameter(const ParameterState& parameter) {
  if (frame_ == nullptr) {
    core_.parameters_.push_back(&parameter);
  } else {
    frame_->now.words.push_back(reinterpret_cast<std::uintptr_t>(&parameter));
  }
}

void GraphedCall::take_memory(const MemoryAccess& memory) {
  if (memory.array != nullptr) {
    take_array(*memory.array, false);
  } else if (frame_ == nullptr) {
    core_.signature_.add(memory.address, memory.bytes);
  } else {
    frame_->now.words.push_back(reinterpret_cast<std::uintptr_t>(memory.address));
  }
}

void GraphedCall::take_state() {
  core_.arguments_ = core_.signature_.arrays().size();
  for (const GraphedState& state : core_.state_) state.take(state.object, TakeLeaves{*this, true});
}

GraphedCall::Way GraphedCall::find() {
  Signature& signature = core_.signature_;
  const char* const label = core_.options.label;
  if (signature.has_shared_variables()) {
    ++core_.counters_.eager;
    return Way::run;
  }
  const Device current = current_device();
  core_.stream_ = &runtime::thread_stream(device_of(signature, current));
  runtime::notice_capture(*core_.stream_, label, core_.where);
  if (runtime::recorder_of(*core_.stream_) != nullptr) return Way::run;
  for (const CallArray& each : signature.arrays()) {
    if (each.block >= 0 && each.array->buffer()->state() != Buffer::State::ready) {
      require_values(*each.array, label, core_.where);
    }
  }
  // What the function makes is made on the current device.
  signature.add(static_cast<std::uint64_t>(current.kind) << 32 | static_cast<std::uint64_t>(current.index));
  GraphedEntry* entry = core_.newest_;
  if (entry == nullptr || entry->words != signature.words() ||
      (entry->recorded != nullptr && !entry->recorded->fits(signature))) {
    core_.hash_ = signature.hash();
    entry = core_.find(core_.hash_);
    core_.newest_ = entry;
  }
  core_.entry_ = entry;
  if (entry == nullptr) return Way::record;
  entry->used = ++core_.uses_;
  ++entry->hits;
  if (entry->recorded == nullptr) {
    ++core_.counters_.eager;
    return Way::run;
  }
  ++core_.counters_.hits;
  result_ = entry->result.get();
  is_checked_ = core_.check_every_ > 0 && entry->hits % core_.check_every_ == 0;
  return Way::replay;
}

void GraphedCall::begin() { frame_ = std::make_unique<Frame>(*this, !is_checked_); }

Array GraphedCall::next_stand_in() { return frame_->stand_ins[frame_->next++]; }
const Array* GraphedCall::held_stand_in() { return &frame_->held.emplace_back(next_stand_in()); }

void GraphedCall::stand_in_for_parameter(std::shared_ptr<const ParameterState> parameter) {
  frame_->parameters.push_back(std::move(parameter));
}

void GraphedCall::begin_look() { frame_->begin_look(); }
void GraphedCall::other_array(Array& array) { frame_->now.others.push_back(&array); }
void GraphedCall::end_look() { frame_->end_look(); }
void GraphedCall::result_array(Array& array) { frame_->result.push_back(&array); }

void GraphedCall::finish() {
  is_kept_ = frame_->finish();
  told_ = std::move(frame_->told);
  has_run_eagerly_ = !is_kept_;
  frame_.reset();
}

void GraphedCall::check() {
  frame_->check();
  frame_.reset();
}

void GraphedCall::replay() {
  GraphedCounters& counters = core_.counters_;
  const std::int64_t instantiations = counters.instantiations;
  core_.entry_->recorded->replay(core_.signature_, core_.parameters_, *core_.stream_, counters);
  if (counters.instantiations != instantiations) core_.keep_to_limits(*core_.entry_);
}

Array GraphedCall::next_array() {
  const Recorded& recorded = *core_.entry_->recorded;
  return recorded.array(recorded.result()[next_++], core_.signature_);
}

void GraphedCall::assign() {
  const Recorded& recorded = *core_.entry_->recorded;
  // All of them first: the caller's handle may be the last of a block that another one is made of.
  for (const auto& [number, source] : recorded.assigned()) {
    core_.assigned_.push_back(recorded.array(source, core_.signature_));
  }
  for (std::size_t i = 0; i < core_.assigned_.size(); ++i) {
    const CallArray& to = core_.signature_.arrays()[recorded.assigned()[i].first];
    if (to.is_assignable) *to.array = std::move(core_.assigned_[i]);
  }
  core_.assigned_.clear();
}

void GraphedCall::keep(std::shared_ptr<const StoredResult> result) {
  core_.entry_->result = std::move(result);
  core_.entry_->is_complete = true;
}

}  // namespace refrain::detail
