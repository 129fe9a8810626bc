#pragma once

#include <refrain/graph.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace refrain {

namespace graph {
class Recording;
}

struct CaptureOptions {
  bool strict = false;    ///< warnings of the capture become errors
  bool live = false;      ///< capture on really capturing streams (host device: like Optimize::none)
  bool join_all = false;  ///< stream-scoped: join forked streams at the end instead of refusing
  /// Live: what other code puts on CUDA's legacy stream, a synchronous copy among it, fails and invalidates the
  /// capture, where else it would run at once and not be captured. For debugging; no effect on a host device.
  bool guard_legacy_stream = false;
};

/// An open capture as a scope. Left by an exception, or destroyed before `end`, it is discarded and its streams are
/// usable at once.
class Capture {
 public:
  /// Thread-scoped: records what this thread issues, on whatever stream; streams join at their first use.
  /// @throws Error(Errc::illegal_state) when this thread already captures so; invalid_value when
  ///         `guard_legacy_stream` is set without `live`
  explicit Capture(CaptureOptions options = {}, SourceLocation where = SourceLocation::current());
  /// Stream-scoped, by CUDA's rules: one origin, other streams join by waiting for an event of the capture, whichever
  /// thread issues.
  /// @throws Error(Errc::illegal_state) when the stream is capturing; capture_unsupported on the default stream
  explicit Capture(const Stream& origin, CaptureOptions options = {}, SourceLocation where = SourceLocation::current());
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Ends the capture. From any thread for a stream-scoped one.
  /// @throws Error(Errc::capture_unjoined) naming streams and command, the capture being gone; illegal_state when it
  ///         was ended or discarded before
  Graph end(SourceLocation where = SourceLocation::current());
  /// The same, naming the stream that it should be ended on.
  /// @throws Error(Errc::capture_unmatched) when that is a member but not the origin, intact
  Graph end(const Stream& stream, SourceLocation where = SourceLocation::current());

  bool is_open() const noexcept;

 private:
  std::shared_ptr<graph::Recording> recording_;
};

/// Records what this thread issues in `fn` and returns the graph, with fn's result if it has one:
/// `auto [graph, sum] = capture(program)`. Nothing of it runs. When fn throws, the capture is discarded and the
/// exception is fn's own.
template <class Fn>
auto capture(Fn&& fn, CaptureOptions options = {}, SourceLocation where = SourceLocation::current()) {
  Capture scope(options, where);
  if constexpr (std::is_void_v<std::invoke_result_t<Fn&>>) {
    fn();
    return scope.end(where);
  } else {
    auto result = fn();
    return std::pair<Graph, decltype(result)>(scope.end(where), std::move(result));
  }
}

/// The same by CUDA's rules, with `origin` as the stream that `fn`'s work forks from; it is current in fn.
template <class Fn>
auto capture(const Stream& origin, Fn&& fn, CaptureOptions options = {},
             SourceLocation where = SourceLocation::current()) {
  Capture scope(origin, options, where);
  StreamGuard current(origin);
  if constexpr (std::is_void_v<std::invoke_result_t<Fn&>>) {
    fn();
    return scope.end(where);
  } else {
    auto result = fn();
    return std::pair<Graph, decltype(result)>(scope.end(where), std::move(result));
  }
}

/// True while work that this thread issues on its current stream is recorded. Never throws.
bool is_capturing() noexcept;

}  // namespace refrain
