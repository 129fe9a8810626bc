#include <refrain/dlpack.hpp>

#include "array/blob.hpp"
#include "array/dlpack_types.hpp"
#include "array/make.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace refrain {

namespace {

constexpr const char* call = "from_dlpack";

void require_tensor(const void* tensor, SourceLocation where) {
  if (tensor != nullptr) return;
  throw Error(Errc::invalid_value, call, "a null pointer", "is no tensor; give what a capsule holds", where);
}

Device device_of(const DLDevice& device, const std::optional<Device>& wanted, SourceLocation where) {
  const auto host = [] {
    const Device current = current_device();
    return current.kind == DeviceKind::host ? current : Device{DeviceKind::host, 0};
  };
  switch (device.device_type) {
    case kDLCPU:
    case kDLCUDAHost: return wanted.value_or(host());
    case kDLCUDA:
    case kDLCUDAManaged: return wanted.value_or(Device{DeviceKind::cuda, device.device_id});
    default: break;
  }
  throw Error(Errc::not_supported, call, "a tensor on a device of DLPack's type " + std::to_string(device.device_type),
              "is of a kind of device that Refrain has not; copy it to the CPU or a CUDA device first", where);
}

DType dtype_of(const DLDataType& type, SourceLocation where) {
  if (const auto dtype = dtype_of_dlpack(type)) return *dtype;
  throw Error(Errc::not_supported, call,
              "a tensor of DLPack's type code " + std::to_string(type.code) + " with " + std::to_string(type.bits) +
                  " bits and " + std::to_string(type.lanes) + " lanes",
              "has a dtype that no array has; convert it first", where);
}

Shape shape_of(const DLTensor& tensor, SourceLocation where) {
  const std::int64_t* const extents = tensor.shape;
  const bool has_axes = tensor.ndim > 0 && tensor.ndim <= Shape::max_ndim && extents != nullptr;
  if (tensor.ndim != 0 && (!has_axes || std::any_of(extents, extents + tensor.ndim, [](auto n) { return n < 0; }))) {
    throw Error(Errc::invalid_value, call, "a tensor of " + std::to_string(tensor.ndim) + " axes",
                "has a shape that no array has; give extents of 0 or more for 0 to 8 axes", where);
  }
  return Shape(std::span<const std::int64_t>(extents, static_cast<std::size_t>(tensor.ndim)), where);
}

template <class Tensor>
Array take(Tensor* managed, bool is_read_only, const FromDlpackOptions& options, SourceLocation where) {
  const DLTensor& tensor = managed->dl_tensor;
  const Shape shape = shape_of(tensor, where);
  BlobOptions blob{.device = device_of(tensor.device, options.device, where), .stream = options.stream};
  if (tensor.strides != nullptr) blob.strides.assign(tensor.strides, tensor.strides + tensor.ndim);
  auto* const first = tensor.data == nullptr ? nullptr : static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (managed->deleter != nullptr) {
    blob.deleter = [managed](void*) { managed->deleter(managed); };
  }
  Array array = name_memory(call, first, shape, dtype_of(tensor.dtype, where), std::move(blob), where);
  array.buffer()->is_read_only = is_read_only;
  return array;
}

/// The array itself, of which the tensor was made here.
template <class Tensor>
Array give_back(Tensor* managed, const Array& array) {
  Array own = array;
  managed->deleter(managed);
  return own;
}

}  // namespace

Array from_dlpack(DLManagedTensorVersioned* tensor, FromDlpackOptions options, SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  require_tensor(tensor, where);
  if (tensor->version.major != DLPACK_MAJOR_VERSION) {
    throw Error(
        Errc::not_supported, call,
        "a tensor of DLPack " + std::to_string(tensor->version.major) + "." + std::to_string(tensor->version.minor),
        "has a layout that is not known here; ask its maker for version 1 (max_version)", where);
  }
  if (const Array* const own = exported_array(*tensor)) return give_back(tensor, *own);
  return take(tensor, (tensor->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0, options, where);
}

Array from_dlpack(DLManagedTensor* tensor, FromDlpackOptions options, SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  require_tensor(tensor, where);
  if (const Array* const own = exported_array(*tensor)) return give_back(tensor, *own);
  return take(tensor, false, options, where);
}

}  // namespace refrain
