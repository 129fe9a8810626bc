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
  return {info.device, info.priority};
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

Planner::Planner(const std::shared_ptr<Program>& program, const std::shared_ptr<runtime::ReplayMark>& mark,
                 SourceLocation where)
    : memory_(std::make_shared<Memory>()) {
  memory_->program = program;
  memory_->arena = std::make_shared<Arena>(mark);
  place(*program, outermost_);
  memory_->arena->allocate(where);
  if (materialized_) runtime::synchronize_with(runtime::service_stream(program->device));
  for (const Temporary& temporary : temporaries_) {
    const Buffer& buffer = *temporary.buffer;
    void* const address =
        buffer.size_bytes() == 0 ? nullptr : memory_->arena->address(buffer.device(), temporary.offset);
    temporary.occurrence->addresses.emplace(&buffer, address);
  }
}

void Planner::place(const Program& program, Occurrence& occurrence) {
  occurrence.program = &program;
  const auto own_block = [&](Buffer& buffer) {
    const runtime::OrderLock lock(runtime::order_mutex());
    if (buffer.address() == nullptr && buffer.size_bytes() > 0) {
      buffer.materialize();
      materialized_ = true;
    }
    occurrence.addresses.emplace(&buffer, buffer.address());
  };
  for (const runtime::BufferRef& buffer : program.outside) own_block(*buffer.get());
  for (const runtime::BufferRef& buffer : program.made) {
    if (is_output(*buffer.get())) {
      own_block(*buffer.get());
      const SourceLocation where = buffer->where();
      diagnostics_.push_back({DiagnosticKind::output_kept,
                              Severity::info,
                              {},
                              std::to_string(buffer->size_bytes()) + " bytes" +
                                  (where.line != 0 ? " made at " + where.str() : "") +
                                  " keep a block of their own: the program's user holds the array"});
    } else {
      const std::int64_t offset = memory_->arena->reserve(buffer->device(), buffer->size_bytes());
      temporaries_.push_back({&occurrence, buffer.get(), offset});
    }
  }
  for (const Node& node : program.nodes) {
    if (node.child != nullptr) place(*node.child, occurrence.children.emplace_back());
  }
}

runtime::Plan Planner::plan() && {
  const Program& program = *memory_->program;
  plan_.device = program.device;
  plan_.draw_increments = draw_increments(program);
  plan_.keep_alive = memory_;
  plan_.lanes.push_back(lane_info(program, 0));
  write(outermost_, {});
  return std::move(plan_);
}

std::vector<int> Planner::write(const Occurrence& occurrence, const Place& place) {
  const Program& program = *occurrence.program;
  std::vector<int> lanes(program.lanes.size(), -1);  // the plan's lane for each
  lanes[0] = place.origin;
  std::vector<std::vector<int>> ends(program.nodes.size());  // what a node became, as far as later ones wait for it
  std::vector<bool> awaited(program.nodes.size(), false);
  auto child = occurrence.children.begin();
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    int& lane = lanes[static_cast<std::size_t>(node.lane)];
    if (lane < 0) {
      lane = static_cast<int>(plan_.lanes.size());
      plan_.lanes.push_back(lane_info(program, node.lane));
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
      ends[i] = {static_cast<int>(plan_.commands.size())};
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
  runtime::PlannedCommand planned;
  planned.command = &node.command;
  if (auto moved = moved_draw(node.command, place.starts)) {
    planned.command = &memory_->moved.emplace_back(std::move(*moved));
  }
  for (const Access& access : node.accesses) {
    planned.addresses.push_back(access.address(occurrence.addresses.at(access.buffer)));
  }
  planned.dependencies = std::move(before);
  planned.lane = lane;
  plan_.commands.push_back(std::move(planned));
}

}  // namespace refrain::graph
