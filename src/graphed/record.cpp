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

void GraphedCall::Frame::begin_look() { before = std::exchange(now, {}); }

void GraphedCall::Frame::end_look() { look_at_state(); }

void GraphedCall::Frame::look_at_state() {
  for (const GraphedState& each : core.state_) each.take(each.object, TakeLeaves{call, true});
}

std::vector<std::size_t> GraphedCall::Frame::assignable_numbers() const {
  const auto& arrays = core.signature_.arrays();
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].is_assignable) numbers.push_back(i);
  }
  return numbers;
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
  begin_look();
  look_at_state();
  const std::size_t count = originals.size() - core.arguments_;
  const bool has_run = recording != nullptr && !recording->ran_for().empty();  // then it is as a call has left it
  for (std::size_t i = 0; i < now.assignable.size(); ++i) {
    if (now.assignable.size() == count && !has_run) {
      *now.assignable[i] = originals[core.arguments_ + i];
      core.signature_.point_at(core.arguments_ + i, *now.assignable[i]);
    } else {
      settle(*now.assignable[i]);
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
  std::vector<const Array*> shown;  // each once: what is registered may be a part of something else that is
  for (const auto* arrays : {&now.assignable, &now.others, &result})
    shown.insert(shown.end(), arrays->begin(), arrays->end());
  for (const Array& array : stand_ins) shown.push_back(&array);
  for (const Array& array : held) shown.push_back(&array);
  std::sort(shown.begin(), shown.end());
  shown.erase(std::unique(shown.begin(), shown.end()), shown.end());
  const auto known = [&](const Buffer& buffer) {
    return std::count_if(shown.begin(), shown.end(), [&](const Array* array) { return array->buffer() == &buffer; });
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
  ++core.counters_.recordings;
  std::string why;
  if (!recording->ran_for().empty()) {
    why = "it needs values, or what no capture has, for " + recording->ran_for();
  } else if (!is_as_before()) {
    why =
        "it changes numbers, or how many arrays there are, in an argument that it has by reference or in registered "
        "state";
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
  holds_state_ = false;
  for (const auto* arrays : {&now.assignable, &now.others, &result}) {
    for (Array* const array : *arrays) settle(*array);
  }
  if (now.assignable.size() == before.assignable.size()) {
    const std::vector<std::size_t> numbers = assignable_numbers();
    for (std::size_t k = 0; k < numbers.size() && numbers[k] < core.arguments_; ++k) {
      const Array& own = *now.assignable[k];
      if (!is_same_view(own, originals[numbers[k]])) *core.signature_.arrays()[numbers[k]].array = own;
    }
  }
  GraphedEntry entry;
  entry.words = core.signature_.words();
  entry.text = text;
  entry.why_eager = why;
  entry.is_complete = true;
  ++core.counters_.eager;
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
      throw Error(
          Errc::not_supported, core.options.label, text,
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

/// From then on the recording keeps none of the call's memory. Other code's may overlap: until it is planned, its names
/// must say where it is.
void GraphedCall::Frame::detach(const std::vector<RecordedBlock>& blocks, bool is_foreign) const {
  std::vector<BufferRef> left;  // let go of without the lock
  const OrderLock lock(runtime::order_mutex());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const RecordedBlock& block = blocks[i];
    if (block.must_be != nullptr || block.memory.get() != nullptr) continue;
    Buffer* const name = block.name.get() != nullptr ? block.name.get() : names[i].get();
    if (name != nullptr && name->is_foreign() == is_foreign) left.push_back(name->detach());
  }
}

void GraphedCall::Frame::finish_recorded() {
  Recorded::Parts parts;
  std::vector<std::shared_ptr<runtime::EventCore>> events;  // let go of without the lock
  {
    const OrderLock lock(runtime::order_mutex());
    events = recording->recorded_events();
  }
  parts.events.assign(events.begin(), events.end());
  parts.waits = recording->awaited_outside();
  parts.program = recording->end(core.where);
  recording.reset();
  parts.parameters = parameters;
  for (std::size_t i = parameters.size(); i < core.parameters_.size(); ++i) {  // registered ones are themselves
    parts.parameters.push_back(core.parameters_[i]->shared_from_this());
  }
  name_blocks(parts);
  for (const Array* array : result) parts.result.push_back(source_of(*array, parts));
  const std::vector<std::size_t> numbers = assignable_numbers();
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const Array& array = *now.assignable[k];
    if (!is_same_view(array, stand_ins[numbers[k]])) parts.assigned.emplace_back(numbers[k], source_of(array, parts));
  }
  // What only these name is a temporary.
  const std::size_t of_arguments = now.assignable.size() - (originals.size() - core.arguments_);
  for (std::size_t k = 0; k < of_arguments; ++k) *now.assignable[k] = Array();
  for (Array* const array : now.others) *array = Array();
  for (Array* const array : result) *array = Array();
  restore_state();
  detach(parts.blocks, false);
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
  recorded.replay(core.signature_, core.parameters_, *core.stream_, core.counters_);
  detach(recorded.blocks(), true);
  for (std::size_t i = 0; i < result.size(); ++i) {
    *result[i] = recorded.array(recorded.result()[i], core.signature_);
  }
  core.entry_ = &core.add(core.hash_, std::move(entry));
  call.assign();
}

std::string GraphedCall::Frame::result_difference() const {
  const auto& known = core.entry_->recorded->result();
  const auto& made = core.entry_->recorded->program().made;
  if (known.size() != result.size()) return "the result has another number of arrays";
  for (std::size_t i = 0; i < known.size(); ++i) {
    const ArraySource& source = known[i];
    const Array& array = *result[i];
    const auto is_made = [&](const BufferRef& each) { return each.get() == array.buffer(); };
    const bool is_of_known = std::any_of(made.begin(), made.end(), is_made);
    const bool is_same = source.kind == ArraySource::Kind::argument ? block_of(array) == static_cast<int>(source.block)
                         : source.kind == ArraySource::Kind::kept   ? array.buffer() == source.like.buffer()
                         : source.kind == ArraySource::Kind::none
                             ? !array.defined()
                             : array.defined() && block_of(array) < 0 && !is_of_known;
    const bool is_alike = !array.defined() || !source.like.defined() ||
                          (array.shape() == source.like.shape() && array.dtype() == source.like.dtype());
    if (!is_same || !is_alike) return "array " + std::to_string(i) + " of the result is another one";
  }
  return {};
}

void GraphedCall::Frame::check() {
  ++core.counters_.checks;
  const std::shared_ptr<Program> program = recording->end(core.where);
  recording.reset();
  std::string found = difference(*core.entry_->recorded, *program, names);
  if (found.empty() && !is_as_before()) found = "it changes numbers of arguments or of registered state";
  if (found.empty()) found = result_difference();
  restore_state();
  if (found.empty()) return;
  throw Error(
      Errc::illegal_state, core.options.label, text,
      "does not do what was recorded: " + found + "; pass what changes as an argument, a Param, or registered state",
      core.where);
}

}  // namespace refrain::detail
