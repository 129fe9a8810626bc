#pragma once

#include "kernels/config.hpp"

// Many numbers divided by one. NVRTC takes this file.

namespace refrain::kernels {

/// By a float32 number of [1, 2^16]: the steps of a division, of which those that need the divisor alone are done once.
class CommonDivisor {
 public:
  __device__ explicit CommonDivisor(float divisor) : divisor_(divisor) {
    const float near = __frcp_rn(divisor);
    reciprocal_ = __fmaf_rn(near, __fmaf_rn(-divisor, near, 1.0F), near);
  }

  /// Whether `quotient` is x / divisor: where what is left of x at a step is not below the least number.
  static __device__ bool takes(float x) { return x == 0 || (x >= 0x1p-80F && x <= 0x1p+60F); }

  __device__ float quotient(float x) const {
    float q = x * reciprocal_;
    q = __fmaf_rn(reciprocal_, __fmaf_rn(-divisor_, q, x), q);
    return __fmaf_rn(reciprocal_, __fmaf_rn(-divisor_, q, x), q);
  }

 private:
  float divisor_, reciprocal_;
};

}  // namespace refrain::kernels
