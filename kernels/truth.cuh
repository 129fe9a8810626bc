#pragma once

#include "kernels/config.hpp"

// Truths as integers. NVRTC takes this file.

namespace refrain::kernels {

/// 0 or 1, of which the compiler does not know that it is no other number. Where it does, ops of truths become ops of
/// predicates, and ptxas 13.0 gets some of those wrong: with a ^ (!a & b) and a ^ (!a | b) in one kernel, its PLOP3 of
/// two results forgets that an operand is negated.
__device__ __forceinline__ u32 truth(u8 x) {
  u32 number = x < 1 ? x : 1;
  asm("" : "+r"(number));
  return number;
}

}  // namespace refrain::kernels
