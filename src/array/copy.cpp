#include <refrain/copy.hpp>

#include "array/make.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <array>

namespace refrain {

namespace {

using runtime::AccessMode;
using runtime::Buffer;
using runtime::StreamCore;

void submit_copy(StreamCore& stream, const char* label, const Array* to, const Array* from, const Borrowed& borrowed,
                 SourceLocation where) {
  const Array& array = to != nullptr ? *to : *from;
  if (array.size() == 0) return;
  std::array<runtime::Access, 2> accesses;
  std::size_t count = 0;
  runtime::CopyCommand copy{array.size_bytes(), -1, -1, borrowed.target, borrowed.source};
  if (to != nullptr) {
    copy.out_access = static_cast<int>(count);
    accesses[count++] = whole(*to, AccessMode::write);
  }
  if (from != nullptr) {
    copy.in_access = static_cast<int>(count);
    accesses[count++] = whole(*from, AccessMode::read);
  }
  runtime::submit(stream, {stream.device, copy, std::span(accesses.data(), count), label, where});
}

/// A host array that the stream, of another kind of device, is about to copy to.
Array make_landing(StreamCore& stream, const Array& like, Device device, SourceLocation where) {
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::Recorder* const recorder = runtime::recorder_of(stream);
  Buffer* const buffer = recorder != nullptr ? recorder->allocate(stream, device, like.size_bytes(), where)
                                             : Buffer::pinned(device, stream.backend(), like.size_bytes(), where);
  buffer->shape = like.shape();
  buffer->dtype = like.dtype();
  return ArrayAccess::make(buffer, buffer->shape, buffer->dtype);
}

Array to_host(const Array& array, Device device, SourceLocation where) {
  StreamCore& stream = runtime::thread_stream(array.device());
  Array copy = make_landing(stream, array, device, where);
  submit_copy(stream, "to_device", &copy, &array, {}, where);
  return copy;
}

/// The bytes of a host array that has values, once its writers are done; valid while the array is.
std::span<const std::byte> bytes_of(const Array& array, SourceLocation where) {
  Buffer& buffer = *array.buffer();
  if (buffer.state() != Buffer::State::ready) {
    throw Error(Errc::illegal_state, "to_device", "an array of a graph",
                "has no values to copy to another kind of device before its graph was replayed; replay it first",
                where);
  }
  const runtime::Access read = whole(array, AccessMode::read);
  std::vector<runtime::StreamPoint> writers;
  {
    const runtime::OrderLock lock(runtime::order_mutex());
    for (int i = 0; i < buffer.history().size(); ++i) {
      if (buffer.history()[i].mode == AccessMode::write) writers.push_back(buffer.history()[i].at());
    }
  }
  for (const runtime::StreamPoint point : writers) runtime::wait_on_host(point);
  return {static_cast<const std::byte*>(read.address(buffer.address())), static_cast<std::size_t>(array.size_bytes())};
}

Array between_ordinals(const Array& array, Device device, SourceLocation where) {
  const Stream source = current_stream(array.device());
  const Stream target = current_stream(device);
  target.wait_stream(source, where);
  StreamCore& stream = target.core();
  Array copy = make_array(stream, array.shape(), array.dtype(), where);
  submit_copy(stream, "to_device", &copy, &array, {}, where);
  source.wait_stream(target, where);
  return copy;
}

void require_same(const Array& array, const Borrowed& memory, const char* call, SourceLocation where) {
  if (memory.dtype != array.dtype()) {
    throw Error(Errc::invalid_value, call, "memory of " + std::string(to_string(memory.dtype)),
                "does not hold an array of " + std::string(to_string(array.dtype())) + "; cast the array first", where);
  }
  if (memory.size != array.size()) {
    throw Error(
        Errc::invalid_value, call, "memory of " + std::to_string(memory.size) + " elements",
        "does not hold the " + std::to_string(array.size()) + " of shape " + array.shape().str() + "; lend as many",
        where);
  }
}

}  // namespace

Array to_device(const Array& array, Device device, SourceLocation where) {
  require_defined(array, "to_device", where);
  runtime::refuse_in_host_function("to_device", where);
  runtime::require_device(device, "to_device", where);
  if (array.device() == device) return array;
  if (array.device().kind == device.kind) return between_ordinals(array, device, where);
  if (device.kind == DeviceKind::host) return to_host(array, device, where);
  return from_host_bytes(array.size() == 0 ? std::span<const std::byte>() : bytes_of(array, where), array.shape(),
                         array.dtype(), device, where);
}

void copy_to(const Array& array, Borrowed target, SourceLocation where) {
  require_defined(array, "copy_to", where);
  require_same(array, target, "copy_to", where);
  if (target.target == nullptr && target.size > 0) {
    throw Error(Errc::invalid_value, "copy_to", "borrowed memory", "is const and may only be read; lend a span of T",
                where);
  }
  submit_copy(runtime::thread_stream(array.device()), "copy_to", nullptr, &array, target, where);
}

void copy_from(Array& array, Borrowed source, SourceLocation where) {
  require_defined(array, "copy_from", where);
  require_same(array, source, "copy_from", where);
  submit_copy(runtime::thread_stream(array.device()), "copy_from", &array, nullptr, source, where);
}

const Array& keep(const Array& array, SourceLocation where) {
  require_defined(array, "keep", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  if (array.buffer()->state() == Buffer::State::recorded) array.buffer()->share();
  return array;
}

}  // namespace refrain
