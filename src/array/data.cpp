#include <refrain/data.hpp>

#include "array/address.hpp"
#include "array/make.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <string>

namespace refrain {

using runtime::Buffer;
using runtime::OrderLock;

void* pinned_address(const Array& array, const char* call, SourceLocation where) {
  Buffer& buffer = *array.buffer();
  const runtime::Access access = whole(array, runtime::AccessMode::read);
  // An address that is handed out is the same in all runs, which an argument's is not.
  if (buffer.recorder() != nullptr || buffer.named() != nullptr) runtime::run_recorded(call, where);
  const OrderLock lock(runtime::order_mutex());
  if (array.size() == 0) return nullptr;
  if (buffer.state() == Buffer::State::discarded) {
    throw Error(Errc::illegal_state, call, "an array of a discarded capture",
                "has no memory and never will; make it again", where);
  }
  // A block that is there stays the array's, in later executables too.
  // A live capture may have given it a block on some devices: no program should depend on that.
  const bool is_being_made = buffer.recorder() != nullptr;
  if (buffer.address() != nullptr && !is_being_made) return access.address(buffer.address());
  throw Error(Errc::illegal_state, call, "an array of a capture",
              "has no memory before its graph is instantiated; ask again after that, or let Stream::enqueue hand over "
              "the address",
              where);
}

void wait_on_host(const Array& array, bool is_written, const char* call, SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  require_values(array, call, where);
  const runtime::Access access = whole(array, is_written ? runtime::AccessMode::write : runtime::AccessMode::read);
  const Device device = array.device();
  runtime::StreamCore& current = runtime::thread_stream(device);
  if (current.is_exposed) runtime::synchronize_with(current);
  {
    OrderLock lock(runtime::order_mutex());
    runtime::wait_for_calls(lock, runtime::service_stream(device), {&access, 1});
    runtime::settle_outside(lock, {&access, 1});
  }
  runtime::destroy_retired();
  runtime::throw_host_failure(device);
}

namespace detail {

namespace {

void require_type(const Array& array, DType dtype, const char* call, SourceLocation where) {
  require_defined(array, call, where);
  if (array.dtype() == dtype) return;
  throw Error(Errc::invalid_value, call, "an array of " + std::string(to_string(array.dtype())),
              "has no elements of " + std::string(to_string(dtype)) + "; ask for its own type, or cast it first",
              where);
}

}  // namespace

void* address_of(const Array& array, DType dtype, bool is_written, SourceLocation where) {
  require_type(array, dtype, "data", where);
  if (is_written) runtime::refuse_write(*array.buffer(), "data", where);
  return pinned_address(array, "data", where);
}

void* host_elements(const Array& array, DType dtype, bool is_written, SourceLocation where) {
  require_type(array, dtype, "span", where);
  if (array.device().kind != DeviceKind::host) {
    throw Error(Errc::wrong_device, "span", "an array on " + array.device().str(),
                "has no elements that the host could reach; copy it with to_device or to_vector", where);
  }
  if (!array.is_contiguous()) {
    throw Error(Errc::invalid_value, "span", "a view of shape " + array.shape().str(),
                "does not lie in row-major order; give x.contiguous(), or use data and the strides", where);
  }
  if (is_written) runtime::refuse_write(*array.buffer(), "span", where);
  wait_on_host(array, is_written, "span", where);
  return pinned_address(array, "span", where);
}

}  // namespace detail
}  // namespace refrain
