// Stands in for the CUDA backend where the library is built without a toolkit: a backend without devices, so that no
// other file needs to know.

#include "runtime/backend.hpp"

#include <refrain/error.hpp>

namespace refrain::runtime {

namespace {

class NoCuda final : public Backend {
 public:
  DeviceKind kind() const noexcept override { return DeviceKind::cuda; }
  int device_count() const noexcept override { return 0; }
  std::string why_unavailable() const override { return "Refrain was built without CUDA"; }
  const DeviceProperties& properties(int) const override { refuse(); }
  std::pair<int, int> priority_range(int) const override { refuse(); }
  std::unique_ptr<BackendStream> create_stream(int, int, Slot, std::uint64_t) override { refuse(); }
  NativeStream describe(cudaStream_t, SourceLocation) override { refuse(); }
  std::unique_ptr<BackendStream> wrap_stream(const NativeStream&) override { refuse(); }
  std::unique_ptr<BackendEvent> wrap_event(cudaEvent_t) override { refuse(); }
  bool is_complete(StreamCore&, std::uint64_t) override { refuse(); }
  void synchronize(StreamCore&, std::uint64_t) override { refuse(); }
  void run(StreamCore&, const Command&, void* const*) override { refuse(); }
  std::shared_ptr<ForeignWork> copy_graph(cudaGraph_t, const Command&) override { refuse(); }
  void call(StreamCore&, const Command&, const ForeignCall&) override { refuse(); }
  std::shared_ptr<ForeignWork> capture_call(StreamCore&, const Command&, const ForeignCall&) override { refuse(); }
  void wait(StreamCore&, StreamCore&, std::uint64_t) override { refuse(); }
  void download(StreamCore&, void*, const void*, std::int64_t) override { refuse(); }
  std::unique_ptr<BackendEvent> create_event(int, EventFlags) override { refuse(); }
  void* allocate(StreamCore&, std::int64_t) override { refuse(); }
  void free(int, void*, std::int64_t, std::span<const StreamPoint>) noexcept override {}
  PoolStats pool_stats(int) override { refuse(); }
  void trim(int, std::int64_t) override { refuse(); }
  void set_pool(int, cudaMemPool_t) override { refuse(); }
  std::shared_ptr<const MatmulPlan> plan_matmul(int, const MatmulShape&, SourceLocation) override { refuse(); }
  FusionLimits fusion_limits(int) const override { refuse(); }
  std::shared_ptr<Executable> lower(const Plan&) override { refuse(); }
  std::unique_ptr<LiveCapture> begin_live(const LiveOrigin&) override { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(Errc::no_device, "cuda", "", why_unavailable() + "; use a host device");
  }
};

}  // namespace

Backend& cuda_backend() {
  static Backend& backend = *new NoCuda;
  return backend;
}

}  // namespace refrain::runtime
