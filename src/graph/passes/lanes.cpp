#include "graph/passes/ancestors.hpp"
#include "graph/passes/cost.hpp"
#include "graph/passes/passes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace refrain::graph {

namespace {

constexpr int most_lanes = 16;

/// Who runs where and when, by step.
struct Schedule {
  std::vector<int> lanes;
  std::vector<double> begins;  ///< us
  std::vector<double> ends;    ///< us
  int used = 1;                ///< lanes that have a step
  double total = 0;            ///< us, with what the branches cost the host
};

/// Puts the steps of a draft into lanes, those first from which the most is left to do.
class Scheduler {
 public:
  Scheduler(const Draft& draft, const DeviceCosts& device)
      : steps_(draft.steps), device_(device), costs_(steps_.size()), left_(steps_.size(), 0), after_(steps_.size()) {
    for (std::size_t i = steps_.size(); i-- > 0;) {
      costs_[i] = cost_of(*steps_[i].command, device);
      left_[i] += costs_[i].latency + costs_[i].work;
      longest_ = std::max(longest_, left_[i]);
      for (const int before : steps_[i].dependencies) {
        const auto k = static_cast<std::size_t>(before);
        left_[k] = std::max(left_[k], left_[i]);
        after_[k].push_back(static_cast<int>(i));
      }
    }
  }

  /// Of all steps in one line.
  double line() const {
    return std::accumulate(costs_.begin(), costs_.end(), 0.0,
                           [](double sum, const StepCost& cost) { return sum + cost.latency + cost.work; });
  }
  /// Of the longest line of steps that wait for one another.
  double longest() const noexcept { return longest_; }

  Schedule schedule(int lanes) const {
    std::vector<double> free_at(static_cast<std::size_t>(lanes), 0);
    std::vector<bool> is_used(static_cast<std::size_t>(lanes), false);
    double issue_free_at = 0;  // what all lanes have in common
    double work_free_at = 0;
    Schedule made;
    made.lanes.resize(steps_.size());
    made.begins.resize(steps_.size());
    made.ends.resize(steps_.size());
    std::vector<double>& ends = made.ends;
    // Steps whose dependencies have their places: those that could begin later than some lane is free, and the others.
    using Timed = std::pair<double, int>;
    std::priority_queue<Timed, std::vector<Timed>, std::greater<>> waiting;
    std::priority_queue<Timed> ready_now;  // by what is left, then the first of the list
    std::vector<std::size_t> missing(steps_.size());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      missing[i] = steps_[i].dependencies.size();
      if (missing[i] == 0) waiting.emplace(0, static_cast<int>(i));
    }
    for (std::size_t done = 0; done < steps_.size(); ++done) {
      double now = *std::min_element(free_at.begin(), free_at.end());
      if (ready_now.empty()) now = std::max(now, waiting.top().first);
      while (!waiting.empty() && waiting.top().first <= now) {
        const int next = waiting.top().second;
        waiting.pop();
        ready_now.emplace(left_[static_cast<std::size_t>(next)], -next);
      }
      const auto i = static_cast<std::size_t>(-ready_now.top().second);
      ready_now.pop();
      const auto& before = steps_[i].dependencies;
      const auto ready = [&](int lane) {
        double at = free_at[static_cast<std::size_t>(lane)];
        for (const int each : before) {
          const auto k = static_cast<std::size_t>(each);
          at = std::max(at, ends[k] + (made.lanes[k] == lane ? 0 : device_.crossing));
        }
        return at;
      };
      int lane = static_cast<int>(std::min_element(free_at.begin(), free_at.end()) - free_at.begin());
      double at = ready(lane);
      // Behind the last one that it waits for, if it begins no later there.
      const auto latest = std::max_element(before.begin(), before.end(), [&](int a, int b) {
        return ends[static_cast<std::size_t>(a)] < ends[static_cast<std::size_t>(b)];
      });
      if (latest != before.end()) {
        const int behind = made.lanes[static_cast<std::size_t>(*latest)];
        if (const double then = ready(behind); then <= at) {
          lane = behind;
          at = then;
        }
      }
      const double begin = std::max(at, issue_free_at);
      issue_free_at = begin + device_.issue;
      work_free_at = std::max(begin, work_free_at) + costs_[i].work;
      ends[i] = work_free_at + costs_[i].latency;
      made.total = std::max(made.total, ends[i]);
      made.lanes[i] = lane;
      made.begins[i] = begin;
      free_at[static_cast<std::size_t>(lane)] = ends[i];
      is_used[static_cast<std::size_t>(lane)] = true;
      for (const int after : after_[i]) {
        const auto k = static_cast<std::size_t>(after);
        if (--missing[k] > 0) continue;
        double can_begin = 0;
        for (const int each : steps_[k].dependencies)
          can_begin = std::max(can_begin, ends[static_cast<std::size_t>(each)]);
        waiting.emplace(can_begin, after);
      }
    }
    made.used = static_cast<int>(std::count(is_used.begin(), is_used.end(), true));
    made.total += (made.used - 1) * device_.branch;
    return made;
  }

 private:
  const std::vector<Step>& steps_;
  const DeviceCosts& device_;
  std::vector<StepCost> costs_;  ///< by step
  std::vector<double> left_;     ///< by step: until the end of all that waits for it, itself included
  std::vector<std::vector<int>> after_;
  double longest_ = 0;
};

/// The fastest way to run the steps in several lanes; nothing where a line is as fast.
std::optional<Schedule> best_schedule(const Scheduler& scheduler, double line, double branch) {
  constexpr double worth_it = 0.97;  // of the line's time: less is within what the model knows
  std::optional<Schedule> best;
  for (int lanes = 2; lanes <= most_lanes; lanes *= 2) {
    const double so_far = best ? best->total : line * worth_it;
    if (scheduler.longest() + branch >= so_far) break;
    Schedule next = scheduler.schedule(lanes);
    if (next.total >= so_far) {
      if (best) break;  // more make it worse
      continue;
    }
    best = std::move(next);
    if (best->used < lanes) break;  // no more would be used either
  }
  return best;
}

std::int64_t edges_of(const Draft& draft) {
  return std::accumulate(
      draft.steps.begin(), draft.steps.end(), std::int64_t{0},
      [](std::int64_t sum, const Step& step) { return sum + static_cast<std::int64_t>(step.dependencies.size()); });
}

void make_line(Draft& draft) {
  for (std::size_t i = 1; i < draft.steps.size(); ++i) draft.steps[i].dependencies = {static_cast<int>(i) - 1};
}

/// Steps in the order they begin, each after the one before it in its lane; what follows from other edges is no edge.
void follow(Draft& draft, const Schedule& schedule) {
  const std::size_t count = draft.steps.size();
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return schedule.begins[a] < schedule.begins[b]; });
  std::vector<int> became(count);
  for (std::size_t now = 0; now < count; ++now) became[order[now]] = static_cast<int>(now);
  const auto lanes = static_cast<std::size_t>(*std::max_element(schedule.lanes.begin(), schedule.lanes.end())) + 1;
  std::vector<int> newest(lanes, -1);  // of a lane, the step that was put there last
  std::vector<int> covered(count * lanes,
                           -1);  // by step and lane: the newest step there that comes before it, or is it
  std::vector<Step> steps;
  steps.reserve(count);
  for (const std::size_t i : order) {
    Step step = std::move(draft.steps[i]);
    step.begin_us = schedule.begins[i];
    step.end_us = schedule.ends[i];
    for (int& before : step.dependencies) before = became[static_cast<std::size_t>(before)];
    const auto lane = static_cast<std::size_t>(schedule.lanes[i]);
    if (newest[lane] >= 0) step.dependencies.push_back(newest[lane]);
    int* const own = covered.data() + steps.size() * lanes;
    step.dependencies = reduced(
        std::move(step.dependencies),
        [&](int before) {
          return own[static_cast<std::size_t>(schedule.lanes[order[static_cast<std::size_t>(before)]])] >= before;
        },
        [&](int before) {
          const int* const of = covered.data() + static_cast<std::size_t>(before) * lanes;
          for (std::size_t each = 0; each < lanes; ++each) own[each] = std::max(own[each], of[each]);
        });
    own[lane] = newest[lane] = static_cast<int>(steps.size());
    steps.push_back(std::move(step));
  }
  draft.steps = std::move(steps);
}

/// Why the order is to stay as it is; empty: it need not.
std::string why_kept(const Draft& draft) {
  const int priority = draft.lanes[static_cast<std::size_t>(draft.steps[0].lane)].priority;
  for (const Step& step : draft.steps) {
    // What it does may be waited for by other code, in ways that no edge tells of.
    if (keeps_order(*step.command)) return place(*step.command) + " is not declared";
    if (std::holds_alternative<runtime::KernelCommand>(step.command->payload) ||
        std::holds_alternative<runtime::ForeignCommand>(step.command->payload)) {
      return "nobody knows how long " + place(*step.command) + " takes";
    }
    if (draft.lanes[static_cast<std::size_t>(step.lane)].priority != priority) return "streams differ in priority";
    if (step.command->device != draft.steps[0].command->device) return "there is more than one device";
  }
  return {};
}

std::string microseconds(double us) {
  const long tenths = std::lround(us * 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " us";
}

}  // namespace

void choose_lanes(Draft& draft) { choose_lanes(draft, costs_of(draft.program.device.kind)); }

void choose_lanes(Draft& draft, const DeviceCosts& costs) {
  if (are_line(draft.steps)) return;
  const std::int64_t before = edges_of(draft);
  if (!costs.has_branches) {
    make_line(draft);
    draft.say("lanes: one, for a replay on " + draft.program.device.str() + " runs its commands one after another; " +
              std::to_string(edges_of(draft)) + " edges in place of " + std::to_string(before));
    return;
  }
  if (const std::string why = why_kept(draft); !why.empty()) {
    draft.say("lanes: branches are as written, for " + why);
    return;
  }
  const Scheduler scheduler(draft, costs);
  const double line = scheduler.line();
  const std::optional<Schedule> best = best_schedule(scheduler, line, costs.branch);
  if (best) {
    follow(draft, *best);
    draft.say("lanes: " + std::to_string(best->used) + " take about " + microseconds(best->total) +
              ", one would take " + microseconds(line) + "; " + std::to_string(edges_of(draft)) +
              " edges in place of " + std::to_string(before));
  } else {
    make_line(draft);
    draft.say("lanes: one takes about " + microseconds(line) + ", and branches would take no less; " +
              std::to_string(edges_of(draft)) + " edges in place of " + std::to_string(before));
  }
}

}  // namespace refrain::graph
