#pragma once

#include "graph/exec.hpp"
#include "graph/program.hpp"
#include "graph/recording.hpp"
#include "graphed/counters.hpp"
#include "graphed/signature.hpp"
#include "runtime/buffer.hpp"
#include "runtime/event_core.hpp"

#include <refrain/array.hpp>
#include <refrain/graphed.hpp>
#include <refrain/param.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace refrain::detail {

/// Where an array that the function made or passed on comes from in a call.
struct ArraySource {
  enum class Kind : std::uint8_t {
    none,      ///< an empty array
    argument,  ///< of a block of the arguments
    output,    ///< made by the function
    kept,      ///< one array for all calls: the program's own, made where foreign work has its address or from outside
    copied     ///< a copy of such, since each call gives it other values
  };
  Kind kind = Kind::none;
  std::size_t block = 0;  ///< of the call's, or of the outputs
  Array like;             ///< the array, as the recording names it
};

/// A block of the arguments, as it was recorded.
struct RecordedBlock {
  runtime::BufferRef name;      ///< what stands for it in the program; null: nothing uses it
  runtime::BufferRef standing;  ///< of memory at an address: what the order of calls knows it by
  std::int64_t offset = 0;
  /// The block that it must be: the program uses it by another name too, or a kernel has its address as it is. Null:
  /// any.
  const std::byte* must_be = nullptr;
  /// Memory that is copied to and from for each call, since a function that is called with the native stream has its
  /// address; null: there is none.
  runtime::BufferRef memory;
  graph::Touched touched;  ///< of it
};

/// What a function was recorded as for one signature, and the executables for the buffers that its calls had.
class Recorded {
 public:
  struct Parts {
    std::shared_ptr<graph::Program> program;
    std::vector<RecordedBlock> blocks;
    std::vector<runtime::BufferRef> outputs;  ///< made in the recording; each call has others in their place
    std::vector<ArraySource> result;
    std::vector<std::pair<std::size_t, ArraySource>> assigned;      ///< arrays of the call, by number
    std::vector<std::shared_ptr<const ParameterState>> parameters;  ///< that stand in for those of the call
    std::vector<graph::Recording::OutsideWait> waits;               ///< of later calls, as of the first
    std::vector<std::weak_ptr<runtime::EventCore>> events;
  };

  Recorded(Parts parts, InstantiateOptions options, int most_sets, SourceLocation where);

  /// Whether calls with these blocks can be replays of it.
  bool fits(const Signature& call) const noexcept;
  /// Replays it with the call's blocks and parameters.
  void replay(const Signature& call, std::span<const ParameterState* const> parameters, runtime::StreamCore& stream,
              GraphedCounters& counters);
  /// Of the newest replay.
  Array array(const ArraySource& source, const Signature& call) const;

  const std::vector<ArraySource>& result() const noexcept { return parts_.result; }
  const std::vector<std::pair<std::size_t, ArraySource>>& assigned() const noexcept { return parts_.assigned; }
  const graph::Program& program() const noexcept { return *parts_.program; }
  const std::vector<RecordedBlock>& blocks() const noexcept { return parts_.blocks; }

  bool is_idle() const;
  void synchronize() const;
  /// Temporaries, and blocks for outputs.
  std::int64_t size_bytes() const;
  std::string explain() const;

 private:
  /// Blocks for the outputs of a call.
  using Outputs = std::vector<runtime::BufferRef>;
  /// An executable with the addresses of the newest call that it ran.
  struct Set {
    std::shared_ptr<graph::Exec> exec;
    std::size_t outputs = 0;  ///< which ones its addresses are of
    std::uint64_t used = 0;
    std::vector<std::vector<std::byte>> values;  ///< of the parameters; empty: unknown
  };

  /// A parameter that the executables use.
  struct Parameter {
    std::shared_ptr<const ParameterState> state;
    std::optional<std::size_t> argument;  ///< that it stands in for; none: the function's own, which calls follow too
    std::size_t bytes = 0;                ///< of a value
  };

  void run(const Signature& call, std::span<const ParameterState* const> parameters, runtime::StreamCore& stream,
           GraphedCounters& counters);
  /// With the newest call's blocks and values.
  void replay(Set& set, runtime::StreamCore& stream);
  void wait_again(runtime::StreamCore& stream) const;
  void gather(const Signature& call);
  void copy_in(const RecordedBlock& block, const CallBlock& given, runtime::StreamCore& stream) const;
  void copy_out(const RecordedBlock& block, const CallBlock& given, runtime::StreamCore& stream) const;
  /// Whether nobody but this holds a block of them.
  static bool is_free(const Outputs& outputs) noexcept;
  Outputs make_outputs(runtime::StreamCore& stream) const;
  std::size_t take_outputs(runtime::StreamCore& stream, std::optional<std::size_t> preferred);
  /// The executable with the addresses of this call, or one that is given them.
  Set& choose(runtime::StreamCore& stream, GraphedCounters& counters);
  Set& add_set(std::size_t outputs, bool is_for_results, GraphedCounters& counters);
  void point_at(const Outputs& outputs) noexcept;
  void find_parameters(graph::Exec& exec);
  /// Finds the values that the set's executable does not have yet.
  void gather_values(Set& set, std::span<const ParameterState* const> parameters);

  // What each call looks at: together, for the lines of the cache.
  std::uint64_t uses_ = 0;
  std::size_t newest_set_ = 0;
  std::size_t newest_outputs_ = 0;
  bool has_work_ = true;  ///< a replay does something
  bool copies_ = false;   ///< arguments, for other code that has an address
  std::vector<Set> sets_;
  std::vector<Outputs> outputs_;
  std::vector<std::size_t> passed_;          ///< blocks of the call that replays are passed, in order; then the outputs
  std::vector<graph::PassedBlock> passing_;  ///< of the newest call
  std::vector<graph::PassedValue> values_;   ///< that are new with it
  std::vector<Parameter> parameters_;
  std::vector<std::byte> value_;                  ///< of the parameter that is looked at
  std::vector<const runtime::Buffer*> captured_;  ///< what the program uses besides

  Parts parts_;
  const InstantiateOptions options_;
  const std::size_t most_sets_;
  const SourceLocation where_;
};

}  // namespace refrain::detail
