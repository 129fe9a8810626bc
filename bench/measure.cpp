#include "measure.hpp"

#include <algorithm>
#include <cmath>

namespace refrain::bench {
namespace {

constexpr int min_repetitions = 3;
constexpr int max_repetitions = 20'000;
constexpr int max_batches = 100;

// Long enough to hide the one synchronisation at a batch's end, short enough for many batches.
constexpr double batch_us = 20'000;
constexpr int max_batch = 1000;

// Shares of a row's budget.
constexpr double warm_up_share = 0.1;
constexpr double single_share = 0.5;
constexpr double batch_share = 0.4;
constexpr double costs_share = 0.25;
constexpr int max_trials = 9;

/// Whether a loop that began with the deadline's construction goes on: by count if one is given, else by
/// time.
class Deadline {
 public:
  Deadline(const Effort& effort, double share, int most)
      : exact_(effort.repeat), most_(most), left_us_(effort.budget_seconds * share * 1e6) {}

  bool open(int done) {
    if (exact_ > 0) return done < exact_;
    left_us_ -= watch_.lap();
    return done < min_repetitions || (done < most_ && left_us_ > 0);
  }

 private:
  int exact_;
  int most_;
  double left_us_;
  Stopwatch watch_;
};

double run_once(const Work& work) {
  Stopwatch watch;
  work.issue();
  work.synchronize();
  return watch.lap();
}

/// Returns the duration of a step, in microseconds.
double warm_up(const Work& work, const Effort& effort) {
  double shortest = run_once(work);
  Deadline deadline({effort.budget_seconds, 0}, warm_up_share, max_repetitions);
  for (int done = 0; deadline.open(done); ++done) shortest = std::min(shortest, run_once(work));
  return shortest;
}

void back_to_back(const Work& work, const Effort& effort, double step_us, std::vector<double>& samples) {
  const int fitting = static_cast<int>(std::clamp(std::ceil(batch_us / step_us), 2.0, double{max_batch}));
  const int batch = effort.repeat > 0 ? std::min(effort.repeat, fitting) : fitting;
  Deadline deadline({effort.budget_seconds, effort.repeat > 0 ? min_repetitions : 0}, batch_share, max_batches);
  for (int done = 0; deadline.open(done); ++done) {
    Stopwatch watch;
    for (int i = 0; i < batch; ++i) work.issue();
    work.synchronize();
    samples.push_back(watch.lap() / batch);
  }
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

int Sampler::rounds(const Effort& effort) { return effort.repeat > 0 ? 1 : 5; }

void Sampler::sample() {
  const Effort effort{effort_.budget_seconds / rounds(effort_), effort_.repeat};
  const double step_us = warm_up(work_, effort);
  Deadline deadline(effort, single_share, max_repetitions);
  for (int done = 0; deadline.open(done); ++done) {
    Stopwatch watch;
    work_.issue();
    const double issued = watch.lap();
    work_.synchronize();
    host_.push_back(issued);
    total_.push_back(issued + watch.lap());
  }
  back_to_back(work_, effort, step_us, back_to_back_);
}

Timing Sampler::timing() const {
  Timing timing;
  timing.repetitions = static_cast<int>(total_.size());
  timing.host_us = median(host_);
  timing.total_us = median(total_);
  timing.back_to_back_us = median(back_to_back_);
  return timing;
}

GraphCosts measure_costs(const std::function<GraphCosts()>& trial, const Effort& effort) {
  trial();
  std::vector<double> record;
  std::vector<double> instantiate;
  std::vector<double> first_replay;
  Deadline deadline(effort, costs_share, max_trials);
  while (deadline.open(static_cast<int>(record.size()))) {
    const GraphCosts costs = trial();
    record.push_back(costs.record_us);
    instantiate.push_back(costs.instantiate_us);
    first_replay.push_back(costs.first_replay_us);
  }
  return {median(std::move(record)), median(std::move(instantiate)), median(std::move(first_replay))};
}

}  // namespace refrain::bench
