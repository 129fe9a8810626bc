#include "graphed/core.hpp"

#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <utility>

namespace refrain::detail {

namespace {

void require_positive(std::int64_t value, const char* option, SourceLocation where) {
  if (value > 0) return;
  throw Error(Errc::invalid_value, "graphed", std::string(option) + " = " + std::to_string(value),
              "is no limit that anything could be kept in; give 1 or more", where);
}

}  // namespace

GraphedCore::GraphedCore(const GraphedOptions& options, SourceLocation where)
    : where(where), options(options), check_every_(runtime::environment_int("REFRAIN_CHECK", 0, 0, 1'000'000'000)) {
  require_positive(options.capacity, "capacity", where);
  require_positive(options.buffer_sets, "buffer_sets", where);
  require_positive(options.max_bytes, "max_bytes", where);
}

GraphedEntry* GraphedCore::find(std::uint64_t hash) {
  const auto known = entries_.find(hash);
  if (known == entries_.end()) return nullptr;
  for (const auto& entry : known->second) {
    if (entry->words != signature_.words()) continue;
    if (!entry->is_complete) continue;
    if (entry->recorded == nullptr || entry->recorded->fits(signature_)) return entry.get();
  }
  return nullptr;
}

GraphedEntry& GraphedCore::add(std::uint64_t hash, GraphedEntry entry) {
  auto& entries = entries_[hash];
  entries.push_back(std::make_unique<GraphedEntry>(std::move(entry)));
  ++counters_.signatures;
  GraphedEntry& added = *entries.back();
  added.used = ++uses_;
  keep_to_limits(added);
  return added;
}

void GraphedCore::keep_to_limits(GraphedEntry& newest) {
  const std::int64_t bytes = newest.recorded == nullptr ? 0 : newest.recorded->size_bytes();
  counters_.bytes += bytes - newest.bytes;
  newest.bytes = bytes;
  while (counters_.signatures > 1 && (counters_.signatures > options.capacity || counters_.bytes > options.max_bytes)) {
    evict_one(newest);
  }
}

void GraphedCore::evict_one(const GraphedEntry& newest) {
  // The least recently used whose replays are done; if there is none, the least recently used, once they are.
  std::vector<GraphedEntry*> all;
  for (const auto& [hash, entries] : entries_) {
    for (const auto& entry : entries) {
      if (entry.get() != &newest) all.push_back(entry.get());
    }
  }
  std::sort(all.begin(), all.end(), [](const GraphedEntry* a, const GraphedEntry* b) { return a->used < b->used; });
  const auto idle = std::find_if(all.begin(), all.end(), [](const GraphedEntry* entry) {
    return entry->recorded == nullptr || entry->recorded->is_idle();
  });
  GraphedEntry* const left = idle != all.end() ? *idle : all.front();
  if (idle == all.end()) left->recorded->synchronize();
  if (newest_ == left) newest_ = nullptr;
  counters_.bytes += -left->bytes;
  counters_.signatures += -1;
  ++counters_.evictions;
  for (auto at = entries_.begin(); at != entries_.end(); ++at) {
    if (std::erase_if(at->second, [&](const auto& entry) { return entry.get() == left; }) == 0) continue;
    if (at->second.empty()) entries_.erase(at);
    return;
  }
}

std::shared_ptr<GraphedCore> make_graphed(const GraphedOptions& options, SourceLocation where) {
  return std::make_shared<GraphedCore>(options, where);
}

void add_state(GraphedCore& core, GraphedState state) {
  const std::lock_guard lock(core.mutex_);
  core.state_.push_back(state);
}

GraphedStatistics statistics_of(const GraphedCore& core) {
  const GraphedCounters& now = core.counters_;
  GraphedStatistics statistics;
  statistics.hits = now.hits;
  statistics.recordings = now.recordings;
  statistics.eager = now.eager;
  statistics.rebinds = now.rebinds;
  statistics.instantiations = now.instantiations;
  statistics.instantiations_for_arguments = now.instantiations_for_arguments;
  statistics.instantiations_for_results = now.instantiations_for_results;
  statistics.evictions = now.evictions;
  statistics.checks = now.checks;
  statistics.signatures = static_cast<int>(now.signatures);
  statistics.bytes = now.bytes;
  return statistics;
}

std::string explain(const GraphedCore& core) {
  runtime::refuse_in_callback("explain", core.where);  // which the call that has the lock may wait for
  std::unique_lock lock(core.mutex_, std::defer_lock);
  if (!core.is_called_here()) lock.lock();
  std::vector<const GraphedEntry*> all;
  for (const auto& [hash, entries] : core.entries_) {
    for (const auto& entry : entries) all.push_back(entry.get());
  }
  std::sort(all.begin(), all.end(), [](const GraphedEntry* a, const GraphedEntry* b) { return a->used > b->used; });
  const GraphedStatistics statistics = statistics_of(core);
  std::string text =
      std::string("'") + core.options.label + "'" + (core.where.line != 0 ? " at " + core.where.str() : "") + ": " +
      std::to_string(all.size()) + (all.size() == 1 ? " signature, " : " signatures, ") +
      std::to_string(statistics.hits) + " hits, " + std::to_string(statistics.recordings) + " recordings, " +
      std::to_string(statistics.eager) + " eager calls, " + std::to_string(statistics.rebinds) + " rebinds, " +
      std::to_string(statistics.instantiations) + " instantiations (" +
      std::to_string(statistics.instantiations_for_arguments) + " for other arguments, " +
      std::to_string(statistics.instantiations_for_results) + " for held results), " +
      std::to_string(statistics.evictions) + " evictions, " + std::to_string(statistics.bytes) + " bytes\n";
  for (const GraphedEntry* entry : all) {
    text += "(" + entry->text + "): " + std::to_string(entry->hits) + (entry->hits == 1 ? " hit, " : " hits, ") +
            (entry->recorded == nullptr ? "run eagerly: " + entry->why_eager : entry->recorded->explain()) + "\n";
  }
  return text;
}

void clear(GraphedCore& core) {
  runtime::refuse_in_callback("clear", core.where);
  if (core.is_called_here()) {
    throw Error(Errc::illegal_state, "clear", core.options.label,
                "is being called, which needs what it has recorded; clear it after the call", core.where);
  }
  decltype(core.entries_) left;  // destroyed without the lock
  const std::lock_guard lock(core.mutex_);
  std::swap(left, core.entries_);
  core.newest_ = nullptr;
  core.counters_.signatures = 0;
  core.counters_.bytes = 0;
}

}  // namespace refrain::detail
