#include <refrain/array.hpp>

#include "array/elementwise.hpp"
#include "array/layout.hpp"
#include "array/make.hpp"
#include "runtime/array_access.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"
#include "runtime/submit.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace refrain {

using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;

Array::Array(const Array& other) noexcept : buffer_(other.buffer_), view_(other.view_) {
  if (buffer_ != nullptr) buffer_->retain_handle();
}

Array::Array(Array&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)), view_(other.view_) {}

Array& Array::operator=(const Array& other) noexcept { return *this = Array(other); }

Array& Array::operator=(Array&& other) noexcept {
  if (this == &other) return *this;
  Buffer* const mine = buffer_;
  buffer_ = std::exchange(other.buffer_, nullptr);
  view_ = other.view_;
  if (mine != nullptr) mine->release_handle();
  return *this;
}

Array::~Array() {
  if (buffer_ != nullptr) buffer_->release_handle();
}

const Shape& Array::shape(SourceLocation where) const {
  require_defined(*this, "shape", where);
  return view_.shape;
}

std::int64_t Array::size_bytes(SourceLocation where) const { return size(where) * size_of(view_.dtype); }

DType Array::dtype(SourceLocation where) const {
  require_defined(*this, "dtype", where);
  return view_.dtype;
}

Device Array::device(SourceLocation where) const {
  require_defined(*this, "device", where);
  return buffer_->device();
}

std::span<const std::int64_t> Array::strides(SourceLocation where) const {
  require_defined(*this, "strides", where);
  return {view_.strides.data(), static_cast<std::size_t>(view_.shape.ndim())};
}

bool Array::is_contiguous(SourceLocation where) const {
  require_defined(*this, "is_contiguous", where);
  return view_.is_contiguous;
}

namespace {

bool can_read_on(const runtime::StreamCore& stream, Device device) {
  return stream.has_native() && !stream.retired && stream.device == device && stream.recorder == nullptr &&
         !(stream.is_exposed && stream.native().is_captured()) && !runtime::has_call_under_way(stream);
}

/// Where the array is read: on the thread's current stream if other code has that too and may have put work on the
/// array there; on the stream that wrote it if that is one and alive, so that the read waits for nothing else; else on
/// the library's own. With the order lock held.
runtime::StreamCore& reading_stream(Buffer& buffer, runtime::StreamCore& current) {
  if (current.is_exposed && can_read_on(current, buffer.device())) return current;
  runtime::AccessHistory& history = buffer.history();
  if (history.size() == 1) {
    runtime::StreamCore& writer = runtime::stream_at(history[0].at().slot);
    const bool is_newest = writer.position == history[0].at().position;  // else the read would wait for more
    if (is_newest && can_read_on(writer, buffer.device())) return writer;
  }
  return runtime::service_stream(buffer.device());
}

/// Memory that a copy lands in; given back at the end of the scope.
class Landing {
 public:
  Landing(runtime::StreamCore& stream, void* target, std::int64_t bytes)
      : stream_(stream), target_(target), bytes_(bytes), staging_(stream.backend().take_staging(bytes)) {}
  ~Landing() {
    if (staging_ != nullptr) stream_.backend().give_staging(staging_, stream_, 0);
  }
  Landing(const Landing&) = delete;
  Landing& operator=(const Landing&) = delete;

  void* address() const noexcept { return staging_ != nullptr ? staging_ : target_; }
  void finish() const noexcept {
    if (staging_ != nullptr) std::memcpy(target_, staging_, static_cast<std::size_t>(bytes_));
  }

 private:
  runtime::StreamCore& stream_;
  void* target_;
  std::int64_t bytes_;
  void* staging_;
};

/// Waits for a copy to host memory. When that fails the memory may still be written: a second try, and only a lost
/// device, which writes no more, fails that too.
void finish_copy(runtime::StreamCore& stream, std::uint64_t position) {
  try {
    stream.backend().synchronize(stream, position);
  } catch (...) {
    try {
      stream.backend().synchronize(stream, position);
    } catch (const Error&) {
    }
    throw;
  }
}

/// Copies the array to host memory, after the last writer of any stream.
void download(const Array& array, void* target, const char* call, SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  require_values(array, call, where);
  copy_out(array, target, call, where);
}

/// Has `issue` enqueue the copy of what the access names to host memory, after the last writer of any stream, and waits
/// for it.
template <class Issue>
void read_now(const runtime::Access& read, void* target, std::int64_t bytes, const char* call, SourceLocation where,
              Issue issue) {
  Buffer& buffer = *read.buffer;
  const Landing landing(runtime::service_stream(buffer.device()), target, bytes);
  runtime::StreamCore& current = runtime::thread_stream(buffer.device());
  OrderLock lock(order_mutex());
  runtime::settle(lock, runtime::service_stream(buffer.device()), {&read, 1});
  const std::shared_ptr<runtime::StreamCore> stream = reading_stream(buffer, current).shared_from_this();
  runtime::order_before(*stream, {&read, 1}, call, where, false);
  issue(*stream, landing.address(), read.address(buffer.address()));
  runtime::note_after(*stream, {&read, 1}, call, where);
  const runtime::StreamPoint done{stream->slot, stream->position};
  const runtime::Clock before = stream->clock;
  lock.unlock();
  finish_copy(*stream, done.position);
  landing.finish();
  lock.lock();
  runtime::host_saw(done, before);
  lock.unlock();
  runtime::destroy_retired();
  runtime::throw_host_failure(buffer.device());
}

/// A copy of the array's elements, in row-major order, between two addresses.
runtime::ElementwiseCommand gather_command(const Array& array) {
  const Shape& shape = ArrayAccess::shape(array);
  runtime::ElementwiseCommand copy{};
  copy.in_access[0] = 1;
  kernels::ElementwiseArgs& args = copy.args;
  args.op = kernels::ElementwiseOp::copy;
  args.in_type = args.out_type = static_cast<kernels::Type>(ArrayAccess::dtype(array));
  args.input_count = 1;
  args.ndim = shape.ndim();
  args.size = shape.size();
  std::copy(shape.begin(), shape.end(), args.extents);
  broadcast_strides(shape, row_major(shape), shape, args.out_strides);
  broadcast_strides(shape, ArrayAccess::strides(array), shape, args.inputs[0].strides);
  simplify(copy);
  return copy;
}

/// A dense copy for a read of a device's memory: on the current stream only if other code may have put work on the
/// array there, so that the read waits for nothing else.
Array gathered(const Array& array, const runtime::Access& read, const char* call, SourceLocation where) {
  const Device device = array.device();
  runtime::StreamCore& service = runtime::service_stream(device);
  runtime::StreamCore& current = runtime::thread_stream(device);
  runtime::StreamCore* stream = &service;
  {
    OrderLock lock(order_mutex());
    runtime::settle(lock, service, {&read, 1});
    if (current.is_exposed && can_read_on(current, device)) stream = &current;
    runtime::order_before(*stream, {&read, 1}, call, where, false);  // nobody has to ask for what a read waits for
  }
  Array dense = make_array(*stream, ArrayAccess::shape(array), ArrayAccess::dtype(array), where);
  const runtime::Access accesses[] = {whole(dense, runtime::AccessMode::write), read};
  runtime::submit(*stream, {device, gather_command(array), accesses, call, where});
  return dense;
}

}  // namespace

void copy_out(const Array& array, void* target, const char* call, SourceLocation where) {
  if (array.size() == 0) return;
  const runtime::Access read = whole(array, runtime::AccessMode::read);
  const std::int64_t bytes = array.size_bytes();
  if (ArrayAccess::is_contiguous(array)) {
    read_now(read, target, bytes, call, where, [&](runtime::StreamCore& stream, void* landing, const void* first) {
      stream.backend().download(stream, landing, first, bytes);
    });
  } else if (array.device().kind == DeviceKind::host) {
    read_now(read, target, bytes, call, where, [&](runtime::StreamCore& stream, void* landing, void* first) {
      void* const addresses[] = {landing, first};
      stream.backend().run(stream, {stream.device, gather_command(array), {}, call, where}, addresses);
    });
  } else {
    copy_out(gathered(array, read, call, where), target, call, where);
  }
}

void Array::read_bytes(void* target, DType as, SourceLocation where) const {
  require_defined(*this, "to_vector", where);
  if (as != view_.dtype) {
    throw Error(Errc::invalid_value, "to_vector", "an array of " + std::string(to_string(view_.dtype)),
                "cannot be read as " + std::string(to_string(as)) + "; ask for its own type, or cast it first", where);
  }
  download(*this, target, "to_vector", where);
}

namespace {

/// The elements as numbers that scalars are made from.
template <class T, class Number = T>
std::vector<Scalar> read_as(const Array& array, const char* call, SourceLocation where) {
  const auto count = static_cast<std::size_t>(array.size());
  const auto values = std::make_unique<T[]>(count);
  download(array, values.get(), call, where);
  std::vector<Scalar> scalars;
  scalars.reserve(count);
  for (std::size_t i = 0; i < count; ++i) scalars.emplace_back(static_cast<Number>(values[i]));
  return scalars;
}

}  // namespace

std::vector<Scalar> read_scalars(const Array& array, const char* call, SourceLocation where) {
  switch (array.dtype(where)) {
    case DType::bool_: {
      std::vector<Scalar> bytes = read_as<std::uint8_t>(array, call, where);
      for (Scalar& byte : bytes) byte = Scalar(byte.i != 0);
      return bytes;
    }
    case DType::uint8: return read_as<std::uint8_t>(array, call, where);
    case DType::int32: return read_as<std::int32_t>(array, call, where);
    case DType::int64: return read_as<std::int64_t>(array, call, where);
    case DType::float16: return read_as<float16, float>(array, call, where);
    case DType::bfloat16: return read_as<bfloat16, float>(array, call, where);
    case DType::float32: return read_as<float>(array, call, where);
    case DType::float64: break;
  }
  return read_as<double>(array, call, where);
}

Scalar item_scalar(const Array& array, SourceLocation where) {
  require_defined(array, "item", where);
  if (array.size() != 1) {
    throw Error(Errc::invalid_value, "item", "an array of shape " + array.shape().str(),
                "has " + std::to_string(array.size()) + " elements, not one; use to_vector", where);
  }
  return read_scalars(array, "item", where).front();
}

void require_defined(const Array& array, const char* call, SourceLocation where) {
  if (array.defined()) return;
  throw Error(Errc::invalid_value, call, "an empty array", "was never assigned or was moved from; assign it first",
              where);
}

void require_usable(const Array& array, const char* call, SourceLocation where) {
  require_defined(array, call, where);
  const Buffer& buffer = *array.buffer();
  if (buffer.state() == Buffer::State::ready) return;
  runtime::StreamCore& stream = runtime::thread_stream(buffer.device());
  runtime::notice_capture(stream, call, where);
  if (runtime::recorder_of(stream) == nullptr) require_values(array, call, where);
}

void require_values(const Array& array, const char* call, SourceLocation where) {
  runtime::run_recorded(call, where);
  const Buffer& buffer = *array.buffer();
  runtime::StreamCore& stream = runtime::thread_stream(buffer.device());
  runtime::notice_capture(stream, call, where);
  {
    const OrderLock lock(order_mutex());
    const runtime::Recorder* recorder = runtime::recorder_of(stream);
    if (recorder != nullptr) recorder->refuse(call, "an array's values", where);
  }
  const std::string made = buffer.where().line != 0 ? ", made at " + buffer.where().str() + "," : "";
  switch (buffer.state()) {
    case Buffer::State::ready: return;
    case Buffer::State::recorded:
      throw Error(Errc::illegal_state, call, "an array of a graph",
                  "the array" + made +
                      " was recorded and has no values before the first replay; instantiate the graph "
                      "and replay it first",
                  where);
    case Buffer::State::discarded:
      throw Error(Errc::illegal_state, call, "an array of a discarded capture",
                  "the array" + made + " has no values and never will; make it again", where);
  }
}

}  // namespace refrain
