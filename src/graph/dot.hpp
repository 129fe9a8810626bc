#pragma once

#include <string>

namespace refrain::runtime {
struct Plan;
}  // namespace refrain::runtime

namespace refrain::graph {

struct Program;

/// The program as Graphviz text: streams as clusters, dependencies as edges.
std::string to_dot(const Program& program);
/// The same of what an executable runs.
std::string to_dot(const runtime::Plan& plan, const std::string& name);

}  // namespace refrain::graph
