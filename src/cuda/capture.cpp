#include "cuda/capture.hpp"

#include "cuda/compat.hpp"
#include "cuda/foreign.hpp"
#include "cuda/run.hpp"
#include "cuda/stream.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>

namespace refrain::cuda {

CudaCapture::CudaCapture(const runtime::LiveOrigin& origin)
    : device_(origin.device), guards_legacy_stream_(origin.guard_legacy_stream) {
  try {
    add_lane(origin.device, origin.priority, origin.own);
    const DeviceScope current(device_.index);
    beginning_ = new_event(device_.index);
    // A stream-scoped capture may be ended by another thread, which CUDA allows in relaxed mode only.
    const bool is_strict = origin.own == nullptr;
    REFRAIN_CUDA_CHECK(cudaStreamBeginCapture(
        lanes_[0].stream, is_strict ? cudaStreamCaptureModeThreadLocal : cudaStreamCaptureModeRelaxed));
    capturing_ = true;
    id_ = CapturingGraph(lanes_[0].stream).id;
    is_strict_ = is_strict;
    if (is_strict_) ++strict_captures();
    REFRAIN_CUDA_CHECK(cudaEventRecord(beginning_, lanes_[0].stream));
    guard(device_.index);
  } catch (...) {
    leave();
    throw;
  }
}

CudaCapture::~CudaCapture() { leave(); }

void CudaCapture::leave() noexcept {
  const RelaxedScope relaxed;
  if (!relaxed.may_call()) return;
  if (std::exchange(is_strict_, false)) --strict_captures();
  if (capturing_) {
    try {
      join_lanes();  // an abandoned capture is no error of the program's: CUDA need not report unjoined work
    } catch (...) {
    }
    cudaGraph_t graph = nullptr;
    ignore(cudaStreamEndCapture(lanes_[0].stream, &graph));
    if (graph != nullptr) ignore(cudaGraphDestroy(graph));
    ignore(cudaGetLastError());
    capturing_ = false;
  }
  drop_lanes();
  for (const Guard& guard : guards_) ignore(cudaStreamDestroy(guard.stream));
  guards_.clear();
}

void CudaCapture::guard(int device) {
  const auto is_here = [&](const Guard& guard) { return guard.device == device; };
  if (!guards_legacy_stream_ || std::any_of(guards_.begin(), guards_.end(), is_here)) return;
  const DeviceScope current(device);
  const CallScope call;
  cudaStream_t stream = nullptr;
  REFRAIN_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamDefault));
  guards_.push_back({device, stream});
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(stream, beginning_, 0));
}

void CudaCapture::add_lane(Device device, int priority, runtime::StreamCore* own) {
  Lane lane;
  lane.device = device.index;
  if (own != nullptr) {
    stream_of(*own).begin_capture();
    lane.own = own;
    refuse_at_end();
    lane.stream = own->native().native();
  } else {
    const DeviceScope current(device.index);
    const CallScope call;
    REFRAIN_CUDA_CHECK(cudaStreamCreateWithPriority(&lane.stream, cudaStreamNonBlocking, priority));
  }
  lanes_.push_back(lane);
}

void CaptureLanes::drop_lanes() noexcept {
  for (const Lane& lane : lanes_) {
    if (lane.own != nullptr) {
      stream_of(*lane.own).end_capture();
    } else {
      ignore(cudaStreamDestroy(lane.stream));
    }
  }
  lanes_.clear();
  for (const cudaEvent_t event : events_) ignore(cudaEventDestroy(event));
  events_.clear();
}

cudaEvent_t CaptureLanes::new_event(int device) {
  const DeviceScope current(device);
  const CallScope call;
  cudaEvent_t event = nullptr;
  REFRAIN_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  events_.push_back(event);
  return event;
}

void CudaCapture::fork(int lane, Device device, int priority, runtime::StreamCore* own) {
  if (lane == 0) return;  // the origin is there from the beginning
  guard(device.index);
  if (own != nullptr && stream_of(*own).foreign_capture().id == id_) {  // other code has let it join
    stream_of(*own).was_joined();
    lanes_.push_back({own->native().native(), own, device.index});
    return;
  }
  add_lane(device, priority, own);
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(lanes_.back().stream, beginning_, 0));
}

void CaptureLanes::run(int lane, int command, std::span<const runtime::PlannedCommand> commands) {
  const Lane& on = lanes_[static_cast<std::size_t>(lane)];
  for (const runtime::PlannedCommand& planned : commands) {
    GraphCommand(*planned.command, planned.addresses.data(), *resources_).launch(on.stream);
  }
  const auto newest = capture_dependencies(on.stream);
  const auto number = static_cast<std::size_t>(command);
  if (nodes_.size() <= number) nodes_.resize(number + 1);
  nodes_[number].assign(newest.begin(), newest.end());
}

void CaptureLanes::call(int lane, const runtime::Command& command, const runtime::ForeignCall& call) {
  call_in_live_capture(native(lane), command, call);
}

int CaptureLanes::record(int lane) {
  const Lane& on = lanes_[static_cast<std::size_t>(lane)];
  points_.push_back(new_event(on.device));
  const DeviceScope current(on.device);
  REFRAIN_CUDA_CHECK(cudaEventRecord(points_.back(), on.stream));
  return static_cast<int>(points_.size()) - 1;
}

void CaptureLanes::wait(int lane, int point) {
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(native(lane), points_[static_cast<std::size_t>(point)], 0));
}

void CaptureLanes::depend(int lane, int command) {
  if (nodes_.size() <= static_cast<std::size_t>(command)) return;  // it failed
  auto& nodes = nodes_[static_cast<std::size_t>(command)];
  if (nodes.empty()) return;  // an empty graph inside the capture left none
  update_capture_dependencies(native(lane), nodes, cudaStreamAddCaptureDependencies);
}

void CaptureLanes::record_event(int lane, cudaEvent_t event) {
  const DeviceScope current(lanes_[static_cast<std::size_t>(lane)].device);
  REFRAIN_CUDA_CHECK(cudaEventRecord(event, native(lane)));
}

void CaptureLanes::wait_event(int lane, cudaEvent_t event) {
  const DeviceScope current(lanes_[static_cast<std::size_t>(lane)].device);
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(native(lane), event, 0));
}

void CudaCapture::join_lanes() {
  for (std::size_t i = 1; i < lanes_.size(); ++i) join(lanes_[i].device, lanes_[i].stream);
  for (const Guard& guard : guards_) join(guard.device, guard.stream);
}

void CudaCapture::join(int device, cudaStream_t stream) {
  const DeviceScope current(device);
  const cudaEvent_t joined = new_event(device);
  REFRAIN_CUDA_CHECK(cudaEventRecord(joined, stream));
  REFRAIN_CUDA_CHECK(cudaStreamWaitEvent(lanes_[0].stream, joined, 0));
}

std::shared_ptr<runtime::Executable> CudaCapture::end(std::span<const std::uint64_t> draw_increments) {
  join_lanes();
  cudaGraph_t graph = nullptr;
  capturing_ = false;
  REFRAIN_CUDA_CHECK(cudaStreamEndCapture(lanes_[0].stream, &graph));
  OwnedGraph owned(graph);
  leave();
  finish_counters(*resources_, draw_increments);
  return std::make_shared<CudaExecutable>(BuiltGraph(std::move(owned), std::move(*resources_)), device_.index);
}

AttachedCapture::AttachedCapture(runtime::StreamCore& stream, std::shared_ptr<const void> held) {
  const CallScope call;
  const CapturingGraph capture(stream.native().native());
  id_ = capture.id;
  resources_->keep_alive = std::move(held);
  retain(capture.graph, resources_, runtime::retire);
}

AttachedCapture::~AttachedCapture() {
  const RelaxedScope relaxed;
  if (relaxed.may_call()) drop_lanes();
}

void AttachedCapture::fork(int, Device device, int, runtime::StreamCore* own) {
  CudaStream& stream = stream_of(*own);
  if (stream.foreign_capture().id != id_) stream.join_capture();
  lanes_.push_back({stream.native(), own, device.index});
}

}  // namespace refrain::cuda
