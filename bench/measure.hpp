#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace refrain::bench {

/// Something to time. `issue` starts one step and may return before the step has run; `synchronize` waits for
/// all steps issued.
struct Work {
  std::function<void()> issue;
  std::function<void()> synchronize;
};

/// How long a row may take.
struct Effort {
  double budget_seconds = 2;
  int repeat = 0;  ///< exactly so many repetitions in place of the budget; 0: as many as fit, at least three
};

/// Microseconds a step, medians.
struct Timing {
  double host_us = 0;          ///< issuing one step on an idle device
  double total_us = 0;         ///< issuing it and waiting for it
  double back_to_back_us = 0;  ///< many steps issued, then one wait, divided by their number
  int repetitions = 0;         ///< samples behind host_us and total_us
};

/// Times one row in rounds, so that the rows of a workload can take turns: what a GPU's clocks or a busy machine do
/// then meets all of them alike, and their ratios hold.
class Sampler {
 public:
  Sampler(Work work, Effort effort) : work_(std::move(work)), effort_(effort) {}

  /// How many rounds the effort is to be spent in: one when repetitions are given.
  static int rounds(const Effort& effort);
  /// One round, after a warm-up of its own.
  void sample();
  Timing timing() const;

 private:
  Work work_;
  Effort effort_;
  std::vector<double> host_;
  std::vector<double> total_;
  std::vector<double> back_to_back_;
};

/// What a graph costs before its steady state, in microseconds.
struct GraphCosts {
  double record_us = 0;
  double instantiate_us = 0;
  double first_replay_us = 0;
};

/// Bytes that a graph takes of its device's memory for temporaries and results.
struct GraphMemory {
  std::int64_t taken = 0;   ///< set aside for it alone
  std::int64_t in_use = 0;  ///< of those, the largest sum at once: along the plan's order, or while it was captured
};

/// Medians over several trials, each of which makes a graph from nothing; the first trial is a warm-up.
GraphCosts measure_costs(const std::function<GraphCosts()>& trial, const Effort& effort);

double median(std::vector<double> values);

/// Microseconds between laps.
class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::micro> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace refrain::bench
