#include "modes.hpp"

#include <refrain/capture.hpp>
#include <refrain/random.hpp>
#include <refrain/stream.hpp>

namespace refrain::bench {
namespace {

// Two steps in a row, so that the place of a step in the sequence of random numbers is checked too.
constexpr int compared_steps = 2;

Prepared prepare_eager(const Workload& workload, Device device, const Effort&) {
  const Step step = workload.prepare();
  Prepared prepared;
  prepared.work = {[step] { step(); }, [device] { synchronize(device); }};
  const auto reference = eager_reference(step, compared_steps);
  const auto again = eager_reference(step, compared_steps);
  for (std::size_t i = 0; i < reference.size(); ++i) note(prepared, difference(reference[i], again[i]));
  return prepared;
}

/// A captured step with its arrays, ready to be replayed.
struct Captured {
  Graph graph;
  std::vector<Array> results;
  GraphExec exec;
};

Captured capture_step(const Step& step, CaptureOptions capturing, InstantiateOptions instantiating,
                      const Stream& stream, GraphCosts& costs) {
  Stopwatch watch;
  auto [graph, results] = capture(step, capturing);
  costs.record_us = watch.lap();
  GraphExec exec = graph.instantiate(instantiating);
  costs.instantiate_us = watch.lap();
  exec.replay(stream);
  stream.synchronize();
  costs.first_replay_us = watch.lap();
  return {std::move(graph), std::move(results), std::move(exec)};
}

Prepared prepare_graph(const Workload& workload, CaptureOptions capturing, InstantiateOptions instantiating,
                       const Effort& effort) {
  const Step step = workload.prepare();
  const auto reference = eager_reference(step, compared_steps);
  const Stream stream = current_stream();

  Captured captured;
  Prepared prepared;
  prepared.costs = measure_costs(
      [&] {
        GraphCosts costs;
        captured = capture_step(step, capturing, instantiating, stream, costs);
        return costs;
      },
      effort);
  prepared.nodes = captured.exec.node_count();
  prepared.edges = captured.exec.edge_count();
  prepared.work = {[captured, stream] { captured.exec.replay(stream); }, [stream] { stream.synchronize(); }};

  note(prepared, count_difference(workload, captured.graph.node_count(), captured.graph.edge_count()));
  manual_seed(0);
  for (const auto& expected : reference) {
    captured.exec.replay(stream);
    note(prepared, difference(expected, bytes_of(captured.results)));
  }
  return prepared;
}

Mode graph_mode(std::string name, std::string summary, CaptureOptions capturing, InstantiateOptions instantiating) {
  return {std::move(name), std::move(summary), [=](const Workload& workload, Device, const Effort& effort) {
            return prepare_graph(workload, capturing, instantiating, effort);
          }};
}

}  // namespace

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all = {
      {"eager", "the program as it runs without capture", prepare_eager},
      graph_mode("graph", "replay of the optimised graph", {}, {.optimize = Optimize::all}),
      graph_mode("graph-none", "replay of the graph as written", {}, {.optimize = Optimize::none}),
      graph_mode("live", "replay of a graph captured on really capturing streams", {.live = true},
                 {.optimize = Optimize::none}),
  };
  return all;
}

const std::vector<Baseline>& baselines() {
  static const std::vector<Baseline> all = [] {
    std::vector<Baseline> list = host_baselines();
    for (Baseline& baseline : cuda_baselines()) list.push_back(std::move(baseline));
    return list;
  }();
  return all;
}

}  // namespace refrain::bench
