#include <refrain/array.hpp>

#include "array/make.hpp"
#include "runtime/array_access.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

namespace refrain {

using runtime::Buffer;
using runtime::order_mutex;
using runtime::OrderLock;

Array::Array(const Array& other) noexcept
    : buffer_(other.buffer_), offset_(other.offset_), shape_(other.shape_), dtype_(other.dtype_) {
  if (buffer_ != nullptr) buffer_->retain_handle();
}

Array::Array(Array&& other) noexcept
    : buffer_(std::exchange(other.buffer_, nullptr)),
      offset_(other.offset_),
      shape_(other.shape_),
      dtype_(other.dtype_) {}

Array& Array::operator=(const Array& other) noexcept { return *this = Array(other); }

Array& Array::operator=(Array&& other) noexcept {
  if (this == &other) return *this;
  Buffer* const mine = buffer_;
  buffer_ = std::exchange(other.buffer_, nullptr);
  offset_ = other.offset_;
  shape_ = other.shape_;
  dtype_ = other.dtype_;
  if (mine != nullptr) mine->release_handle();
  return *this;
}

Array::~Array() {
  if (buffer_ != nullptr) buffer_->release_handle();
}

const Shape& Array::shape(SourceLocation where) const {
  require_defined(*this, "shape", where);
  return shape_;
}

std::int64_t Array::size_bytes(SourceLocation where) const { return size(where) * size_of(dtype_); }

DType Array::dtype(SourceLocation where) const {
  require_defined(*this, "dtype", where);
  return dtype_;
}

Device Array::device(SourceLocation where) const {
  require_defined(*this, "device", where);
  return buffer_->device();
}

Array Array::slice(std::int64_t begin, std::int64_t end, SourceLocation where) const {
  require_defined(*this, "slice", where);
  const std::string range = "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
  if (shape_.ndim() == 0) {
    throw Error(Errc::invalid_value, "slice", "an array of shape " + shape_.str(), "has no axis to slice; use it whole",
                where);
  }
  const std::int64_t extent = shape_[0];
  const std::int64_t first = begin < 0 ? begin + extent : begin;
  const std::int64_t last = end < 0 ? end + extent : end;
  if (first < 0 || last > extent || first > last) {
    throw Error(Errc::invalid_value, "slice", "rows " + range + " of shape " + shape_.str(),
                "are not within the " + std::to_string(extent) +
                    " of the first axis; give 0 <= begin <= end <= " + std::to_string(extent),
                where);
  }
  std::array<std::int64_t, Shape::max_ndim> extents{};
  std::copy(shape_.begin(), shape_.end(), extents.begin());
  extents[0] = last - first;
  Array view = *this;
  view.shape_ = Shape(std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(shape_.ndim())));
  if (extent > 0) view.offset_ += first * (shape_.size() / extent) * size_of(dtype_);
  return view;
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

/// Copies elements [first, first + count) to host memory, after the last writer of any stream.
void download(const Array& array, void* target, std::int64_t first, std::int64_t count, const char* call,
              SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  require_values(array, call, where);
  copy_out(array, target, first, count, call, where);
}

template <class T>
void append(const Array& array, std::int64_t first, std::int64_t count, const char* call, SourceLocation where,
            std::vector<Scalar>& scalars) {
  const auto values = std::make_unique<T[]>(static_cast<std::size_t>(count));
  download(array, values.get(), first, count, call, where);
  scalars.assign(values.get(), values.get() + count);
}

}  // namespace

void copy_out(const Array& array, void* target, std::int64_t first, std::int64_t count, const char* call,
              SourceLocation where) {
  const std::int64_t item = size_of(array.dtype());
  if (count == 0) return;
  Buffer& buffer = *array.buffer();
  const Landing landing(runtime::service_stream(buffer.device()), target, count * item);
  const std::int64_t begin = ArrayAccess::offset(array) + first * item;
  const runtime::Access read{&buffer, begin, begin + count * item, runtime::AccessMode::read};
  runtime::StreamCore& current = runtime::thread_stream(buffer.device());
  OrderLock lock(order_mutex());
  runtime::settle(lock, runtime::service_stream(buffer.device()), {&read, 1});
  const std::shared_ptr<runtime::StreamCore> stream = reading_stream(buffer, current).shared_from_this();
  runtime::order_before(*stream, {&read, 1}, call, where, false);
  stream->backend().download(*stream, landing.address(), read.address(buffer.address()), count * item);
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

void Array::read_bytes(void* target, DType as, SourceLocation where) const {
  require_defined(*this, "to_vector", where);
  if (as != dtype_) {
    throw Error(Errc::invalid_value, "to_vector", "an array of " + std::string(to_string(dtype_)),
                "cannot be read as " + std::string(to_string(as)) + "; ask for its own type, or cast it first", where);
  }
  download(*this, target, 0, shape_.size(), "to_vector", where);
}

std::vector<Scalar> read_scalars(const Array& array, std::int64_t first, std::int64_t count, const char* call,
                                 SourceLocation where) {
  std::vector<Scalar> scalars;
  switch (array.dtype(where)) {
    case DType::bool_: append<bool>(array, first, count, call, where, scalars); break;
    case DType::int32: append<std::int32_t>(array, first, count, call, where, scalars); break;
    case DType::int64: append<std::int64_t>(array, first, count, call, where, scalars); break;
    case DType::float32: append<float>(array, first, count, call, where, scalars); break;
    case DType::float64: append<double>(array, first, count, call, where, scalars); break;
  }
  return scalars;
}

Scalar item_scalar(const Array& array, SourceLocation where) {
  require_defined(array, "item", where);
  if (array.size() != 1) {
    throw Error(Errc::invalid_value, "item", "an array of shape " + array.shape().str(),
                "has " + std::to_string(array.size()) + " elements, not one; use to_vector", where);
  }
  return read_scalars(array, 0, 1, "item", where).front();
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
