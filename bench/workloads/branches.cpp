// Branches on streams of their own that are joined again.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/event.hpp>
#include <refrain/stream.hpp>

#include <cstddef>

namespace refrain::bench {
namespace {

constexpr double tolerance = 1e-6;
constexpr int commands = branches * branch_pairs * 2 + branches - 1;
/// Inside of the branches, from each of them to a sum, and between the sums.
constexpr int edges = branches * (branch_pairs * 2 - 1) + branches + branches - 2;

std::vector<double> expected_sum() {
  std::vector<double> sum(branch_elements);
  for (int branch = 0; branch < branches; ++branch) {
    const std::vector<float> start = branch_start(branch);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double z = start[i];
      for (int k = 0; k < branch_pairs; ++k) z = z * double{branch_scale} + double{branch_summand};
      sum[i] += z;
    }
  }
  return sum;
}

Program fork_join() {
  struct Branch {
    Stream stream;
    Event done;
    Array start;
  };
  std::vector<Branch> all(branches);
  for (int i = 0; i < branches; ++i)
    all[static_cast<std::size_t>(i)].start = from_host(branch_start(i), {branch_elements});

  const auto step = [all]() mutable -> std::vector<Array> {
    const Stream main_stream = current_stream();
    std::vector<Array> ends;
    for (Branch& branch : all) {
      const StreamGuard on(branch.stream);
      Array z = branch.start;
      for (int k = 0; k < branch_pairs; ++k) z = z * branch_scale + branch_summand;
      branch.done.record(branch.stream);
      ends.push_back(z);
    }
    for (const Branch& branch : all) main_stream.wait_event(branch.done);
    Array sum = ends[0] + ends[1];
    for (std::size_t i = 2; i < ends.size(); ++i) sum = sum + ends[i];
    return {sum};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return difference(expected_sum(), results[0], tolerance);
  };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> branch_workloads() {
  return {{"fork_join_8x16", "8 streams of 16 times z * 0.999f + 0.1f on 1 000 float32, added up", commands, edges,
           fork_join}};
}

}  // namespace refrain::bench
