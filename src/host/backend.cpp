#include "host/backend.hpp"

#include "host/bound_command.hpp"
#include "host/cost.hpp"
#include "host/crew.hpp"
#include "host/event.hpp"
#include "host/matmul.hpp"
#include "kernels/host.hpp"
#include "kernels/reduce.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace refrain::host {

namespace {

/// The multiprocessors and threads that the host's random numbers are laid out for: an H200's.
constexpr int layout_multiprocessors = 132;
constexpr int layout_threads = 2048;

class HostBackend final : public runtime::Backend {
 public:
  HostBackend() : device_count_(runtime::environment_int("REFRAIN_HOST_DEVICES", 1, 1, runtime::most_devices)) {
    properties_.name = "host";
    properties_.multiprocessors = layout_multiprocessors;
    properties_.max_threads_per_multiprocessor = layout_threads;
    properties_.total_memory =
        static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
    pools_.resize(static_cast<std::size_t>(device_count_));
    (void)Crew::get();  // or it throws here what is wrong with its setting
    std::atexit(drain);
  }

  DeviceKind kind() const noexcept override { return DeviceKind::host; }
  int device_count() const noexcept override { return device_count_; }
  std::string why_unavailable() const override { return {}; }
  const DeviceProperties& properties(int) const override { return properties_; }
  /// The host has no priorities of its own; a small range is kept so that programs find what they set.
  std::pair<int, int> priority_range(int) const override { return {0, -5}; }

  std::unique_ptr<runtime::BackendStream> create_stream(int, int, runtime::Slot, std::uint64_t position) override {
    return std::make_unique<StreamHandle>(position);
  }
  // `wrap` is CUDA's alone.
  runtime::NativeStream describe(cudaStream_t, SourceLocation) override { return {}; }
  std::unique_ptr<runtime::BackendStream> wrap_stream(const runtime::NativeStream&) override { return nullptr; }
  std::unique_ptr<runtime::BackendEvent> wrap_event(cudaEvent_t) override { return nullptr; }
  bool is_complete(runtime::StreamCore& stream, std::uint64_t position) override {
    return queue_of(stream).reached(position);
  }
  void synchronize(runtime::StreamCore& stream, std::uint64_t position) override { queue_of(stream).wait(position); }

  void run(runtime::StreamCore& stream, const runtime::Command& command, void* const* addresses) override {
    if (const auto* call = std::get_if<runtime::HostFunctionCommand>(&command.payload)) {
      enqueue(stream, [function = call->function,
                       held = std::vector(addresses, addresses + command.accesses.size())](HostStream&) mutable {
        {
          const UserCode scope;
          (*function)(held.data());
        }
        runtime::retire(std::move(function));
        return true;
      });
      return;
    }
    enqueue(stream, [bound = BoundCommand(command, addresses)](HostStream&) {
      bound();
      return true;
    });
  }

  void wait(runtime::StreamCore& stream, runtime::StreamCore& other, std::uint64_t position) override {
    enqueue(stream, [queue = static_cast<StreamHandle&>(other.native()).queue, position](HostStream& self) {
      return queue->reached_or_park(position, self);
    });
  }

  // `enqueue` and `add_graph` refuse streams of the host.
  std::shared_ptr<runtime::ForeignWork> copy_graph(cudaGraph_t, const runtime::Command&) override { return nullptr; }
  void call(runtime::StreamCore&, const runtime::Command&, const runtime::ForeignCall&) override {}
  std::shared_ptr<runtime::ForeignWork> capture_call(runtime::StreamCore&, const runtime::Command&,
                                                     const runtime::ForeignCall&) override {
    return nullptr;
  }

  void download(runtime::StreamCore& stream, void* landing, const void* source, std::int64_t bytes) override {
    enqueue(stream, [=](HostStream&) {
      kernels::copy_host(landing, source, bytes, split_of_copy(bytes));
      return true;
    });
  }

  std::unique_ptr<runtime::BackendEvent> create_event(int, EventFlags flags) override {
    return std::make_unique<HostEvent>(flags);
  }

  void* allocate(runtime::StreamCore& stream, std::int64_t bytes) override {
    return pool(stream.device.index).allocate(stream.slot, bytes);
  }
  void free(int device, void* address, std::int64_t bytes,
            std::span<const runtime::StreamPoint> users) noexcept override {
    pool(device).free(address, bytes, users);
  }
  runtime::PoolStats pool_stats(int device) override { return {pools_[static_cast<std::size_t>(device)].reserved()}; }
  void trim(int device, std::int64_t keep_bytes) override { pool(device).trim(keep_bytes); }
  void set_pool(int, cudaMemPool_t) override {}  // set_memory_pool refuses it

  std::shared_ptr<const runtime::MatmulPlan> plan_matmul(int, const runtime::MatmulShape& shape,
                                                         SourceLocation where) override {
    return host::plan_matmul(shape, where);
  }

  runtime::FusionLimits fusion_limits(int) const override { return {kernels::reduce_chunk, false}; }  // in the cache
  std::shared_ptr<runtime::Executable> lower(const runtime::Plan& plan) override { return lower_to_host(plan); }
  std::unique_ptr<runtime::LiveCapture> begin_live(const runtime::LiveOrigin&) override { return nullptr; }

 private:
  MemoryPool& pool(int device) { return pools_[static_cast<std::size_t>(device)]; }

  static std::uint64_t issued_on(const runtime::StreamCore& stream) {
    const runtime::OrderLock lock(runtime::order_mutex());
    return stream.position;
  }

  /// Lets issued work finish before the process goes, so that no worker runs into what static destructors took away;
  /// work that takes longer than this is left behind.
  static void drain() {
    constexpr auto longest = std::chrono::seconds(10);
    const auto end = std::chrono::steady_clock::now() + longest;
    if (in_task()) return;  // which the drain would wait for
    for (int i = 0; i < runtime::host_backend().device_count(); ++i) {
      for (const auto& stream : runtime::streams_of({DeviceKind::host, i})) {
        queue_of(*stream).wait_until(issued_on(*stream), end);
      }
    }
  }

  const int device_count_;
  DeviceProperties properties_;
  std::vector<MemoryPool> pools_;
};

}  // namespace

bool stream_reached(runtime::StreamPoint point) noexcept {
  runtime::StreamCore& core = runtime::stream_at(point.slot);
  return point.position <= core.base_position || !core.has_native() || queue_of(core).reached(point.position);
}

}  // namespace refrain::host

namespace refrain::runtime {

Backend& host_backend() {
  static Backend& backend = *new host::HostBackend;
  return backend;
}

}  // namespace refrain::runtime
