#pragma once

#include "support.hpp"
#include "support_reference.hpp"

#include <string>
#include <vector>

namespace refrain::test {

inline constexpr Passes no_passes{.dead_work = false, .order = false, .fusion = false, .memory = false};

/// One pass alone.
inline Passes only(bool Passes::*pass) {
  Passes passes = no_passes;
  passes.*pass = true;
  return passes;
}

/// How many commands an executable has with these passes; its results are those of the eager program, three times over.
template <class Fn>
int nodes_with(Fn&& fn, Passes passes = {}) {
  manual_seed(11);
  std::vector<Array> eager;
  for (int i = 0; i < 3; ++i) eager.push_back(snapshot(fn()));
  manual_seed(11);
  auto [graph, output] = capture(fn);
  const GraphExec exec = graph.instantiate({.passes = passes});
  for (const Array& expected : eager) {
    exec.replay();
    BOOST_TEST(same_bits(output, expected));
  }
  return exec.node_count();
}

inline bool says(const GraphExec& exec, const std::string& text) {
  return exec.explain().find(text) != std::string::npos;
}

}  // namespace refrain::test
