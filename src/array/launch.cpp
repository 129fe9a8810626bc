#include <refrain/launch.hpp>

#include "array/accesses.hpp"
#include "runtime/geometry.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

namespace refrain::detail {

void submit_launch(const Stream& stream, const LaunchConfig& config, const KernelCall& call,
                   std::span<const KernelArgument> arguments, std::span<const ParameterUse> parameters,
                   bool is_declared) {
  runtime::require_geometry(config);
  runtime::StreamCore& core = stream.core(config.where);
  if (core.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, config.label, core.str(),
                "a host device runs no CUDA kernel; launch it on a stream of a CUDA device", config.where);
  }
  const Label label(config.label, config.where);
  Accesses accesses(arguments.size());
  for (const KernelArgument& argument : arguments) {
    accesses.add(argument.access, core.device, argument.parameter, label);
    require_element_type(argument.access, argument.wanted, argument.parameter, label);
  }
  runtime::Command command{core.device, runtime::KernelCommand{&call, nullptr}, accesses.get(), config.label,
                           config.where};
  command.parameters = parameters;
  command.is_declared = is_declared;
  runtime::submit(core, command);
}

}  // namespace refrain::detail
