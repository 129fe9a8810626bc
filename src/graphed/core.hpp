#pragma once

#include "graphed/counters.hpp"
#include "graphed/recorded.hpp"
#include "graphed/signature.hpp"

#include <refrain/graphed.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace refrain::detail {

/// What is known of one signature.
struct GraphedEntry {
  std::vector<std::uint64_t> words;
  std::string text;                    ///< of the signature, for reports
  std::unique_ptr<Recorded> recorded;  ///< null: calls run the function
  std::string why_eager;
  std::shared_ptr<const StoredResult> result;
  bool is_complete = false;  ///< its first call went to the end
  std::uint64_t used = 0;
  std::int64_t hits = 0;
  std::int64_t bytes = 0;  ///< that it keeps
};

/// The cache of a graphed function, and the one call that is being made.
class GraphedCore {
 public:
  GraphedCore(const GraphedOptions& options, SourceLocation where);

  const GraphedOptions options;
  const SourceLocation where;  ///< of `graphed`

 private:
  friend class GraphedCall;
  friend GraphedStatistics statistics_of(const GraphedCore& core);
  friend std::string explain(const GraphedCore& core);
  friend void clear(GraphedCore& core);
  friend void add_state(GraphedCore& core, GraphedState state);

  /// Null: there is none.
  GraphedEntry* find(std::uint64_t hash);
  GraphedEntry& add(std::uint64_t hash, GraphedEntry entry);
  /// Lets go of others, for what the entry keeps now.
  void keep_to_limits(GraphedEntry& newest);
  void evict_one(const GraphedEntry& newest);
  /// Whether the thread is in a call, which has the mutex.
  bool is_called_here() const noexcept { return caller_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

  const int check_every_;  ///< hits until the function is recorded again and compared; 0: never

  GraphedCounters counters_;  ///< read without the mutex
  mutable std::mutex mutex_;  ///< held for a call, but while it runs the function eagerly
  std::atomic<std::thread::id> caller_{};
  // Guarded by the mutex.
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<GraphedEntry>>> entries_;  ///< by hash
  std::vector<GraphedState> state_;
  std::uint64_t uses_ = 0;
  // Of the call: kept for their memory.
  Signature signature_;
  std::vector<const ParameterState*> parameters_;
  std::vector<Array> assigned_;
  std::size_t arguments_ = 0;  ///< arrays of them; those of registered state come after
  runtime::StreamCore* stream_ = nullptr;
  std::uint64_t hash_ = 0;
  GraphedEntry* entry_ = nullptr;
  GraphedEntry* newest_ = nullptr;  ///< that was hit last, looked at first; null: it is gone
};

}  // namespace refrain::detail
