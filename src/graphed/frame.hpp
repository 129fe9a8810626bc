#pragma once

#include "graph/recording.hpp"
#include "graphed/core.hpp"

#include <cstddef>
#include <cstdint>
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

  /// What the function has in its hands.
  struct Look {
    std::vector<std::uint64_t> words;  ///< all of assignable arguments and registered state but their arrays
    std::vector<Array*> assignable;    ///< their arrays; the registered ones are the last
    std::vector<Array*> others;        ///< of the other arguments
  };
  Look before;
  Look now;
  std::vector<Array*> result;

  void begin_look();
  /// Looks at registered state too.
  void end_look();

 private:
  Array stand_in(const Array& array, int block) const;
  void look_at_state();
  bool is_as_before() const { return now.words == before.words && now.assignable.size() == before.assignable.size(); }
  /// The signature's numbers of the assignable arrays.
  std::vector<std::size_t> assignable_numbers() const;
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
  /// Which array of the result is not what it was; empty: none.
  std::string result_difference() const;
  void detach(const std::vector<RecordedBlock>& blocks, bool is_foreign) const;
  ArraySource source_of(const Array& array, Recorded::Parts& parts) const;

  bool holds_state_ = false;  ///< registered arrays are stand-ins, or what the function made of them
};

}  // namespace refrain::detail
