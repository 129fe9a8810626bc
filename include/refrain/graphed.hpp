#pragma once

#include <refrain/graphed_call.hpp>
#include <refrain/source_location.hpp>

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace refrain {

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
        call.take_word(reinterpret_cast<std::uintptr_t>(tag<Result, Args...>()));
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

  /// Tells the types of arguments apart. Of a function of one form it does not matter how they are given.
  template <class Result, class... Args>
  static const void* tag() {
    if constexpr (std::is_pointer_v<Fn> || requires { &Fn::operator(); }) {
      return &detail::type_tag<Result, std::decay_t<Args>...>;
    } else {
      return &detail::type_tag<Result, Args&&...>;
    }
  }

  template <class Arg>
  static void look_at(detail::GraphedCall& call, std::decay_t<Arg>& own) {
    if constexpr (is_assignable<Arg>) {
      detail::each_leaf(own, detail::TakeLeaves{call, true});
    } else {
      detail::each_leaf(own, detail::ShowArrays<&detail::GraphedCall::other_array>{call});
    }
  }

  template <class Arg, class Given>
  static void assign_back(Given& given, std::decay_t<Arg>& own) {
    if constexpr (is_assignable<Arg> && std::is_assignable_v<Given&, std::decay_t<Arg>&>) {
      bool has_stand_ins = false;
      detail::each_leaf(own, detail::FindStandIns{has_stand_ins});
      if (!has_stand_ins) given = own;
    }
  }

  /// Calls the function with what stands in for the arguments.
  template <class Result, class Then, class... Args>
  Result run_recorded(detail::GraphedCall& call, Then then, Args&&... args) const {
    std::tuple<std::decay_t<Args>...> own(std::as_const(args)...);
    call.begin();
    return std::apply(
        [&](auto&... each) -> Result {
          (detail::each_leaf(each, detail::StandIn{call}), ...);
          const auto look = [&] {
            call.begin_look();
            (look_at<Args>(call, each), ...);
            call.end_look();
          };
          const auto end = [&] {
            then();
            if (call.has_run_eagerly()) (assign_back<Args>(args, each), ...);
          };
          look();
          if constexpr (std::is_void_v<Result>) {
            std::invoke(*fn_, passed<Args>(each)...);
            look();
            end();
          } else {
            Result result = std::invoke(*fn_, passed<Args>(each)...);
            look();
            detail::each_leaf(result, detail::ShowResult{{call}});
            end();
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
    } else if constexpr (std::is_same_v<Result, Array>) {
      Result result = call.next_array();
      call.assign();
      return result;
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
