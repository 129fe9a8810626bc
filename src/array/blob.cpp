#include "array/blob.hpp"

#include "array/make.hpp"
#include "runtime/buffer.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/array.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <string>

namespace refrain {

namespace {

using runtime::Buffer;

std::string str(const std::vector<std::int64_t>& strides) {
  std::string text = "{";
  for (const std::int64_t stride : strides) text += (text.size() > 1 ? ", " : "") + std::to_string(stride);
  return text + "}";
}

/// As the array has them.
Strides strides_of(const char* call, const Shape& shape, const std::vector<std::int64_t>& given, SourceLocation where) {
  if (given.empty()) return row_major(shape);
  if (std::ssize(given) != shape.ndim()) {
    throw Error(Errc::invalid_value, call, "strides " + str(given),
                "are " + std::to_string(given.size()) + " and shape " + shape.str() + " has " +
                    std::to_string(shape.ndim()) + " axes; give one an axis, in elements, or none for row-major ones",
                where);
  }
  if (shape.size() == 0) return row_major(shape);  // leads nowhere, whatever is given
  Strides strides{};
  std::copy(given.begin(), given.end(), strides.begin());
  double reach = 0;
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    reach += static_cast<double>(shape[axis]) * std::abs(static_cast<double>(given[static_cast<std::size_t>(axis)]));
  }
  if (reach > 0x1p48) {  // addresses are 48 bits wide
    throw Error(Errc::invalid_value, call, "strides " + str(given),
                "reach beyond any memory with shape " + shape.str() + "; give them in elements", where);
  }
  return strides;
}

void require_memory(const char* call, const void* address, const Shape& shape, DType dtype, Device device,
                    SourceLocation where) {
  if (shape.size() == 0) return;
  if (address == nullptr) {
    throw Error(Errc::invalid_value, call, "a null pointer",
                "is no memory for " + std::to_string(shape.size()) + " elements; give the address of the first", where);
  }
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size_of(dtype)) != 0) {
    throw Error(Errc::invalid_value, call, "the address",
                "is not aligned to the " + std::to_string(size_of(dtype)) + " bytes of " +
                    std::string(to_string(dtype)) + "; align the memory, or copy it with from_host",
                where);
  }
  const runtime::Backend& cuda = runtime::backend(DeviceKind::cuda);
  const bool is_of_gpu = device.kind == DeviceKind::host && cuda.device_count() > 0 && cuda.is_device_memory(address);
  const std::string why =
      is_of_gpu ? "is memory of a CUDA device" : runtime::backend(device.kind).why_unreachable(device.index, address);
  if (why.empty()) return;
  throw Error(Errc::invalid_value, call, "the address",
              why + " and cannot be reached by work on " + device.str() + "; name its own device, or copy it", where);
}

/// The memory's first use waits for what is on the stream.
void come_after_stream(const char* call, Buffer& buffer, runtime::StreamCore& stream, SourceLocation where) {
  runtime::notice_capture(stream, call, where);
  const runtime::OrderLock lock(runtime::order_mutex());
  if (stream.recorder != nullptr) return;  // in a capture the stream's own order is all there is
  // Other code's work has no position of its own, and a wait covers all that is there when it is issued.
  if (stream.is_exposed) ++stream.position;
  const std::int64_t begin = buffer.history_origin();
  buffer.history().reserve(1);
  buffer.history().add() = {.point = {stream.slot, stream.position},
                            .begin = begin,
                            .end = begin + buffer.size_bytes(),
                            .mode = runtime::AccessMode::write,
                            .label = runtime::allocate_label,
                            .where = where};
}

}  // namespace

Array name_memory(const char* call, void* address, const Shape& shape, DType dtype, BlobOptions options,
                  SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  const Device device = options.device.value_or(options.stream ? options.stream->device(where) : current_device());
  runtime::require_device(device, call, where);
  const Strides strides = strides_of(call, shape, options.strides, where);
  require_memory(call, address, shape, dtype, device, where);
  if (options.stream && options.stream->device(where).kind != device.kind) {
    throw Error(Errc::wrong_device, call, "memory of " + device.str(),
                "cannot be ordered after work on " + options.stream->device().str() + "; synchronize with that first",
                where);
  }
  const Extent extent = extent_of(shape, strides);
  void* const lowest = static_cast<std::byte*>(address) - extent.before * size_of(dtype);
  const std::int64_t elements = extent.before + extent.behind;
  Buffer* const buffer = Buffer::foreign(device, lowest, elements * size_of(dtype), where);
  buffer->shape = is_row_major(shape, strides) ? shape : Shape{elements};
  buffer->dtype = dtype;
  buffer->given_at = extent.before * size_of(dtype);
  const Array all = ArrayAccess::make(buffer, buffer->shape, dtype);
  Array array = ArrayAccess::view(all, shape, strides, extent.before);
  if (options.deleter) {
    buffer->set_deleter([deleter = std::move(options.deleter), address](void*) { deleter(address); });
  }
  if (options.stream && buffer->size_bytes() > 0) come_after_stream(call, *buffer, options.stream->core(where), where);
  return array;
}

Array from_blob(void* address, Shape shape, DType dtype, BlobOptions options, SourceLocation where) {
  return name_memory("from_blob", address, shape, dtype, std::move(options), where);
}

}  // namespace refrain
