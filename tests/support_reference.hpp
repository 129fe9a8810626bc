#pragma once

#include <refrain/refrain.hpp>

#include <initializer_list>
#include <iosfwd>
#include <vector>

// Ways to run one program, and comparisons that know no tolerance.

namespace refrain::test {

/// How a program is run: as it is, or recorded, instantiated and replayed.
enum class Mode { eager, graph, graph_none, live };

inline constexpr std::initializer_list<Mode> all_modes = {Mode::eager, Mode::graph, Mode::graph_none, Mode::live};
inline constexpr std::initializer_list<Mode> graph_modes = {Mode::graph, Mode::graph_none, Mode::live};

std::ostream& operator<<(std::ostream& out, Mode mode);

/// How a program is captured and instantiated in this mode.
CaptureOptions capture_options(Mode mode);
InstantiateOptions instantiate_options(Mode mode);

/// What `fn` returns after one run in this mode. A graph's outputs are whole when the graph is gone.
template <class Fn>
auto run_as(Mode mode, Fn&& fn) {
  if (mode == Mode::eager) return fn();
  auto captured = capture(fn, capture_options(mode));
  captured.first.instantiate(instantiate_options(mode)).replay();
  return std::move(captured.second);
}

/// The elements as doubles, read in the array's own dtype and converted here.
std::vector<double> numbers(const Array& array);

/// Equal dtype, shape and elements, bit for bit; all NaNs are equal.
bool same_bits(const Array& a, const Array& b);

/// An array that shares nothing with `array` and holds what it holds now.
Array snapshot(const Array& array);

}  // namespace refrain::test
