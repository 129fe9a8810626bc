#include "machine.hpp"
#include "modes.hpp"
#include "options.hpp"
#include "report.hpp"
#include "run.hpp"
#include "start.hpp"
#include "workload.hpp"

#include <refrain/device.hpp>

#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <set>

namespace refrain::bench {
namespace {

constexpr int failed_check = 1;
constexpr int wrong_usage = 2;

void print_list() {
  const auto line = [](const std::string& name, const std::string& summary) {
    std::cout << "  " << std::left << std::setw(25) << name << summary << '\n';
  };
  std::cout << "workloads\n";
  for (const Workload& workload : workloads()) line(workload.name, workload.summary);
  std::cout << "modes\n";
  for (const auto* list : {&modes(), &ablations()}) {
    for (const Mode& mode : *list) line(mode.name, mode.summary);
  }
  std::set<std::string> seen;
  for (const Baseline& baseline : baselines()) {
    if (seen.insert(baseline.mode.name).second) line(baseline.mode.name, baseline.mode.summary);
  }
}

int measure_and_report(const Options& options) {
  // Opened first, so that a name that cannot be written costs no measuring.
  std::ofstream file;
  if (!options.json.empty()) {
    file.open(options.json);
    if (!file) throw UsageError("cannot write '" + options.json + "'");
  }
  const Machine machine = this_machine();
  std::cout << summary(machine) << "\n\n";
  if (options.start) {
    const StartReport report = measure_start(options, std::cout);
    if (file.is_open()) write_start(file, machine, report);
    return 0;
  }
  const Outcome outcome = run(options, std::cout, std::cerr);
  if (outcome.rows.empty() && outcome.all_held) {
    throw UsageError("nothing to measure: none of these workloads has one of these modes on these devices");
  }
  if (const std::string why = why_no_cuda(); !why.empty()) std::cout << "\nno CUDA rows: " << why << '\n';
  if (file.is_open()) write_json(file, machine, outcome.rows);
  return outcome.all_held ? 0 : failed_check;
}

}  // namespace
}  // namespace refrain::bench

int main(int argc, char** argv) {
  using namespace refrain::bench;
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.help) {
      std::cout << usage();
    } else if (options.list) {
      print_list();
    } else if (!options.first_replay.empty()) {
      std::cout << first_replay_ms(refrain::Device::parse(options.first_replay)) << '\n';
    } else {
      return measure_and_report(options);
    }
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "refrain-bench: " << error.what() << '\n';
    return wrong_usage;
  } catch (const std::exception& error) {
    std::cerr << "refrain-bench: " << error.what() << '\n';
    return failed_check;
  }
}
