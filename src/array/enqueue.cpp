#include <refrain/enqueue.hpp>

#include "array/accesses.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <utility>

namespace refrain {

namespace {

void require_label(const Label& label, const char* call) {
  if (label.text != nullptr && label.text[0] != '\0') return;
  throw Error(Errc::invalid_value, call, "an empty label", "names nothing in graphs and errors; give a text",
              label.where);
}

}  // namespace

namespace detail {

void submit_enqueue(const Stream& stream, const Label& label, std::span<const MemoryAccess> accesses,
                    const StreamFunction& on_cuda, HostAccessFunction on_host) {
  require_label(label, "enqueue");
  runtime::StreamCore& core = stream.core(label.where);
  const bool is_host = core.device.kind == DeviceKind::host;
  if (is_host ? !on_host : !on_cuda) {
    throw Error(Errc::not_supported, label.text, core.str(),
                is_host ? "has no native stream to enqueue on; give a function for host devices with on_host"
                        : "has no function for CUDA devices; give one with on_cuda",
                label.where);
  }
  Accesses used(accesses.size());
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    used.add(accesses[i], core.device, static_cast<int>(i), label);
  }
  runtime::Command command{core.device, runtime::ForeignCommand{}, used.get(), label.text, label.where};
  command.is_declared = !accesses.empty();
  if (!is_host) {
    runtime::submit_call(core, command, on_cuda);
    return;
  }
  command.payload =
      runtime::HostFunctionCommand{std::make_shared<const runtime::HostFunction>(std::move(on_host), core.device)};
  runtime::submit(core, command);
}

}  // namespace detail

void Stream::add_graph(cudaGraph_t graph, Label label) const {
  require_label(label, "add_graph");
  runtime::StreamCore& stream = core(label.where);
  if (stream.device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, label.text, stream.str(),
                "a host device runs no CUDA graph; add it to a stream of a CUDA device", label.where);
  }
  if (graph == nullptr) {
    throw Error(Errc::invalid_value, label.text, "a null graph", "holds nothing; give a CUDA graph", label.where);
  }
  runtime::refuse_in_callback(label.text, label.where);
  runtime::Command command{stream.device, runtime::ForeignCommand{}, {}, label.text, label.where};
  command.payload = runtime::ForeignCommand{stream.backend().copy_graph(graph, command)};
  command.is_declared = false;
  runtime::submit(stream, command);
}

}  // namespace refrain
