#include "runtime/backend.hpp"

#include "cuda/capture.hpp"
#include "cuda/device.hpp"
#include "cuda/foreign.hpp"
#include "cuda/fused.hpp"
#include "cuda/lower.hpp"
#include "cuda/matmul.hpp"
#include "cuda/memory.hpp"
#include "cuda/run.hpp"
#include "cuda/stream.hpp"
#include "runtime/environment.hpp"

#include <array>
#include <memory>
#include <string>
#include <utility>

namespace refrain::cuda {

namespace {

class CudaBackend final : public runtime::Backend {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  int device_count() const noexcept override { return static_cast<int>(cuda_devices().properties.size()); }
  std::string why_unavailable() const override { return cuda_devices().why_none; }
  const DeviceProperties& properties(int device) const override { return properties_of(device); }
  std::pair<int, int> priority_range(int device) const override { return stream_priorities(device); }

  std::unique_ptr<runtime::BackendStream> create_stream(int device, int priority, runtime::Slot,
                                                        std::uint64_t) override {
    return std::make_unique<CudaStream>(device, priority);
  }

  runtime::NativeStream describe(cudaStream_t native, SourceLocation where) override {
    return describe_stream(native, where);
  }
  std::unique_ptr<runtime::BackendStream> wrap_stream(const runtime::NativeStream& native) override {
    return std::make_unique<CudaStream>(native);
  }
  std::unique_ptr<runtime::BackendEvent> wrap_event(cudaEvent_t native) override { return wrap_cuda_event(native); }

  std::string why_unreachable(int device, const void* memory) const override {
    cudaPointerAttributes attributes{};
    const DeviceScope current(device);
    REFRAIN_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
    if (attributes.type == cudaMemoryTypeUnregistered) return "is memory of the host that CUDA does not know";
    if (attributes.type == cudaMemoryTypeDevice && attributes.device != device) {
      return "is memory of cuda:" + std::to_string(attributes.device);
    }
    return {};
  }

  bool is_device_memory(const void* memory) const override {
    cudaPointerAttributes attributes{};
    REFRAIN_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
    return attributes.type == cudaMemoryTypeDevice;
  }

  bool is_complete(runtime::StreamCore& stream, std::uint64_t) override { return stream_of(stream).query(); }
  void synchronize(runtime::StreamCore& stream, std::uint64_t) override { stream_of(stream).synchronize(stream); }

  void run(runtime::StreamCore& stream, const runtime::Command& command, void* const* addresses) override {
    run_command(NativeUse(stream), command, addresses);
    ++stream.position;
  }

  std::shared_ptr<runtime::ForeignWork> copy_graph(cudaGraph_t graph, const runtime::Command& command) override {
    return cuda::copy_graph(graph, command);
  }
  void call(runtime::StreamCore& stream, const runtime::Command& command, const runtime::ForeignCall& call) override {
    call_on_stream(stream, command, call);
  }
  std::shared_ptr<runtime::ForeignWork> capture_call(runtime::StreamCore& stream, const runtime::Command& command,
                                                     const runtime::ForeignCall& call) override {
    return cuda::capture_call(stream, command, call);
  }

  void wait(runtime::StreamCore& stream, runtime::StreamCore& other, std::uint64_t) override {
    const DeviceScope current(stream.device.index);  // each device has a legacy stream, all of one handle
    wait_for_stream(NativeUse(stream), other);
    ++stream.position;
  }

  void download(runtime::StreamCore& stream, void* landing, const void* source, std::int64_t bytes) override {
    const DeviceScope current(stream.device.index);
    REFRAIN_CUDA_CHECK(
        cudaMemcpyAsync(landing, source, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, NativeUse(stream)));
    ++stream.position;
  }

  bool is_pageable(const void* memory) const override {
    cudaPointerAttributes attributes{};
    REFRAIN_CUDA_CHECK(cudaPointerGetAttributes(&attributes, memory));
    return attributes.type == cudaMemoryTypeUnregistered;
  }

  void* take_staging(std::int64_t bytes) override { return staging_.take(bytes); }
  void give_staging(void* address, runtime::StreamCore& stream, std::uint64_t position) noexcept override {
    staging_.give(address, position == 0 ? nullptr : &stream);
  }

  std::unique_ptr<runtime::BackendEvent> create_event(int device, EventFlags flags) override {
    return create_cuda_event(device, flags);
  }

  void* allocate(runtime::StreamCore& stream, std::int64_t bytes) override {
    return pool(stream.device.index).allocate(stream, bytes);
  }
  void free(int device, void* address, std::int64_t, std::span<const runtime::StreamPoint> users) noexcept override {
    pool(device).free(address, users);
  }
  runtime::PoolStats pool_stats(int device) override { return {pool(device).reserved()}; }
  void trim(int device, std::int64_t keep_bytes) override {
    pool(device).trim(keep_bytes);
    staging_.trim();
  }
  void set_pool(int device, cudaMemPool_t native) override { pool(device).use(native); }

  std::shared_ptr<const runtime::MatmulPlan> plan_matmul(int device, const runtime::MatmulShape& shape,
                                                         SourceLocation where) override {
    return cuda::plan_matmul(device, shape, where);
  }

  std::string why_no_fusion() const override { return cuda::why_no_fusion(); }
  runtime::FusionLimits fusion_limits(int device) const override { return cuda::fusion_limits(device); }
  std::shared_ptr<runtime::Executable> lower(const runtime::Plan& plan) override { return lower_to_cuda(plan); }

  std::unique_ptr<runtime::LiveCapture> begin_live(const runtime::LiveOrigin& origin) override {
    return std::make_unique<CudaCapture>(origin);
  }

  std::unique_ptr<runtime::LiveCapture> attach_live(runtime::StreamCore& stream,
                                                    std::shared_ptr<const void> held) override {
    return std::make_unique<AttachedCapture>(stream, std::move(held));
  }

  void live_ended() noexcept override {
    for (const auto& pool : pools_) {
      if (pool != nullptr) pool->free_deferred();
    }
  }

 private:
  /// Made at first use, with the order lock held.
  MemoryPool& pool(int device) {
    auto& pool = pools_[static_cast<std::size_t>(device)];
    if (pool == nullptr) pool = std::make_unique<MemoryPool>(device);
    return *pool;
  }

  std::array<std::unique_ptr<MemoryPool>, runtime::most_devices> pools_;
  Staging staging_;
};

}  // namespace

}  // namespace refrain::cuda

namespace refrain::runtime {

Backend& cuda_backend() {
  static Backend& backend = *new cuda::CudaBackend;
  return backend;
}

}  // namespace refrain::runtime
