#pragma once

#include "graph/program.hpp"
#include "graphed/recorded.hpp"

#include <span>
#include <string>

namespace refrain::detail {

/// The first command in which a new recording of a function differs from the one that its calls replay; empty when
/// none does. `names`: what stands for the blocks of the arguments in the new one. Structs among the arguments of
/// kernels, functions, and what other code put on a stream are not compared.
std::string difference(const Recorded& known, const graph::Program& fresh, std::span<const runtime::BufferRef> names);

}  // namespace refrain::detail
