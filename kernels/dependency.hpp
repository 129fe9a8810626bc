#pragma once

// The device's side of a programmatic edge. Self-contained, so that NVRTC can take it.

namespace refrain::kernels {

#if defined(__CUDACC__)
/// First in every kernel that may stand at either end of a programmatic edge, in every thread and before anything that
/// could return: blocks of it may be on the device while the kernel before it still runs. Waits until that one has
/// ended and its writes are there to be seen, and only then lets the next one's blocks be launched.
///
/// That order makes memory safe to use again at any distance. A block gets past its wait only when the whole kernel
/// before has ended; the next kernel's blocks are launched only when all of this kernel's blocks have got so far. So
/// when a kernel has passed its wait, the one before it has ended, and so has, before any of that one's blocks went
/// on, the one before that: two kernels of a line never touch memory at the same time, whether they are neighbours or
/// not. (The other way round, first to launch and then to wait, a block could even wait while two others run, and is
/// slower too: 84 us against 71 for 100 `add`s of 1 000 float32 on an H200; without programmatic edges 121.)
///
/// Does nothing in a kernel that has no such edge.
__device__ __forceinline__ void wait_for_dependency() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

/// What a device must be able to do for it, as 10 x major + minor of its compute capability.
inline constexpr int dependency_capability = 90;

}  // namespace refrain::kernels
