#pragma once

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
  std::uint64_t used = 0;
  std::int64_t hits = 0;
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
  /// Makes room for one more, and keeps to the limit of bytes.
  void evict(const GraphedEntry* newest);
  std::int64_t size_bytes() const;

  const int check_every_;  ///< hits until the function is recorded again and compared; 0: never

  mutable std::mutex mutex_;  ///< held for a call, but while it runs the function eagerly
  std::atomic<std::thread::id> caller_{};
  // Guarded by the mutex.
  std::unordered_map<std::uint64_t, std::vector<std::unique_ptr<GraphedEntry>>> entries_;  ///< by hash
  std::vector<GraphedState> state_;
  GraphedStatistics statistics_;
  std::uint64_t uses_ = 0;
  // Of the call: kept for their memory.
  Signature signature_;
  std::vector<const ParameterState*> parameters_;
  std::vector<Array> assigned_;
  std::size_t arguments_ = 0;  ///< arrays of them; those of registered state come after
  runtime::StreamCore* stream_ = nullptr;
  std::uint64_t hash_ = 0;
  GraphedEntry* entry_ = nullptr;
};

}  // namespace refrain::detail
