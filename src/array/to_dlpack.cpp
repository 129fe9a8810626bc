#include <refrain/dlpack.hpp>

#include "array/address.hpp"
#include "array/dlpack_types.hpp"
#include "array/layout.hpp"
#include "array/make.hpp"
#include "runtime/foreign_call.hpp"
#include "runtime/host_function.hpp"
#include "runtime/recorder.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>

#include <array>
#include <memory>
#include <utility>

namespace refrain {

namespace {

using runtime::AccessMode;
using runtime::StreamCore;

constexpr const char* call = "to_dlpack";

/// What a tensor's consumer holds.
template <class Tensor>
struct Exported {
  Tensor tensor{};  ///< first, and what the consumer has the address of
  Array array;
  Strides extents{};
  Strides strides{};
  bool is_read_only_by_wish = false;
  /// The consumer's stream. Not held: other code may destroy it once no handle of the program's is left.
  std::weak_ptr<runtime::StreamLife> consumer;

  ~Exported() { note_consumer(); }
  /// What the consumer has put on its stream until now comes before whatever uses the memory next.
  void note_consumer() noexcept;
};

template <class Tensor>
void Exported<Tensor>::note_consumer() noexcept {
  const auto life = consumer.lock();
  if (life == nullptr) return;
  StreamCore& stream = *life->core;
  try {
    const runtime::Access access = whole(array, is_read_only_by_wish ? AccessMode::read : AccessMode::write);
    const runtime::OrderLock lock(runtime::order_mutex());
    // In a capture the work is the graph's, which keeps the array.
    if (stream.recorder != nullptr || stream.native().is_captured()) return;
    ++stream.position;
    array.buffer()->history().reserve(1);
    runtime::note_after(stream, {&access, 1}, call, {});
  } catch (...) {
    // Room was lacking for a note that there may be already.
  }
}

/// Any thread may call it, in a callback too, where the array cannot be let go.
template <class Tensor>
void destroy(Tensor* tensor) {
  runtime::own(static_cast<Exported<Tensor>*>(tensor->manager_ctx)).reset();
}

bool may_be_written(const Array& array) {
  return !array.buffer()->is_read_only &&
         (array.is_contiguous() || !repeats_elements(array.shape(), ArrayAccess::strides(array)));
}

void require_consumer(const Array& array, const Stream& stream, SourceLocation where) {
  if (array.device().kind == DeviceKind::host || stream.device(where) != array.device()) {
    throw Error(Errc::wrong_device, call, stream.core(where).str(),
                "is no stream that other code could use an array on " + array.device().str() +
                    " on; give one of its CUDA device, or none and the host waits",
                where);
  }
  StreamCore& core = stream.core(where);
  runtime::notice_capture(core, call, where);
  runtime::run_recorded(call, where);
  const runtime::OrderLock lock(runtime::order_mutex());
  const runtime::Recorder* const recorder = runtime::recorder_of(core);
  if (recorder == nullptr || recorder->is_live()) return;
  throw Error(Errc::capture_unsupported, call, core.str(),
              "is recorded, and other code's work on it would not be; hand over before the capture, or capture live",
              where);
}

/// Makes the consumer's stream wait, as a command of it that does nothing.
void hand_over(const Array& array, const Stream& stream, bool is_read_only, SourceLocation where) {
  require_usable(array, call, where);
  StreamCore& core = stream.core(where);
  const runtime::Access access = whole(array, is_read_only ? AccessMode::read : AccessMode::write);
  {
    // The order is asked for, so it is no finding that nothing else gives it.
    runtime::OrderLock lock(runtime::order_mutex());
    runtime::settle_before(lock, core, {&access, 1});
    if (runtime::recorder_of(core) == nullptr) runtime::order_before(core, {&access, 1}, call, where, false);
  }
  auto nothing = [](cudaStream_t, void* const*) {};
  runtime::submit_call(core, {core.device, runtime::ForeignCommand{}, {&access, 1}, call, where},
                       detail::StreamFunction(nothing));
}

template <class Tensor>
std::unique_ptr<Exported<Tensor>> make_tensor(const Array& array, const ToDlpackOptions& options,
                                              SourceLocation where) {
  runtime::refuse_in_callback(call, where);
  const bool is_read_only = options.read_only || !may_be_written(array);
  if (options.wait && options.stream) require_consumer(array, *options.stream, where);
  auto exported = std::make_unique<Exported<Tensor>>();
  DLTensor& tensor = exported->tensor.dl_tensor;
  tensor.data = pinned_address(array, call, where);
  if (options.wait && options.stream) {
    hand_over(array, *options.stream, is_read_only, where);
    exported->consumer = options.stream->core(where).life;
  } else if (options.wait) {
    wait_on_host(array, !is_read_only, call, where);
  }
  const Device device = array.device();
  tensor.device = device.kind == DeviceKind::host ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, device.index};
  tensor.ndim = array.ndim();
  tensor.dtype = dlpack_type(array.dtype());
  std::copy(array.shape().begin(), array.shape().end(), exported->extents.begin());
  exported->strides = ArrayAccess::strides(array);
  tensor.shape = exported->extents.data();
  tensor.strides = exported->strides.data();
  exported->is_read_only_by_wish = options.read_only;
  exported->array = array;
  exported->tensor.manager_ctx = exported.get();
  exported->tensor.deleter = destroy<Tensor>;
  return exported;
}

template <class Tensor>
const Array* own_array(const Tensor& tensor) noexcept {
  if (tensor.deleter != destroy<Tensor>) return nullptr;
  const auto& exported = *static_cast<const Exported<Tensor>*>(tensor.manager_ctx);
  return exported.is_read_only_by_wish ? nullptr : &exported.array;
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Array& array, ToDlpackOptions options, SourceLocation where) {
  require_defined(array, call, where);
  auto exported = make_tensor<DLManagedTensorVersioned>(array, options, where);
  exported->tensor.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
  const bool is_read_only = options.read_only || !may_be_written(array);
  exported->tensor.flags = is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return &exported.release()->tensor;
}

DLManagedTensor* to_dlpack_unversioned(const Array& array, ToDlpackOptions options, SourceLocation where) {
  require_defined(array, call, where);
  if (options.read_only || !may_be_written(array)) {
    throw Error(
        Errc::not_permitted, call, "an array that may not be written",
        "cannot be handed over in a form that has no word for that; use the versioned form, or hand over a copy",
        where);
  }
  return &make_tensor<DLManagedTensor>(array, options, where).release()->tensor;
}

const Array* exported_array(const DLManagedTensorVersioned& tensor) noexcept { return own_array(tensor); }
const Array* exported_array(const DLManagedTensor& tensor) noexcept { return own_array(tensor); }

}  // namespace refrain
