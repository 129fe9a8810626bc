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

/// What is known of one signature. What each hit looks at comes first, for the lines of the cache.
struct GraphedEntry {
  std::vector<std::uint64_t> words;
  std::unique_ptr<Recorded> recorded;  ///< null: calls run the function
  std::shared_ptr<const StoredResult> result;
  std::uint64_t used = 0;
  std::int64_t hits = 0;
  bool is_complete = false;  ///< its first call went to the end
  std::int64_t bytes = 0;    ///< that it keeps
  std::string text;          ///< of the signature, for reports
  std::string why_eager;
};

/// The cache of a graphed function, and the one call that is being made.
class GraphedCore {
  // What each call looks at: together, for the lines of the cache.
  mutable std::mutex mutex_;  ///< held for a call, but while it runs the function eagerly
  std::atomic<std::thread::id> caller_{};
  // Guarded by the mutex.
  GraphedEntry* newest_ = nullptr;  ///< that was hit last, looked at first; null: it is gone
  // Of the call; vectors are kept for their memory.
  GraphedEntry* entry_ = nullptr;
  runtime::StreamCore* stream_ = nullptr;
  Signature signature_;
  std::vector<const ParameterState*> parameters_;
  std::vector<Array> assigned_;
  std::size_t arguments_ = 0;  ///< arrays of them; those of registered state come after
  std::uint64_t hash_ = 0;
  std::uint64_t uses_ = 0;
  std::vector<GraphedState> state_;

 public:
  GraphedCore(const GraphedOptions& options, SourceLocation where);

  const SourceLocation where;  ///< of `graphed`
  const GraphedOptions options;

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

  GraphedCounters counters_;                                                               ///< read without the mutex
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<GraphedEntry>>> entries_;  ///< by hash; by the mutex
};

}  // namespace refrain::detail
