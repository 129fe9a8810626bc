#include "graph/planner.hpp"

#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <string>

namespace refrain::graph {

using runtime::Access;
using runtime::Buffer;

namespace {

runtime::PlannedLane lane_info(const Program& program, int lane) {
  const LaneInfo& info = program.lanes[static_cast<std::size_t>(lane)];
  return {info.device, info.priority, info.stream_id};
}

}  // namespace

std::optional<runtime::Command> moved_draw(const runtime::Command& command, const std::vector<DrawStart>& starts) {
  const auto* draw = std::get_if<runtime::RandomCommand>(&command.payload);
  if (draw == nullptr || draw->absolute || starts.empty()) return std::nullopt;
  const DrawStart& start = starts[static_cast<std::size_t>(draw->number)];
  runtime::Command moved = command;
  auto& random = std::get<runtime::RandomCommand>(moved.payload);
  random.args.offset += start.at.offset;
  random.args.seed = start.at.seed.value_or(0);
  random.number = start.number;
  random.absolute = start.at.seed.has_value();
  return moved;
}

Planner::Planner(const std::shared_ptr<Program>& program, std::shared_ptr<ArenaRoom> room,
                 std::span<Buffer* const> passed)
    : kept_(std::make_shared<Kept>(Kept{program, std::make_shared<Arena>(std::move(room)), {}, {}})),
      passed_(passed.begin(), passed.end()),
      draft_{*program, {lane_info(*program, 0)}, {}, {}, kept_->made, {}, {}} {
  Occurrence outermost;
  place(*program, outermost);
  write(outermost, {});
}

int Planner::add_block(Buffer& buffer, bool is_temporary) {
  const int number = static_cast<int>(draft_.blocks.size());
  if (!is_temporary) {
    const auto [known, is_new] = lasting_.emplace(&buffer, number);
    if (!is_new) return known->second;
  }
  draft_.blocks.push_back({&buffer, is_temporary});
  return number;
}

void Planner::place(const Program& program, Occurrence& occurrence) {
  occurrence.program = &program;
  const auto add = [&](Buffer& buffer, bool is_temporary) {
    occurrence.blocks.emplace(&buffer, add_block(buffer, is_temporary));
  };
  for (const runtime::BufferRef& buffer : program.outside) add(*buffer.get(), false);
  for (const runtime::BufferRef& buffer : program.made) {
    const bool is_kept = is_output(*buffer.get());
    add(*buffer.get(), !is_kept);
    if (!is_kept) continue;
    const SourceLocation where = buffer->where();
    draft_.diagnostics.push_back({DiagnosticKind::output_kept,
                                  Severity::info,
                                  {},
                                  std::to_string(buffer->size_bytes()) + " bytes" +
                                      (where.line != 0 ? " made at " + where.str() : "") +
                                      " keep a block of their own: the program's user holds the array"});
  }
  for (const Node& node : program.nodes) {
    if (node.child != nullptr) place(*node.child, occurrence.children.emplace_back());
  }
}

std::vector<bool> Planner::used_blocks() const {
  std::vector<bool> is_used(draft_.blocks.size(), false);
  for (const Step& step : draft_.steps) {
    for (const int block : step.blocks) {
      is_used[static_cast<std::size_t>(block)] = true;
      const int taken_over = draft_.blocks[static_cast<std::size_t>(block)].in_place_of;
      if (taken_over >= 0) is_used[static_cast<std::size_t>(taken_over)] = true;
    }
  }
  return is_used;
}

std::vector<void*> Planner::addresses(SourceLocation where) {
  const std::vector<bool> is_used = used_blocks();
  bool has_materialized = false;
  for (std::size_t i = 0; i < draft_.blocks.size(); ++i) {
    Block& block = draft_.blocks[i];
    Buffer& buffer = *block.buffer;
    if (block.is_temporary) {
      if (is_used[i] && block.in_place_of < 0)
        block.offset = kept_->arena->reserve(buffer.device(), buffer.size_bytes(), block.offset);
      continue;
    }
    if (std::find(passed_.begin(), passed_.end(), &buffer) != passed_.end()) continue;
    const runtime::OrderLock lock(runtime::order_mutex());
    if (buffer.address() != nullptr || buffer.size_bytes() == 0) continue;
    buffer.materialize();
    has_materialized = true;
  }
  kept_->arena->allocate(where);
  if (has_materialized) runtime::synchronize_with(runtime::service_stream(draft_.program.device));
  std::vector<void*> all(draft_.blocks.size(), nullptr);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Block& block = draft_.blocks[i];
    if (block.buffer->size_bytes() == 0) continue;
    if (!block.is_temporary) {
      all[i] = block.buffer->address();
    } else if (is_used[i]) {
      const Block& place = block.in_place_of < 0 ? block : draft_.blocks[static_cast<std::size_t>(block.in_place_of)];
      all[i] = kept_->arena->address(block.buffer->device(), place.offset);
    }
  }
  return all;
}

runtime::Plan Planner::plan(SourceLocation where) && {
  const std::vector<void*> bases = addresses(where);
  runtime::Plan plan;
  plan.device = draft_.program.device;
  plan.draw_increments = draw_increments(draft_.program);
  plan.arenas = kept_->arena->sizes();
  plan.keep_alive = kept_;
  plan.lanes = draft_.lanes;
  for (Step& step : draft_.steps) {
    runtime::PlannedCommand planned;
    planned.command = step.command;
    for (std::size_t k = 0; k < step.blocks.size(); ++k) {
      planned.addresses.push_back(step.command->accesses[k].address(bases[static_cast<std::size_t>(step.blocks[k])]));
    }
    planned.dependencies = std::move(step.dependencies);
    planned.lane = step.lane;
    planned.is_programmatic = step.is_programmatic;
    plan.commands.push_back(std::move(planned));
  }
  return plan;
}

std::vector<int> Planner::write(const Occurrence& occurrence, const Place& place) {
  const Program& program = *occurrence.program;
  std::vector<int> lanes(program.lanes.size(), -1);  // the draft's lane for each
  lanes[0] = place.origin;
  std::vector<std::vector<int>> ends(program.nodes.size());  // what a node became, as far as later ones wait for it
  std::vector<bool> awaited(program.nodes.size(), false);
  auto child = occurrence.children.begin();
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    int& lane = lanes[static_cast<std::size_t>(node.lane)];
    if (lane < 0) {
      lane = static_cast<int>(draft_.lanes.size());
      draft_.lanes.push_back(lane_info(program, node.lane));
    }
    std::vector<int> before;
    for (const int dependency : node.dependencies) {
      const auto& of = ends[static_cast<std::size_t>(dependency)];
      before.insert(before.end(), of.begin(), of.end());
      awaited[static_cast<std::size_t>(dependency)] = true;
    }
    if (node.dependencies.empty()) before = place.before;
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    if (node.child != nullptr) {
      ends[i] = write_child(node, *child++, place, std::move(before), lane);
    } else {
      ends[i] = {static_cast<int>(draft_.steps.size())};
      write_command(node, occurrence, place, std::move(before), lane);
    }
  }
  std::vector<int> last;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!awaited[i]) last.insert(last.end(), ends[i].begin(), ends[i].end());
  }
  return last.empty() ? place.before : last;
}

std::vector<int> Planner::write_child(const Node& node, const Occurrence& child, const Place& place,
                                      std::vector<int> before, int lane) {
  Place inner{std::move(before), lane, node.child_draws};
  for (DrawStart& start : inner.starts) {
    if (place.starts.empty()) break;
    const DrawStart& outer = place.starts[static_cast<std::size_t>(start.number)];
    start.number = outer.number;
    if (start.at.seed) continue;
    start.at.offset += outer.at.offset;
    start.at.seed = outer.at.seed;
  }
  return write(child, inner);
}

void Planner::write_command(const Node& node, const Occurrence& occurrence, const Place& place, std::vector<int> before,
                            int lane) {
  Step step;
  step.command = &node.command;
  if (auto moved = moved_draw(node.command, place.starts)) {
    step.command = &kept_->moved.emplace_back(std::move(*moved));
  }
  for (const Access& access : node.accesses) step.blocks.push_back(occurrence.blocks.at(access.buffer));
  step.dependencies = std::move(before);
  step.lane = lane;
  draft_.steps.push_back(std::move(step));
}

}  // namespace refrain::graph
