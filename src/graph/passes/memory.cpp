#include "graph/passes/ancestors.hpp"
#include "graph/passes/passes.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace refrain::graph {

namespace {

/// A temporary with the steps that use it.
struct Life {
  std::size_t block;
  std::int64_t bytes;  ///< a multiple of arena_alignment
  Device device;
  std::vector<std::size_t> users;  ///< ascending
};

std::vector<Life> lives_of(const Draft& draft) {
  std::vector<Life> lives;
  std::vector<std::size_t> of_block(draft.blocks.size(), SIZE_MAX);
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    for (const int used : draft.steps[i].blocks) {
      const auto block = static_cast<std::size_t>(used);
      const Block& of = draft.blocks[block];
      if (!of.is_temporary || of.buffer->size_bytes() == 0) continue;
      if (of_block[block] == SIZE_MAX) {
        of_block[block] = lives.size();
        const std::int64_t units = (of.buffer->size_bytes() - 1) / arena_alignment + 1;
        lives.push_back({block, units * arena_alignment, of.buffer->device(), {}});
      }
      auto& users = lives[of_block[block]].users;
      if (users.empty() || users.back() != i) users.push_back(i);
    }
  }
  return lives;
}

/// Whether all uses of one are over before the other's first ones.
bool ends_before(const Life& one, const Life& other, const Ancestors& ancestors) {
  return std::all_of(other.users.begin(), other.users.end(), [&](std::size_t user) {
    return std::all_of(one.users.begin(), one.users.end(),
                       [&](std::size_t last) { return last < user && ancestors.holds(user, last); });
  });
}

/// Where a life lies.
struct Placed {
  const Life* life;
  std::int64_t begin;
  std::int64_t end() const { return begin + life->bytes; }
};

/// The lowest place in a device's arena that is free for a whole life: others there are over by then.
std::int64_t find_place(const std::vector<Placed>& placed, const Life& life, const Ancestors& ancestors) {
  std::vector<const Placed*> in_the_way;
  for (const Placed& other : placed) {
    if (!ends_before(*other.life, life, ancestors)) in_the_way.push_back(&other);
  }
  std::sort(in_the_way.begin(), in_the_way.end(), [](const Placed* a, const Placed* b) { return a->begin < b->begin; });
  std::int64_t begin = 0;
  for (const Placed* other : in_the_way) {
    if (other->begin - begin >= life.bytes) break;
    begin = std::max(begin, other->end());
  }
  return begin;
}

}  // namespace

void plan_memory(Draft& draft) {
  if (draft.steps.size() > Ancestors::most_steps) {
    draft.say("memory: no temporaries share any, for there are too many commands to compare");
    return;
  }
  const Ancestors ancestors(draft.steps);
  const std::vector<Life> lives = lives_of(draft);
  std::vector<Device> devices;
  for (const Life& life : lives) {
    if (std::find(devices.begin(), devices.end(), life.device) == devices.end()) devices.push_back(life.device);
  }
  for (const Device device : devices) {
    std::vector<Placed> placed;
    std::int64_t together = 0;
    std::int64_t size = 0;
    for (const Life& life : lives) {
      if (life.device != device) continue;
      const Placed here{&life, find_place(placed, life, ancestors)};
      draft.blocks[life.block].offset = here.begin;
      together += life.bytes;
      size = std::max(size, here.end());
      // What is covered whole is over before this one; who comes after this one comes after that.
      std::erase_if(placed, [&](const Placed& other) {
        return other.begin >= here.begin && other.end() <= here.end() && ends_before(*other.life, life, ancestors);
      });
      placed.push_back(here);
    }
    if (size < together) {
      draft.say("memory: " + std::to_string(size) + " bytes for temporaries of " + std::to_string(together) +
                " bytes on " + device.str());
    }
  }
}

}  // namespace refrain::graph
