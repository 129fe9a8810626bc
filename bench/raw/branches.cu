// The branches of workloads/branches.cpp.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

namespace refrain::bench {
namespace {

struct Branch {
  StreamHandle stream = make_stream();
  EventHandle done = make_event();
  std::shared_ptr<float> start;
  std::shared_ptr<float> z = make_device_array<float>(branch_elements);
};

RawProgram fork_join(int) {
  std::vector<Branch> all(branches);
  for (int i = 0; i < branches; ++i) all[static_cast<std::size_t>(i)].start = make_device_copy(branch_start(i));
  const auto sum = make_device_array<float>(branch_elements);
  return {.step =
              [all, sum, fork = make_event()](cudaStream_t main) {
                check(cudaEventRecord(fork.get(), main));
                for (const Branch& branch : all) {
                  const cudaStream_t stream = branch.stream.get();
                  check(cudaStreamWaitEvent(stream, fork.get(), 0));
                  float* const z = branch.z.get();
                  for (int k = 0; k < branch_pairs; ++k) {
                    map(stream, Scale{branch_scale}, k == 0 ? branch.start.get() : z, z, branch_elements);
                    map(stream, Shift{branch_summand}, z, z, branch_elements);
                  }
                  check(cudaEventRecord(branch.done.get(), stream));
                }
                for (const Branch& branch : all) check(cudaStreamWaitEvent(main, branch.done.get(), 0));
                for (std::size_t i = 1; i < all.size(); ++i) {
                  map(main, Add{}, i == 1 ? all[0].z.get() : sum.get(), all[i].z.get(), sum.get(), branch_elements);
                }
              },
          .results = {{sum.get(), branch_elements * sizeof(float)}},
          .is_stateless = true};
}

}  // namespace

std::vector<Baseline> raw_branches() {
  return {raw_graph("fork_join_8x16", fork_join),
          raw_eager("fork_join_8x16", "raw-launch", "the launches alone, no memory taken or given back", fork_join)};
}

}  // namespace refrain::bench
