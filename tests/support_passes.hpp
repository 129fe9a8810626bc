#pragma once

#include "support.hpp"
#include "support_reference.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace refrain::test {

inline constexpr Passes no_passes{.dead_work = false,
                                  .order = false,
                                  .fusion = false,
                                  .scalars = false,
                                  .horizontal = false,
                                  .lanes = false,
                                  .memory = false,
                                  .in_place = false,
                                  .programmatic = false};

/// Some passes alone.
template <class... Pass>
Passes only(Pass... passes) {
  Passes chosen = no_passes;
  ((chosen.*passes = true), ...);
  return chosen;
}

/// All passes but one.
inline Passes all_but(bool Passes::*pass) {
  Passes passes;
  passes.*pass = false;
  return passes;
}

/// An executable with these passes, whose results are those of the eager program, three times over.
template <class Fn>
GraphExec checked_exec(Fn&& fn, InstantiateOptions options = {}) {
  manual_seed(11);
  std::vector<Array> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(snapshot(fn()));
  manual_seed(11);
  auto [graph, output] = capture(fn);
  GraphExec exec = graph.instantiate(options);
  for (const Array& expected : eager) {
    exec.replay();
    BOOST_TEST(same_bits(output, expected));
  }
  return exec;
}

/// How many commands such an executable has.
template <class Fn>
int nodes_with(Fn&& fn, Passes passes = {}) {
  return checked_exec(fn, {.passes = passes}).node_count();
}

/// What an executable with these passes takes, its output included.
template <class Fn>
std::int64_t bytes_of(Fn&& fn, Passes passes) {
  const auto [graph, output] = capture(fn);
  synchronize();
  const auto before = memory_stats(current_device()).live;
  const GraphExec exec = graph.instantiate({.passes = passes});
  return memory_stats(current_device()).live - before;
}

inline bool says(const GraphExec& exec, const std::string& text) {
  return exec.explain().find(text) != std::string::npos;
}

/// 4 p less its four neighbours, 0 outside.
inline Array poisson(const Array& p) {
  Array product = p * 4;
  for (const int axis : {0, 1}) {
    product.slice({.begin = 1}, axis) -= p.slice({.end = -1}, axis);
    product.slice({.end = -1}, axis) -= p.slice({.begin = 1}, axis);
  }
  return product;
}

}  // namespace refrain::test
