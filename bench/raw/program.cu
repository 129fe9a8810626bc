#include "raw/program.hpp"

#include "raw/edges.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace refrain::bench {
namespace {

std::vector<Bytes> bytes_of(const RawProgram& program) {
  std::vector<Bytes> all;
  for (const RawResult& result : program.results) {
    Bytes bytes(result.bytes);
    check(cudaMemcpy(bytes.data(), result.address, result.bytes, cudaMemcpyDeviceToHost));
    all.push_back(std::move(bytes));
  }
  return all;
}

template <class T>
std::vector<float> floats_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

std::vector<float> floats_of(const Bytes& bytes, DType dtype) {
  switch (dtype) {
    case DType::float32: return floats_of<float>(bytes);
    case DType::int64: return floats_of<std::int64_t>(bytes);
    default: throw std::logic_error("a raw result is of a dtype that it cannot be compared as");
  }
}

/// What differs from the results of a step of the workload.
std::string difference_from(const std::vector<Bytes>& expected, const RawProgram& program) {
  const std::vector<Bytes> found = bytes_of(program);
  if (program.tolerance == 0 || found.size() != expected.size()) return difference(expected, found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const DType dtype = program.results[i].dtype;
    const std::vector<float> values = floats_of(expected[i], dtype);
    std::string failure = difference({values.begin(), values.end()}, floats_of(found[i], dtype), program.tolerance);
    if (!failure.empty()) return failure;
  }
  return {};
}

/// Runs a fresh program once and compares it with the workload's own eager step.
void verify(Prepared& prepared, const Workload& workload, const RawProgram& program, cudaStream_t stream) {
  check(cudaDeviceSynchronize());  // what made the program is not in the order of the stream
  program.step(stream);
  check(cudaDeviceSynchronize());
  note(prepared, difference_from(eager_reference(workload.prepare(), 1).front(), program));
}

Prepared prepare_streams(const Workload& workload, Device device, const MakeRawProgram& make) {
  check(cudaSetDevice(device.index));
  const RawProgram program = make(device.index);
  const StreamHandle stream = make_stream();
  Prepared prepared;
  prepared.work = {[program, stream] { program.step(stream.get()); }, [] { check(cudaDeviceSynchronize()); }};
  verify(prepared, workload, program, stream.get());
  return prepared;
}

CapturedGraph capture_step(const RawProgram& program, cudaStream_t stream, GraphCosts& costs) {
  Stopwatch watch;
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  program.step(stream);
  check(cudaStreamEndCapture(stream, &graph));
  costs.record_us = watch.lap();

  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0));
  check(cudaGraphUpload(exec, stream));
  costs.instantiate_us = watch.lap();

  check(cudaGraphLaunch(exec, stream));
  check(cudaStreamSynchronize(stream));
  costs.first_replay_us = watch.lap();
  return {{graph, [](cudaGraph_t owned) { cudaGraphDestroy(owned); }},
          {exec, [](cudaGraphExec_t owned) { cudaGraphExecDestroy(owned); }},
          nodes_of(graph)};
}

void launch_step(const RawProgram& program, const CapturedGraph& captured, cudaStream_t stream, int number) {
  if (program.set) program.set(captured, number);
  check(cudaGraphLaunch(captured.exec.get(), stream));
}

/// Compares launches of the graph with the workload's own eager steps. What earlier ones have left must not pass for
/// their results; those of steps that go on from each other differ from step to step.
void verify_launches(Prepared& prepared, const Workload& workload, const RawProgram& program,
                     const CapturedGraph& captured, cudaStream_t stream) {
  const auto reference = eager_reference(workload.prepare(), compared_steps);
  if (program.reset) {
    program.reset();
    check(cudaDeviceSynchronize());
  }
  for (int number = 0; number < compared_steps; ++number) {
    if (!program.reset) {
      for (const RawResult& result : program.results) {
        check(cudaMemsetAsync(result.address, 0xff, result.bytes, stream));
      }
    }
    launch_step(program, captured, stream, number);
    check(cudaStreamSynchronize(stream));
    note(prepared, difference_from(reference[static_cast<std::size_t>(number)], program));
  }
}

Prepared prepare_replay(const Workload& workload, Device device, const Effort& effort, const MakeRawProgram& make) {
  check(cudaSetDevice(device.index));
  const RawProgram program = make(device.index);
  const StreamHandle stream = make_stream();
  Prepared prepared;
  verify(prepared, workload, program, stream.get());

  CapturedGraph captured;
  prepared.costs = measure_costs(
      [&] {
        GraphCosts costs;
        captured = capture_step(program, stream.get(), costs);
        return costs;
      },
      effort);
  prepared.nodes = static_cast<int>(captured.nodes.size());
  prepared.edges = reduced_edge_count(captured.graph.get());
  if (!program.has_nodes_of_its_own) note(prepared, count_difference(workload, *prepared.nodes, *prepared.edges));
  if (program.is_stateless || program.reset) verify_launches(prepared, workload, program, captured, stream.get());
  prepared.work = {
      [program, captured, stream, number = 0]() mutable { launch_step(program, captured, stream.get(), number++); },
      [stream] { check(cudaStreamSynchronize(stream.get())); }};
  return prepared;
}

Baseline graph_row(std::string workload, std::string mode, std::string summary, MakeRawProgram make) {
  return {std::move(workload),
          DeviceKind::cuda,
          {std::move(mode), std::move(summary),
           [make = std::move(make)](const Workload& of, Device device, const Effort& effort) {
             return prepare_replay(of, device, effort, make);
           }}};
}

}  // namespace

Baseline raw_graph(std::string workload, MakeRawProgram make) {
  return graph_row(std::move(workload), "raw", "replay of the same graph, captured in plain CUDA", std::move(make));
}

Baseline hand_graph(std::string workload, std::string mode, std::string summary, MakeRawProgram make) {
  const auto make_with_nodes_of_its_own = [make = std::move(make)](int device) {
    RawProgram program = make(device);
    program.has_nodes_of_its_own = true;
    return program;
  };
  return graph_row(std::move(workload), std::move(mode), std::move(summary), make_with_nodes_of_its_own);
}

Baseline raw_eager(std::string workload, std::string mode, std::string summary, MakeRawProgram make) {
  return {
      std::move(workload),
      DeviceKind::cuda,
      {std::move(mode), std::move(summary), [make = std::move(make)](const Workload& of, Device device, const Effort&) {
         return prepare_streams(of, device, make);
       }}};
}

std::vector<Baseline> cuda_baselines() {
  std::vector<Baseline> all;
  for (const auto& family :
       {raw_seeds(), raw_empties(), raw_elementwise(), raw_arrays(), raw_rows(), raw_branches(), raw_stencils(),
        raw_conjugate_gradients(), raw_black_scholes(), raw_monte_carlo(), raw_adam(), raw_launches(), raw_graphed(),
        raw_foreign_step(), hand_exact::hand_rows(), hand_fast::hand_rows(), hand_mlp()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

std::string cuda_versions() {
  const auto text = [](int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  };
  int runtime = 0;
  int driver = 0;
  check(cudaRuntimeGetVersion(&runtime));
  check(cudaDriverGetVersion(&driver));
  return "runtime " + text(runtime) + ", driver " + (driver == 0 ? "none" : text(driver));
}

}  // namespace refrain::bench
