#pragma once

// Captures with plain runtime calls, for the suites that pin what CUDA itself answers: where a new driver answers
// otherwise, the case that fails says which answer moved.

#include "native_graph.hpp"

#include <boost/test/unit_test.hpp>

#include <cuda_runtime.h>

#include <initializer_list>
#include <utility>
#include <vector>

namespace runtime {

/// A handle that is destroyed with its owner.
template <class Handle, auto destroy>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) destroy(handle_);
  }
  operator Handle() const { return handle_; }
  Handle* out() { return &handle_; }
  /// Destroys it now, unless CUDA refuses.
  cudaError_t reset() {
    const cudaError_t answer = destroy(handle_);
    if (answer == cudaSuccess) handle_ = nullptr;
    return answer;
  }

 private:
  Handle handle_ = nullptr;
};

using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using Exec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

struct Stream : Owned<cudaStream_t, cudaStreamDestroy> {
  explicit Stream(unsigned flags = cudaStreamNonBlocking) { CUDA_REQUIRE(cudaStreamCreateWithFlags(out(), flags)); }
};

struct Event : Owned<cudaEvent_t, cudaEventDestroy> {
  explicit Event(unsigned flags = cudaEventDisableTiming) { CUDA_REQUIRE(cudaEventCreateWithFlags(out(), flags)); }
};

/// A number in pinned memory: the host and running kernels both see it.
struct HostInt : Owned<int*, cudaFreeHost> {
  HostInt() {
    CUDA_REQUIRE(cudaMallocHost(out(), sizeof(int)));
    **out() = 0;
  }
};

struct DeviceInt : Owned<int*, cudaFree> {
  DeviceInt() {
    CUDA_REQUIRE(cudaMalloc(out(), sizeof(int)));
    CUDA_REQUIRE(cudaMemset(*out(), 0, sizeof(int)));
    CUDA_REQUIRE(cudaDeviceSynchronize());
  }
};

// Work

/// Loads a kernel: what is loaded while another kernel holds the device may wait for that one.
template <class Kernel>
void load(Kernel* kernel) {
  cudaFuncAttributes attributes{};
  CUDA_REQUIRE(cudaFuncGetAttributes(&attributes, kernel));
}

/// Launches an empty kernel.
cudaError_t try_launch(cudaStream_t stream);
void launch(cudaStream_t stream);
/// Launches a kernel that adds one to the number.
cudaError_t try_add_one(int* number, cudaStream_t stream);

// Captures

inline constexpr std::initializer_list<cudaStreamCaptureMode> any_mode = {
    cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed};

/// The modes that guard against calls which are unsafe during a capture.
inline constexpr std::initializer_list<cudaStreamCaptureMode> guarding_modes = {cudaStreamCaptureModeGlobal,
                                                                                cudaStreamCaptureModeThreadLocal};

inline void begin(cudaStream_t stream, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  CUDA_REQUIRE(cudaStreamBeginCapture(stream, mode));
}

inline Graph end(cudaStream_t stream) {
  Graph graph;
  CUDA_REQUIRE(cudaStreamEndCapture(stream, graph.out()));
  return graph;
}

/// What an end answers that gives no graph: cudaErrorStreamCaptureInvalidated when the capture was invalidated.
inline cudaError_t failed_end(cudaStream_t stream) {
  Graph graph;
  const cudaError_t answer = cudaStreamEndCapture(stream, graph.out());
  BOOST_TEST((graph == nullptr));
  return answer;
}

inline cudaStreamCaptureStatus status(cudaStream_t stream) {
  cudaStreamCaptureStatus answer = cudaStreamCaptureStatusNone;
  CUDA_REQUIRE(cudaStreamIsCapturing(stream, &answer));
  return answer;
}

/// A stream that work forks to and is joined from.
struct Fork {
  Stream side;
  Event forked;
  Event joined;

  void begin(cudaStream_t from) const {
    CUDA_REQUIRE(cudaEventRecord(forked, from));
    CUDA_REQUIRE(cudaStreamWaitEvent(side, forked));
  }
  void join(cudaStream_t to) const {
    CUDA_REQUIRE(cudaEventRecord(joined, side));
    CUDA_REQUIRE(cudaStreamWaitEvent(to, joined));
  }
};

// Graphs

inline int node_count(cudaGraph_t graph) {
  std::size_t count = 0;
  CUDA_REQUIRE(cudaGraphGetNodes(graph, nullptr, &count));
  return static_cast<int>(count);
}

/// The edges with their kinds, none left out.
std::vector<cudaGraphEdgeData> edges(cudaGraph_t graph);
inline int edge_count(cudaGraph_t graph) { return static_cast<int>(edges(graph).size()); }

inline Exec instantiate(cudaGraph_t graph) {
  Exec exec;
  CUDA_REQUIRE(cudaGraphInstantiate(exec.out(), graph, 0));
  return exec;
}

/// What every case has of its own. It must leave no capture behind.
struct Case {
  Stream origin;
  Stream member;
  Stream outside;
  Event event;
  HostInt count;

  Case();
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  /// `then` waits for what `first` was given so far.
  void order(cudaStream_t first, cudaStream_t then);
  void add_one(cudaStream_t stream) { CUDA_REQUIRE(try_add_one(count, stream)); }
  /// What the stream is given after this waits for the gate, which is closed at first.
  void hold(cudaStream_t stream);
  void open_gate() { *gate_ = 1; }
  void close_gate() { *gate_ = 0; }

 private:
  Event between_;
  HostInt gate_;
};

}  // namespace runtime
