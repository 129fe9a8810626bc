#pragma once

#include <memory>

namespace refrain::cuda {

/// Lets go of foreign work in a thread of its own. CUDA tells that a graph held the last reference in a thread that may
/// not call it, and other code may wait for that work to go (NCCL's communicators do), so it cannot wait for the
/// program's next call. No destructor of the user's is in it.
void let_go_soon(std::shared_ptr<const void> work);

}  // namespace refrain::cuda
