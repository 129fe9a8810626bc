#pragma once

#include "runtime/backend.hpp"

#include <refrain/error.hpp>

#include <memory>
#include <string>
#include <utility>

namespace refrain::test {

/// Counts the calls that may fail, and fails one of them.
class Fault {
 public:
  /// Fails call number `n`, from 1, with this code; 0: none.
  explicit Fault(int n, Errc code = Errc::backend) : n_(n), code_(code) {}

  void call(const char* name) {
    if (++calls_ != n_) return;
    failed_ = name;
    throw Error(code_, name, "the backend under test", "fails as it was told to; call it again");
  }
  bool has_failed() const noexcept { return failed_[0] != '\0'; }
  /// The call that failed.
  const char* failed() const noexcept { return failed_; }
  int executables = 0;  ///< alive

 private:
  int n_;
  Errc code_;
  int calls_ = 0;
  const char* failed_ = "";
};

class FailingExecutable final : public runtime::Executable {
 public:
  FailingExecutable(std::shared_ptr<runtime::Executable> real, std::shared_ptr<Fault> fault)
      : real_(std::move(real)), fault_(std::move(fault)) {
    ++fault_->executables;
  }
  ~FailingExecutable() override { --fault_->executables; }
  FailingExecutable(const FailingExecutable&) = delete;
  FailingExecutable& operator=(const FailingExecutable&) = delete;

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override {
    fault_->call("launch");
    real_->launch(stream, draws);
  }
  void change(std::size_t command, const runtime::PlannedCommand& planned) override {
    fault_->call("change");
    real_->change(command, planned);
  }
  void enable(std::size_t command, bool is_enabled) override {
    fault_->call("enable");
    real_->enable(command, is_enabled);
  }
  std::string update(const std::shared_ptr<runtime::PreparedUpdate>& prepared) override {
    fault_->call("update");
    return real_->update(prepared);
  }
  std::shared_ptr<runtime::PreparedUpdate> prepare_update(const runtime::Plan& plan) const override {
    fault_->call("prepare_update");
    return real_->prepare_update(plan);
  }
  bool events_cover_runs() const noexcept override { return real_->events_cover_runs(); }
  cudaGraphExec_t native() const noexcept override { return real_->native(); }
  cudaGraph_t native_graph() const noexcept override { return real_->native_graph(); }

 private:
  std::shared_ptr<runtime::Executable> real_;
  std::shared_ptr<Fault> fault_;
};

class FailingCapture final : public runtime::LiveCapture {
 public:
  FailingCapture(std::unique_ptr<runtime::LiveCapture> real, std::shared_ptr<Fault> fault)
      : real_(std::move(real)), fault_(std::move(fault)) {}

  void fork(int lane, Device device, int priority, runtime::StreamCore* own) override {
    fault_->call("fork");
    real_->fork(lane, device, priority, own);
  }
  void run(int lane, int command, std::span<const runtime::PlannedCommand> commands) override {
    fault_->call("run");
    real_->run(lane, command, commands);
  }
  void call(int lane, const runtime::Command& command, const runtime::ForeignCall& call) override {
    fault_->call("call");
    real_->call(lane, command, call);
  }
  int record(int lane) override {
    fault_->call("record");
    return real_->record(lane);
  }
  void wait(int lane, int point) override {
    fault_->call("wait");
    real_->wait(lane, point);
  }
  void depend(int lane, int command) override {
    fault_->call("depend");
    real_->depend(lane, command);
  }
  void record_event(int lane, cudaEvent_t event) override {
    fault_->call("record_event");
    real_->record_event(lane, event);
  }
  void wait_event(int lane, cudaEvent_t event) override {
    fault_->call("wait_event");
    real_->wait_event(lane, event);
  }
  cudaStream_t native(int lane) const noexcept override { return real_->native(lane); }
  std::shared_ptr<runtime::Executable> end(std::span<const std::uint64_t> draw_increments) override {
    fault_->call("end");
    return std::make_shared<FailingExecutable>(real_->end(draw_increments), fault_);
  }

 private:
  std::unique_ptr<runtime::LiveCapture> real_;
  std::shared_ptr<Fault> fault_;
};

/// A backend that is another one, but for the call that fails. Takes its place until the end of the scope.
class FailingBackend final : public runtime::Backend {
 public:
  explicit FailingBackend(DeviceKind kind) : real_(runtime::backend(kind)) { runtime::replace_backend(kind, this); }
  ~FailingBackend() override { runtime::replace_backend(real_.kind(), &real_); }
  FailingBackend(const FailingBackend&) = delete;
  FailingBackend& operator=(const FailingBackend&) = delete;

  void arm(std::shared_ptr<Fault> fault) { fault_ = std::move(fault); }

  DeviceKind kind() const noexcept override { return real_.kind(); }
  int device_count() const noexcept override { return real_.device_count(); }
  std::string why_unavailable() const override { return real_.why_unavailable(); }
  const DeviceProperties& properties(int device) const override { return real_.properties(device); }
  std::pair<int, int> priority_range(int device) const override { return real_.priority_range(device); }

  std::unique_ptr<runtime::BackendStream> create_stream(int device, int priority, runtime::Slot slot,
                                                        std::uint64_t position) override {
    fault_->call("create_stream");
    return real_.create_stream(device, priority, slot, position);
  }
  runtime::NativeStream describe(cudaStream_t native, SourceLocation where) override {
    fault_->call("describe");
    return real_.describe(native, where);
  }
  std::unique_ptr<runtime::BackendStream> wrap_stream(const runtime::NativeStream& native) override {
    fault_->call("wrap_stream");
    return real_.wrap_stream(native);
  }
  std::unique_ptr<runtime::BackendEvent> wrap_event(cudaEvent_t native) override {
    fault_->call("wrap_event");
    return real_.wrap_event(native);
  }
  std::string why_unreachable(int device, const void* memory) const override {
    return real_.why_unreachable(device, memory);
  }
  bool is_device_memory(const void* memory) const override { return real_.is_device_memory(memory); }
  bool is_complete(runtime::StreamCore& stream, std::uint64_t position) override {
    fault_->call("is_complete");
    return real_.is_complete(stream, position);
  }
  void synchronize(runtime::StreamCore& stream, std::uint64_t position) override {
    fault_->call("synchronize");
    real_.synchronize(stream, position);
  }
  void run(runtime::StreamCore& stream, const runtime::Command& command, void* const* addresses) override {
    fault_->call("run");
    real_.run(stream, command, addresses);
  }
  std::shared_ptr<runtime::ForeignWork> copy_graph(cudaGraph_t graph, const runtime::Command& command) override {
    fault_->call("copy_graph");
    return real_.copy_graph(graph, command);
  }
  void call(runtime::StreamCore& stream, const runtime::Command& command, const runtime::ForeignCall& call) override {
    fault_->call("call");
    real_.call(stream, command, call);
  }
  std::shared_ptr<runtime::ForeignWork> capture_call(runtime::StreamCore& stream, const runtime::Command& command,
                                                     const runtime::ForeignCall& call) override {
    fault_->call("capture_call");
    return real_.capture_call(stream, command, call);
  }
  void wait(runtime::StreamCore& stream, runtime::StreamCore& other, std::uint64_t position) override {
    fault_->call("wait");
    real_.wait(stream, other, position);
  }
  void download(runtime::StreamCore& stream, void* landing, const void* source, std::int64_t bytes) override {
    fault_->call("download");
    real_.download(stream, landing, source, bytes);
  }
  bool is_pageable(const void* memory) const override { return real_.is_pageable(memory); }
  void* take_staging(std::int64_t bytes) override {
    fault_->call("take_staging");
    return real_.take_staging(bytes);
  }
  void give_staging(void* address, runtime::StreamCore& stream, std::uint64_t position) noexcept override {
    real_.give_staging(address, stream, position);
  }
  std::unique_ptr<runtime::BackendEvent> create_event(int device, EventFlags flags) override {
    fault_->call("create_event");
    return real_.create_event(device, flags);
  }
  void* allocate(runtime::StreamCore& stream, std::int64_t bytes) override {
    fault_->call("allocate");
    return real_.allocate(stream, bytes);
  }
  void free(int device, void* address, std::int64_t bytes,
            std::span<const runtime::StreamPoint> users) noexcept override {
    real_.free(device, address, bytes, users);
  }
  runtime::PoolStats pool_stats(int device) override { return real_.pool_stats(device); }
  void trim(int device, std::int64_t keep_bytes) override { real_.trim(device, keep_bytes); }
  void set_pool(int device, cudaMemPool_t pool) override { real_.set_pool(device, pool); }
  std::shared_ptr<const runtime::MatmulPlan> plan_matmul(int device, const runtime::MatmulShape& shape,
                                                         SourceLocation where) override {
    fault_->call("plan_matmul");
    return real_.plan_matmul(device, shape, where);
  }
  std::string why_no_fusion() const override { return real_.why_no_fusion(); }
  runtime::FusionLimits fusion_limits(int device) const override { return real_.fusion_limits(device); }
  std::shared_ptr<runtime::Executable> lower(const runtime::Plan& plan) override {
    fault_->call("lower");
    return std::make_shared<FailingExecutable>(real_.lower(plan), fault_);
  }
  std::unique_ptr<runtime::LiveCapture> begin_live(const runtime::LiveOrigin& origin) override {
    fault_->call("begin_live");
    auto real = real_.begin_live(origin);
    if (real == nullptr) return nullptr;
    return std::make_unique<FailingCapture>(std::move(real), fault_);
  }
  std::unique_ptr<runtime::LiveCapture> attach_live(runtime::StreamCore& stream,
                                                    std::shared_ptr<const void> held) override {
    fault_->call("attach_live");
    auto real = real_.attach_live(stream, std::move(held));
    if (real == nullptr) return nullptr;
    return std::make_unique<FailingCapture>(std::move(real), fault_);
  }
  void live_ended() noexcept override { real_.live_ended(); }

 private:
  runtime::Backend& real_;
  std::shared_ptr<Fault> fault_ = std::make_shared<Fault>(0);
};

}  // namespace refrain::test
