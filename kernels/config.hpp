#pragma once

// Shared by host, nvcc and NVRTC: nothing here may need a standard header.

#if defined(__CUDACC__)
#define REFRAIN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define REFRAIN_HOST_DEVICE inline
#endif

namespace refrain::kernels {

using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

static_assert(sizeof(i32) == 4 && sizeof(i64) == 8);

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

}  // namespace refrain::kernels
