#pragma once

#include "kernels/split.hpp"
#include "runtime/command.hpp"

#include <cstdint>

namespace refrain::host {

/// Into how many parts a command's work is worth cutting for the threads there are: 1 where it is done before others
/// could help.
kernels::Split split_of(const runtime::ElementwiseCommand& command);
kernels::Split split_of(const runtime::ReduceCommand& command);
kernels::Split split_of(const runtime::MoveCommand& command);
kernels::Split split_of(const runtime::RandomCommand& command);
kernels::Split split_of(const runtime::FusedCommand& command);
/// What it takes on one thread, in nanoseconds.
double estimated_ns(const runtime::FusedCommand& command);
/// Of a copy of bytes.
kernels::Split split_of_copy(std::int64_t bytes);

}  // namespace refrain::host
