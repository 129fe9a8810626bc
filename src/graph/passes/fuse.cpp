#include "graph/passes/ancestors.hpp"
#include "graph/passes/fusion_group.hpp"
#include "graph/passes/passes.hpp"
#include "graph/passes/regroup.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

namespace refrain::graph {

namespace {

/// Steps joined to groups, step by step, as long as the groups have an order.
class Grouping {
 public:
  explicit Grouping(const Draft& draft)
      : draft_(draft),
        of_step_(draft.steps.size()),
        before_(draft.steps.size()),
        after_(draft.steps.size()),
        is_way_back_(draft.steps.size(), false),
        first_left_(draft.steps.size()) {
    std::iota(first_left_.begin(), first_left_.end(), std::size_t{0});
    std::iota(of_step_.begin(), of_step_.end(), std::size_t{0});
    groups_.reserve(draft.steps.size());
    for (std::size_t i = 0; i < draft.steps.size(); ++i) {
      groups_.push_back(FusionGroup::of(draft, i));
      before_.next[i] = draft.steps[i].dependencies;
    }
    find_users();
  }

  /// Joins each step with those that it waits for, then with the last one before it that touches the same memory.
  void join_all() {
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (const int dependency : draft_.steps[i].dependencies) join(static_cast<std::size_t>(dependency), i);
    }
    constexpr std::size_t nobody = SIZE_MAX;
    std::vector<std::size_t> last(draft_.blocks.size(), nobody);
    for (std::size_t i = 0; i < draft_.steps.size(); ++i) {
      for (const int block : draft_.steps[i].blocks) {
        std::size_t& before = last[static_cast<std::size_t>(block)];
        if (before != nobody) join(before, i);
        before = i;
      }
    }
  }

  std::size_t group_of(std::size_t step) const { return of_step_[step]; }
  const std::vector<std::size_t>& by_step() const noexcept { return of_step_; }
  bool has_joined() const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [](const auto& group) { return group && group->steps().size() > 1; });
  }
  /// Of the first steps that could not be joined: why.
  const std::vector<std::string>& apart() const noexcept { return apart_; }
  /// The group of that number, where there is one; else a step alone.
  const std::optional<FusionGroup>& operator[](std::size_t group) const { return groups_[group]; }

 private:
  /// By step, the steps that wait for it.
  void find_users() {
    std::vector<std::size_t> counts(draft_.steps.size(), 0);
    for (const Step& step : draft_.steps) {
      for (const int before : step.dependencies) ++counts[static_cast<std::size_t>(before)];
    }
    users_.resize(std::accumulate(counts.begin(), counts.end(), std::size_t{0}));
    int* place = users_.data();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      after_.next[i] = {place, counts[i]};
      place += counts[i];
    }
    for (std::size_t i = draft_.steps.size(); i-- > 0;) {
      for (const int before : draft_.steps[i].dependencies) {
        const auto to = static_cast<std::size_t>(before);
        users_[static_cast<std::size_t>(after_.next[to].data() - users_.data()) + --counts[to]] = static_cast<int>(i);
      }
    }
  }

  /// Joins the groups of a step and of one that it waits for, if they can be one.
  void join(std::size_t dependency, std::size_t step) {
    const std::size_t before = of_step_[dependency];
    const std::size_t own = of_step_[step];
    if (before == own || !groups_[before] || !groups_[own]) return;
    if (draft_.steps[before].command->device != draft_.steps[step].command->device) return;
    if (reaches(before, own) || reaches(own, before)) return;
    const std::string why_not = make_one(before, own);
    if (why_not.empty() || join_without_others(dependency, step) || apart_.size() == most_told) return;
    const std::size_t last = groups_[before]->steps().back();
    apart_.push_back(place(*draft_.steps[step].command) + " stays apart from " + place(*draft_.steps[last].command) +
                     ": " + why_not);
  }

  /// Makes one of two groups, the first of which comes before the other. Returns why not.
  std::string make_one(std::size_t before, std::size_t own) {
    if (std::optional<FusionGroup> placed = groups_[own]->placed_in(draft_, *groups_[before])) {
      if (std::string why_not = placed->take(*groups_[before]); !why_not.empty()) return why_not;
      groups_[before].reset();
      set(own, std::move(*placed));
      return {};
    }
    // The larger one takes the smaller one in, which costs what the smaller one has.
    const bool is_larger = groups_[before]->steps().size() > groups_[own]->steps().size();
    const std::size_t kept = is_larger ? before : own;
    const std::size_t gone = is_larger ? own : before;
    if (std::string why_not = groups_[kept]->take(*groups_[gone]); !why_not.empty()) return why_not;
    for (const std::size_t taken : groups_[gone]->steps()) of_step_[taken] = kept;
    groups_[gone].reset();
    note_way_back(kept, std::min(first_left_[kept], first_left_[gone]));
    return {};
  }

  std::span<const std::size_t> steps_of(const std::size_t& group) const {
    return groups_[group] ? std::span(groups_[group]->steps()) : std::span(&group, 1);
  }

  /// Looks at groups one after another, along edges or against them.
  struct Search {
    explicit Search(std::size_t steps) : next(steps), seen_in(steps, 0) {}

    std::vector<std::span<const int>> next;  ///< by step
    std::vector<std::size_t> seen_in;        ///< by group: the round that has seen it
    std::vector<std::size_t> left;           ///< seen, to be looked at
    std::size_t looked_at = 0;               ///< steps

    void begin(std::size_t group, std::size_t round) {
      left.assign(1, group);
      seen_in[group] = round;
      looked_at = 0;
    }
  };

  /// Whether a step is an end of an edge, of those that the search follows, that leads to another group.
  bool has_other(const Search& search, std::size_t step) const {
    const auto& next = search.next[step];
    return std::any_of(next.begin(), next.end(),
                       [&](int other) { return of_step_[static_cast<std::size_t>(other)] != of_step_[step]; });
  }

  /// Edges lead to later steps; back leads only a group that waits for others with a later step than one that others
  /// wait for. None of its steps before number `from` is one of those.
  void note_way_back(std::size_t group, std::size_t from) {
    const std::span<const std::size_t> steps = steps_of(group);
    const auto left = std::find_if(std::lower_bound(steps.begin(), steps.end(), from), steps.end(),
                                   [&](std::size_t step) { return has_other(after_, step); });
    first_left_[group] = left == steps.end() ? steps.back() : *left;
    auto entered = steps.end();
    while (entered != left && !has_other(before_, entered[-1])) --entered;
    if (entered == left) return;
    const auto way = is_way_back_.begin();
    std::fill(way + static_cast<std::ptrdiff_t>(*left), way + static_cast<std::ptrdiff_t>(entered[-1]), true);
  }

  /// Whether nothing leads from a group to one that is earlier as a whole.
  bool is_no_way(std::size_t later, std::size_t earlier) const {
    const auto last = is_way_back_.begin() + static_cast<std::ptrdiff_t>(steps_of(earlier).back());
    const auto first = is_way_back_.begin() + static_cast<std::ptrdiff_t>(steps_of(later).front());
    return last < first && std::find(last, first, false) != first;
  }

  /// Makes one of a group and one that comes before it. Returns why not.
  std::string add_before(const FusionGroup& before, FusionGroup& group) const {
    if (std::optional<FusionGroup> placed = group.placed_in(draft_, before)) group = std::move(*placed);
    return group.take(before);
  }

  void set(std::size_t group, FusionGroup of) {
    for (const std::size_t step : of.steps()) of_step_[step] = group;
    groups_[group] = std::move(of);
    note_way_back(group, 0);
  }

  /// Takes a step out of a group that cannot be one with what updates a part of its result, where the two alone can: as
  /// the first of several updates, whose others will join them too. Only where the rest of its group does not need it.
  bool join_without_others(std::size_t taken, std::size_t step) {
    const std::size_t before = of_step_[taken];
    const std::size_t own = of_step_[step];
    std::optional<FusionGroup> alone = FusionGroup::of(draft_, taken);
    std::optional<FusionGroup> placed = groups_[own]->placed_in(draft_, *alone);
    if (!placed || !placed->take(*alone).empty()) return false;
    std::optional<FusionGroup> rest;
    for (const std::size_t other : groups_[before]->steps()) {
      if (other == taken) continue;
      const auto& waits_for = draft_.steps[other].dependencies;
      if (std::find(waits_for.begin(), waits_for.end(), static_cast<int>(taken)) != waits_for.end()) return false;
      std::optional<FusionGroup> next = FusionGroup::of(draft_, other);
      if (rest && !add_before(*rest, *next).empty()) return false;
      rest = std::move(next);
    }
    if (!rest) return false;
    groups_[before].reset();
    const std::size_t left = rest->steps().back();
    set(own, std::move(*placed));
    set(left, std::move(*rest));
    return true;
  }

  /// Whether a third group lies between the two, so that they cannot be one; as good as that, if it takes long to see.
  /// Groups stand in no order of their steps' numbers: a later step of one may wait for another's earlier one. So it is
  /// searched from both ends, which is over as soon as it is at either.
  bool reaches(std::size_t from, std::size_t to) {
    if (is_no_way(from, to)) return false;
    ++round_;
    before_.begin(to, round_);
    after_.begin(from, round_);
    while (!before_.left.empty() && !after_.left.empty()) {
      Search& search = before_.looked_at <= after_.looked_at ? before_ : after_;
      if (search.looked_at >= most_looked_at) return true;
      const bool is_found = &search == &before_ ? look(search, to, from) : look(search, from, to);
      if (is_found) return true;
    }
    return false;
  }

  /// Looks at one group more of those that are left, from one end on; whether it leads to the other and is a third one.
  bool look(Search& search, std::size_t end, std::size_t other_end) {
    const std::size_t group = search.left.back();
    search.left.pop_back();
    const std::span<const std::size_t> steps = steps_of(group);
    search.looked_at += steps.size();
    for (const std::size_t step : steps) {
      for (const int next : search.next[step]) {
        const std::size_t other = of_step_[static_cast<std::size_t>(next)];
        if (other == other_end && group != end) return true;
        if (other == other_end || search.seen_in[other] == round_) continue;
        if (&search == &before_ ? is_no_way(other_end, other) : is_no_way(other, other_end)) continue;
        search.seen_in[other] = round_;
        search.left.push_back(other);
      }
    }
    return false;
  }

  static constexpr std::size_t most_looked_at = 2048;  ///< steps, from each end
  static constexpr std::size_t most_told = 16;

  const Draft& draft_;
  std::vector<std::size_t> of_step_;
  std::vector<std::optional<FusionGroup>> groups_;  ///< by one of their steps
  std::vector<int> users_;                          ///< of all steps
  Search before_;
  Search after_;
  std::vector<char> is_way_back_;        ///< by step: whether a group has led from later ones to it, or further back
  std::vector<std::size_t> first_left_;  ///< by group: the first of its steps that another may wait for
  std::size_t round_ = 0;
  std::vector<std::string> apart_;
};

/// By block, the only group that uses it; several_groups where there are more.
std::vector<std::size_t> only_users(const Draft& draft, const Grouping& grouping) {
  constexpr std::size_t none = several_groups - 1;
  std::vector<std::size_t> users(draft.blocks.size(), none);
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (const int block : draft.steps[i].blocks) {
      std::size_t& user = users[static_cast<std::size_t>(block)];
      user = user == none || user == grouping.group_of(i) ? grouping.group_of(i) : several_groups;
    }
  }
  return users;
}

/// Whether it is one of float32 that a kernel made for it sums in float32, which the library's does not.
bool is_fast_softmax(const Draft& draft, const Step& step) {
  const auto* reduction = std::get_if<runtime::ReduceCommand>(&step.command->payload);
  return draft.math == Math::fast && step.command->device.kind == DeviceKind::cuda && reduction != nullptr &&
         reduction->args.op == kernels::ReduceOp::softmax && reduction->args.in_type == kernels::Type::float32;
}

}  // namespace

void fuse(Draft& draft) {
  const std::size_t count = draft.steps.size();
  if (count > Ancestors::most_steps) {
    draft.say("fusion: none, for " + std::to_string(count) + " commands are too many to compare");
    return;
  }
  Grouping grouping(draft);
  grouping.join_all();
  for (const std::string& text : grouping.apart()) draft.say("fusion: " + text);
  const auto is_fast_alone = [&](std::size_t number) {
    return grouping[number].has_value() && is_fast_softmax(draft, draft.steps[number]);
  };
  bool has_work = grouping.has_joined();
  for (std::size_t i = 0; i < count && !has_work; ++i) has_work = is_fast_alone(i);
  if (!has_work) return;
  // Asked last, for the answer may take the loading of a library.
  const std::string why_not = runtime::backend(draft.program.device.kind).why_no_fusion();
  if (!why_not.empty()) {
    draft.say("fusion: none, for " + why_not, Severity::warning);
    return;
  }
  const std::vector<std::size_t> users = only_users(draft, grouping);
  regroup(draft, grouping.by_step(), [&](std::size_t group, std::span<const std::size_t> members) {
    if (members.size() == 1 && !is_fast_alone(group)) return draft.steps[group];
    if (members.size() > 1) say_are_one(draft, "fusion", members);
    return fused_step(draft, *grouping[group], group, users);
  });
}

}  // namespace refrain::graph
