#include "run.hpp"

#include "allocations.hpp"
#include "api_calls.hpp"
#include "modes.hpp"
#include "peers.hpp"
#include "report.hpp"
#include "workload.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

namespace refrain::bench {
namespace {

// Averages over this many steps, after as many to settle.
constexpr int counted_steps = 100;

bool is_chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// Why the workload does not run on the device; empty when it does.
std::string why_no_rows(const Workload& workload, Device device) {
  return device.kind == DeviceKind::host ? workload.why_not_on_host : "";
}

/// The modes of a workload on a device, Refrain's first.
std::vector<Mode> modes_of(const Workload& workload, Device device, const Options& options) {
  std::vector<Mode> list;
  if (!why_no_rows(workload, device).empty()) return list;
  for (const Mode& mode : modes()) {
    if (mode.name == live_mode && !workload.why_not_live.empty()) continue;
    if (is_chosen(options.modes, mode.name)) list.push_back(mode);
  }
  for (const Baseline& baseline : baselines()) {
    if (baseline.workload == workload.name && baseline.kind == device.kind &&
        is_chosen(options.modes, baseline.mode.name)) {
      list.push_back(baseline.mode);
    }
  }
  return list;
}

StepCounts count_step(const Work& work, Device device) {
  const auto issue_all = [&] {
    for (int i = 0; i < counted_steps; ++i) work.issue();
  };
  issue_all();
  work.synchronize();

  StepCounts counts;
  counts.allocations = static_cast<double>(count_allocations([&] {
                         issue_all();
                         work.synchronize();
                       })) /
                       counted_steps;
  if (device.kind == DeviceKind::cuda && why_no_api_calls().empty()) {
    counts.api_calls = static_cast<double>(api_calls(issue_all).size()) / counted_steps;
    work.synchronize();
    counts.api_names = api_calls(work.issue);
    work.synchronize();
  }
  return counts;
}

class Session {
 public:
  Session(const Options& options, std::ostream& out, std::ostream& errors)
      : options_(options), out_(out), errors_(errors) {}

  void measure_all() {
    if (options_.numpy) peers_ = numpy_rows(options_.effort, options_.workloads);
    print_head(out_);
    for_each_workload([this](const Workload& workload, Device device) { measure_group(workload, device); });
    if (!peers_.why_none.empty()) out_ << "\nno rows for NumPy: " << peers_.why_none << '\n';
  }

  /// After all timing: counting slows calls down.
  void count_all() {
    for_each_workload([this](const Workload& workload, Device device) {
      for (const Mode& mode : modes_of(workload, device, options_)) {
        Row* const row = find(workload, device, mode);
        if (row == nullptr) continue;
        try {
          row->counts = count_step(mode.prepare(workload, device, {.repeat = 1}).work, device);
        } catch (const std::exception& error) {
          fail(workload, device, mode, error.what());
        }
      }
    });
    print_counts(out_, outcome_.rows);
    if (device_count(DeviceKind::cuda) == 0) return;
    const std::string why = why_no_api_calls();
    if (!why.empty()) out_ << "no CUDA calls counted: " << why << '\n';
  }

  Outcome outcome() && { return std::move(outcome_); }

 private:
  template <class Visit>
  void for_each_workload(const Visit& visit) {
    for (const Workload& workload : workloads()) {
      if (!is_chosen(options_.workloads, workload.name)) continue;
      for (const Device& device : options_.devices.empty() ? devices() : options_.devices) {
        const DeviceGuard on(device);
        visit(workload, device);
      }
    }
  }

  /// A row being measured.
  struct Candidate {
    Mode mode;
    Prepared prepared;
    Sampler sampler;
  };

  void say_what_is_left_out(const Workload& workload, Device device) {
    if (const std::string why = why_no_rows(workload, device); !why.empty()) {
      out_ << workload.name << ' ' << device << ": no rows: " << why << std::endl;
    } else if (!workload.why_not_live.empty() && is_chosen(options_.modes, live_mode)) {
      out_ << workload.name << ' ' << device << ' ' << live_mode << ": no row: " << workload.why_not_live << std::endl;
    }
  }

  void measure_group(const Workload& workload, Device device) {
    say_what_is_left_out(workload, device);
    const auto first = static_cast<std::ptrdiff_t>(outcome_.rows.size());
    std::vector<Candidate> candidates;
    for (const Mode& mode : modes_of(workload, device, options_)) {
      try {
        Prepared prepared = mode.prepare(workload, device, options_.effort);
        if (!prepared.failure.empty()) fail(workload, device, mode, prepared.failure);
        Sampler sampler(prepared.work, options_.effort);
        candidates.push_back({mode, std::move(prepared), std::move(sampler)});
      } catch (const std::exception& error) {
        fail(workload, device, mode, error.what());
      }
    }
    for (int round = 0; round < Sampler::rounds(options_.effort); ++round) {
      for (Candidate& candidate : candidates) candidate.sampler.sample();
    }
    for (const Candidate& candidate : candidates) outcome_.rows.push_back(row_of(workload, device, candidate));
    for (const Row& row : peers_.rows) {
      if (row.workload == workload.name && row.device == device.str()) outcome_.rows.push_back(row);
    }
    print_group(out_, {outcome_.rows.begin() + first, outcome_.rows.end()});
  }

  /// The row measured before; null if that failed.
  Row* find(const Workload& workload, Device device, const Mode& mode) {
    const auto row = std::find_if(outcome_.rows.begin(), outcome_.rows.end(), [&](const Row& each) {
      return each.workload == workload.name && each.device == device.str() && each.mode == mode.name;
    });
    return row == outcome_.rows.end() ? nullptr : &*row;
  }

  static Row row_of(const Workload& workload, Device device, const Candidate& candidate) {
    Row row;
    row.workload = workload.name;
    row.device = device.str();
    row.mode = candidate.mode.name;
    row.commands = workload.commands;
    row.timing = candidate.sampler.timing();
    row.nodes = candidate.prepared.nodes;
    row.edges = candidate.prepared.edges;
    row.costs = candidate.prepared.costs;
    row.verified = candidate.prepared.verified;
    return row;
  }

  void fail(const Workload& workload, Device device, const Mode& mode, const std::string& why) {
    errors_ << workload.name << ' ' << device << ' ' << mode.name << ": " << why << std::endl;
    outcome_.all_held = false;
  }

  const Options& options_;
  std::ostream& out_;
  std::ostream& errors_;
  PeerRows peers_;
  Outcome outcome_;
};

}  // namespace

Outcome run(const Options& options, std::ostream& out, std::ostream& errors) {
  Session session(options, out, errors);
  session.measure_all();
  if (options.count) session.count_all();
  return std::move(session).outcome();
}

}  // namespace refrain::bench
