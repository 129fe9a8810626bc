#pragma once

#include <refrain/refrain.hpp>

#include <initializer_list>
#include <ostream>
#include <utility>

namespace refrain::test {

/// A way of recording a program: by thread or by stream, held back or live.
struct Scope {
  bool by_stream = false;
  bool live = false;
};

inline constexpr std::initializer_list<Scope> scopes = {{false, false}, {false, true}, {true, false}, {true, true}};

inline std::ostream& operator<<(std::ostream& out, Scope scope) {
  return out << (scope.by_stream ? "stream-scoped" : "thread-scoped") << (scope.live ? ", live" : "");
}

/// What `capture` gives; `origin` is current in `fn`, in either scope.
template <class Fn>
auto record(Scope scope, const Stream& origin, Fn&& fn, CaptureOptions options = {},
            SourceLocation where = SourceLocation::current()) {
  options.live = scope.live;
  if (scope.by_stream) return capture(origin, std::forward<Fn>(fn), options, where);
  const StreamGuard on(origin);
  return capture(std::forward<Fn>(fn), options, where);
}

}  // namespace refrain::test
