#pragma once

#include <refrain/array.hpp>
#include <refrain/device.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <optional>

// DLPack's structs: programs that look inside include <dlpack/dlpack.h> of any version 1.x, before this or after it.
struct DLManagedTensor;
struct DLManagedTensorVersioned;

namespace refrain {

/// How an array is handed to other code.
struct ToDlpackOptions {
  /// The stream that other code will use the memory on, of the array's CUDA device: it is made to wait for work on the
  /// array, and later work on the array, and its memory's next use, wait for what other code has put there by then.
  /// While other code captures that stream, its graph keeps the array. Unset: the host waits.
  std::optional<Stream> stream = std::nullopt;
  bool wait = true;        ///< false: nobody waits for anything; `stream` is not looked at
  bool read_only = false;  ///< tells other code not to write; writes are not waited for then
};

/// The array's elements, not a copy, for code that understands DLPack: PyTorch, CuPy, NumPy, JAX. Strides are the
/// array's; the device is kDLCPU or kDLCUDA. The memory is kept where it is until the struct's deleter is
/// called, which may happen in any thread, once. After the hand-over other code's work is ordered by streams, as that
/// of `from_blob`.
/// @throws Error(Errc::illegal_state) when the array has no memory or no values yet; capture_unsupported where the host
///         would wait while recording, or `stream` is recorded, for other code's work would not be (live captures may
///         hand over); wrong_device when `stream` is not of the array's CUDA device
DLManagedTensorVersioned* to_dlpack(const Array& array, ToDlpackOptions options = {},
                                    SourceLocation where = SourceLocation::current());
/// In the form before DLPack 1.0, which cannot say that memory is read-only.
/// @throws as to_dlpack; Error(Errc::not_permitted) when the memory may not be written
DLManagedTensor* to_dlpack_unversioned(const Array& array, ToDlpackOptions options = {},
                                       SourceLocation where = SourceLocation::current());

/// How a tensor of other code's is taken.
struct FromDlpackOptions {
  /// Of memory that several devices reach; unset: the tensor's own. Host memory is of the current device if that is a
  /// host device, else of host:0, and managed memory of its CUDA device.
  std::optional<Device> device = std::nullopt;
  /// The stream that other code has put its work on the memory on, or has made wait for it, as it was asked.
  std::optional<Stream> stream = std::nullopt;
};

/// An array of the tensor's elements, not a copy. It owns the struct from now on: the deleter is called once, when no
/// array and no graph names the memory and Refrain's work on it is done, in any thread. On an error the struct is the
/// caller's as before. Ordered as memory of `from_blob`. A tensor that `to_dlpack` made, and not `read_only`, gives the
/// array itself. Tensors that are read-only give arrays that refuse to be written, with Errc::not_permitted.
/// @throws Error(Errc::not_supported) for a dtype, device or version that Refrain has not; invalid_value for a tensor
///         that is null or names no memory it could have; otherwise as from_blob
Array from_dlpack(DLManagedTensorVersioned* tensor, FromDlpackOptions options = {},
                  SourceLocation where = SourceLocation::current());
Array from_dlpack(DLManagedTensor* tensor, FromDlpackOptions options = {},
                  SourceLocation where = SourceLocation::current());

}  // namespace refrain
