#include "modes.hpp"

#include <refrain/capture.hpp>
#include <refrain/graphed.hpp>
#include <refrain/memory.hpp>
#include <refrain/stream.hpp>

#include <iterator>
#include <memory>
#include <vector>

namespace refrain::bench {
namespace {

Prepared prepare_eager(const Workload& workload, Device device, const Effort&) {
  const Program program = workload.prepare();
  Prepared prepared;
  prepared.work = {[program, number = 0]() mutable { run_eagerly(program, number++); },
                   [device] { synchronize(device); }};
  const auto reference = eager_reference(program, compared_steps);
  const auto again = eager_reference(program, compared_steps);
  for (std::size_t i = 0; i < reference.size(); ++i) note(prepared, difference(reference[i], again[i]));
  restart(program);
  for (int number = 0; program.check && number < compared_steps; ++number) {
    note(prepared, program.check(run_eagerly(program, number), number));
  }
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

/// Of one executable more, which shares nothing with others.
GraphMemory memory_of(const Step& step, CaptureOptions capturing, InstantiateOptions instantiating, Device device) {
  const auto [graph, results] = capture(step, capturing);
  synchronize(device);
  const std::int64_t before = memory_stats(device).live;
  const GraphExec exec = graph.instantiate(instantiating);
  const std::int64_t taken = memory_stats(device).live - before;
  const ArenaUse arena = exec.arena_use();
  return {taken, taken - arena.size_bytes + arena.live_bytes};
}

void replay_step(const Program& program, const GraphExec& exec, const Stream& stream, int number) {
  if (program.set) program.set(&exec, number);
  exec.replay(stream);
}

Prepared prepare_graph(const Workload& workload, CaptureOptions capturing, InstantiateOptions instantiating,
                       const Effort& effort) {
  const Program program = workload.prepare();
  const auto reference = eager_reference(program, compared_steps);
  const Stream stream = current_stream();

  Captured captured;
  Prepared prepared;
  prepared.costs = measure_costs(
      [&] {
        GraphCosts costs;
        captured = capture_step(program.step, capturing, instantiating, stream, costs);
        return costs;
      },
      effort);
  if (!capturing.live) prepared.memory = memory_of(program.step, capturing, instantiating, stream.device());
  prepared.nodes = captured.exec.node_count();
  prepared.edges = captured.exec.edge_count();
  prepared.work = {
      [program, captured, stream, number = 0]() mutable { replay_step(program, captured.exec, stream, number++); },
      [stream] { stream.synchronize(); }};

  const bool is_exact = instantiating.math == Math::exact || stream.device().kind == DeviceKind::host;
  if (instantiating.math == Math::fast) prepared.note = is_exact ? "exact on a host device" : "contracted";
  note(prepared, count_difference(workload, captured.graph.node_count(), captured.graph.edge_count()));
  restart(program);
  for (int number = 0; number < compared_steps; ++number) {
    // What an earlier step has left there must not pass for this one's results. Results that steps go on from differ
    // from step to step.
    if (!program.reset) {
      for (Array& result : captured.results) result.assign(0);
    }
    replay_step(program, captured.exec, stream, number);
    const auto& expected = reference[static_cast<std::size_t>(number)];
    note(prepared, is_exact ? difference(expected, bytes_of(captured.results))
                            : difference(expected, captured.results, workload.tolerance));
  }
  return prepared;
}

Prepared prepare_graphed(const Workload& workload, Device, const Effort&) {
  Program program = workload.prepare();
  const Stream stream = current_stream();
  const auto reference = eager_reference(program, compared_steps);
  if (!program.call) {
    const auto results = std::make_shared<std::vector<Array>>();
    program.call = [results, step = graphed(program.step)] { *results = step(); };
    program.called = [results] { return *results; };
  }
  Prepared prepared;
  prepared.work = {[program, number = 0]() mutable {
                     if (program.set) program.set(nullptr, number++);
                     program.call();
                   },
                   [stream] { stream.synchronize(); }};
  restart(program);
  for (int number = 0; number < compared_steps; ++number) {
    if (program.set) program.set(nullptr, number);
    program.call();
    note(prepared, difference(reference[static_cast<std::size_t>(number)], bytes_of(program.called())));
  }
  return prepared;
}

Mode graph_mode(std::string name, std::string summary, CaptureOptions capturing, InstantiateOptions instantiating) {
  return {std::move(name), std::move(summary), [=](const Workload& workload, Device, const Effort& effort) {
            return prepare_graph(workload, capturing, instantiating, effort);
          }};
}

/// Every switch of Passes, by its name in rows.
struct Switch {
  const char* name;
  bool Passes::*is_on;
};
constexpr Switch switches[] = {
    {"dead-work", &Passes::dead_work}, {"order", &Passes::order},           {"fusion", &Passes::fusion},
    {"scalars", &Passes::scalars},     {"horizontal", &Passes::horizontal}, {"lanes", &Passes::lanes},
    {"memory", &Passes::memory},       {"in-place", &Passes::in_place},     {"programmatic", &Passes::programmatic}};
static_assert(std::size(switches) * sizeof(bool) == sizeof(Passes));

}  // namespace

const std::vector<Mode>& modes() {
  static const std::vector<Mode> all = {
      {eager_mode, "the program as it runs without capture", prepare_eager},
      graph_mode("graph", "replay of the optimised graph", {}, {.optimize = Optimize::all}),
      graph_mode("graph-fast", "the same in fast math, compared to within a tolerance", {}, {.math = Math::fast}),
      graph_mode("graph-none", "replay of the graph as written", {}, {.optimize = Optimize::none}),
      graph_mode(live_mode, "replay of a graph captured on really capturing streams", {.live = true},
                 {.optimize = Optimize::none}),
      {graphed_mode, "calls of graphed(fn), which replay", prepare_graphed},
  };
  return all;
}

const std::vector<Mode>& ablations() {
  static const std::vector<Mode> all = [] {
    std::vector<Mode> list;
    for (const Switch& each : switches) {
      InstantiateOptions options;
      options.passes.*each.is_on = false;
      list.push_back(graph_mode(std::string("graph-without-") + each.name,
                                std::string("as graph, without the pass ") + each.name, {}, options));
    }
    return list;
  }();
  return all;
}

const std::vector<Baseline>& baselines() {
  static const std::vector<Baseline> all = [] {
    std::vector<Baseline> list;
    for (const auto& family : {seed_loops(), stream_loops(), cuda_baselines()}) {
      list.insert(list.end(), family.begin(), family.end());
    }
    return list;
  }();
  return all;
}

}  // namespace refrain::bench
