#include "graph/passes/regroup.hpp"

#include "graph/passes/ancestors.hpp"

#include <algorithm>
#include <queue>
#include <string>
#include <utility>

namespace refrain::graph {

namespace {

struct Groups {
  std::vector<std::vector<std::size_t>> members;
  std::vector<std::vector<std::size_t>> before;  ///< the groups that one waits for, each once
};

Groups groups_of(const Draft& draft, const std::vector<std::size_t>& group_of) {
  const std::size_t count = draft.steps.size();
  Groups groups{std::vector<std::vector<std::size_t>>(count), std::vector<std::vector<std::size_t>>(count)};
  for (std::size_t i = 0; i < count; ++i) {
    groups.members[group_of[i]].push_back(i);
    for (const int dependency : draft.steps[i].dependencies) {
      const std::size_t other = group_of[static_cast<std::size_t>(dependency)];
      if (other != group_of[i]) groups.before[group_of[i]].push_back(other);
    }
  }
  for (auto& waits : groups.before) {
    std::sort(waits.begin(), waits.end());
    waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
  }
  return groups;
}

std::vector<std::size_t> ordered(const Groups& groups) {
  const std::size_t count = groups.members.size();
  std::vector<std::vector<std::size_t>> after(count);
  std::vector<std::size_t> missing(count, 0);
  using Ready = std::pair<std::size_t, std::size_t>;  // last step, group
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (std::size_t group = 0; group < count; ++group) {
    if (groups.members[group].empty()) continue;
    missing[group] = groups.before[group].size();
    for (const std::size_t other : groups.before[group]) after[other].push_back(group);
    if (missing[group] == 0) ready.emplace(groups.members[group].back(), group);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t group = ready.top().second;
    ready.pop();
    order.push_back(group);
    for (const std::size_t next : after[group]) {
      if (--missing[next] == 0) ready.emplace(groups.members[next].back(), next);
    }
  }
  return order;
}

}  // namespace

void regroup(Draft& draft, const std::vector<std::size_t>& group_of, const MakeStep& make) {
  const Groups groups = groups_of(draft, group_of);
  std::vector<Step> steps;
  std::vector<std::size_t> became(draft.steps.size());  // by group
  Ancestors ancestors(draft.steps.size());
  for (const std::size_t group : ordered(groups)) {
    Step step = make(group, groups.members[group]);
    std::vector<int> before;
    for (const std::size_t other : groups.before[group]) before.push_back(static_cast<int>(became[other]));
    step.dependencies = reduced(std::move(before), ancestors, steps.size());
    became[group] = steps.size();
    steps.push_back(std::move(step));
  }
  draft.steps = std::move(steps);
}

void drop_steps(Draft& draft, const std::vector<bool>& is_dropped) {
  std::vector<Step> kept;
  std::vector<std::vector<int>> stands_for(draft.steps.size());  // the kept steps that come before what comes after
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    Step& step = draft.steps[i];
    std::vector<int> before;
    for (const int dependency : step.dependencies) {
      const auto& of = stands_for[static_cast<std::size_t>(dependency)];
      before.insert(before.end(), of.begin(), of.end());
    }
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (is_dropped[i]) {
      stands_for[i] = std::move(before);
    } else {
      stands_for[i] = {static_cast<int>(kept.size())};
      step.dependencies = std::move(before);
      kept.push_back(std::move(step));
    }
  }
  draft.steps = std::move(kept);
}

void say_are_one(Draft& draft, const char* pass, std::span<const std::size_t> members) {
  constexpr std::size_t most_characters = 400;
  std::string names;
  for (const std::size_t member : members) {
    const runtime::Command& command = *draft.steps[member].command;
    draft.folded[command.label] = "fused with others";
    if (names.size() < most_characters) names += (names.empty() ? "" : ", ") + place(command);
  }
  draft.say(std::string(pass) + ": " + std::to_string(members.size()) + " commands are one: " + names);
}

int most_urgent_lane(const Draft& draft, std::span<const std::size_t> steps) {
  int urgent = draft.steps[steps.back()].lane;
  for (const std::size_t step : steps) {
    const int lane = draft.steps[step].lane;
    if (draft.lanes[static_cast<std::size_t>(lane)].priority < draft.lanes[static_cast<std::size_t>(urgent)].priority) {
      urgent = lane;
    }
  }
  return urgent;
}

}  // namespace refrain::graph
