#pragma once

#include <refrain/fields.hpp>
#include <refrain/graph.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

// What graphed.hpp is made of.

namespace refrain {

struct GraphedOptions {
  /// What makes a function run eagerly (a value that the host needs, an array that escapes) is an error, and so are the
  /// warnings of captures.
  bool strict = false;
  int capacity = 64;                                   ///< signatures; the least recently used goes first
  std::int64_t max_bytes = std::int64_t{1} << 30;      ///< of temporaries, and of blocks for results
  int buffer_sets = 4;                                 ///< executables a signature, each for other buffers
  InstantiateOptions instantiate = {};                 ///< without its `arena_pool`
  std::optional<ArenaPool> arena_pool = std::nullopt;  ///< shared with other graphs: calls are then in order with them
  const char* label = "graphed";                       ///< static text, for errors and reports
};

/// What the calls of a graphed function did.
struct GraphedStatistics {
  std::int64_t hits = 0;                          ///< replays of what was recorded before
  std::int64_t recordings = 0;                    ///< calls that met a new signature
  std::int64_t eager = 0;                         ///< calls that ran the function, for its signature cannot be replayed
  std::int64_t rebinds = 0;                       ///< hits that gave an executable other buffers
  std::int64_t instantiations = 0;                ///< executables made, of which ...
  std::int64_t instantiations_for_arguments = 0;  ///< ... so many for other arguments of a known signature
  std::int64_t instantiations_for_results = 0;    ///< ... and so many as the results of the others were still held
  std::int64_t evictions = 0;
  std::int64_t checks = 0;  ///< hits for which the function was recorded again (REFRAIN_CHECK)
  int signatures = 0;       ///< there now
  std::int64_t bytes = 0;   ///< kept now: temporaries, and blocks for the results of later calls
};

namespace detail {

class GraphedCore;

/// The result of a function without its arrays.
struct StoredResult {
  virtual ~StoredResult() = default;
};
template <class T>
struct StoredResultOf final : StoredResult {
  explicit StoredResultOf(T result) : result(std::move(result)) {}
  T result;
};

/// The same address for the same types.
template <class... T>
inline constexpr char type_tag = 0;

std::shared_ptr<GraphedCore> make_graphed(const GraphedOptions& options, SourceLocation where);
GraphedStatistics statistics_of(const GraphedCore& core);
std::string explain(const GraphedCore& core);
void clear(GraphedCore& core);

/// One call of a graphed function: first its leaves are taken, then it runs the function, replays, or records.
class GraphedCall {
 public:
  /// Other threads' calls of the same function wait until this one is over.
  explicit GraphedCall(GraphedCore& core);
  ~GraphedCall();
  GraphedCall(const GraphedCall&) = delete;
  GraphedCall& operator=(const GraphedCall&) = delete;

  /// False inside a capture of this thread's and inside another call of the same function: it is just called then.
  bool is_outermost() const noexcept { return is_outermost_; }

  // The signature.
  void take_word(std::uint64_t word);
  void take_text(std::string_view text);
  /// `is_assignable`: the function may make the caller's variable another array.
  void take_array(const Array& array, bool is_assignable);
  void take_parameter(const ParameterState& parameter);
  void take_memory(const MemoryAccess& memory);
  /// What `state` registered.
  void take_state();

  enum class Way : std::uint8_t {
    run,     ///< call the function: it is recorded elsewhere, or cannot be replayed
    replay,  ///< `replay`, then `result`, `next_array` for each of its arrays, and `assign`
    record   ///< `begin`, what stands in for the arguments, the function, `finish`
  };
  Way find();

  // Recording.
  void begin();
  /// What the function is given for the array that was taken as the next one.
  Array next_stand_in();
  /// The same, kept for an access to refer to.
  const Array* held_stand_in();
  void stand_in_for_parameter(std::shared_ptr<const ParameterState> parameter);
  /// A look at what the function has, before it is called and after it has returned: assignable arguments by
  /// `TakeLeaves`, arrays of the others, then what is registered.
  void begin_look();
  void other_array(Array& array);
  void end_look();
  void result_array(Array& array);
  /// Replays what was recorded for the first time; arrays of the result become those of the call.
  void finish();
  /// Whether the function ran eagerly, so that assignable arguments are to be what it has made of them.
  bool has_run_eagerly() const noexcept { return has_run_eagerly_; }
  /// The call is over. Hands a warning of the recording to the log sink, if there is one.
  void tell();
  /// Whether the result is to be kept for later calls, without its arrays.
  bool is_kept() const noexcept { return is_kept_; }
  void keep(std::shared_ptr<const StoredResult> result);

  // Replaying.
  void replay();
  const StoredResult* result() const noexcept { return result_; }
  Array next_array();
  void assign();
  /// Whether this replay is one for which the function is recorded again and compared.
  bool is_checked() const noexcept { return is_checked_; }
  /// Compares what was recorded since `begin`, and lets go of it.
  void check();

 private:
  struct Frame;

  void end() noexcept;

  GraphedCore& core_;
  std::unique_ptr<Frame> frame_;  ///< of a recording
  const StoredResult* result_ = nullptr;
  int next_ = 0;
  bool is_outermost_ = false;
  bool is_kept_ = false;
  bool is_checked_ = false;
  bool has_run_eagerly_ = false;
  std::string told_;
};

/// Takes what a signature is made of.
struct TakeLeaves {
  GraphedCall& call;
  bool is_assignable = false;

  void operator()(const Array& array) const { call.take_array(array, is_assignable); }
  void operator()(const MemoryAccess& memory) const { call.take_memory(memory); }
  void operator()(std::string_view text) const { call.take_text(text); }
  void operator()(LeafCount size) const { call.take_word(size.count); }
  void operator()(LeafIdentity handle) const { call.take_word(handle.id); }
  template <class T>
  void operator()(const Param<T>& parameter) const {
    call.take_parameter(*parameter.state());
  }
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void operator()(const T& value) const {
    static_assert(sizeof(T) <= 2 * sizeof(std::uint64_t));
    if constexpr (sizeof(T) <= sizeof(std::uint64_t)) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof(T));
      call.take_word(bits);
    } else {  // not all of its bytes count
      char text[64];
      const int length = std::snprintf(text, sizeof(text), "%La", static_cast<long double>(value));
      call.take_text({text, static_cast<std::size_t>(length)});
    }
  }
};

/// Puts what stands in for them in the place of arrays and parameters.
struct StandIn {
  GraphedCall& call;

  void operator()(Array& array) const { array = call.next_stand_in(); }
  void operator()(MemoryAccess& memory) const {
    if (memory.array != nullptr) memory.array = call.held_stand_in();
  }
  template <class T>
  void operator()(Param<T>& parameter) const {
    const auto state = parameter.state();
    parameter = Param<T>(parameter.value(), state->name.c_str());
    call.stand_in_for_parameter(parameter.state());
  }
  template <class T>
    requires(!std::is_base_of_v<MemoryAccess, T>)
  void operator()(const T&) const {}
};

/// Shows the arrays to the call.
template <void (GraphedCall::*show)(Array&)>
struct ShowArrays {
  GraphedCall& call;

  void operator()(Array& array) const { (call.*show)(array); }
  void operator()(MemoryAccess& memory) const {
    if (memory.array != nullptr) (call.*show)(const_cast<Array&>(*memory.array));
  }
  template <class T>
    requires(!std::is_base_of_v<MemoryAccess, T>)
  void operator()(const T&) const {}
};

/// Shows the result's.
struct ShowResult : ShowArrays<&GraphedCall::result_array> {
  static constexpr bool is_result = true;
};

/// Whether there is something that another one stood in for.
struct FindStandIns {
  bool& is_found;

  void operator()(const MemoryAccess&) const { is_found = true; }
  template <class T>
  void operator()(const Param<T>&) const {
    is_found = true;
  }
  template <class T>
    requires(!std::is_base_of_v<MemoryAccess, T>)
  void operator()(const T&) const {}
};

struct ClearArrays {
  void operator()(Array& array) const { array = Array(); }
  template <class T>
    requires(!std::is_base_of_v<MemoryAccess, T>)
  void operator()(const T&) const {}
};

struct FillArrays {
  GraphedCall& call;

  void operator()(Array& array) const { array = call.next_array(); }
  template <class T>
    requires(!std::is_base_of_v<MemoryAccess, T>)
  void operator()(const T&) const {}
};

/// Objects that a function uses besides its arguments, by reference.
struct GraphedState {
  void* object;
  void (*take)(void* object, const TakeLeaves& take);
};
void add_state(GraphedCore& core, GraphedState state);

}  // namespace detail
}  // namespace refrain
