// Kernels of the program's own: what a launch costs, and what setting a parameter between replays does.

#include "launches.cuh"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/cuda.hpp>

#include <cmath>

namespace refrain::bench {
namespace {

constexpr double tolerance = 1e-5;  // of 100 roundings
constexpr const char* why_not_on_host = "it launches kernels of its own, which run on CUDA devices only";

LaunchConfig over_all() { return {.grid = own_grid(launch_elements), .block = own_block, .label = "scale"}; }

/// That the result is the input times a factor.
std::string check_scaled(const Array& result, double factor) {
  std::vector<double> expected;
  for (const float value : launch_input()) expected.push_back(value * factor);
  return difference(expected, result, tolerance);
}

Program launch_chain() {
  const Array start = from_host(launch_input(), {launch_elements});
  const Array buffers[] = {refrain::empty({launch_elements}), refrain::empty({launch_elements})};
  const auto step = [start, first = buffers[0], second = buffers[1],
                     stream = current_stream()]() -> std::vector<Array> {
    const LaunchConfig config = over_all();
    stream.launch(config, scale, start, chain_factor, first, launch_elements);
    for (int i = 1; i < chain_launches; ++i) {
      const bool is_odd = i % 2 != 0;
      stream.launch(config, scale, is_odd ? first : second, chain_factor, is_odd ? second : first, launch_elements);
    }
    return {chain_launches % 2 == 0 ? second : first};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return check_scaled(results.front(), std::pow(double{chain_factor}, chain_launches));
  };
  return {step, {}, check};
}

Program set_one_node() {
  const Array start = from_host(launch_input(), {launch_elements});
  const Array result = refrain::empty({launch_elements});
  Param<float> factor(factor_of(0), "factor");
  const auto step = [start, result, factor, stream = current_stream()]() -> std::vector<Array> {
    stream.launch(over_all(), scale, start, factor, result, launch_elements);
    return {result};
  };
  const auto set = [factor](const GraphExec* exec, int number) mutable {
    if (exec == nullptr) {
      factor = factor_of(number);
    } else {
      exec->set(factor, factor_of(number));
    }
  };
  const auto check = [](const std::vector<Array>& results, int number) {
    return check_scaled(results.front(), factor_of(number));
  };
  return {step, set, check};
}

}  // namespace

std::vector<Workload> launch_workloads() {
  return {
      {"launch_eager", "100 launches of a kernel of the program's own on two arrays of 1 000 float32", chain_launches,
       chain_launches - 1, launch_chain, why_not_on_host},
      {"set_one_node", "a kernel of the program's own, given another parameter for each step", 1, 0, set_one_node,
       why_not_on_host, "what is captured live cannot be set"},
  };
}

}  // namespace refrain::bench
