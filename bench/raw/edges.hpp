#pragma once

#include <cuda_runtime_api.h>

#include <vector>

namespace refrain::bench {

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph);

/// Edges that do not follow from others. A capture keeps those that do: a stream that forked and joins
/// depends on its own last node and on the branches'.
int reduced_edge_count(cudaGraph_t graph);

}  // namespace refrain::bench
