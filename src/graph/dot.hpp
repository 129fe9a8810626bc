#pragma once

#include <string>

namespace refrain::graph {

struct Program;

/// The program as Graphviz text: streams as clusters, dependencies as edges.
std::string to_dot(const Program& program);

}  // namespace refrain::graph
