#include "cuda/run.hpp"

#include "cuda/compat.hpp"
#include "cuda/device.hpp"
#include "cuda/driver.hpp"
#include "cuda/foreign.hpp"
#include "cuda/fused.hpp"
#include "cuda/matmul.hpp"
#include "cuda/scopes.hpp"
#include "jit/expression.hpp"
#include "kernels/cuda.cuh"
#include "kernels/dependency.hpp"
#include "kernels/random_plan.hpp"
#include "runtime/backend.hpp"
#include "runtime/host_function.hpp"

#include <refrain/launch.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

/// The commands that are kernels, on a stream or as a node.
struct Kernels {
  kernels::Target target;
  int device;
  void* const* addresses;
  FusedKernel fused = {};  ///< of a fused command, where it is known already

  void operator()(const runtime::EmptyCommand&) const { check(kernels::launch_empty(target), "launch_empty"); }

  void operator()(const runtime::ElementwiseCommand& command) const {
    runtime::ElementwiseCommand there = command;
    launch_at(there);
  }

  /// The same of a command that may be changed, which spares the copy.
  void launch_at(runtime::ElementwiseCommand& command) const {
    kernels::ElementwiseArgs& args = command.args;
    args.out = addresses[command.out_access];
    for (std::size_t i = 0; i < command.in_access.size(); ++i) {
      if (command.in_access[i] >= 0) args.inputs[i].data = addresses[command.in_access[i]];
    }
    check(kernels::launch_elementwise(args, properties_of(device).multiprocessors, target), "launch_elementwise");
  }

  void operator()(const runtime::ReduceCommand& command) const {
    kernels::ReduceArgs args = command.args;
    args.out = addresses[0];
    args.in = addresses[1];
    if (command.has_other) args.other = addresses[2];
    check(kernels::launch_reduce(args, target), "launch_reduce");
  }

  void operator()(const runtime::FusedCommand& command) const {
    if (command.last != nullptr && fused.kernel == nullptr) return run_apart(command);
    launch_fused(fused.kernel != nullptr ? fused : kernel_of(device, command), device, command, addresses, target);
  }

  /// Two kernels, where no graph owns what one needs to find its last block.
  void run_apart(const runtime::FusedCommand& command) const {
    const std::size_t parts = 1 + command.further.size();
    const auto scalars = static_cast<std::ptrdiff_t>(parts * command.expression->scalars.size());
    runtime::FusedCommand first = command;
    first.last = nullptr;
    first.is_last_early = false;
    first.scalars.resize(static_cast<std::size_t>(scalars));
    runtime::FusedCommand last;
    last.expression = command.last;
    last.scalars.assign(command.scalars.begin() + scalars, command.scalars.end());
    launch_fused(kernel_of(device, first), device, first, addresses, target);
    launch_fused(kernel_of(device, last), device, last, addresses + parts * command.expression->arrays(), target);
  }

  void operator()(const runtime::MoveCommand& command) const {
    kernels::MoveArgs args = command.args;
    args.out = addresses[0];
    if (args.op == kernels::MoveOp::gather) args.in = addresses[1];
    if (args.has_indices) args.indices = addresses[2];
    check(kernels::launch_move(args, target), "launch_move");
  }

  void operator()(const runtime::RandomCommand& command) const {
    kernels::RandomArgs args = command.args;
    args.out = addresses[0];
    check(kernels::launch_random(args, target), "launch_random");
  }
};

struct Ends {
  void* target;
  const void* source;
};

Ends ends_of(const runtime::CopyCommand& command, void* const* addresses) {
  return {command.out_access >= 0 ? addresses[command.out_access] : command.target,
          command.in_access >= 0 ? addresses[command.in_access] : command.source};
}

void call_function(void* function) { (*static_cast<const runtime::HostFunction*>(function))(); }

/// One call for each kind of command, on a stream. `in_graph`: it is capturing, and the graph owns what is read.
struct OnStream : Kernels {
  using Kernels::operator();
  const runtime::Command& whole;
  bool in_graph = false;
  const void* literal = nullptr;  ///< in a graph: its copy of an upload's bytes on the device

  cudaStream_t stream() const { return target.stream; }

  void operator()(const runtime::UploadCommand& command) const {
    if (in_graph) {
      // A node that reads the device is faster than one that reads pageable memory, and the bytes are the graph's.
      REFRAIN_CUDA_CHECK(
          cudaMemcpyAsync(addresses[0], literal, command.owned->size(), cudaMemcpyDeviceToDevice, stream()));
      return;
    }
    const std::byte* bytes = command.bytes.data();
    std::array<std::byte, runtime::small_upload> pageable;
    if (std::ssize(command.bytes) <= runtime::small_upload) {
      // CUDA takes pageable memory of this size at once, but not page-locked memory, which the caller's may be.
      std::memcpy(pageable.data(), bytes, command.bytes.size());
      bytes = pageable.data();
    }
    REFRAIN_CUDA_CHECK(cudaMemcpyAsync(addresses[0], bytes, command.bytes.size(), cudaMemcpyHostToDevice, stream()));
  }

  void operator()(const runtime::KernelCommand& command) const {
    check(static_cast<cudaError_t>(command.get().launch(stream(), addresses)), "cudaLaunchKernelExC");
  }

  void operator()(const runtime::MatmulCommand& command) const { launch_matmul(stream(), command, addresses); }

  void operator()(const runtime::ForeignCommand& command) const {
    auto& work = static_cast<ForeignGraph&>(*command.work);
    if (!in_graph) {
      work.launch(stream(), whole);
      return;
    }
    const CapturingGraph capturing(stream());
    std::vector<cudaGraphNode_t> added;
    std::vector<cudaGraphNode_t> ends = work.add_to(capturing.graph, capturing.dependencies, whole, added);
    update_capture_dependencies(stream(), ends, cudaStreamSetCaptureDependencies);
  }

  void operator()(const runtime::CopyCommand& command) const {
    const auto [target, source] = ends_of(command, addresses);
    REFRAIN_CUDA_CHECK(
        cudaMemcpyAsync(target, source, static_cast<std::size_t>(command.bytes), cudaMemcpyDefault, stream()));
  }

  void operator()(const runtime::HostFunctionCommand& command) const {
    if (in_graph) {
      void* const function = const_cast<runtime::HostFunction*>(command.function.get());
      REFRAIN_CUDA_CHECK(cudaLaunchHostFunc(stream(), call_function, function));
      return;
    }
    using Holder = std::shared_ptr<const runtime::HostFunction>;
    auto holder = std::make_unique<Holder>(command.function);
    const cudaHostFn_t call = [](void* held) {
      const std::unique_ptr<Holder> function(static_cast<Holder*>(held));
      (**function)();
      // The user's destructors may reach the device, which CUDA forbids in its own threads.
      runtime::retire(std::move(*function));
    };
    REFRAIN_CUDA_CHECK(cudaLaunchHostFunc(stream(), call, holder.get()));
    (void)holder.release();
  }

  void operator()(const runtime::EventRecordCommand& command) const {
    REFRAIN_CUDA_CHECK(cudaEventRecordWithFlags(command.native->native(), stream(), cudaEventRecordExternal));
  }

  void operator()(const runtime::EventWaitCommand& command) const {
    REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream(), command.native->native(), cudaEventWaitExternal));
  }
};

/// One node for each kind of command, of the type that capturing it gives.
struct AsNode : Kernels {
  using Kernels::operator();
  const void* literal = nullptr;

  void operator()(const runtime::UploadCommand& command) const {
    REFRAIN_CUDA_CHECK(cudaGraphAddMemcpyNode1D(target.node, target.graph, target.before, target.before_count,
                                                addresses[0], literal, command.owned->size(),
                                                cudaMemcpyDeviceToDevice));
  }

  void operator()(const runtime::KernelCommand& command) const {
    const std::span before(target.before, target.before_count);
    check(static_cast<cudaError_t>(command.get().add_to(target.graph, before, addresses, target.node)),
          "cudaGraphAddKernelNode");
  }

  void operator()(const runtime::CopyCommand& command) const {
    const auto [to, from] = ends_of(command, addresses);
    REFRAIN_CUDA_CHECK(cudaGraphAddMemcpyNode1D(target.node, target.graph, target.before, target.before_count, to, from,
                                                static_cast<std::size_t>(command.bytes), cudaMemcpyDefault));
  }

  // GraphCommand adds what may be several nodes.
  void operator()(const runtime::ForeignCommand&) const {}
  void operator()(const runtime::MatmulCommand&) const {}

  void operator()(const runtime::HostFunctionCommand& command) const {
    const cudaHostNodeParams params{call_function, const_cast<runtime::HostFunction*>(command.function.get())};
    REFRAIN_CUDA_CHECK(cudaGraphAddHostNode(target.node, target.graph, target.before, target.before_count, &params));
  }

  void operator()(const runtime::EventRecordCommand& command) const {
    REFRAIN_CUDA_CHECK(cudaGraphAddEventRecordNode(target.node, target.graph, target.before, target.before_count,
                                                   command.native->native()));
  }

  void operator()(const runtime::EventWaitCommand& command) const {
    REFRAIN_CUDA_CHECK(cudaGraphAddEventWaitNode(target.node, target.graph, target.before, target.before_count,
                                                 command.native->native()));
  }
};

/// One call for each kind of command that an executable's node can be given anew.
struct InExecutable : Kernels {
  using Kernels::operator();
  const void* literal = nullptr;

  void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) const {
    REFRAIN_CUDA_CHECK(cudaGraphExecMemcpyNodeSetParams1D(target.exec, target.in, to, from, bytes, kind));
  }
  void operator()(const runtime::UploadCommand& command) const {
    copy(addresses[0], literal, command.owned->size(), cudaMemcpyDeviceToDevice);
  }
  void operator()(const runtime::CopyCommand& command) const {
    const auto [to, from] = ends_of(command, addresses);
    copy(to, from, static_cast<std::size_t>(command.bytes), cudaMemcpyDefault);
  }
  void operator()(const runtime::KernelCommand& command) const {
    check(static_cast<cudaError_t>(command.get().set_in(target.exec, target.in, addresses)),
          "cudaGraphExecKernelNodeSetParams");
  }
  void operator()(const runtime::MatmulCommand&) const {}  // GraphCommand changes what may be several nodes
  // Nothing of these changes.
  void operator()(const runtime::ForeignCommand&) const {}
  void operator()(const runtime::HostFunctionCommand&) const {}
  void operator()(const runtime::EventRecordCommand&) const {}
  void operator()(const runtime::EventWaitCommand&) const {}
};

}  // namespace

void run_command(cudaStream_t stream, const runtime::Command& command, void* const* addresses) {
  const DeviceScope current(command.device.index);
  std::visit(OnStream{{stream, command.device.index, addresses}, command}, command.payload);
}

cudaError_t KnownKernel::set(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaKernelNodeParams& params) {
  if (symbol_ != params.func) {
    const cudaError_t status = cudaGetFuncBySymbol(&handle_, params.func);
    if (status != cudaSuccess) return status;
    symbol_ = params.func;
  }
  CUDA_KERNEL_NODE_PARAMS known{};
  known.func = handle_;
  known.gridDimX = params.gridDim.x;
  known.gridDimY = params.gridDim.y;
  known.gridDimZ = params.gridDim.z;
  known.blockDimX = params.blockDim.x;
  known.blockDimY = params.blockDim.y;
  known.blockDimZ = params.blockDim.z;
  known.sharedMemBytes = params.sharedMemBytes;
  known.kernelParams = params.kernelParams;
  return static_cast<cudaError_t>(DriverGraphs::get().set_kernel_params(exec, node, &known));
}

GraphCommand::GraphCommand(const runtime::Command& command, void* const* addresses, GraphResources& resources,
                           const GraphCommand* like)
    : command_(command), addresses_(addresses) {
  const int device = command.device.index;
  const auto place = [&](runtime::RandomCommand& draw, int blocks) {
    if (draw.absolute || like != nullptr) return;
    const auto number = static_cast<std::size_t>(draw.number);
    auto& all = resources.counters;
    if (all.size() <= number) all.resize(number + 1);
    if (all[number] == nullptr) all[number] = std::make_shared<Counters>(device);
    all[number]->place(draw.args.offset, blocks, draw.args);
  };
  if (auto* draw = std::get_if<runtime::RandomCommand>(&command_.payload)) {
    place(*draw, draw->args.grid);
  } else if (auto* fused = std::get_if<runtime::FusedCommand>(&command_.payload)) {
    fused_ = kernel_of(device, *fused);
    if (fused->last != nullptr) {
      resources.literals.push_back(
          std::make_unique<DeviceBytes>(device, std::vector<std::byte>(sizeof(std::uint64_t))));
      fused_.blocks = resources.literals.back()->address();
    }
    for (std::size_t i = 0; i < fused->draws.size(); ++i) {
      runtime::RandomCommand& each = fused->draws[i];
      const std::int64_t threads = std::int64_t{each.args.grid} * kernels::random_block;
      if (fused->expression->draws[i].same_as < 0) place(each, static_cast<int>(fused_.shape.blocks_for(threads)));
    }
  } else if (const auto* upload = std::get_if<runtime::UploadCommand>(&command_.payload)) {
    resources.literals.push_back(std::make_unique<DeviceBytes>(device, *upload->owned));
    literal_ = resources.literals.back()->address();
  } else if (const auto* call = std::get_if<runtime::HostFunctionCommand>(&command_.payload)) {
    resources.functions.push_back(call->function);
  } else if (const auto* foreign = std::get_if<runtime::ForeignCommand>(&command_.payload)) {
    // Flat nodes need nothing of it but what it keeps for them, and a graph that holds something is launched more
    // slowly (1.4 us on an H200): the executable's owner keeps it until the runs are done.
    if (foreign->work->is_whole()) resources.foreign.push_back(foreign->work);
  }
  if (like != nullptr) take_counters(*like);
}

void GraphCommand::take_counters(const GraphCommand& like) {
  const auto take = [](runtime::RandomCommand& draw, const runtime::RandomCommand& from) {
    draw.args.counter_cells = from.args.counter_cells;
    draw.args.counters = from.args.counters;
  };
  if (auto* draw = std::get_if<runtime::RandomCommand>(&command_.payload)) {
    take(*draw, std::get<runtime::RandomCommand>(like.command_.payload));
  } else if (auto* fused = std::get_if<runtime::FusedCommand>(&command_.payload)) {
    const auto& from = std::get<runtime::FusedCommand>(like.command_.payload).draws;
    for (std::size_t i = 0; i < fused->draws.size(); ++i) take(fused->draws[i], from[i]);
  }
}

void GraphCommand::launch(cudaStream_t stream) const {
  const DeviceScope current(command_.device.index);
  std::visit(OnStream{{stream, command_.device.index, addresses_, fused_}, command_, true, literal_}, command_.payload);
}

void GraphCommand::add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, int priority,
                          CommandNodes& nodes) const {
  const DeviceScope current(command_.device.index);
  if (const auto* foreign = std::get_if<runtime::ForeignCommand>(&command_.payload)) {
    auto& work = static_cast<ForeignGraph&>(*foreign->work);
    const std::vector<cudaGraphNode_t> ends = work.add_to(graph, before, command_, nodes.all);
    nodes.close(ends);
    return;
  }
  if (const auto* product = std::get_if<runtime::MatmulCommand>(&command_.payload)) {
    ForeignGraph captured(matmul_graph(command_.device.index, priority, *product, addresses_));
    const std::vector<cudaGraphNode_t> ends = captured.add_to(graph, before, command_, nodes.all);
    nodes.close(ends);
    return;
  }
  cudaGraphNode_t node = nullptr;
  const kernels::Target target(graph, before.data(), before.size(), &node);
  std::visit(AsNode{{target, command_.device.index, addresses_, fused_}, literal_}, command_.payload);
  const auto* kernel = std::get_if<runtime::KernelCommand>(&command_.payload);
  const bool has_own = kernel != nullptr && kernel->get().config().priority;
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  if (priority != 0 && !has_own) REFRAIN_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  if (type == cudaGraphNodeTypeKernel) {
    cudaKernelNodeAttrValue value{};
    value.priority = priority;
    REFRAIN_CUDA_CHECK(cudaGraphKernelNodeSetAttribute(node, cudaKernelNodeAttributePriority, &value));
  }
  nodes.all.push_back(node);
  nodes.close({&node, 1});
}

bool GraphCommand::waits_for_dependency() const {
  const int capability = compute_capability(command_.device.index);
  const auto& payload = command_.payload;
  // Made for the very device.
  if (std::holds_alternative<runtime::FusedCommand>(payload)) return capability >= kernels::dependency_capability;
  return (std::holds_alternative<runtime::ElementwiseCommand>(payload) ||
          std::holds_alternative<runtime::MoveCommand>(payload) ||
          std::holds_alternative<runtime::RandomCommand>(payload)) &&
         kernels::wait_for_dependencies(capability);
}

void GraphCommand::pause(cudaGraphExec_t exec, std::span<const cudaGraphNode_t> nodes) const {
  const DeviceScope current(command_.device.index);
  KnownKernel pausing;
  check(kernels::launch_pause(kernels::Target(exec, nodes.front(), pausing)), "launch_pause");
}

void GraphCommand::change(const runtime::Command& command, void* const* addresses, cudaGraphExec_t exec,
                          std::span<const cudaGraphNode_t> nodes) {
  // Its counters stay where they are. Copied in place, for which vectors need no memory anew.
  if (auto* draw = std::get_if<runtime::RandomCommand>(&command_.payload)) {
    const kernels::RandomArgs own = draw->args;
    command_ = command;
    kernels::RandomArgs& args = std::get<runtime::RandomCommand>(command_.payload).args;
    args.counter_cells = own.counter_cells;
    args.counters = own.counters;
  } else if (auto* fused = std::get_if<runtime::FusedCommand>(&command_.payload);
             fused != nullptr && std::get<runtime::FusedCommand>(command.payload).expression == fused->expression) {
    fused->scalars = std::get<runtime::FusedCommand>(command.payload).scalars;  // all that can be another one
  } else if (fused != nullptr) {
    std::vector<runtime::RandomCommand> draws = std::move(fused->draws);
    command_ = command;
    std::get<runtime::FusedCommand>(command_.payload).draws = std::move(draws);
  } else if (auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&command_.payload)) {
    const auto& inputs = std::get<runtime::ElementwiseCommand>(command.payload).args.inputs;
    for (std::size_t i = 0; i < std::size(inputs); ++i) elementwise->args.inputs[i].scalar = inputs[i].scalar;
  } else {
    command_ = command;
  }
  put(addresses, exec, nodes);
}

void GraphCommand::put(void* const* addresses, cudaGraphExec_t exec, std::span<const cudaGraphNode_t> nodes) {
  const DeviceScope current(command_.device.index);
  if (const auto* product = std::get_if<runtime::MatmulCommand>(&command_.payload)) {
    const ForeignGraph captured(matmul_graph(command_.device.index, 0, *product, addresses));
    captured.set_in(exec, nodes, command_);
  } else {
    const kernels::Target target(exec, nodes.front(), known_);
    const InExecutable node{{target, command_.device.index, addresses, fused_}, literal_};
    if (auto* elementwise = std::get_if<runtime::ElementwiseCommand>(&command_.payload)) {
      node.launch_at(*elementwise);
    } else {
      std::visit(node, command_.payload);
    }
  }
}

}  // namespace refrain::cuda
