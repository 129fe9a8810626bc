// What an executable may be given anew between its replays: values, geometry, arrays, and which commands run.

#include "graph/exec.hpp"
#include "jit/expression.hpp"
#include "runtime/array_access.hpp"
#include "runtime/geometry.hpp"
#include "runtime/scalar.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>
#include <refrain/launch.hpp>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

namespace refrain::graph {

using runtime::Access;
using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;

namespace {

/// "none", or the names in quotes.
std::string listed(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

/// What an op's scalar is converted to; nothing for kernels, which take a value as it is.
std::optional<DType> scalar_dtype(const runtime::Command& command, int slot) {
  if (const auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&command.payload)) {
    return static_cast<DType>(elementwise->args.in_type);
  }
  if (const auto* fused = std::get_if<runtime::FusedCommand>(&command.payload)) {
    const auto number = static_cast<std::size_t>(slot);
    const auto& scalars = fused->expression->scalars;  // of each part
    const std::size_t of_parts = scalars.size() * (1 + fused->further.size());
    return static_cast<DType>(number < of_parts ? scalars[number % scalars.size()]
                                                : fused->last->scalars[number - of_parts]);
  }
  return std::nullopt;
}

}  // namespace

void Exec::require_changeable(const char* call, SourceLocation where) const {
  if (state_.program->live == nullptr) return;
  throw Error(Errc::not_supported, call, state_.program->str(),
              "was captured live, so its nodes are CUDA's alone; capture without live to change them", where);
}

Exec::Changed& Exec::own_command(std::size_t command) {
  std::unique_ptr<Changed>& changed = state_.changed[command];
  if (changed != nullptr) return *changed;
  runtime::PlannedCommand& planned = state_.plan.commands[command];
  changed = std::make_unique<Changed>(Changed{*planned.command, planned.command, nullptr, true});
  if (auto* kernel = std::get_if<runtime::KernelCommand>(&changed->command.payload)) {
    changed->call = kernel->get().clone();
    kernel->owned = changed->call;
  }
  planned.command = &changed->command;
  return *changed;
}

void Exec::apply(std::size_t command) { state_.executable->change(command, state_.plan.commands[command]); }

Exec::ParameterUses& Exec::uses_of(const detail::ParameterState& parameter) {
  for (ParameterUses& known : state_.parameter_uses) {
    if (known.parameter.get() == &parameter) return known;
  }
  ParameterUses found{parameter.shared_from_this(), {}};
  const auto& commands = state_.plan.commands;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    for (const detail::ParameterUse& use : commands[i].command->parameters) {
      if (use.state != &parameter) continue;
      found.uses.push_back({i, use.slot, scalar_dtype(*commands[i].command, use.slot), {}, nullptr});
    }
  }
  return state_.parameter_uses.emplace_back(std::move(found));
}

bool Exec::uses(const detail::ParameterState& parameter) {
  const OrderLock lock(order_mutex());
  return !uses_of(parameter).uses.empty();
}

void Exec::set_parameter(const detail::ParameterState& parameter, const void* value, SourceLocation where) {
  const std::lock_guard one(changes_);
  const OrderLock lock(order_mutex());
  require_changeable("set", where);
  ParameterUses& found = uses_of(parameter);
  if (found.uses.empty()) {
    std::set<std::string> names;
    for (const runtime::PlannedCommand& planned : state_.plan.commands) {
      for (const detail::ParameterUse& use : planned.command->parameters) names.insert(use.state->name);
    }
    throw Error(Errc::invalid_value, "set", "'" + parameter.name + "'",
                "is no parameter of " + state_.program->str() + "; it has " + listed(names), where);
  }
  convert(found, value, where);
  state_.changed_now.clear();
  take_value(found, value);
  for (const std::size_t command : state_.changed_now) apply(command);
}

void Exec::convert(ParameterUses& parameter, const void* value, SourceLocation where) {
  for (ParameterUses::Use& use : parameter.uses) {
    if (!use.dtype) continue;
    use.value = runtime::scalar_value(parameter.parameter->to_scalar(value, where), *use.dtype,
                                      state_.plan.commands[use.command].command->label, where);
  }
}

void Exec::take_value(ParameterUses& parameter, const void* value) {
  std::vector<std::size_t>& commands = state_.changed_now;
  for (ParameterUses::Use& use : parameter.uses) {
    if (use.own == nullptr) use.own = &own_command(use.command);
    Changed& own = *use.own;
    const auto slot = static_cast<std::size_t>(use.slot);
    if (own.call != nullptr) {
      own.call->set_value(use.slot, value);
    } else if (auto* fused = std::get_if<runtime::FusedCommand>(&own.command.payload)) {
      fused->scalars[slot] = use.value;
    } else {
      std::get<runtime::ElementwiseCommand>(own.command.payload).args.inputs[slot].scalar = use.value;
    }
    if (std::find(commands.begin(), commands.end(), use.command) == commands.end()) commands.push_back(use.command);
  }
}

std::vector<std::size_t> Exec::commands_labelled(std::string_view label, bool kernels_only, const char* call,
                                                 SourceLocation where) const {
  std::vector<std::size_t> found;
  std::set<std::string> names;
  for (std::size_t i = 0; i < state_.plan.commands.size(); ++i) {
    const runtime::Command& command = *state_.plan.commands[i].command;
    if (kernels_only && !std::holds_alternative<runtime::KernelCommand>(command.payload)) continue;
    names.insert(command.label);
    if (label == command.label) found.push_back(i);
  }
  if (!found.empty()) return found;
  throw Error(Errc::invalid_value, call, "'" + std::string(label) + "'",
              std::string("labels no ") + (kernels_only ? "launch" : "command") + " of " + state_.program->str() +
                  "; there are " + listed(names),
              where);
}

bool Exec::has_label(std::string_view label) const {
  return std::any_of(state_.plan.commands.begin(), state_.plan.commands.end(),
                     [&](const runtime::PlannedCommand& planned) { return label == planned.command->label; });
}

bool Exec::shares_memory(std::size_t command) const {
  const runtime::PlannedCommand& planned = state_.plan.commands[command];
  const auto overlaps = [&](const Access& own, const void* own_at, const Access& other, const void* other_at) {
    const auto* a = static_cast<const std::byte*>(own_at) - own.first;  // their lowest bytes
    const auto* b = static_cast<const std::byte*>(other_at) - other.first;
    return own.buffer != other.buffer && a < b + (other.end - other.begin) && b < a + (own.end - own.begin);
  };
  for (std::size_t k = 0; k < planned.addresses.size(); ++k) {
    const Access& own = planned.command->accesses[k];
    if (own.mode != runtime::AccessMode::write || own.buffer->address() != nullptr) continue;  // has a block of its own
    for (const runtime::PlannedCommand& other : state_.plan.commands) {
      for (std::size_t i = 0; i < other.addresses.size(); ++i) {
        if (overlaps(own, planned.addresses[k], other.command->accesses[i], other.addresses[i])) return true;
      }
    }
  }
  return false;
}

void Exec::set_config(std::string_view label, const LaunchConfig& config) {
  runtime::require_geometry(config);
  const std::lock_guard one(changes_);
  const OrderLock lock(order_mutex());
  require_changeable("set", config.where);
  const std::vector<std::size_t> commands = commands_labelled(label, true, "set", config.where);
  for (const std::size_t command : commands) {
    const auto& kernel = std::get<runtime::KernelCommand>(state_.plan.commands[command].command->payload);
    const LaunchConfig& now = kernel.get().config();
    const auto same = [](const std::optional<Dim3>& a, const std::optional<Dim3>& b) {
      return a.has_value() == b.has_value() && (!a || (a->x == b->x && a->y == b->y && a->z == b->z));
    };
    if (same(now.cluster, config.cluster) && now.cooperative == config.cooperative && now.priority == config.priority) {
      continue;
    }
    throw Error(Errc::not_supported, "set", "'" + std::string(label) + "'",
                "has another cluster, cooperation or priority, which an executable's node keeps; capture it so",
                config.where);
  }
  std::vector<LaunchConfig> before;
  try {
    for (const std::size_t command : commands) {
      detail::KernelCall& call = *own_command(command).call;
      before.push_back(call.config());
      call.set_config(config);
      apply(command);
    }
  } catch (...) {  // the device cannot, as where it has less shared memory
    for (std::size_t k = 0; k < before.size(); ++k) {
      own_command(commands[k]).call->set_config(before[k]);
      apply(commands[k]);
    }
    throw;
  }
}

void Exec::enable(std::string_view label, bool is_enabled, SourceLocation where) {
  const std::lock_guard one(changes_);
  const OrderLock lock(order_mutex());
  require_changeable("enable", where);
  const auto folded = state_.folded.find(std::string(label));
  const bool has_gone = folded != state_.folded.end();
  if (has_gone && !folded->second.empty()) {
    throw Error(Errc::not_supported, "enable", "'" + folded->first + "'",
                "labels a command that was " + folded->second +
                    "; instantiate with optimize = none, where each is a node of its own",
                where);
  }
  std::vector<std::size_t> commands;
  // All of them may have been left out as dead work.
  if (!has_gone || has_label(label)) commands = commands_labelled(label, false, "enable", where);
  for (const std::size_t command : commands) {
    const runtime::Command& wanted = *state_.plan.commands[command].command;
    const auto* foreign = std::get_if<runtime::ForeignCommand>(&wanted.payload);
    const bool is_fixed = std::holds_alternative<runtime::HostFunctionCommand>(wanted.payload) ||
                          std::holds_alternative<runtime::EventRecordCommand>(wanted.payload) ||
                          std::holds_alternative<runtime::EventWaitCommand>(wanted.payload) ||
                          (foreign != nullptr && foreign->work->is_whole());
    if (is_fixed) {
      throw Error(Errc::not_supported, "enable", place(wanted),
                  std::string("is a ") + runtime::kind_name(wanted.payload) +
                      " node, which cannot be left out; capture the graph without it",
                  where);
    }
    if (shares_memory(command)) {
      throw Error(Errc::not_supported, "enable", place(wanted),
                  "writes a temporary whose memory others use before it, so that nothing would be left in it; keep "
                  "that array, or instantiate with passes.memory = false",
                  where);
    }
  }
  for (const std::size_t command : commands) {
    state_.executable->enable(command, is_enabled);
    own_command(command).is_enabled = is_enabled;
  }
}

void Exec::leave(Buffer& buffer, runtime::ReplayMark& mark) {
  runtime::AccessHistory& history = buffer.history();
  bool is_left = false;
  for (int i = 0; i < history.size(); ++i) {
    if (history[i].mark != &mark) continue;
    history[i].point = mark.point;
    history[i].mark = nullptr;
    is_left = true;
  }
  if (is_left) ++mark.generation;
}

void Exec::leave_all(State& state) {
  if (state.program == nullptr) return;
  for (auto& [recorded, binding] : state.bindings) leave(*binding.buffer.get(), *state.mark);
  if (state.mark == state.program->mark) return;  // the program's own, which it takes back itself
  for (const Access& access : state.outside) leave(*access.buffer, *state.mark);
}

void Exec::refuse_baked_in(const Buffer* recorded, SourceLocation where) const {
  for (const runtime::PlannedCommand& planned : state_.plan.commands) {
    if (!std::holds_alternative<runtime::ForeignCommand>(planned.command->payload)) continue;
    const auto& accesses = planned.command->accesses;
    if (std::none_of(accesses.begin(), accesses.end(),
                     [&](const Access& access) { return access.buffer == recorded; })) {
      continue;
    }
    throw Error(Errc::not_supported, "bind", place(*planned.command),
                "has the address in the work that it enqueued, where nothing can change it; copy into that array, or "
                "give it to a launch or an op of Refrain's",
                where);
  }
}

void Exec::require_aligned(const Buffer* recorded, const Binding& binding, SourceLocation where) const {
  for (const runtime::PlannedCommand& planned : state_.plan.commands) {
    const auto* product = std::get_if<runtime::MatmulCommand>(&planned.command->payload);
    if (product == nullptr) continue;
    const auto& accesses = planned.command->accesses;
    for (std::size_t k = 0; k < accesses.size(); ++k) {
      if (accesses[k].buffer != recorded) continue;
      const auto* address = static_cast<const std::byte*>(accesses[k].address(binding.buffer->address()));
      const int needed = product->plan->shape.alignment(k);
      if (reinterpret_cast<std::uintptr_t>(address + binding.offset) % static_cast<unsigned>(needed) == 0) continue;
      throw Error(Errc::not_supported, "bind", place(*planned.command),
                  "was planned for addresses that are multiples of " + std::to_string(needed) +
                      " bytes, which this array's is not; copy it into an array of its own, x + 0, or capture with it",
                  where);
    }
  }
}

void Exec::bind_buffer(const Buffer* recorded, Binding binding) {
  const auto known = state_.bindings.find(recorded);
  // The block that is left is no part of this executable's replays any more.
  Buffer* const before = known == state_.bindings.end() ? const_cast<Buffer*>(recorded) : known->second.buffer.get();
  leave(*before, *state_.mark);
  ++state_.mark->generation;
  const bool is_back = binding.buffer.get() == recorded && binding.offset == 0;
  if (is_back) {
    state_.bindings.erase(recorded);
  } else {
    state_.bindings[recorded] = std::move(binding);
  }
  for (std::size_t i = 0; i < state_.plan.commands.size(); ++i) {
    runtime::PlannedCommand& planned = state_.plan.commands[i];
    bool uses = false;
    for (std::size_t k = 0; k < planned.addresses.size(); ++k) {
      const Access& access = planned.command->accesses[k];
      if (access.buffer != recorded) continue;
      const Access now = bound(state_, access);
      planned.addresses[k] = now.address(now.buffer->address());
      uses = true;
    }
    if (uses) apply(i);
  }
  find_boundary(state_);
}

void Exec::bind(const Array& recorded, const Array& array, SourceLocation where) {
  for (const Array* each : {&recorded, &array}) {
    if (each->defined()) continue;
    throw Error(Errc::invalid_value, "bind", "an empty array", "was never assigned or was moved from; assign it first",
                where);
  }
  Binding left;  // destroyed after the lock is given back
  const std::lock_guard one(changes_);
  const OrderLock lock(order_mutex());
  require_changeable("bind", where);
  Buffer* const buffer = recorded.buffer();
  const auto is_it = [&](const Access& access) { return access.buffer == buffer; };
  const std::vector<Access> uses = boundary_accesses(*state_.program);
  if (std::none_of(uses.begin(), uses.end(), is_it)) {
    throw Error(Errc::invalid_value, "bind", "an array of shape " + recorded.shape().str(),
                "is neither an input nor an output of " + state_.program->str() +
                    "; name one that the program was recorded with",
                where);
  }
  const std::int64_t origin = buffer->is_foreign() ? 0 : ArrayAccess::offset(recorded);
  if (origin != 0 || recorded.size_bytes() != buffer->size_bytes() || !recorded.is_contiguous()) {
    throw Error(Errc::invalid_value, "bind", "a view of shape " + recorded.shape().str(),
                "is a part of an array, or one in another order; bind the whole one", where);
  }
  if (!array.is_contiguous()) {
    throw Error(Errc::invalid_value, "bind", "a view of shape " + array.shape().str(),
                "does not lie in row-major order; give x.contiguous()", where);
  }
  if (array.dtype() != recorded.dtype() || array.shape() != recorded.shape()) {
    throw Error(Errc::invalid_value, "bind", std::string(to_string(array.dtype())) + array.shape().str(),
                "cannot take the place of " + std::string(to_string(recorded.dtype())) + recorded.shape().str() +
                    "; give an array of the same shape and dtype",
                where);
  }
  if (array.device() != recorded.device()) {
    throw Error(Errc::wrong_device, "bind", "an array on " + array.device().str(),
                "cannot take the place of one on " + recorded.device().str() + "; move it with to_device first", where);
  }
  if (array.buffer()->address() == nullptr && array.size() > 0) {
    throw Error(Errc::illegal_state, "bind", "an array of a graph",
                "has no memory before its graph is instantiated; instantiate that first", where);
  }
  if (std::any_of(uses.begin(), uses.end(), [&](const Access& access) {
        return access.buffer == buffer && access.mode == runtime::AccessMode::write;
      })) {
    runtime::refuse_write(*array.buffer(), "bind", where);
  }
  const auto known = state_.bindings.find(buffer);
  if (known != state_.bindings.end()) left = known->second;
  refuse_baked_in(buffer, where);
  Binding binding{runtime::BufferRef(array.buffer()), ArrayAccess::offset(array)};
  require_aligned(buffer, binding, where);
  bind_buffer(buffer, std::move(binding));
}

void Exec::bind(const void* recorded, void* address, SourceLocation where) {
  if (recorded == nullptr || address == nullptr) {
    throw Error(Errc::invalid_value, "bind", "a null pointer", "is no memory; give the two addresses", where);
  }
  std::vector<Binding> left;  // destroyed after the lock is given back
  const std::lock_guard one(changes_);
  const OrderLock lock(order_mutex());
  require_changeable("bind", where);
  int count = 0;
  const auto is_it = [&](const Buffer& buffer) {
    return buffer.is_foreign() && static_cast<const std::byte*>(buffer.address()) + buffer.given_at == recorded;
  };
  for (const runtime::BufferRef& buffer : state_.program->outside) {
    if (is_it(*buffer.get())) refuse_baked_in(buffer.get(), where);
  }
  std::vector<std::pair<const Buffer*, Binding>> wanted;
  for (const runtime::BufferRef& buffer : state_.program->outside) {
    if (!is_it(*buffer.get())) continue;
    void* const lowest = static_cast<std::byte*>(address) - buffer->given_at;
    const runtime::BufferRef named(Buffer::foreign(buffer->device(), lowest, buffer->size_bytes(), where));
    named->shape = buffer->shape;
    named->dtype = buffer->dtype;
    named->is_array = buffer->is_array;
    named->given_at = buffer->given_at;
    wanted.emplace_back(buffer.get(), Binding{named, 0});
    require_aligned(buffer.get(), wanted.back().second, where);
  }
  for (auto& [buffer, binding] : wanted) {
    const auto known = state_.bindings.find(buffer);
    if (known != state_.bindings.end()) left.push_back(known->second);
    bind_buffer(buffer, std::move(binding));
    ++count;
  }
  for (std::size_t i = 0; i < state_.plan.commands.size(); ++i) {
    const auto changed = state_.changed.find(i);
    const runtime::Command& as_recorded =
        changed == state_.changed.end() ? *state_.plan.commands[i].command : *changed->second->recorded;
    const auto* kernel = std::get_if<runtime::KernelCommand>(&as_recorded.payload);
    if (kernel == nullptr || !kernel->get().has_pointer(recorded)) continue;
    own_command(i).call->replace_pointer(kernel->get(), recorded, address);
    apply(i);
    ++count;
  }
  if (count > 0) return;
  throw Error(
      Errc::invalid_value, "bind", "the address",
      "is not one that " + state_.program->str() + " was recorded with; give one that a launch or an access names",
      where);
}

Array Exec::output(const Array& recorded, SourceLocation where) const {
  if (!recorded.defined()) {
    throw Error(Errc::invalid_value, "output", "an empty array",
                "was never assigned or was moved from; assign it first", where);
  }
  const OrderLock lock(order_mutex());
  const std::vector<Access> uses = boundary_accesses(*state_.program);
  Buffer* const buffer = recorded.buffer();
  if (std::none_of(uses.begin(), uses.end(), [&](const Access& access) { return access.buffer == buffer; })) {
    throw Error(Errc::invalid_value, "output", "an array of shape " + recorded.shape().str(),
                "is neither an input nor an output of " + state_.program->str() +
                    "; name one that the program was recorded with",
                where);
  }
  const auto binding = state_.bindings.find(buffer);
  if (binding == state_.bindings.end()) return recorded;
  return ArrayAccess::moved(recorded, *binding->second.buffer.get(), binding->second.offset);
}

}  // namespace refrain::graph
