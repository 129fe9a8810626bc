// Arrays handed to other code and taken from it without a copy, by DLPack.

#include "third_party/dlpack/dlpack.h"
#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"
#include "support_reference.hpp"

#include <refrain/data.hpp>
#include <refrain/dlpack.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

DLDevice here() {
  const Device device = current_device();
  return {device.kind == DeviceKind::host ? kDLCPU : kDLCUDA, device.kind == DeviceKind::host ? 0 : device.index};
}

/// A tensor of other code's: floats of the device that is current, and how often they were given back.
template <class Tensor>
class Foreign {
 public:
  explicit Foreign(std::vector<std::int64_t> shape, std::vector<std::int64_t> strides = {})
      : memory(std::make_shared<Memory>(size)), state_(new State{{}, std::move(shape), std::move(strides), given}) {
    DLTensor& dl = tensor().dl_tensor;
    dl.data = memory->at();
    dl.device = here();
    dl.ndim = static_cast<std::int32_t>(state_->shape.size());
    dl.dtype = {kDLFloat, 32, 1};
    dl.shape = state_->shape.data();
    dl.strides = state_->strides.empty() ? nullptr : state_->strides.data();
    tensor().manager_ctx = state_;
    tensor().deleter = [](Tensor* self) {
      auto* const state = static_cast<State*>(self->manager_ctx);
      ++*state->given;
      delete state;
    };
    if constexpr (std::is_same_v<Tensor, DLManagedTensorVersioned>) tensor().version = {1, 0};
  }

  Tensor& tensor() const { return state_->tensor; }
  /// For tests in which nobody takes it.
  void give_back() const { tensor().deleter(&tensor()); }

  static constexpr std::int64_t size = 12;
  std::shared_ptr<std::atomic<int>> given = std::make_shared<std::atomic<int>>(0);
  std::shared_ptr<Memory> memory;

 private:
  struct State {
    Tensor tensor{};
    std::vector<std::int64_t> shape;
    std::vector<std::int64_t> strides;
    std::shared_ptr<std::atomic<int>> given;
  };
  State* state_;
};

using ForeignTensor = Foreign<DLManagedTensorVersioned>;
using ForeignUnversioned = Foreign<DLManagedTensor>;

/// Lets go of what is done.
bool is_given_once(const std::atomic<int>& given) {
  synchronize();
  synchronize();
  return given == 1;
}

void destroy(DLManagedTensorVersioned* tensor) { tensor->deleter(tensor); }

}  // namespace

BOOST_AUTO_TEST_SUITE(dlpack, *boost::unit_test::label("sanitize"))

// To other code

BOOST_AUTO_TEST_CASE(a_tensor_says_where_and_how_the_elements_lie) {
  const Array x = ones({2, 3});
  DLManagedTensorVersioned* const tensor = to_dlpack(x);
  BOOST_TEST(tensor->version.major == 1);
  BOOST_TEST(tensor->flags == 0);
  const DLTensor& dl = tensor->dl_tensor;
  BOOST_TEST(dl.data == data<float>(x));
  BOOST_TEST(dl.byte_offset == 0);
  BOOST_TEST(dl.device.device_type == here().device_type);
  BOOST_TEST(dl.device.device_id == here().device_id);
  BOOST_TEST(dl.ndim == 2);
  BOOST_TEST((dl.shape[0] == 2 && dl.shape[1] == 3));
  BOOST_TEST((dl.strides[0] == 3 && dl.strides[1] == 1));
  destroy(tensor);
  DLManagedTensor* const unversioned = to_dlpack_unversioned(x.transpose(0, 1).select(1));
  BOOST_TEST(unversioned->dl_tensor.data == data<float>(x) + 1);
  BOOST_TEST(unversioned->dl_tensor.ndim == 1);
  BOOST_TEST(unversioned->dl_tensor.strides[0] == 3);
  unversioned->deleter(unversioned);
  DLManagedTensorVersioned* const nothing = to_dlpack(zeros({0, 2}));
  BOOST_TEST(nothing->dl_tensor.data == nullptr);
  destroy(nothing);
}

BOOST_AUTO_TEST_CASE(every_dtype_has_its_own_of_dlpacks) {
  const std::pair<DType, DLDataType> types[] = {
      {DType::bool_, {kDLBool, 8, 1}},     {DType::uint8, {kDLUInt, 8, 1}},     {DType::int32, {kDLInt, 32, 1}},
      {DType::int64, {kDLInt, 64, 1}},     {DType::float16, {kDLFloat, 16, 1}}, {DType::bfloat16, {kDLBfloat, 16, 1}},
      {DType::float32, {kDLFloat, 32, 1}}, {DType::float64, {kDLFloat, 64, 1}},
  };
  for (const auto& [dtype, type] : types) {
    BOOST_TEST_CONTEXT(dtype) {
      DLManagedTensorVersioned* const tensor = to_dlpack(ones({2}, {.dtype = dtype}));
      BOOST_TEST(tensor->dl_tensor.dtype.code == type.code);
      BOOST_TEST(tensor->dl_tensor.dtype.bits == type.bits);
      BOOST_TEST(tensor->dl_tensor.dtype.lanes == type.lanes);
      destroy(tensor);
      const ForeignTensor foreign({1});
      foreign.tensor().dl_tensor.dtype = type;
      BOOST_TEST((from_dlpack(&foreign.tensor()).dtype() == dtype));
      BOOST_TEST(is_given_once(*foreign.given));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_tensor_keeps_the_memory_until_its_deleter_is_called) {
  synchronize();
  const std::int64_t before = memory_stats(current_device()).live;
  Array x = ones({1000});
  DLManagedTensorVersioned* const tensor = to_dlpack(x);
  x = Array();
  synchronize();
  BOOST_TEST(memory_stats(current_device()).live > before);
  BOOST_TEST(holds(from_blob(static_cast<float*>(tensor->dl_tensor.data), {1000}), 1));
  on_another_thread([&] { destroy(tensor); });
  synchronize();
  BOOST_TEST(memory_stats(current_device()).live == before);
}

BOOST_AUTO_TEST_CASE(a_deleter_may_be_called_in_a_host_function) {
  synchronize();
  const std::int64_t before = memory_stats(current_device()).live;
  DLManagedTensorVersioned* const tensor = to_dlpack(ones({1000}));
  const Stream stream;
  stream.launch_host_func([&] { destroy(tensor); });
  stream.synchronize();
  BOOST_TEST(eventually([&] { return memory_stats(current_device()).live == before; }));
}

BOOST_AUTO_TEST_CASE(handing_over_waits_for_work_on_the_array) {
  const Stream stream;
  Array x;
  {
    const StreamGuard on(stream);
    x = slowly(3);
  }
  destroy(to_dlpack(x));
  BOOST_TEST(stream.query());
  BOOST_TEST(holds(x, 3));
}

BOOST_AUTO_TEST_CASE(handing_over_may_wait_for_nothing, *boost::unit_test::label("pending")) {
  const Stream stream;
  Array x = ones({4});
  BOOST_TEST(holds(x, 1));
  Gate gate(stream);
  {
    const StreamGuard on(stream);
    x += 1;
  }
  destroy(to_dlpack(x, {.wait = false}));
  BOOST_TEST(gate.open());
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_CASE(a_read_only_tensor_waits_for_writers_alone, *boost::unit_test::label("pending")) {
  const Stream stream;
  const Array x = ones({4});
  BOOST_TEST(holds(x, 1));
  Gate gate(stream);
  Array copy;
  {
    const StreamGuard on(stream);
    copy = x + 1;
  }
  DLManagedTensorVersioned* const tensor = to_dlpack(x, {.read_only = true});
  BOOST_TEST(gate.open());
  BOOST_TEST(tensor->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  destroy(tensor);
  require_error(Errc::not_permitted, [&] { to_dlpack_unversioned(x, {.read_only = true}); }, {"versioned"});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_written_is_handed_over_as_read_only) {
  const Array wide = ones({1, 3}).expand({2, 3});
  DLManagedTensorVersioned* const tensor = to_dlpack(wide);
  BOOST_TEST(tensor->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  BOOST_TEST(tensor->dl_tensor.strides[0] == 0);
  destroy(tensor);
  require_error(Errc::not_permitted, [&] { to_dlpack_unversioned(wide); }, {"copy"});
}

BOOST_AUTO_TEST_CASE(arrays_of_a_capture_are_handed_over_after_the_first_replay) {
  for (const bool live : live_modes) {
    const Array outside = ones({4});
    auto [graph, x] = capture(
        [&] {
          Array made = outside + 1;
          require_error(Errc::illegal_state, [&] { to_dlpack(made); }, {"instantiated"});
          require_error(Errc::capture_unsupported, [&] { to_dlpack(outside); }, {"capture"});
          destroy(to_dlpack(outside, {.wait = false}));
          return made;
        },
        {.live = live});
    GraphExec exec = graph.instantiate();
    require_error(Errc::illegal_state, [&, &array = x] { to_dlpack(array); }, {"replay"});
    exec.replay();
    DLManagedTensorVersioned* const tensor = to_dlpack(x);
    Array there = from_blob(static_cast<float*>(tensor->dl_tensor.data), {4});
    BOOST_TEST(holds(there, 2));
    exec.replay();
    synchronize();
    BOOST_TEST(holds(there, 2));
    destroy(tensor);
  }
}

BOOST_AUTO_TEST_CASE(a_consumers_stream_is_made_to_wait_and_waited_for, *boost::unit_test::label("pending")) {
  if (!a_gpu()) return;
  const Stream producer;
  const Stream consumer;
  Array x = ones({4});
  BOOST_TEST(holds(x, 1));
  Gate gate(producer);
  {
    const StreamGuard on(producer);
    x += 1;
  }
  DLManagedTensorVersioned* tensor = nullptr;
  {
    const HazardsScope asked_for(Hazards::error);
    tensor = to_dlpack(x, {.stream = consumer});
  }
  BOOST_TEST(!consumer.query());
  BOOST_TEST(gate.open());
  consumer.synchronize();
  consumer.native();  // other code has it from now on
  Gate busy(consumer);
  destroy(to_dlpack(x, {.stream = consumer}));
  const Array y = x + 1;
  BOOST_TEST(!current_stream().query());
  BOOST_TEST(busy.open());
  BOOST_TEST(holds(y, 3));
  destroy(tensor);
}

BOOST_AUTO_TEST_CASE(a_consumers_stream_is_of_the_arrays_device) {
  const Device host{DeviceKind::host, 0};
  const Array there = ones({2}, {.device = host});
  require_error(Errc::wrong_device, [&] { to_dlpack(there, {.stream = Stream(host)}); }, {"host waits"});
  if (!a_gpu()) return;
  require_error(Errc::wrong_device, [&] { to_dlpack(ones({2}), {.stream = Stream(host)}); });
  const Stream stream;
  const Array x = ones({2});
  capture([&] { require_error(Errc::capture_unsupported, [&] { to_dlpack(x, {.stream = stream}); }); });
}

// From other code

BOOST_AUTO_TEST_CASE(a_tensors_elements_are_read_and_written_where_they_lie) {
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const ForeignTensor foreign({2, 3});
      Array x = from_dlpack(&foreign.tensor());
      BOOST_TEST(x.device() == current_device());
      BOOST_TEST(x.shape() == (Shape{2, 3}));
      x += 1;
      const Array y = run_as(mode, [&] {
        x *= 2;
        return x + 1;
      });
      BOOST_TEST(holds(y, 3));
      x = Array();
      BOOST_TEST(is_given_once(*foreign.given));
      BOOST_TEST(foreign.memory->values() == (Numbers{2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_unversioned_form_is_taken_too) {
  const ForeignUnversioned foreign({4});
  {
    Array x = from_dlpack(&foreign.tensor());
    x += 5;
    BOOST_TEST(holds(x, 5));
    synchronize();
    BOOST_TEST(*foreign.given == 0);
  }
  BOOST_TEST(is_given_once(*foreign.given));
}

BOOST_AUTO_TEST_CASE(strides_and_an_offset_in_bytes_name_the_elements) {
  const ForeignTensor foreign({2, 3}, {1, -2});
  foreign.tensor().dl_tensor.byte_offset = 5 * sizeof(float);
  Array x = from_dlpack(&foreign.tensor());
  x.assign(from_host(Numbers{1, 2, 3, 4, 5, 6}, {2, 3}));
  BOOST_TEST(x.to_vector<float>() == (Numbers{1, 2, 3, 4, 5, 6}), per_element());
  x = Array();
  BOOST_TEST(is_given_once(*foreign.given));
  BOOST_TEST(foreign.memory->values() == (Numbers{0, 3, 6, 2, 5, 1, 4, 0, 0, 0, 0, 0}), per_element());
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_a_tensor_until_it_is_gone) {
  for (const bool live : live_modes) {
    const ForeignTensor foreign({4});
    {
      Array x = from_dlpack(&foreign.tensor());
      const Graph graph = capture([&] { x += 1; }, {.live = live});
      GraphExec exec = graph.instantiate();
      x = Array();
      exec.replay();
      synchronize();
      exec.replay();
      synchronize();
      BOOST_TEST(*foreign.given == 0);
      BOOST_TEST(foreign.memory->values()[3] == 2);
    }
    BOOST_TEST(eventually([&] { return *foreign.given == 1; }));
  }
}

BOOST_AUTO_TEST_CASE(tensors_without_elements_axes_or_deleter_are_taken) {
  const ForeignTensor scalar({});
  BOOST_TEST(holds(from_dlpack(&scalar.tensor()), 0));
  BOOST_TEST(is_given_once(*scalar.given));
  const ForeignTensor nothing({2, 0});
  nothing.tensor().dl_tensor.data = nullptr;
  BOOST_TEST(from_dlpack(&nothing.tensor()).shape() == (Shape{2, 0}));
  BOOST_TEST(is_given_once(*nothing.given));
  const ForeignTensor kept({3});
  const auto deleter = kept.tensor().deleter;
  kept.tensor().deleter = nullptr;
  BOOST_TEST(holds(from_dlpack(&kept.tensor()), 0));
  synchronize();
  deleter(&kept.tensor());
}

BOOST_AUTO_TEST_CASE(read_only_tensors_refuse_to_be_written_in_every_mode) {
  const ForeignTensor foreign({4});
  foreign.tensor().flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  Array x = from_dlpack(&foreign.tensor());
  const Stream stream;
  const auto write_it = [&] {
    require_error(Errc::not_permitted, [&] { x += 1; }, {"read-only", "copy"});
    require_error(Errc::not_permitted, [&] { x.slice(0, 2).assign(1); });
    require_error(Errc::not_permitted,
                  [&] { stream.enqueue("fill", write(x), on_cuda([](auto...) {}), on_host([](auto...) {})); });
  };
  for (const Mode mode : all_modes) {
    const Array y = run_as(mode, [&] {
      write_it();
      return x + 1;
    });
    BOOST_TEST(holds(y, 1));
  }
  require_error(Errc::not_permitted, [&] { data<float>(x); });
  BOOST_TEST(data<const float>(x) == foreign.memory->at());
  Array written = ones({4});
  const Graph graph = capture([&] { written += 1; });
  GraphExec exec = graph.instantiate();
  require_error(Errc::not_permitted, [&] { exec.bind(written, x); }, {"bind"});
  DLManagedTensorVersioned* const again = to_dlpack(x);
  BOOST_TEST(again->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
  destroy(again);
}

BOOST_AUTO_TEST_CASE(what_is_refused_stays_the_callers) {
  const auto refused = [](Errc code, auto change, SourceLocation where = SourceLocation::current()) {
    const ForeignTensor foreign({2, 3});
    change(foreign.tensor());
    require_error(
        code, [&] { from_dlpack(&foreign.tensor()); }, {"from_dlpack"}, where);
    synchronize();
    BOOST_TEST(*foreign.given == 0);
    foreign.give_back();
  };
  refused(Errc::not_supported, [](auto& tensor) { tensor.version.major = 2; });
  refused(Errc::not_supported, [](auto& tensor) { tensor.dl_tensor.dtype.lanes = 4; });
  refused(Errc::not_supported, [](auto& tensor) { tensor.dl_tensor.dtype = {kDLComplex, 64, 1}; });
  refused(Errc::not_supported, [](auto& tensor) { tensor.dl_tensor.device.device_type = kDLROCM; });
  refused(Errc::no_device, [](auto& tensor) { tensor.dl_tensor.device = {kDLCUDA, 900}; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.ndim = -1; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.ndim = 9; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.shape = nullptr; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.shape[1] = -3; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.data = nullptr; });
  refused(Errc::invalid_value, [](auto& tensor) { tensor.dl_tensor.byte_offset = 2; });
  require_error(Errc::invalid_value, [] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); });
}

BOOST_AUTO_TEST_CASE(the_first_use_waits_for_the_stream_that_the_tensor_came_on, *boost::unit_test::label("pending")) {
  const Stream stream;
  const ForeignTensor foreign({4});
  Gate gate(stream);
  stream.launch_host_func([] {});
  const Array x = from_dlpack(&foreign.tensor(), {.stream = stream});
  const Array y = x + 1;
  BOOST_TEST(!current_stream().query());
  BOOST_TEST(gate.open());
  BOOST_TEST(holds(y, 1));
}

BOOST_AUTO_TEST_CASE(page_locked_and_host_memory_are_the_hosts) {
  const Device host{DeviceKind::host, 0};
  const DeviceGuard on(host);
  for (const DLDeviceType type : {kDLCPU, kDLCUDAHost}) {
    const ForeignTensor foreign({4});
    foreign.tensor().dl_tensor.device = {type, 0};
    BOOST_TEST(from_dlpack(&foreign.tensor()).device() == host);
    BOOST_TEST(is_given_once(*foreign.given));
  }
}

// There and back

BOOST_AUTO_TEST_CASE(a_tensor_that_comes_back_is_the_array) {
  Array x = ones({2, 3});
  Array y = from_dlpack(to_dlpack(x.select(1)));
  BOOST_TEST(y.buffer() == x.buffer());
  BOOST_TEST(y.shape() == (Shape{3}));
  y += 1;
  BOOST_TEST(x.to_vector<float>() == (Numbers{1, 1, 1, 2, 2, 2}), per_element());
  BOOST_TEST(from_dlpack(to_dlpack_unversioned(x)).buffer() == x.buffer());
}

BOOST_AUTO_TEST_CASE(a_tensor_that_comes_back_read_only_is_not_to_be_written) {
  const Array x = ones({4});
  Array y = from_dlpack(to_dlpack(x, {.read_only = true}));
  require_error(Errc::not_permitted, [&] { y += 1; });
  BOOST_TEST(holds(y + x, 2));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
