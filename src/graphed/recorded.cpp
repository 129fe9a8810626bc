#include "graphed/recorded.hpp"

#include "runtime/array_access.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace refrain::detail {

using graph::Exec;
using graph::PassedBlock;
using runtime::Buffer;
using runtime::BufferRef;
using runtime::OrderLock;

Recorded::Recorded(Parts parts, InstantiateOptions options, int most_sets, SourceLocation where)
    : parts_(std::move(parts)), options_(options), most_sets_(static_cast<std::size_t>(most_sets)), where_(where) {
  std::vector<const Buffer*> passed;
  for (std::size_t i = 0; i < parts_.blocks.size(); ++i) {
    const RecordedBlock& block = parts_.blocks[i];
    copies_ = copies_ || block.memory.get() != nullptr;
    if (block.name.get() == nullptr || block.must_be != nullptr || block.memory.get() != nullptr) continue;
    passed_.push_back(i);
    passed.push_back(block.name.get());
  }
  passing_.resize(passed_.size() + parts_.outputs.size());
  const graph::Program& program = *parts_.program;
  has_work_ = !program.nodes.empty() || !parts_.outputs.empty() || !program.generators.empty() ||
              program.reseeded.has_value() || !program.outside_waits.empty();
  for (const BufferRef& buffer : program.outside) {
    if (std::find(passed.begin(), passed.end(), buffer.get()) == passed.end()) captured_.push_back(buffer.get());
  }
}

bool Recorded::fits(const Signature& call) const noexcept {
  const auto& blocks = call.blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const RecordedBlock& recorded = parts_.blocks[i];
    if (recorded.name.get() == nullptr && recorded.must_be == nullptr) continue;  // nothing is done with it
    if (recorded.must_be != nullptr) {
      if (blocks[i].address != recorded.must_be || blocks[i].offset != recorded.offset) return false;
      continue;
    }
    // Where the program knows the memory by a name of its own, it would not know that the two are one.
    for (const Buffer* captured : captured_) {
      const bool is_same = blocks[i].buffer == captured;
      const bool overlaps =
          captured->is_foreign() && blocks[i].is_foreign() &&
          blocks[i].overlaps(static_cast<const std::byte*>(captured->address()), captured->size_bytes());
      if (is_same || overlaps) return false;
    }
  }
  return true;
}

void Recorded::gather(const Signature& call) {
  for (std::size_t k = 0; k < passed_.size(); ++k) {
    const CallBlock& block = call.blocks()[passed_[k]];
    const RecordedBlock& recorded = parts_.blocks[passed_[k]];
    if (block.buffer == nullptr) recorded.standing->move_to(block.address);
    passing_[k] = {block.buffer != nullptr ? block.buffer : recorded.standing.get(), block.offset - recorded.offset};
  }
}

void Recorded::point_at(const Outputs& outputs) noexcept {
  for (std::size_t i = 0; i < outputs.size(); ++i) passing_[passed_.size() + i] = {outputs[i].get(), 0};
}

bool Recorded::is_free(const Outputs& outputs) noexcept {
  return std::all_of(outputs.begin(), outputs.end(), [](const BufferRef& block) { return block->references() == 1; });
}

Recorded::Outputs Recorded::make_outputs(runtime::StreamCore& stream) const {
  Outputs outputs(parts_.outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Buffer& recorded = *parts_.outputs[i].get();
    runtime::StreamCore& on = stream.device == recorded.device() ? stream : runtime::service_stream(recorded.device());
    const OrderLock lock(runtime::order_mutex());
    outputs[i] = BufferRef(Buffer::like(recorded, on, where_));
  }
  return outputs;
}

std::size_t Recorded::take_outputs(runtime::StreamCore& stream, std::optional<std::size_t> preferred) {
  if (preferred && is_free(outputs_[*preferred])) return *preferred;
  const auto free = std::find_if(outputs_.begin(), outputs_.end(), is_free);
  if (free != outputs_.end()) return static_cast<std::size_t>(free - outputs_.begin());
  if (outputs_.size() < most_sets_) {
    outputs_.push_back(make_outputs(stream));
    return outputs_.size() - 1;
  }
  // The caller holds all of them: one is the caller's alone from now on.
  const std::size_t left = preferred.value_or(0);
  outputs_[left] = make_outputs(stream);
  return left;
}

Recorded::Set& Recorded::add_set(std::size_t outputs, bool is_for_results, GraphedCounters& counters) {
  point_at(outputs_[outputs]);
  Set set;
  set.outputs = outputs;
  if (sets_.empty()) {
    std::vector<Buffer*> names;
    for (const std::size_t i : passed_) names.push_back(parts_.blocks[i].name.get());
    for (const BufferRef& output : parts_.outputs) names.push_back(output.get());
    set.exec = Exec::make_passing(parts_.program, options_, names, passing_, where_);
    find_parameters(*set.exec);
    set.values.resize(parameters_.size());
  } else {
    set.exec = sets_.front().exec->sibling(passing_, where_);
    set.values = sets_.front().values;
  }
  ++counters.instantiations;
  if (!sets_.empty()) {
    ++(is_for_results ? counters.instantiations_for_results : counters.instantiations_for_arguments);
  }
  return sets_.emplace_back(std::move(set));
}

Recorded::Set& Recorded::choose(runtime::StreamCore& stream, GraphedCounters& counters) {
  bool has_arguments = false;
  const std::size_t count = sets_.size();
  for (std::size_t k = 1; k <= count; ++k) {  // where the caller holds the newest results it is the turn of the next
    Set& set = sets_[(newest_set_ + k) % count];
    point_at(outputs_[set.outputs]);
    if (!set.exec->has(passing_)) continue;
    if (is_free(outputs_[set.outputs])) return set;
    has_arguments = true;
  }
  if (sets_.size() < most_sets_) return add_set(take_outputs(stream, std::nullopt), has_arguments, counters);
  Set& oldest =
      *std::min_element(sets_.begin(), sets_.end(), [](const Set& a, const Set& b) { return a.used < b.used; });
  oldest.outputs = take_outputs(stream, oldest.outputs);
  point_at(outputs_[oldest.outputs]);
  ++counters.rebinds;
  return oldest;
}

void Recorded::find_parameters(Exec& exec) {
  std::vector<std::shared_ptr<const ParameterState>> all;
  for (const graph::Node& node : parts_.program->nodes) {
    for (const auto& held : node.held_parameters) {
      if (std::find(all.begin(), all.end(), held) == all.end()) all.push_back(held);
    }
  }
  for (const auto& state : all) {
    if (!exec.uses(*state)) continue;
    const auto& own = parts_.parameters;
    const auto argument = std::find(own.begin(), own.end(), state);
    Parameter parameter{state, std::nullopt, state->size_bytes()};
    if (argument != own.end()) parameter.argument = static_cast<std::size_t>(argument - own.begin());
    value_.resize(std::max(value_.size(), parameter.bytes));
    parameters_.push_back(std::move(parameter));
  }
}

void Recorded::gather_values(Set& set, std::span<const ParameterState* const> parameters) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const ParameterState& given = parameter.argument ? *parameters[*parameter.argument] : *parameter.state;
    given.read(value_.data());
    std::vector<std::byte>& present = set.values[i];
    if (!present.empty() && std::memcmp(present.data(), value_.data(), parameter.bytes) == 0) continue;
    present.resize(parameter.bytes);
    std::memcpy(present.data(), value_.data(), parameter.bytes);
    values_.push_back({parameter.state.get(), present.data()});
  }
}

void Recorded::copy_in(const RecordedBlock& block, const CallBlock& given, runtime::StreamCore& stream) const {
  if (block.memory.get() == nullptr) return;
  const std::int64_t begin = block.touched.begin;
  graph::copy_bytes(stream, *block.memory.get(), begin, *given.buffer, begin + given.offset - block.offset,
                    block.touched.end - begin, where_);
}

void Recorded::copy_out(const RecordedBlock& block, const CallBlock& given, runtime::StreamCore& stream) const {
  if (block.memory.get() == nullptr) return;
  const std::int64_t begin = block.touched.written_begin;
  graph::copy_bytes(stream, *given.buffer, begin + given.offset - block.offset, *block.memory.get(), begin,
                    block.touched.written_end - begin, where_);
}

void Recorded::replay(Set& set, runtime::StreamCore& stream) {
  try {
    set.exec->replay(stream, passing_, values_, where_);
  } catch (...) {
    // Which of them it has taken nobody knows: it is given all with its next replay.
    for (std::vector<std::byte>& value : set.values) value.clear();
    throw;
  }
}

void Recorded::run(const Signature& call, std::span<const ParameterState* const> parameters,
                   runtime::StreamCore& stream, GraphedCounters& counters) {
  const bool is_first = sets_.empty();
  gather(call);
  Set& set = choose(stream, counters);
  newest_set_ = static_cast<std::size_t>(&set - sets_.data());
  set.used = ++uses_;
  newest_outputs_ = set.outputs;
  values_.clear();
  // The first call has the values of the recording: the function may have given them others since.
  if (!parameters_.empty() && !is_first) gather_values(set, parameters);
  if (!copies_) {
    replay(set, stream);
    return;
  }
  for (std::size_t i = 0; i < parts_.blocks.size(); ++i) copy_in(parts_.blocks[i], call.blocks()[i], stream);
  replay(set, stream);
  for (std::size_t i = 0; i < parts_.blocks.size(); ++i) copy_out(parts_.blocks[i], call.blocks()[i], stream);
}

void Recorded::wait_again(runtime::StreamCore& stream) const {
  for (const auto& wait : parts_.waits) {
    const auto event = wait.event.lock();
    const OrderLock lock(runtime::order_mutex());
    if (event != nullptr && event->recorded && event->captured == nullptr) {
      runtime::wait_event_eagerly(stream, *event, "wait_event", where_);
      continue;
    }
    // Nobody has recorded it since: what the stream has been given is what it would stand for.
    const runtime::StreamCore& other = runtime::stream_at(wait.slot);
    if (other.id != wait.stream_id) continue;
    runtime::wait_for(stream, {other.slot, other.position});
    runtime::come_after(stream, other.clock);
  }
}

void Recorded::replay(const Signature& call, std::span<const ParameterState* const> parameters,
                      runtime::StreamCore& stream, GraphedCounters& counters) {
  if (uses_ > 0) wait_again(stream);
  if (has_work_) run(call, parameters, stream, counters);
  for (const auto& weak : parts_.events) {
    const auto event = weak.lock();
    if (event == nullptr) continue;
    runtime::StreamCore& on =
        event->device == stream.device ? stream : runtime::thread_stream(event->device.value_or(stream.device));
    const OrderLock lock(runtime::order_mutex());
    runtime::wait_for(on, {stream.slot, stream.position});
    event->record_late(on, where_);
  }
}

Array Recorded::array(const ArraySource& source, const Signature& call) const {
  switch (source.kind) {
    case ArraySource::Kind::none: return {};
    case ArraySource::Kind::argument: {
      const CallBlock& block = call.blocks()[source.block];
      return ArrayAccess::moved(source.like, *block.buffer, block.offset - parts_.blocks[source.block].offset);
    }
    case ArraySource::Kind::output:
      return ArrayAccess::moved(source.like, *outputs_[newest_outputs_][source.block].get(), 0);
    case ArraySource::Kind::kept: return source.like;
    case ArraySource::Kind::copied: {
      Array copy = empty(source.like.shape(), {.dtype = source.like.dtype(), .device = source.like.device()}, where_);
      copy.assign(Operand(source.like, where_));
      return copy;
    }
  }
  return {};
}

bool Recorded::is_idle() const { return sets_.empty() || sets_.front().exec->is_idle(); }

void Recorded::synchronize() const {
  if (!sets_.empty()) sets_.front().exec->synchronize();
}

std::int64_t Recorded::size_bytes() const {
  std::int64_t sum = sets_.empty() ? 0 : sets_.front().exec->arena_use().size_bytes;
  for (const Outputs& outputs : outputs_) {
    for (const BufferRef& block : outputs) sum += block->size_bytes();
  }
  return sum;
}

std::string Recorded::explain() const {
  std::string text = std::to_string(parts_.program->nodes.size()) + " commands as " +
                     (sets_.empty() ? std::string("none") : std::to_string(sets_.front().exec->node_count())) +
                     ", executables for " + std::to_string(sets_.size()) +
                     (sets_.size() == 1 ? " set of buffers" : " sets of buffers");
  for (std::size_t i = 0; i < parts_.blocks.size(); ++i) {
    if (parts_.blocks[i].memory.get() != nullptr) {
      text +=
          "; block " + std::to_string(i) + " of the arguments is copied for each call, for other work has its address";
    }
    if (parts_.blocks[i].must_be == nullptr) continue;
    text += "; block " + std::to_string(i) +
            " of the arguments must be the recorded one, for the function uses it by another name too";
  }
  return text;
}

}  // namespace refrain::detail
