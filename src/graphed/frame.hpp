#pragma once

#include "graph/recording.hpp"
#include "graphed/core.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace refrain::detail {

/// A recording under way, for which registered arrays are stand-ins too.
struct GraphedCall::Frame {
  /// Begins it. `may_run`: it runs what it holds where the function needs values.
  Frame(GraphedCall& call, bool may_run);

  /// Replays what was recorded for the first time, or lets it run; whether later calls are replays.
  bool finish();
  /// Compares what was recorded with what is known.
  /// @throws Error(Errc::illegal_state) naming what differs
  void check();
  /// Puts everything back as it was.
  void abandon() noexcept;

  GraphedCall& call;
  GraphedCore& core;
  std::shared_ptr<graph::Recording> recording;
  std::vector<Array> originals;           ///< by array of the call
  std::vector<Array> stand_ins;           ///< what the function is given for them
  std::vector<runtime::BufferRef> names;  ///< by block of the call: what stands for it; none for addresses
  std::deque<Array> held;                 ///< stand-ins that accesses refer to
  std::vector<std::shared_ptr<const ParameterState>> parameters;  ///< that stand in, in order
  std::size_t next = 0;                                           ///< array that is stood in for
  std::string text;                                               ///< of the signature
  std::string told;                                               ///< to the log, once the call is over

  // Once the function has returned: where the arrays are now.
  std::vector<Array*> own;    ///< of the arguments
  std::vector<Array*> state;  ///< registered
  std::vector<Array*> result;

 private:
  Array stand_in(const Array& array, int block) const;
  void find_state();
  /// The block of the call that the array stands for; -1: none.
  int block_of(const Array& array) const;
  /// What stands for a block becomes a name of that.
  void settle(Array& array) const;
  void restore_state();
  /// Why an array would be out of later calls' reach; empty: none is.
  std::string find_escape() const;
  void finish_eagerly(const std::string& why);
  void finish_recorded();
  void name_blocks(Recorded::Parts& parts) const;
  ArraySource source_of(const Array& array, Recorded::Parts& parts) const;

  bool holds_state_ = false;  ///< registered arrays are stand-ins, or what the function made of them
};

}  // namespace refrain::detail
