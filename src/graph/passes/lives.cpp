#include "graph/passes/lives.hpp"

#include "graph/passes/passes.hpp"

#include <algorithm>

namespace refrain::graph {

std::vector<std::vector<std::size_t>> users_of_temporaries(const Draft& draft) {
  std::vector<std::vector<std::size_t>> users(draft.blocks.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (const int used : draft.steps[i].blocks) {
      const Block& block = draft.blocks[static_cast<std::size_t>(used)];
      if (!block.is_temporary || block.buffer->size_bytes() == 0) continue;
      auto& of = users[static_cast<std::size_t>(used)];
      if (of.empty() || of.back() != i) of.push_back(i);
    }
  }
  return users;
}

namespace {

void find_ends(Life& life, const std::vector<Step>& steps, const std::vector<std::size_t>& users,
               const Ancestors& ancestors) {
  life.begin_us = steps[users.front()].begin_us;
  for (const std::size_t user : users) {
    life.begin_us = std::min(life.begin_us, steps[user].begin_us);
    life.end_us = std::max(life.end_us, steps[user].end_us);
  }
  const auto comes_before = [&](std::size_t a, std::size_t b) { return ancestors.holds(b, a); };
  for (auto user = users.rbegin(); user != users.rend(); ++user) {
    const bool has_later = std::any_of(life.lasts.begin(), life.lasts.end(),
                                       [&](int last) { return comes_before(*user, static_cast<std::size_t>(last)); });
    if (!has_later) life.lasts.push_back(static_cast<int>(*user));
  }
  for (const std::size_t user : users) {
    const bool has_earlier = std::any_of(life.firsts.begin(), life.firsts.end(), [&](int first) {
      return comes_before(static_cast<std::size_t>(first), user);
    });
    if (!has_earlier) life.firsts.push_back(static_cast<int>(user));
  }
}

/// The largest sum over the steps of the list.
std::int64_t largest_sum(const std::vector<Life>& lives, std::size_t steps) {
  std::vector<std::int64_t> change(steps + 1, 0);
  for (const Life& life : lives) {
    change[life.begin] += life.bytes;
    change[life.end + 1] -= life.bytes;
  }
  std::int64_t sum = 0;
  std::int64_t largest = 0;
  for (const std::int64_t by : change) largest = std::max(largest, sum += by);
  return largest;
}

}  // namespace

std::vector<DeviceLives> find_lives(const Draft& draft, const Ancestors* ancestors) {
  std::vector<std::vector<std::size_t>> users = users_of_temporaries(draft);
  std::vector<DeviceLives> all;
  const auto on = [&](Device device) -> DeviceLives& {
    const auto known = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.device == device; });
    return known != all.end() ? *known : all.emplace_back(DeviceLives{device, {}, 0, 0});
  };
  for (std::size_t i = 0; i < draft.blocks.size(); ++i) {
    const Block& block = draft.blocks[i];
    if (users[i].empty()) continue;
    on(block.buffer->device()).total_bytes += arena_bytes(block);
    if (block.in_place_of < 0) continue;
    auto& together = users[static_cast<std::size_t>(block.in_place_of)];
    together.insert(together.end(), users[i].begin(), users[i].end());
    users[i].clear();
  }
  for (std::size_t i = 0; i < draft.blocks.size(); ++i) {
    if (users[i].empty()) continue;
    std::sort(users[i].begin(), users[i].end());
    users[i].erase(std::unique(users[i].begin(), users[i].end()), users[i].end());
    const Block& block = draft.blocks[i];
    Life life{i, arena_bytes(block), users[i].front(), users[i].back(), {}, {}, 0, 0};
    if (ancestors != nullptr) find_ends(life, draft.steps, users[i], *ancestors);
    on(block.buffer->device()).lives.push_back(std::move(life));
  }
  for (DeviceLives& each : all) {
    std::stable_sort(each.lives.begin(), each.lives.end(),
                     [](const Life& a, const Life& b) { return a.begin < b.begin; });
    each.live_bytes = largest_sum(each.lives, draft.steps.size());
  }
  return all;
}

ArenaUse arena_use(const Draft& draft) {
  ArenaUse use;
  for (const DeviceLives& each : find_lives(draft, nullptr)) {
    std::int64_t planned = 0;
    std::int64_t behind = 0;
    for (const Life& life : each.lives) {
      const std::int64_t offset = draft.blocks[life.block].offset;
      if (offset < 0) {
        behind += life.bytes;
      } else {
        planned = std::max(planned, offset + life.bytes);
      }
    }
    use.size_bytes += planned + behind;
    use.live_bytes += each.live_bytes;
    use.total_bytes += each.total_bytes;
  }
  return use;
}

}  // namespace refrain::graph
