#include <refrain/copy.hpp>

#include "array/elementwise.hpp"
#include "array/make.hpp"
#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <array>
#include <memory>

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

Buffer* take_landing(StreamCore& stream, Device device, std::int64_t bytes, SourceLocation where) {
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::Recorder* const recorder = runtime::recorder_of(stream);
  return recorder != nullptr ? recorder->allocate(stream, device, bytes, where)
                             : Buffer::pinned(device, stream.backend(), bytes, where);
}

/// A host array that the stream, of another kind of device, is about to copy to.
Array make_landing(StreamCore& stream, const Array& like, Device device, SourceLocation where) {
  Buffer* buffer = nullptr;
  try {
    buffer = take_landing(stream, device, like.size_bytes(), where);
  } catch (const Error& error) {
    if (error.code() != Errc::out_of_memory || runtime::recorder_of(stream) != nullptr) throw;
    // Blocks that were dropped may still be in use: once their devices are idle they can be had.
    for (const Device of : {stream.device, device}) {
      for (const auto& other : runtime::streams_of(of)) runtime::synchronize_with(*other);
    }
    runtime::destroy_retired();
    buffer = take_landing(stream, device, like.size_bytes(), where);
  }
  buffer->shape = like.shape();
  buffer->dtype = like.dtype();
  return ArrayAccess::make(buffer, buffer->shape, buffer->dtype);
}

Array to_host(const Array& array, Device device, SourceLocation where) {
  require_usable(array, "to_device", where);
  StreamCore& stream = runtime::thread_stream(array.device());
  runtime::notice_capture(stream, "to_device", where);
  const Array dense = array.contiguous(where);
  Array copy = make_landing(stream, dense, device, where);
  submit_copy(stream, "to_device", &copy, &dense, {}, where);
  return copy;
}

/// A host array's bytes as they are now, which a capture on another kind of device may ask for.
Array from_other_kind(const Array& array, Device device, SourceLocation where) {
  const Buffer& buffer = *array.buffer();
  StreamCore& stream = runtime::thread_stream(buffer.device());
  runtime::run_recorded("to_device", where);  // which has the bytes of each run
  {
    const runtime::OrderLock lock(runtime::order_mutex());
    const runtime::Recorder* recorder = runtime::recorder_of(stream);
    if (recorder != nullptr && recorder->spans(buffer.device())) {
      recorder->refuse("to_device", "an array's values", where);
    }
  }
  if (buffer.state() != Buffer::State::ready) {
    throw Error(Errc::illegal_state, "to_device", "an array of a graph",
                "has no values to copy to another kind of device before its graph was replayed; replay it first",
                where);
  }
  const auto size = static_cast<std::size_t>(array.size_bytes());
  const auto bytes = std::make_unique<std::byte[]>(size);
  copy_out(array, bytes.get(), "to_device", where);
  return from_host_bytes({bytes.get(), size}, array.shape(), array.dtype(), device, where);
}

Array between_ordinals(const Array& array, Device device, SourceLocation where) {
  require_usable(array, "to_device", where);
  const Array dense = array.contiguous(where);
  const Stream source = current_stream(array.device());
  const Stream target = current_stream(device);
  target.wait_stream(source, where);
  StreamCore& stream = target.core();
  Array copy = make_array(stream, array.shape(), array.dtype(), where);
  submit_copy(stream, "to_device", &copy, &dense, {}, where);
  source.wait_stream(target, where);
  return copy;
}

/// Whether the stream, eager, would make the host wait in a copy with this memory: done through staging then.
bool waits_in_copy(StreamCore& stream, const void* memory) {
  runtime::notice_capture(stream, "copy", {});
  return runtime::recorder_of(stream) == nullptr && memory != nullptr && stream.backend().is_pageable(memory);
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
  runtime::refuse_in_callback("to_device", where);
  runtime::require_device(device, "to_device", where);
  if (array.device() == device) return array;
  if (array.device().kind == device.kind) return between_ordinals(array, device, where);
  if (device.kind == DeviceKind::host) return to_host(array, device, where);
  return from_other_kind(array, device, where);
}

void copy_to(const Array& array, Borrowed target, SourceLocation where) {
  require_usable(array, "copy_to", where);
  require_same(array, target, "copy_to", where);
  if (target.target == nullptr && target.size > 0) {
    throw Error(Errc::invalid_value, "copy_to", "borrowed memory", "is const and may only be read; lend a span of T",
                where);
  }
  StreamCore& stream = runtime::thread_stream(array.device());
  if (waits_in_copy(stream, target.target)) {
    runtime::refuse_in_callback("copy_to", where);
    copy_out(array, target.target, "copy_to", where);
    return;
  }
  const Array dense = array.contiguous(where);
  submit_copy(stream, "copy_to", nullptr, &dense, target, where);
}

void copy_from(Array& array, Borrowed source, SourceLocation where) {
  require_usable(array, "copy_from", where);
  require_same(array, source, "copy_from", where);
  StreamCore& stream = runtime::thread_stream(array.device());
  if (!array.is_contiguous()) {
    // What refuses the second of the two copies refuses both.
    require_distinct(array, "copy_from", where);
    const runtime::Access write = whole(array, AccessMode::write);
    if (runtime::may_refuse_order(stream)) {
      runtime::check_order(stream, {stream.device, {}, {&write, 1}, "copy_from", where});
    }
    Array dense = empty(array.shape(), {.dtype = array.dtype(), .device = array.device()}, where);
    copy_from(dense, source, where);
    array.assign(Operand(dense, where));
    return;
  }
  if (array.size() > 0 && waits_in_copy(stream, source.source)) {
    upload(array, {static_cast<const std::byte*>(source.source), static_cast<std::size_t>(array.size_bytes())},
           "copy_from", where);
    return;
  }
  submit_copy(stream, "copy_from", &array, nullptr, source, where);
}

const Array& keep(const Array& array, SourceLocation where) {
  require_defined(array, "keep", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  if (array.buffer()->state() == Buffer::State::recorded) array.buffer()->share();
  return array;
}

}  // namespace refrain
