#include "graph/program.hpp"

#include "runtime/order.hpp"

#include <algorithm>
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
  std::vector<runtime::Access> all;
  std::unordered_map<const runtime::Buffer*, std::size_t> places;
  for (const Node& node : program.nodes) {
    for (const runtime::Access& access : node.accesses) {
      if (temporaries.contains(access.buffer)) continue;
      const auto [place, is_new] = places.try_emplace(access.buffer, all.size());
      if (is_new) {
        all.push_back(access);
        continue;
      }
      runtime::Access& merged = all[place->second];
      merged.begin = std::min(merged.begin, access.begin);
      merged.end = std::max(merged.end, access.end);
      if (access.mode == runtime::AccessMode::write) merged.mode = runtime::AccessMode::write;
    }
  }
  return all;
}

Program::Program() : id(next_graph_id()) {}

Program::~Program() {
  // Histories of buffers that outlive the graph keep the newest replay's point in place of the mark.
  const runtime::OrderLock lock(runtime::order_mutex());
  for (const auto* buffers : {&made, &outside}) {
    for (const runtime::BufferRef& buffer : *buffers) {
      runtime::AccessHistory& history = buffer->history();
      for (int i = 0; i < history.size(); ++i) {
        if (history[i].mark != &mark) continue;
        history[i].point = mark.point;
        history[i].mark = nullptr;
      }
    }
  }
}

}  // namespace refrain::graph
