#include "array/make.hpp"

#include "array/elementwise.hpp"
#include "kernels/elementwise.hpp"
#include "runtime/array_access.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <refrain/memory.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

namespace refrain {

namespace {

/// As the kernels' type of the same width.
template <class T>
auto kernel_value(T value) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    return static_cast<kernels::i64>(value);
  } else {
    return value;
  }
}

template <class T>
Array literal(std::initializer_list<T> values, DType natural, const ArrayOptions& options, SourceLocation where) {
  const auto count = static_cast<std::int64_t>(values.size());
  const DType dtype = options.dtype.value_or(natural);
  const auto converted = [&]<class To>(To) {
    const auto all = std::make_unique<To[]>(std::max<std::size_t>(values.size(), 1));
    std::transform(values.begin(), values.end(), all.get(), [](T value) {
      return static_cast<To>(kernels::convert<decltype(kernel_value(To{}))>(kernel_value(value)));
    });
    return from_host_bytes({reinterpret_cast<const std::byte*>(all.get()), values.size() * sizeof(To)}, {count}, dtype,
                           options.device, where);
  };
  switch (dtype) {
    case DType::bool_: return converted(bool{});
    case DType::uint8: return converted(std::uint8_t{});
    case DType::float16: return converted(kernels::Half{});
    case DType::bfloat16: return converted(kernels::BFloat{});
    case DType::int32: return converted(std::int32_t{});
    case DType::int64: return converted(std::int64_t{});
    case DType::float32: return converted(float{});
    case DType::float64: break;
  }
  return converted(double{});
}

Device wanted_device(const std::optional<Device>& device, const char* call, SourceLocation where) {
  if (!device) return current_device();
  runtime::require_device(*device, call, where);
  return *device;
}

}  // namespace

namespace {

runtime::Buffer* take_buffer(runtime::StreamCore& stream, std::int64_t bytes, SourceLocation where) {
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::Recorder* recorder = runtime::recorder_of(stream);
  return recorder != nullptr ? recorder->allocate(stream, stream.device, bytes, where)
                             : runtime::Buffer::allocate(stream, bytes, where);
}

}  // namespace

Array make_array(runtime::StreamCore& stream, const Shape& shape, DType dtype, SourceLocation where) {
  runtime::refuse_in_callback("allocate", where);
  runtime::notice_capture(stream, "allocate", where);
  const std::int64_t bytes = shape.size() * size_of(dtype);
  runtime::Buffer* buffer = nullptr;
  try {
    buffer = take_buffer(stream, bytes, where);
  } catch (const Error& error) {
    if (error.code() != Errc::out_of_memory || runtime::recorder_of(stream) != nullptr) throw;
    // Blocks that were dropped may still be in use: once the device is idle they can be had.
    for (const auto& other : runtime::streams_of(stream.device)) runtime::synchronize_with(*other);
    trim(stream.device);
    buffer = take_buffer(stream, bytes, where);
  }
  buffer->shape = shape;
  buffer->dtype = dtype;
  return ArrayAccess::make(buffer, shape, dtype);
}

Array from_host_bytes(std::span<const std::byte> bytes, Shape shape, DType dtype, std::optional<Device> device,
                      SourceLocation where) {
  const std::int64_t needed = shape.size() * size_of(dtype);
  if (static_cast<std::int64_t>(bytes.size()) != needed) {
    throw Error(Errc::invalid_value, "from_host", "shape " + shape.str(),
                "holds " + std::to_string(shape.size()) + " elements, but " +
                    std::to_string(bytes.size() / static_cast<std::size_t>(size_of(dtype))) +
                    " were given; make the two agree",
                where);
  }
  runtime::StreamCore& stream = runtime::thread_stream(wanted_device(device, "from_host", where));
  Array array = make_array(stream, shape, dtype, where);
  if (needed == 0) return array;
  upload(array, bytes, "from_host", where);
  return array;
}

void upload(const Array& array, std::span<const std::byte> bytes, const char* label, SourceLocation where) {
  runtime::StreamCore& stream = runtime::thread_stream(array.device());
  const runtime::Access write = whole(array, runtime::AccessMode::write);
  const auto size = static_cast<std::int64_t>(bytes.size());
  // Small copies are taken at once; for larger ones of pageable memory the host would wait for the stream.
  void* const staging = size > runtime::small_upload ? stream.backend().take_staging(size) : nullptr;
  if (staging != nullptr) {
    std::memcpy(staging, bytes.data(), bytes.size());
    bytes = {static_cast<const std::byte*>(staging), bytes.size()};
  }
  bool was_run = false;
  try {
    was_run =
        runtime::submit(stream, {stream.device, runtime::UploadCommand{bytes, nullptr}, {&write, 1}, label, where});
  } catch (...) {
    if (staging != nullptr) stream.backend().give_staging(staging, stream, 0);
    throw;
  }
  if (staging != nullptr) stream.backend().give_staging(staging, stream, was_run ? 1 : 0);
}

Array array(std::initializer_list<bool> values, ArrayOptions options, SourceLocation where) {
  return literal(values, DType::bool_, options, where);
}
Array array(std::initializer_list<int> values, ArrayOptions options, SourceLocation where) {
  return literal(values, DType::int64, options, where);
}
Array array(std::initializer_list<std::int64_t> values, ArrayOptions options, SourceLocation where) {
  return literal(values, DType::int64, options, where);
}
Array array(std::initializer_list<float> values, ArrayOptions options, SourceLocation where) {
  return literal(values, DType::float32, options, where);
}
Array array(std::initializer_list<double> values, ArrayOptions options, SourceLocation where) {
  return literal(values, DType::float32, options, where);
}

Array empty(Shape shape, ArrayOptions options, SourceLocation where) {
  runtime::StreamCore& stream = runtime::thread_stream(wanted_device(options.device, "empty", where));
  return make_array(stream, shape, options.dtype.value_or(DType::float32), where);
}

Array full(Shape shape, Scalar value, ArrayOptions options, SourceLocation where) {
  Array array = empty(shape, options, where);
  fill(array, value, "full", where);
  return array;
}

Array zeros(Shape shape, ArrayOptions options, SourceLocation where) {
  Array array = empty(shape, options, where);
  fill(array, Scalar(0), "zeros", where);
  return array;
}

Array ones(Shape shape, ArrayOptions options, SourceLocation where) {
  Array array = empty(shape, options, where);
  fill(array, Scalar(1), "ones", where);
  return array;
}

}  // namespace refrain
