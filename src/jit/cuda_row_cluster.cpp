#include "jit/cuda_row_cluster.hpp"

#include <algorithm>
#include <string>

namespace refrain::jit {

namespace {

/// Reductions that a cluster's blocks exchange results of at once: 8 KiB of shared memory each.
constexpr std::size_t exchanged_at_once = 4;

}  // namespace

void ClusterWriter::begin(std::size_t most) {
  most = std::clamp<std::size_t>(most, 1, exchanged_at_once);
  // What is handed over in one exchange and the next lies apart where there is room, so that no thread writes what a
  // slower one still reads; else a barrier keeps them apart.
  handed_turns_ = 2 * most <= exchanged_at_once ? 2 : 1;
  text_ << "  using Row = Cluster<" << shape_.blocks << ", " << shape_.cut << ", " << shape_.threads << ", "
        << shape_.width << ">;\n  __shared__ u64 handed[" << handed_turns_ << "][" << most
        << "][Row::handed];\n  __shared__ u64 slots[2][" << most
        << "][Row::slots];\n  __shared__ u64 counts[2];\n  begin_cluster(counts);\n";
}

void ClusterWriter::exchange(std::span<const std::size_t> reduced) {
  for (std::size_t i = 0; i < reduced.size(); i += exchanged_at_once) {
    exchange_at_once(reduced.subspan(i, std::min(reduced.size() - i, exchanged_at_once)));
  }
}

void ClusterWriter::exchange_at_once(std::span<const std::size_t> reduced) {
  const std::string turn = "[" + std::to_string(exchanges_ % 2) + "]";
  const std::string handed = "handed[" + std::to_string(exchanges_ % handed_turns_) + "]";
  if (handed_turns_ == 1 && exchanges_ > 0) text_ << "  __syncthreads();\n";
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    text_ << "  hand_over<Row>(l" << reduced[k] << ", " << handed << "[" << k << "]);\n";
  }
  text_ << (exchanges_ == 0 ? "  wait_for_cluster();\n" : "") << "  __syncthreads();\n";
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    text_ << "  if (threadIdx.x / 32 == " << k << ") send_to_cluster<Row>(f" << reduced[k] << ", " << handed << "[" << k
          << "], slots" << turn << "[" << k << "], counts" << turn << ");\n";
  }
  text_ << "  if (threadIdx.x == Row::threads - 1) expect_bytes(counts" << turn << ", " << reduced.size()
        << " * sizeof(slots[0][0]));\n  wait_for_bytes(counts" << turn << ", " << exchanges_ / 2 % 2 << ");\n";
  for (std::size_t k = 0; k < reduced.size(); ++k) {
    text_ << "  const F" << reduced[k] << "::Acc r" << reduced[k] << " = combine_cluster<Row>(f" << reduced[k]
          << ", slots" << turn << "[" << k << "]);\n";
  }
  ++exchanges_;
}

}  // namespace refrain::jit
