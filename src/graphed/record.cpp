// What a graphed function is recorded as at its first call with a signature.

#include "graphed/frame.hpp"

#include "graphed/comparison.hpp"
#include "runtime/array_access.hpp"
#include "runtime/event_core.hpp"
#include "runtime/findings.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/thread_state.hpp"

#include <refrain/error.hpp>
#include <refrain/launch.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

namespace refrain::detail {

using graph::Program;
using graph::Recording;
using runtime::Access;
using runtime::Buffer;
using runtime::BufferRef;
using runtime::OrderLock;

namespace {

bool is_same_view(const Array& a, const Array& b) {
  if (a.buffer() != b.buffer()) return false;
  return !a.defined() ||
         (ArrayAccess::offset(a) == ArrayAccess::offset(b) && ArrayAccess::dtype(a) == ArrayAccess::dtype(b) &&
          ArrayAccess::shape(a) == ArrayAccess::shape(b) && ArrayAccess::strides(a) == ArrayAccess::strides(b));
}

/// "'add' at solver.cpp:12": the command that the array is from.
std::string maker_of(const Program& program, const Buffer& buffer) {
  for (const graph::Node& node : program.nodes) {
    for (const Access& access : node.accesses) {
      if (access.buffer == &buffer && access.mode == runtime::AccessMode::write) return graph::place(node.command);
    }
  }
  return "a call" + (buffer.where().line != 0 ? " at " + buffer.where().str() : std::string());
}

/// Whether other work has the buffer's address, which no replay can give another one.
bool is_baked_in(const Program& program, const Buffer& buffer) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [&](const graph::Node& node) {
    return std::holds_alternative<runtime::ForeignCommand>(node.command.payload) &&
           std::any_of(node.accesses.begin(), node.accesses.end(),
                       [&](const Access& access) { return access.buffer == &buffer; });
  });
}

/// Whether a kernel is given the address as it is.
bool has_bare_pointer(const Program& program, const CallBlock& block) {
  return std::any_of(program.nodes.begin(), program.nodes.end(), [&](const graph::Node& node) {
    const auto* kernel = std::get_if<runtime::KernelCommand>(&node.command.payload);
    return block.buffer == nullptr && kernel != nullptr && kernel->get().has_pointer(block.address);
  });
}

}  // namespace

GraphedCall::Frame::Frame(GraphedCall& call, bool may_run) : call(call), core(call.core_) {
  const Signature& signature = core.signature_;
  text = signature.str();
  for (const CallBlock& block : signature.blocks()) {
    names.emplace_back(block.buffer != nullptr ? Buffer::alias(*block.buffer) : nullptr);
  }
  for (const CallArray& each : signature.arrays()) {
    originals.push_back(*each.array);
    stand_ins.push_back(each.block < 0 ? Array() : stand_in(*each.array, each.block));
  }
  recording = Recording::begin(Recording::Scope::thread, runtime::thread_state().stream(core.stream_->device),
                               {.strict = core.options.strict}, core.where);
  recording->stand_for_a_run(may_run);
  holds_state_ = true;
  for (std::size_t i = core.arguments_; i < stand_ins.size(); ++i) {
    *signature.arrays()[i].array = stand_ins[i];
  }
}

Array GraphedCall::Frame::stand_in(const Array& array, int block) const {
  return ArrayAccess::moved(array, *names[static_cast<std::size_t>(block)].get(), 0);
}

void GraphedCall::Frame::find_state() {
  state.clear();
  for (const GraphedState& state : core.state_) state.take(state.object, TakeLeaves{call, true});
}

int GraphedCall::Frame::block_of(const Array& array) const {
  const auto name = std::find_if(names.begin(), names.end(), [&](const BufferRef& each) {
    return each.get() != nullptr && each.get() == array.buffer();
  });
  return name == names.end() ? -1 : static_cast<int>(name - names.begin());
}

void GraphedCall::Frame::settle(Array& array) const {
  const int block = block_of(array);
  if (block < 0) return;
  array = ArrayAccess::moved(array, *core.signature_.blocks()[static_cast<std::size_t>(block)].buffer, 0);
}

void GraphedCall::Frame::restore_state() {
  if (!std::exchange(holds_state_, false)) return;
  find_state();
  const bool is_as_it_was = state.size() == originals.size() - core.arguments_;
  const bool has_run = recording != nullptr && !recording->ran_for().empty();  // then it is as a call has left it
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (is_as_it_was && !has_run) {
      *state[i] = originals[core.arguments_ + i];
    } else {
      settle(*state[i]);
    }
  }
}

void GraphedCall::Frame::abandon() noexcept {
  try {
    restore_state();
  } catch (...) {
    // Of a struct that can no longer be taken apart nothing is known.
  }
  if (recording != nullptr) recording->discard("the graphed function did not return");
}

std::string GraphedCall::Frame::find_escape() const {
  const Program& program = recording->program();
  const auto known = [&](const Buffer& buffer) {
    int handles = 0;
    const auto count = [&](const Array& array) { handles += array.buffer() == &buffer ? 1 : 0; };
    for (const auto* arrays : {&own, &state, &result}) {
      for (const Array* array : *arrays) count(*array);
    }
    for (const Array& array : stand_ins) count(array);
    for (const Array& array : held) {
      const bool is_own = std::find(own.begin(), own.end(), &array) != own.end();
      if (!is_own) count(array);
    }
    return handles;
  };
  for (const BufferRef& made : program.made) {
    if (made->handles() <= known(*made.get())) continue;
    return "an array from " + maker_of(program, *made.get()) +
           " is kept elsewhere, where no later call could put another one; return it, register it with state, or let "
           "go of it";
  }
  for (const BufferRef& name : names) {
    if (name.get() == nullptr || name->handles() <= known(*name.get())) continue;
    return "an argument of shape " + name->shape.str() +
           " is kept elsewhere, where no later call could put another one; return it, or register it with state";
  }
  return {};
}

bool GraphedCall::Frame::finish() {
  find_state();
  const std::size_t states = originals.size() - core.arguments_;
  ++core.statistics_.recordings;
  std::string why;
  if (!recording->ran_for().empty()) {
    why = "it needs values, or what no capture has, for " + recording->ran_for();
  } else if (own.size() != core.arguments_ || state.size() != states) {
    why = "it changes how many arrays an argument or registered state has";
  } else {
    why = find_escape();
  }
  if (why.empty()) {
    finish_recorded();
    return true;
  }
  if (core.options.strict) {
    throw Error(Errc::illegal_state, core.options.label, text, "cannot be replayed, which strict mode refuses: " + why,
                core.where);
  }
  if (recording->ran_for().empty()) recording->run_so_far(core.options.label, core.where);
  finish_eagerly(why);
  return false;
}

void GraphedCall::Frame::finish_eagerly(const std::string& why) {
  const auto& arrays = core.signature_.arrays();
  for (Array* const array : result) settle(*array);
  for (Array* const array : state) settle(*array);
  holds_state_ = false;
  for (std::size_t i = 0; i < own.size(); ++i) {
    settle(*own[i]);
    const bool is_known = own.size() == core.arguments_;
    if (is_known && arrays[i].is_assignable && !is_same_view(*own[i], originals[i])) {
      *arrays[i].array = *own[i];
    }
  }
  GraphedEntry entry;
  entry.words = core.signature_.words();
  entry.text = text;
  entry.why_eager = why;
  ++core.statistics_.eager;
  core.add(core.hash_, std::move(entry));
  told = std::string("'") + core.options.label + "'" + (core.where.line != 0 ? " at " + core.where.str() : "") +
         " runs eagerly with (" + text + "): " + why;
}

void GraphedCall::Frame::name_blocks(Recorded::Parts& parts) const {
  const auto& outside = parts.program->outside;
  const auto& blocks = core.signature_.blocks();
  const auto find = [&](auto is_it) {
    const auto found = std::find_if(outside.begin(), outside.end(), is_it);
    return found == outside.end() ? BufferRef() : *found;
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const CallBlock& block = blocks[i];
    RecordedBlock& recorded = parts.blocks.emplace_back();
    recorded.offset = block.offset;
    recorded.name = find([&](const BufferRef& each) {
      if (block.buffer != nullptr) return each.get() == names[i].get();
      // What an access has made of the address.
      return each->is_foreign() && !each->is_array && each->address() == block.address &&
             each->size_bytes() == block.size_bytes;
    });
  }
  const auto is_argument = [&](const BufferRef& buffer) {
    return std::any_of(parts.blocks.begin(), parts.blocks.end(),
                       [&](const RecordedBlock& block) { return block.name.get() == buffer.get(); });
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const CallBlock& block = blocks[i];
    RecordedBlock& recorded = parts.blocks[i];
    if (recorded.name.get() == nullptr && block.buffer != nullptr) continue;
    const BufferRef captured = find([&](const BufferRef& each) {
      if (is_argument(each)) return false;
      return each.get() == block.buffer ||
             (each->is_foreign() && block.is_foreign() &&
              block.overlaps(static_cast<const std::byte*>(each->address()), each->size_bytes()));
    });
    if (block.buffer != nullptr && recorded.name->named() != block.buffer) {
      recorded.memory = BufferRef(recorded.name->named());
      recorded.touched = graph::touched(*parts.program, *recorded.name.get());
      if (captured.get() == nullptr) continue;
      throw Error(Errc::not_supported, core.options.label, text,
                  "enqueues work on an argument that it uses by another name too, which that work would not see; pass a "
                  "copy, or use one name",
                  core.where);
    }
    const bool is_baked = recorded.name.get() != nullptr && is_baked_in(*parts.program, *recorded.name.get());
    if (captured.get() != nullptr || is_baked || has_bare_pointer(*parts.program, block)) {
      recorded.must_be = block.address;
    }
  }
}

ArraySource GraphedCall::Frame::source_of(const Array& array, Recorded::Parts& parts) const {
  if (!array.defined()) return {};
  const int block = block_of(array);
  if (block >= 0) return {ArraySource::Kind::argument, static_cast<std::size_t>(block), array};
  const auto& made = parts.program->made;
  const bool is_made =
      std::any_of(made.begin(), made.end(), [&](const BufferRef& each) { return each.get() == array.buffer(); });
  if (!is_made) return {ArraySource::Kind::kept, 0, array};
  if (array.buffer()->address() != nullptr) return {ArraySource::Kind::copied, 0, array};
  auto& outputs = parts.outputs;
  const auto known =
      std::find_if(outputs.begin(), outputs.end(), [&](const BufferRef& each) { return each.get() == array.buffer(); });
  const auto number = static_cast<std::size_t>(known - outputs.begin());
  if (known == outputs.end()) outputs.emplace_back(array.buffer());
  return {ArraySource::Kind::output, number, array};
}

void GraphedCall::Frame::finish_recorded() {
  Recorded::Parts parts;
  std::vector<std::shared_ptr<runtime::EventCore>> events;  // let go of without the lock
  {
    const OrderLock lock(runtime::order_mutex());
    events = recording->recorded_events();
  }
  parts.events.assign(events.begin(), events.end());
  parts.program = recording->end(core.where);
  recording.reset();
  parts.parameters = parameters;
  name_blocks(parts);
  const auto& arrays = core.signature_.arrays();
  for (const Array* array : result) parts.result.push_back(source_of(*array, parts));
  const auto note_assigned = [&](std::size_t number, const Array& now) {
    if (arrays[number].is_assignable && !is_same_view(now, stand_ins[number])) {
      parts.assigned.emplace_back(number, source_of(now, parts));
    }
  };
  for (std::size_t i = 0; i < own.size(); ++i) note_assigned(i, *own[i]);
  for (std::size_t i = 0; i < state.size(); ++i) note_assigned(core.arguments_ + i, *state[i]);
  restore_state();
  // What only these name is a temporary.
  for (Array* const array : own) *array = Array();
  for (Array* const array : result) *array = Array();
  {
    std::vector<BufferRef> left;  // let go of without the lock
    const OrderLock lock(runtime::order_mutex());
    for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
      const RecordedBlock& block = parts.blocks[i];
      if (block.must_be != nullptr || block.memory.get() != nullptr) continue;
      Buffer* const name = block.name.get() != nullptr ? block.name.get() : names[i].get();
      if (name != nullptr) left.push_back(name->detach());
    }
  }
  for (std::size_t i = 0; i < parts.blocks.size(); ++i) {
    const CallBlock& block = core.signature_.blocks()[i];
    RecordedBlock& recorded = parts.blocks[i];
    if (block.buffer != nullptr || recorded.name.get() == nullptr) continue;
    recorded.standing =
        BufferRef(Buffer::foreign(recorded.name->device(), block.address, block.size_bytes, core.where));
  }
  InstantiateOptions options = core.options.instantiate;
  options.arena_pool = core.options.arena_pool ? &*core.options.arena_pool : nullptr;
  GraphedEntry entry;
  entry.words = core.signature_.words();
  entry.text = text;
  entry.recorded = std::make_unique<Recorded>(std::move(parts), options, core.options.buffer_sets, core.where);
  Recorded& recorded = *entry.recorded;
  recorded.replay(core.signature_, core.parameters_, *core.stream_, core.statistics_);
  for (std::size_t i = 0; i < result.size(); ++i) {
    *result[i] = recorded.array(recorded.result()[i], core.signature_);
  }
  core.entry_ = &core.add(core.hash_, std::move(entry));
  call.assign();
}

void GraphedCall::Frame::check() {
  ++core.statistics_.checks;
  const std::shared_ptr<Program> program = recording->end(core.where);
  recording.reset();
  const std::string found = difference(*core.entry_->recorded, *program, names);
  restore_state();
  if (found.empty()) return;
  throw Error(
      Errc::illegal_state, core.options.label, text,
      "does not do what was recorded: " + found + "; pass what changes as an argument, a Param, or registered state",
      core.where);
}

}  // namespace refrain::detail
