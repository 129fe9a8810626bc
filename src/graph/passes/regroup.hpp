#pragma once

#include "graph/draft.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace refrain::graph {

/// The step that a group becomes; its dependencies are filled in afterwards. `members`: its steps, ascending.
using MakeStep = std::function<Step(std::size_t group, std::span<const std::size_t> members)>;

/// Replaces groups of steps by a step each, in an order that respects their dependencies, else in that of their last
/// steps. `group_of`: by step, the number of its group, which is that of one of the group's steps. Of two groups no
/// more than one waits for the other, whether itself or for a third.
void regroup(Draft& draft, const std::vector<std::size_t>& group_of, const MakeStep& make);

/// Takes these steps out; what waited for one waits for what that one waited for.
void drop_steps(Draft& draft, const std::vector<bool>& is_dropped);

/// Says that these steps are one now, and that nobody finds them by their labels any more. `pass`: which one did it.
void say_are_one(Draft& draft, const char* pass, std::span<const std::size_t> members);

/// Of the streams of these steps, the most urgent one; of equal ones that of the last step.
int most_urgent_lane(const Draft& draft, std::span<const std::size_t> steps);

}  // namespace refrain::graph
