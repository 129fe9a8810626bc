#pragma once

#include "prepared.hpp"

#include <refrain/device.hpp>

#include <functional>
#include <string>
#include <vector>

namespace refrain::bench {

/// One way to run a workload on the current device.
struct Mode {
  std::string name;
  std::string summary;
  std::function<Prepared(const Workload&, Device, const Effort&)> prepare;
};

/// Refrain's own modes: every workload has them on every device, unless it says why not.
const std::vector<Mode>& modes();

/// The one of them that calls a graphed function.
inline constexpr const char* graphed_mode = "graphed";

/// The graph with each pass off in turn.
const std::vector<Mode>& ablations();

/// The one of them that runs the program as it is.
inline constexpr const char* eager_mode = "eager";

/// The one of them that captures on really capturing streams.
inline constexpr const char* live_mode = "live";

/// A workload's step without Refrain, written by hand, where there is one.
struct Baseline {
  std::string workload;
  DeviceKind kind;
  Mode mode;
};

/// All of them, CUDA's included if the binary was built with it.
const std::vector<Baseline>& baselines();

/// The mode of baselines on the host: the call that issues a step returns when it is done.
inline constexpr const char* loop_mode = "loop";

/// The modes of what hand/ has: this one, and others whose names begin with it.
inline constexpr const char* hand_mode = "hand";

std::vector<Baseline> seed_loops();
std::vector<Baseline> stream_loops();
std::vector<Baseline> cuda_baselines();  ///< raw/ and hand/, or none in a binary without CUDA
std::string cuda_versions();             ///< "runtime 13.0, driver 13.0"; empty without CUDA

}  // namespace refrain::bench
