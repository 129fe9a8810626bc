#include "run.hpp"

#include "allocations.hpp"
#include "api_calls.hpp"
#include "modes.hpp"
#include "peers.hpp"
#include "report.hpp"
#include "workload.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
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
    if (!workload.why_no_graphs.empty() && mode.name != eager_mode && mode.name != graphed_mode) continue;
    if (is_chosen(options.modes, mode.name)) list.push_back(mode);
  }
  for (const Mode& mode : ablations()) {
    if (!workload.why_no_graphs.empty()) break;
    const bool is_named = !options.modes.empty() && is_chosen(options.modes, mode.name);
    if (options.ablate || is_named) list.push_back(mode);
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
    measure_peers();
    print_head(out_);
    for_each_workload([this](const Workload& workload, Device device) { measure_group(workload, device); });
    if (!options_.peers.empty()) print_memory(out_, outcome_.rows);
    if (!missing_.empty()) out_ << '\n';
    for (const std::string& line : missing_) out_ << line << '\n';
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
          fail(workload, device, mode.name, error.what());
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
  std::vector<Device> chosen_devices() const { return options_.devices.empty() ? devices() : options_.devices; }

  template <class Visit>
  void for_each_workload(const Visit& visit) {
    for (const Workload& workload : workloads()) {
      if (!is_chosen(options_.workloads, workload.name)) continue;
      for (const Device& device : chosen_devices()) {
        const DeviceGuard on(device);
        visit(workload, device);
      }
    }
  }

  /// Before the rows of this process, on the first device of each kind.
  void measure_peers() {
    if (options_.peers.empty()) return;
    results_.emplace();
    for (const Peer& peer : peers()) {
      if (!is_chosen(options_.peers, peer.name)) continue;
      bool has_device = false;
      for (const Device& device : chosen_devices()) {
        const auto& kinds = peer.kinds;
        if (device.index != 0 || std::find(kinds.begin(), kinds.end(), device.kind) == kinds.end()) continue;
        has_device = true;
        out_ << "measuring " << peer.name << " on " << device << " ..." << std::endl;
        PeerReport report = measure_peer(peer, device, options_.effort, options_.workloads, results_->path());
        std::move(report.rows.begin(), report.rows.end(), std::back_inserter(peers_));
        for (const std::string& line : report.missing) {
          missing_.push_back(peer.name + " on " + device.str() + ": " + line);
        }
      }
      if (!has_device) missing_.push_back(peer.name + ": no rows: none of the devices is one of its");
    }
    out_ << '\n';
  }

  /// Adds the peers' rows of a workload, their results compared.
  void add_peers(const Workload& workload, Device device) {
    std::optional<Reference> reference;
    for (PeerRow& peer : peers_) {
      if (peer.row.workload != workload.name || peer.row.device != device.str()) continue;
      try {
        if (!reference) reference = first_step(workload);
        const std::string failure = difference(peer, reference->results, reference->dtypes, workload.tolerance);
        peer.row.verified = failure.empty();
        if (!failure.empty()) fail(workload, device, peer.row.mode, failure);
      } catch (const std::exception& error) {
        fail(workload, device, peer.row.mode, error.what());
      }
      peer.row.commands = workload.commands;
      outcome_.rows.push_back(peer.row);
    }
  }

  struct Reference {
    std::vector<Bytes> results;
    std::vector<DType> dtypes;
  };
  static Reference first_step(const Workload& workload) {
    const Program program = workload.prepare();
    restart(program);
    const std::vector<Array> results = run_eagerly(program, 0);
    Reference reference{bytes_of(results), {}};
    for (const Array& result : results) reference.dtypes.push_back(result.dtype());
    return reference;
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
        if (!prepared.failure.empty()) fail(workload, device, mode.name, prepared.failure);
        Sampler sampler(prepared.work, options_.effort);
        candidates.push_back({mode, std::move(prepared), std::move(sampler)});
      } catch (const std::exception& error) {
        fail(workload, device, mode.name, error.what());
      }
    }
    for (int round = 0; round < Sampler::rounds(options_.effort); ++round) {
      for (Candidate& candidate : candidates) candidate.sampler.sample();
    }
    for (const Candidate& candidate : candidates) outcome_.rows.push_back(row_of(workload, device, candidate));
    add_peers(workload, device);
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
    row.memory = candidate.prepared.memory;
    row.verified = candidate.prepared.verified;
    row.note = candidate.prepared.note;
    return row;
  }

  void fail(const Workload& workload, Device device, const std::string& mode, const std::string& why) {
    errors_ << workload.name << ' ' << device << ' ' << mode << ": " << why << std::endl;
    outcome_.all_held = false;
  }

  const Options& options_;
  std::ostream& out_;
  std::ostream& errors_;
  std::optional<TemporaryFolder> results_;  ///< of peers
  std::vector<PeerRow> peers_;
  std::vector<std::string> missing_;  ///< rows of peers, and why
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
