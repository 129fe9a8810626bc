#include "graph/program.hpp"

#include "graph/arena.hpp"
#include "runtime/order.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace refrain::graph {

namespace {

std::uint64_t next_graph_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void merge(LaneClock& into, const LaneClock& other) {
  if (other.size() > into.size()) into.resize(other.size(), 0);
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

std::vector<runtime::Access> boundary_accesses(const Program& program) {
  std::unordered_set<const runtime::Buffer*> temporaries;
  for (const runtime::BufferRef& buffer : program.made) {
    if (!is_output(*buffer.get())) temporaries.insert(buffer.get());
  }
  struct Parts {
    std::optional<runtime::Access> read;
    std::optional<runtime::Access> written;
  };
  std::vector<const runtime::Buffer*> order;
  std::unordered_map<const runtime::Buffer*, Parts> parts;
  for (const Node& node : program.nodes) {
    for (const runtime::Access& access : node.accesses) {
      if (temporaries.contains(access.buffer)) continue;
      const auto [place, is_new] = parts.try_emplace(access.buffer);
      if (is_new) order.push_back(access.buffer);
      auto& part = access.mode == runtime::AccessMode::write ? place->second.written : place->second.read;
      if (!part) part = access;
      part->begin = std::min(part->begin, access.begin);
      part->end = std::max(part->end, access.end);
    }
  }
  std::vector<runtime::Access> all;
  for (const runtime::Buffer* buffer : order) {
    const auto& [read, written] = parts.at(buffer);
    if (written) all.push_back(*written);
    const bool is_within = written && read && written->begin <= read->begin && read->end <= written->end;
    if (read && !is_within) all.push_back(*read);
  }
  return all;
}

Touched touched(const Program& program, const runtime::Buffer& buffer) {
  Touched all;
  const auto add = [](std::int64_t& begin, std::int64_t& end, const runtime::Access& access) {
    begin = end == begin ? access.begin : std::min(begin, access.begin);
    end = std::max(end, access.end);
  };
  for (const Node& node : program.nodes) {
    for (const runtime::Access& access : node.accesses) {
      if (access.buffer != &buffer || access.begin >= access.end) continue;
      add(all.begin, all.end, access);
      if (access.mode == runtime::AccessMode::write) add(all.written_begin, all.written_end, access);
    }
  }
  return all;
}

std::vector<std::uint64_t> draw_increments(const Program& program) {
  std::vector<std::uint64_t> increments;
  for (const GeneratorUse& use : program.generators) increments.push_back(use.at.offset);
  return increments;
}

std::string place(const runtime::Command& command) {
  std::string text = std::string("'") + command.label + "'";
  if (command.where.line != 0) text += " at " + command.where.str();
  return text;
}

Program::Program() : id(next_graph_id()), room(std::make_shared<ArenaRoom>(mark)) {}

Program::~Program() {
  // Histories of buffers that outlive the graph keep the newest replay's point in place of the mark.
  const runtime::OrderLock lock(runtime::order_mutex());
  for (const auto* buffers : {&made, &outside}) {
    for (const runtime::BufferRef& buffer : *buffers) {
      runtime::AccessHistory& history = buffer->history();
      for (int i = 0; i < history.size(); ++i) {
        if (history[i].mark != mark.get()) continue;
        history[i].point = mark->point;
        history[i].mark = nullptr;
      }
    }
  }
}

}  // namespace refrain::graph
