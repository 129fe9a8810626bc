#include "kernels/move.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/host.hpp"
#include "kernels/host_loops.hpp"

namespace refrain::kernels {
namespace {

template <class T>
REFRAIN_CLONES void count(const MoveArgs& args, i64 begin, i64 end) {
  T* out = static_cast<T*>(args.out);
  const MoveArgs from = args;  // which nothing that is written can change
  REFRAIN_INDEPENDENT
  for (i64 i = begin; i < end; ++i) out[i] = number_at<T>(from, i);
}

template <class T>
struct HostCount {
  static constexpr auto make() { return count<T>; }
};

template <class Bits, class Index>
void gather(const MoveArgs& args, i64 begin, i64 end) {
  Bits* out = static_cast<Bits*>(args.out);
  const i64 stride = args.strides[args.ndim - 1];
  const bool has_one_index = args.index_strides[args.ndim - 1] == 0;  // a run, or none
  for (i64 i = begin; i < end;) {
    Run run = run_at(args, i);
    run.length = std::min(run.length, end - i);
    i64 place = 0;
    if (!has_one_index) {
      for (i64 k = 0; k < run.length; ++k) out[i + k] = element_of<Bits, Index>(args, run, k);
    } else if (!find_element<Index>(args, run, 0, place)) {
      std::fill_n(out + i, run.length, from_bits<Bits>(args.fill));
    } else {
      const Bits* from = static_cast<const Bits*>(args.in) + place;
      if (stride == 1) {
        std::memcpy(out + i, from, static_cast<std::size_t>(run.length) * sizeof(Bits));
      } else {
        for (i64 k = 0; k < run.length; ++k) out[i + k] = from[k * stride];
      }
    }
    i += run.length;
  }
}

template <class Bits, class Index>
struct HostGather {
  static constexpr auto make() { return gather<Bits, Index>; }
};

}  // namespace

void move_host(const MoveArgs& args, const Split& split) {
  constexpr i64 step = 1024;
  const auto part = args.op == MoveOp::count ? find_count<HostCount>(args.type) : find_gather<HostGather>(args);
  split(args.size, step, [&](i64 begin, i64 end) { part(args, begin, end); });
}

void copy_host(void* to, const void* from, i64 bytes, const Split& split) {
  constexpr i64 step = 4096;
  auto* const out = static_cast<char*>(to);
  const auto* const in = static_cast<const char*>(from);
  if (out < in + bytes && in < out + bytes) {
    std::memmove(out, in, static_cast<std::size_t>(bytes));
    return;
  }
  split(bytes, step,
        [&](i64 begin, i64 end) { std::memcpy(out + begin, in + begin, static_cast<std::size_t>(end - begin)); });
}

}  // namespace refrain::kernels
