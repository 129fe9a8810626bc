// Empty kernels in the shapes of workloads/empties.cpp.

#include "raw/program.hpp"

#include <string>

namespace refrain::bench {
namespace {

__global__ void empty_kernel() {}

constexpr int branch_length = 32;

RawProgram chain(int length) {
  return {[length](cudaStream_t main) {
            for (int i = 0; i < length; ++i) launch(empty_kernel, 1, 1, main);
          },
          {}};
}

RawProgram fork_join(int branches) {
  std::vector<StreamHandle> streams;
  std::vector<EventHandle> joins;
  for (int b = 0; b < branches; ++b) {
    streams.push_back(make_stream());
    joins.push_back(make_event());
  }
  return {[streams, joins, fork = make_event()](cudaStream_t main) {
            launch(empty_kernel, 1, 1, main);
            check(cudaEventRecord(fork.get(), main));
            for (std::size_t b = 0; b < streams.size(); ++b) {
              const cudaStream_t branch = streams[b].get();
              check(cudaStreamWaitEvent(branch, fork.get(), 0));
              for (int i = 0; i < branch_length; ++i) launch(empty_kernel, 1, 1, branch);
              check(cudaEventRecord(joins[b].get(), branch));
            }
            for (const EventHandle& join : joins) check(cudaStreamWaitEvent(main, join.get(), 0));
            launch(empty_kernel, 1, 1, main);
          },
          {}};
}

void add(std::vector<Baseline>& list, const std::string& workload, const MakeRawProgram& make) {
  list.push_back(raw_graph(workload, make));
  list.push_back(raw_eager(workload, "raw-eager", "the same work on plain CUDA streams", make));
}

}  // namespace

std::vector<Baseline> raw_empties() {
  std::vector<Baseline> list;
  for (const int length : {1, 100, 1000}) {
    add(list, "empty_chain_" + std::to_string(length), [length](int) { return chain(length); });
  }
  for (const int branches : {2, 8, 32}) {
    add(list, "fork_join_empty_" + std::to_string(branches), [branches](int) { return fork_join(branches); });
  }
  return list;
}

}  // namespace refrain::bench
