#pragma once

#include "host/memory.hpp"
#include "host/scheduler.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream_core.hpp"

#include <memory>
#include <vector>

namespace refrain::host {

/// The host's side of a stream: a queue that outlives the handle while workers look at it.
class StreamHandle final : public runtime::BackendStream {
 public:
  explicit StreamHandle(std::uint64_t position) : queue(std::make_shared<HostStream>(position)) {}
  const std::shared_ptr<HostStream> queue;
};

inline HostStream& queue_of(runtime::StreamCore& stream) { return *static_cast<StreamHandle&>(stream.native()).queue; }

/// Appends a task at the stream's next position. With the order lock held.
template <class Task>
void enqueue(runtime::StreamCore& stream, Task&& task) {
  queue_of(stream).push(std::forward<Task>(task));
  ++stream.position;
}

/// Whether the work up to the point is done. With the order lock held.
bool stream_reached(runtime::StreamPoint point) noexcept;

std::shared_ptr<runtime::Executable> lower_to_host(const runtime::Plan& plan);

}  // namespace refrain::host
