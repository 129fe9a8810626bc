#pragma once

#include <cuda_runtime_api.h>

namespace refrain::bench {

int node_count(cudaGraph_t graph);

/// Edges that do not follow from others. A capture keeps those that do: a stream that forked and joins
/// depends on its own last node and on the branches'.
int reduced_edge_count(cudaGraph_t graph);

}  // namespace refrain::bench
