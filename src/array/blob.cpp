#include "array/make.hpp"
#include "runtime/buffer.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/array.hpp>

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

void require_row_major(const Shape& shape, const std::vector<std::int64_t>& strides, SourceLocation where) {
  if (strides.empty()) return;
  std::int64_t wanted = 1;
  bool is_row_major = strides.size() == static_cast<std::size_t>(shape.ndim());
  for (int axis = shape.ndim() - 1; axis >= 0 && is_row_major; --axis) {
    is_row_major = shape[axis] == 1 || strides[static_cast<std::size_t>(axis)] == wanted;
    wanted *= shape[axis];
  }
  if (is_row_major || shape.size() == 0) return;
  throw Error(Errc::invalid_value, "from_blob", "strides " + str(strides),
              "are not row-major ones of shape " + shape.str() +
                  ", and arrays have no others; give the memory as it "
                  "lies and copy it into the wanted form",
              where);
}

void require_memory(const void* address, const Shape& shape, DType dtype, Device device, SourceLocation where) {
  if (shape.size() == 0) return;
  if (address == nullptr) {
    throw Error(Errc::invalid_value, "from_blob", "a null pointer",
                "is no memory for " + std::to_string(shape.size()) + " elements; give the address of the first", where);
  }
  if (reinterpret_cast<std::uintptr_t>(address) % static_cast<std::uintptr_t>(size_of(dtype)) != 0) {
    throw Error(Errc::invalid_value, "from_blob", "the address",
                "is not aligned to the " + std::to_string(size_of(dtype)) + " bytes of " +
                    std::string(to_string(dtype)) + "; align the memory, or copy it with from_host",
                where);
  }
  const runtime::Backend& cuda = runtime::backend(DeviceKind::cuda);
  const bool is_of_gpu = device.kind == DeviceKind::host && cuda.device_count() > 0 && cuda.is_device_memory(address);
  const std::string why =
      is_of_gpu ? "is memory of a CUDA device" : runtime::backend(device.kind).why_unreachable(device.index, address);
  if (why.empty()) return;
  throw Error(Errc::invalid_value, "from_blob", "the address",
              why + " and cannot be reached by work on " + device.str() + "; name its own device, or copy it", where);
}

/// The memory's first use waits for what is on the stream.
void come_after_stream(Buffer& buffer, runtime::StreamCore& stream, SourceLocation where) {
  runtime::notice_capture(stream, "from_blob", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  if (stream.recorder != nullptr) return;  // in a capture the stream's own order is all there is
  // Other code's work has no position of its own, and a wait covers all that is there when it is issued.
  if (stream.is_exposed) ++stream.position;
  const std::int64_t begin = buffer.history_origin();
  buffer.history().reserve(1);
  buffer.history().add({.point = {stream.slot, stream.position},
                        .begin = begin,
                        .end = begin + buffer.size_bytes(),
                        .mode = runtime::AccessMode::write,
                        .label = runtime::allocate_label,
                        .where = where});
}

}  // namespace

Array from_blob(void* address, Shape shape, DType dtype, BlobOptions options, SourceLocation where) {
  runtime::refuse_in_callback("from_blob", where);
  const Device device = options.device.value_or(options.stream ? options.stream->device(where) : current_device());
  runtime::require_device(device, "from_blob", where);
  require_row_major(shape, options.strides, where);
  require_memory(address, shape, dtype, device, where);
  if (options.stream && options.stream->device(where).kind != device.kind) {
    throw Error(Errc::wrong_device, "from_blob", "memory of " + device.str(),
                "cannot be ordered after work on " + options.stream->device().str() + "; synchronize with that first",
                where);
  }
  Buffer* const buffer = Buffer::foreign(device, address, shape.size() * size_of(dtype), where);
  buffer->shape = shape;
  buffer->dtype = dtype;
  Array array = ArrayAccess::make(buffer, shape, dtype);
  if (options.deleter) buffer->set_deleter(std::move(options.deleter));
  if (options.stream && buffer->size_bytes() > 0) come_after_stream(*buffer, options.stream->core(where), where);
  return array;
}

}  // namespace refrain
