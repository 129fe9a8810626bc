#pragma once

#include <refrain/fields.hpp>
#include <refrain/graph.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

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
  std::int64_t hits = 0;            ///< replays of what was recorded before
  std::int64_t recordings = 0;      ///< calls that met a new signature
  std::int64_t eager = 0;           ///< calls that ran the function, for its signature cannot be replayed
  std::int64_t rebinds = 0;         ///< hits that gave an executable other buffers
  std::int64_t instantiations = 0;  ///< executables made, of which ...
  std::int64_t instantiations_for_arguments = 0;  ///< ... so many for other arguments of a known signature
  std::int64_t instantiations_for_results = 0;    ///< ... and so many as the results of the others were still held
  std::int64_t evictions = 0;
  std::int64_t checks = 0;  ///< hits for which the function was recorded again (REFRAIN_CHECK)
  int signatures = 0;       ///< there now
  std::int64_t bytes = 0;   ///< kept now: temporaries, and blocks for the results of later calls
};

namespace detail {

class GraphedCore;
class Signature;

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
  /// The arrays of the arguments and of the result after the function has returned.
  void own_array(Array& array);
  void result_array(Array& array);
  /// Replays what was recorded for the first time; arrays of the result become those of the call.
  void finish();
  /// Whether the function has changed what the arguments are made of, for which they are to be copied back as a whole.
  bool has_changed_arguments() const noexcept { return has_changed_arguments_; }
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
  bool has_changed_arguments_ = false;
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
      call.take_text(std::to_string(value));
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
  void operator()(const T&) const {}
};

struct ClearArrays {
  void operator()(Array& array) const { array = Array(); }
  template <class T>
  void operator()(const T&) const {}
};

struct FillArrays {
  GraphedCall& call;

  void operator()(Array& array) const { array = call.next_array(); }
  template <class T>
  void operator()(const T&) const {}
};

/// Objects that a function uses besides its arguments, by reference.
struct GraphedState {
  void* object;
  void (*take)(void* object, const TakeLeaves& take);
};
void add_state(GraphedCore& core, GraphedState state);

}  // namespace detail

/// A function that is recorded at its first call with arguments of a signature, and replayed at later ones. A handle:
/// copies share what was recorded. Made by `graphed`; may be called from any thread, one call after another.
template <class Fn>
class Graphed {
 public:
  explicit Graphed(Fn fn, const GraphedOptions& options = {}, SourceLocation where = SourceLocation::current())
      : fn_(std::make_shared<Fn>(std::move(fn))), core_(detail::make_graphed(options, where)) {}

  /// Arrays, and structs and containers of them, that the function uses besides its arguments and may make others:
  /// `graphed(fn).state(weights, momentum)`. By reference: they must be there at each call. To be called before any.
  template <class... T>
  Graphed& state(T&... objects) & {
    (detail::add_state(
         *core_, {&objects, [](void* object,
                               const detail::TakeLeaves& take) { detail::each_leaf(*static_cast<T*>(object), take); }}),
     ...);
    return *this;
  }
  template <class... T>
  Graphed state(T&... objects) && {
    return state(objects...);
  }

  /// The same as calling the function with them, on the current stream as one command; results are values. Inside a
  /// capture, the function's commands become part of that.
  /// @throws what the function throws while it is recorded, nothing of it having run; as Graph::instantiate and
  ///         GraphExec::replay; Error(Errc::illegal_state) in strict mode when an array escapes, capture_unsupported
  ///         when a value is needed
  template <class... Args>
  std::decay_t<std::invoke_result_t<Fn&, Args...>> operator()(Args&&... args) const {
    using Result = std::decay_t<std::invoke_result_t<Fn&, Args...>>;
    static_assert(std::is_void_v<Result> || std::is_copy_constructible_v<Result>,
                  "the result of a graphed function is kept without its arrays and copied for each call");
    {
      detail::GraphedCall call(*core_);
      if (call.is_outermost()) {
        call.take_word(reinterpret_cast<std::uintptr_t>(&detail::type_tag<Result, std::decay_t<Args>...>));
        (detail::each_leaf(std::as_const(args), detail::TakeLeaves{call, is_assignable<Args>}), ...);
        call.take_state();
        switch (call.find()) {
          case detail::GraphedCall::Way::run: break;
          case detail::GraphedCall::Way::record: return record<Result>(call, std::forward<Args>(args)...);
          case detail::GraphedCall::Way::replay: return replay<Result>(call, std::forward<Args>(args)...);
        }
      }
    }
    return std::invoke(*fn_, std::forward<Args>(args)...);
  }

  GraphedStatistics statistics() const { return detail::statistics_of(*core_); }
  /// What was recorded and why not, a signature a paragraph.
  std::string explain() const { return detail::explain(*core_); }
  /// Forgets all signatures. Replays under way end as they began.
  void clear() const { detail::clear(*core_); }

 private:
  /// Whether the function may make the caller's arrays others: it is given them by reference.
  template <class Arg>
  static constexpr bool is_assignable =
      std::is_lvalue_reference_v<Arg> && !std::is_const_v<std::remove_reference_t<Arg>>;

  /// The function's own copy of an argument, as the argument was given.
  template <class Arg>
  static decltype(auto) passed(std::decay_t<Arg>& own) {
    if constexpr (std::is_array_v<std::remove_reference_t<Arg>>) {
      return (own);  // text, which has become a pointer
    } else {
      return static_cast<Arg&&>(own);
    }
  }

  template <class Arg, class Given>
  static void assign_back(Given& given, std::decay_t<Arg>& own) {
    if constexpr (is_assignable<Arg> && std::is_assignable_v<Given&, std::decay_t<Arg>&>) given = own;
  }

  /// Calls the function with what stands in for the arguments.
  template <class Result, class Then, class... Args>
  Result run_recorded(detail::GraphedCall& call, Then then, Args&&... args) const {
    std::tuple<std::decay_t<Args>...> own(std::as_const(args)...);
    call.begin();
    std::apply([&](auto&... each) { (detail::each_leaf(each, detail::StandIn{call}), ...); }, own);
    const auto show = [&] {
      std::apply(
          [&](auto&... each) {
            (detail::each_leaf(each, detail::ShowArrays<&detail::GraphedCall::own_array>{call}), ...);
          },
          own);
    };
    const auto end = [&](auto&... each) {
      then();
      if (call.has_changed_arguments()) (assign_back<Args>(args, each), ...);
    };
    return std::apply(
        [&](auto&... each) -> Result {
          if constexpr (std::is_void_v<Result>) {
            std::invoke(*fn_, passed<Args>(each)...);
            show();
            end(each...);
          } else {
            Result result = std::invoke(*fn_, passed<Args>(each)...);
            show();
            detail::each_leaf(result, detail::ShowArrays<&detail::GraphedCall::result_array>{call});
            end(each...);
            return result;
          }
        },
        own);
  }

  template <class Result, class... Args>
  Result record(detail::GraphedCall& call, Args&&... args) const {
    if constexpr (std::is_void_v<Result>) {
      run_recorded<Result>(
          call, [&] { call.finish(); }, std::forward<Args>(args)...);
      if (call.is_kept()) call.keep(nullptr);
      call.tell();
    } else {
      Result result = run_recorded<Result>(
          call, [&] { call.finish(); }, std::forward<Args>(args)...);
      if (call.is_kept()) {
        Result without_arrays = result;
        detail::each_leaf(without_arrays, detail::ClearArrays{});
        call.keep(std::make_shared<const detail::StoredResultOf<Result>>(std::move(without_arrays)));
      }
      call.tell();
      return result;
    }
  }

  template <class Result, class... Args>
  Result replay(detail::GraphedCall& call, Args&&... args) const {
    if (call.is_checked())
      run_recorded<Result>(
          call, [&] { call.check(); }, std::forward<Args>(args)...);
    call.replay();
    if constexpr (std::is_void_v<Result>) {
      call.assign();
    } else {
      Result result = static_cast<const detail::StoredResultOf<Result>*>(call.result())->result;
      detail::each_leaf(result, detail::FillArrays{call});
      call.assign();
      return result;
    }
  }

  std::shared_ptr<Fn> fn_;
  std::shared_ptr<detail::GraphedCore> core_;
};

/// A callable that records `fn` once per signature of its arguments and replays it from then on, with the same results
/// as calling it, bit for bit: `auto step = graphed(fn); y = step(x);`.
///
/// The signature is the structure of the arguments and of registered state; shape, dtype, strides, device and alignment
/// of each array, and which of them share memory; and all plain values, texts and handles. Buffers are not part of it:
/// they are given to the executable at each call, as are the values of `Param`s and of addresses (`read(pointer,
/// bytes)`). What fn does besides issuing work, it does when it is recorded.
template <class Fn>
Graphed<std::decay_t<Fn>> graphed(Fn&& fn, const GraphedOptions& options = {},
                                  SourceLocation where = SourceLocation::current()) {
  return Graphed<std::decay_t<Fn>>(std::forward<Fn>(fn), options, where);
}

}  // namespace refrain
