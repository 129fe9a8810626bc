#include "start.hpp"

#include "json.hpp"
#include "peers.hpp"
#include "report.hpp"
#include "workload.hpp"

#include <refrain/capture.hpp>
#include <refrain/stream.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <stdexcept>

namespace refrain::bench {
namespace {

constexpr const char* measured[] = {"chain_100_1k", "fork_join_8x16",  "cg_poisson_256", "adam_200", "layernorm_gelu",
                                    "mlp",          "empty_chain_1000"};
constexpr const char* chain = "chain_100_1k";
constexpr int trials = 21;
constexpr int processes = 5;

const Workload& workload_named(const std::string& name) {
  const auto& all = workloads();
  return *std::find_if(all.begin(), all.end(), [&](const Workload& each) { return each.name == name; });
}

std::vector<Device> chosen_devices(const Options& options) {
  return options.devices.empty() ? devices() : options.devices;
}

StartRow start_of(const Workload& workload, Device device) {
  const Program program = workload.prepare();
  synchronize(device);
  StartRow row;
  row.workload = workload.name;
  row.device = device.str();
  std::vector<double> record;
  std::vector<double> instantiate;
  for (int i = 0; i <= trials; ++i) {
    Stopwatch watch;
    const auto [graph, results] = capture(program.step);
    const double recorded = watch.lap();
    const GraphExec exec = graph.instantiate();
    const double instantiated = watch.lap();
    row.nodes = graph.node_count();
    if (i == 0) {  // the kernels are made, and what is loaded at its first use is there
      row.passes_us = passes_us(graph);
      continue;
    }
    record.push_back(recorded);
    instantiate.push_back(instantiated);
  }
  row.record_us = median(std::move(record));
  row.instantiate_us = median(std::move(instantiate));
  return row;
}

/// What one new process measures, with its made kernels in the folder.
double in_new_process(Device device, const std::filesystem::path& cache) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "XDG_CACHE_HOME='" + cache.string() + "' '" + self + "' --first-replay '" + device.str() + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  char text[64] = {};
  const bool has_text = pipe != nullptr && std::fgets(text, sizeof text, pipe) != nullptr;
  if (pipe == nullptr || pclose(pipe) != 0 || !has_text) throw std::runtime_error("a new process failed: " + command);
  return std::strtod(text, nullptr);
}

FirstReplay first_replay_on(Device device) {
  const TemporaryFolder cache;
  FirstReplay made{device.str(), in_new_process(device, cache.path()), 0};
  std::vector<double> times;
  for (int i = 0; i < processes; ++i) times.push_back(in_new_process(device, cache.path()));
  made.warm_cache_ms = median(std::move(times));
  return made;
}

std::string cell(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void print(const StartReport& report, std::ostream& out) {
  char line[200];
  std::snprintf(line, sizeof line, "%-18s %-7s %6s %15s %15s %15s %15s\n", "workload", "device", "nodes",
                "record ns/node", "passes ns/node", "both us/node", "inst. us/node");
  out << line;
  for (const StartRow& row : report.rows) {
    const double per_node = 1.0 / row.nodes;
    const std::string passes = row.passes_us ? cell("%.0f", *row.passes_us * 1000 * per_node) : "-";
    const std::string both = row.passes_us ? cell("%.3f", (row.record_us + *row.passes_us) * per_node) : "-";
    std::snprintf(line, sizeof line, "%-18s %-7s %6d %15.0f %15s %15s %15.3f\n", row.workload.c_str(),
                  row.device.c_str(), row.nodes, row.record_us * 1000 * per_node, passes.c_str(), both.c_str(),
                  row.instantiate_us * per_node);
    out << line;
  }
  if (const auto& kernels = report.kernels) {
    std::snprintf(line, sizeof line,
                  "\nNVRTC: the first empty kernel %.1f ms, later ones %.1f ms; the kernel of %s %.1f ms, %.2f times "
                  "an empty one\n",
                  kernels->first_ms, kernels->empty_ms, chain, kernels->chain_ms,
                  kernels->chain_ms / kernels->empty_ms);
    out << line;
  } else {
    out << "\nno figures of NVRTC: " << report.why_no_kernels << '\n';
  }
  for (const FirstReplay& first : report.first_replays) {
    std::snprintf(line, sizeof line,
                  "first results of %s in a new process on %s, its device in use: %.2f ms with an empty cache, %.2f ms "
                  "with a warm one\n",
                  chain, first.device.c_str(), first.empty_cache_ms, first.warm_cache_ms);
    out << line;
  }
}

}  // namespace

StartReport measure_start(const Options& options, std::ostream& out) {
  StartReport report;
  for (const char* const name : measured) {
    for (const Device device : chosen_devices(options)) {
      const DeviceGuard on(device);
      report.rows.push_back(start_of(workload_named(name), device));
    }
  }
  {
    const DeviceGuard on(Device{DeviceKind::host, 0});
    const Program program = workload_named(chain).prepare();
    report.kernels = kernel_costs(capture(program.step).first, report.why_no_kernels);
  }
  for (const Device device : chosen_devices(options)) report.first_replays.push_back(first_replay_on(device));
  print(report, out);
  return report;
}

double first_replay_ms(Device device) {
  const DeviceGuard on(device);
  current_stream().synchronize();  // the context is there
  Stopwatch watch;
  const Program program = workload_named(chain).prepare();
  const auto [graph, results] = capture(program.step);
  graph.instantiate().replay();
  current_stream().synchronize();
  return watch.lap() / 1000;
}

void write_start(std::ostream& out, const Machine& machine, const StartReport& report) {
  Json json(out);
  json.begin_object();
  write_machine(json, machine);
  json.key("start").begin_array();
  for (const StartRow& row : report.rows) {
    json.begin_object();
    json.key("workload").value(row.workload);
    json.key("device").value(row.device);
    json.key("nodes").value(row.nodes);
    json.key("record_us").value(row.record_us);
    json.key("passes_us");
    row.passes_us ? json.value(*row.passes_us) : json.null();
    json.key("instantiate_us").value(row.instantiate_us);
    json.end_object();
  }
  json.end_array();
  json.key("nvrtc_ms");
  if (const auto& kernels = report.kernels) {
    json.begin_object();
    json.key("first").value(kernels->first_ms);
    json.key("empty").value(kernels->empty_ms);
    json.key("chain_100_1k").value(kernels->chain_ms);
    json.end_object();
  } else {
    json.null();
  }
  json.key("first_replay_ms").begin_array();
  for (const FirstReplay& first : report.first_replays) {
    json.begin_object();
    json.key("device").value(first.device);
    json.key("empty_cache").value(first.empty_cache_ms);
    json.key("warm_cache").value(first.warm_cache_ms);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  out << '\n';
}

}  // namespace refrain::bench
