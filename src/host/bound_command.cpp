#include "host/bound_command.hpp"

#include "host/cost.hpp"
#include "host/matmul.hpp"
#include "host/scheduler.hpp"
#include "jit/host_engine.hpp"
#include "kernels/host.hpp"
#include "runtime/host_function.hpp"

#include <cstring>

namespace refrain::host {

using runtime::GeneratorPosition;

/// One `bind` and one `run` for each kind of command.
struct Binder {
  BoundCommand& self;
  void* const* addresses;
  std::size_t access_count;
  const BoundCommand* before;

  static BoundCommand::Run nothing() {
    return [](const BoundCommand&, std::span<const GeneratorPosition>) {};
  }

  /// A draw from where its generator stands.
  static kernels::RandomArgs placed(const runtime::RandomCommand& draw, std::span<const GeneratorPosition> draws) {
    kernels::RandomArgs args = draw.args;
    if (draws.empty() || draw.absolute) return args;
    const GeneratorPosition& from = draws[static_cast<std::size_t>(draw.number)];
    args.seed = from.seed;
    args.offset += from.offset;
    return args;
  }

  BoundCommand::Run operator()(runtime::EmptyCommand&) const { return nothing(); }

  // Events of graphs are the executable's: a wait is done before the replay, a record knows the replay it is part of.
  BoundCommand::Run operator()(runtime::EventWaitCommand&) const { return nothing(); }
  BoundCommand::Run operator()(runtime::EventRecordCommand&) const { return nothing(); }

  BoundCommand::Run operator()(runtime::HostFunctionCommand&) const {
    self.addresses_.assign(addresses, addresses + access_count);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      const UserCode scope;
      (*std::get<runtime::HostFunctionCommand>(bound.payload_).function)(bound.addresses_.data());
    };
  }

  BoundCommand::Run operator()(runtime::ElementwiseCommand& command) const {
    command.args.out = addresses[command.out_access];
    for (std::size_t i = 0; i < command.in_access.size(); ++i) {
      if (command.in_access[i] >= 0) command.args.inputs[i].data = addresses[command.in_access[i]];
    }
    self.split_ = split_of(command);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      kernels::elementwise_host(std::get<runtime::ElementwiseCommand>(bound.payload_).args, bound.split_);
    };
  }

  BoundCommand::Run operator()(runtime::ReduceCommand& command) const {
    command.args.out = addresses[0];
    command.args.in = addresses[1];
    if (command.has_other) command.args.other = addresses[2];
    self.split_ = split_of(command);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      kernels::reduce_host(std::get<runtime::ReduceCommand>(bound.payload_).args, bound.split_);
    };
  }

  BoundCommand::Run operator()(runtime::MatmulCommand&) const {
    self.addresses_.assign(addresses, addresses + access_count);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      const auto& product = std::get<runtime::MatmulCommand>(bound.payload_);
      const auto& at = bound.addresses_;
      const void* const bias = product.bias_access >= 0 ? at[static_cast<std::size_t>(product.bias_access)] : nullptr;
      matmul(product.plan->shape, at[1], at[2], bias, at[0]);
    };
  }

  BoundCommand::Run operator()(runtime::MoveCommand& command) const {
    command.args.out = addresses[0];
    if (command.args.op == kernels::MoveOp::gather) command.args.in = addresses[1];
    if (command.args.has_indices) command.args.indices = addresses[2];
    self.split_ = split_of(command);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      kernels::move_host(std::get<runtime::MoveCommand>(bound.payload_).args, bound.split_);
    };
  }

  BoundCommand::Run operator()(runtime::RandomCommand& command) const {
    command.args.out = addresses[0];
    self.split_ = split_of(command);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition> draws) {
      kernels::random_host(placed(std::get<runtime::RandomCommand>(bound.payload_), draws), bound.split_);
    };
  }

  /// Each from its own addresses and scalars on; nothing orders them.
  static void run_parts(const BoundCommand& bound, std::span<const GeneratorPosition>) {
    const auto& fused = std::get<runtime::FusedCommand>(bound.payload_);
    const jit::Expression& first = *fused.expression;
    const std::size_t arrays = first.arrays();
    const std::size_t scalars = first.scalars.size();
    const std::span<const kernels::Value> all = fused.scalars;
    const auto run_from = [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        const jit::Expression& part = i == 0 ? first : *fused.further[i - 1];
        bound.engine_->run_part(part, bound.addresses_.data() + i * arrays, all.subspan(i * scalars, scalars));
      }
    };
    bound.split_(std::ssize(fused.further) + 1, 1, run_from);
    run_last(bound, fused);
  }

  static void run_last(const BoundCommand& bound, const runtime::FusedCommand& fused) {
    if (fused.last == nullptr) return;
    const std::size_t parts = 1 + fused.further.size();
    bound.last_engine_->run(bound.addresses_.data() + parts * fused.expression->arrays(),
                            std::span(fused.scalars).subspan(parts * fused.expression->scalars.size()), {}, {});
  }

  BoundCommand::Run operator()(runtime::FusedCommand& command) const {
    self.addresses_.assign(addresses, addresses + access_count);
    const auto* old = before != nullptr ? std::get_if<runtime::FusedCommand>(&before->payload_) : nullptr;
    self.split_ = split_of(command);
    const bool is_same = old != nullptr && old->expression == command.expression;
    self.engine_ = is_same ? before->engine_ : std::make_shared<const jit::HostEngine>(command.expression);
    if (command.last != nullptr) self.last_engine_ = std::make_shared<const jit::HostEngine>(command.last);
    if (!command.further.empty()) return run_parts;
    return [](const BoundCommand& bound, std::span<const GeneratorPosition> draws) {
      const auto& fused = std::get<runtime::FusedCommand>(bound.payload_);
      thread_local std::vector<kernels::RandomArgs> drawn;
      drawn.clear();
      for (const runtime::RandomCommand& draw : fused.draws) drawn.push_back(placed(draw, draws));
      const auto scalars = std::span(fused.scalars).first(fused.expression->scalars.size());
      bound.engine_->run(bound.addresses_.data(), scalars, drawn, bound.split_);
      run_last(bound, fused);
    };
  }

  BoundCommand::Run operator()(runtime::UploadCommand& command) const {
    if (command.owned == nullptr) {
      command.owned = std::make_shared<const std::vector<std::byte>>(command.bytes.begin(), command.bytes.end());
    }
    self.target_ = addresses[0];
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      const auto& bytes = *std::get<runtime::UploadCommand>(bound.payload_).owned;
      std::memcpy(bound.target_, bytes.data(), bytes.size());
    };
  }

  // `launch`, `enqueue` and `add_graph` refuse streams of the host.
  BoundCommand::Run operator()(runtime::KernelCommand&) const { return nothing(); }
  BoundCommand::Run operator()(runtime::ForeignCommand&) const { return nothing(); }

  BoundCommand::Run operator()(runtime::CopyCommand& command) const {
    if (command.out_access >= 0) command.target = addresses[command.out_access];
    if (command.in_access >= 0) command.source = addresses[command.in_access];
    self.split_ = split_of_copy(command.bytes);
    return [](const BoundCommand& bound, std::span<const GeneratorPosition>) {
      const auto& copy = std::get<runtime::CopyCommand>(bound.payload_);
      kernels::copy_host(copy.target, copy.source, copy.bytes, bound.split_);
    };
  }
};

BoundCommand::BoundCommand(const runtime::Command& command, void* const* addresses, const BoundCommand* before)
    : payload_(command.payload) {
  run_ = std::visit(Binder{*this, addresses, command.accesses.size(), before}, payload_);
}

}  // namespace refrain::host
