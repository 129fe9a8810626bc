// The texts of errors of files, addresses, and arrays handed to other code and taken from it, as in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"
#include "support_files.hpp"
#include "third_party/dlpack/dlpack.h"

#include <refrain/data.hpp>
#include <refrain/dlpack.hpp>
#include <refrain/npy.hpp>

#include <array>
#include <string>

namespace refrain::test {

namespace {

constexpr Device a_host_device{DeviceKind::host, 0};

void check_file(const std::string& content) {
  const TemporaryFile file(content);
  check_error_text([&] { load_npy(file.path()); });
}

/// A file of version 1.0 with this dict.
void check_dict(const std::string& dict, const std::string& elements = {}) {
  check_file(std::string("\x93NUMPY\1\0", 8) + static_cast<char>(dict.size()) + '\0' + dict + elements);
}

/// A tensor that the array of four floats lies in, which nobody takes.
struct Tensor {
  std::array<float, 4> memory{};
  std::int64_t extent = 4;
  DLManagedTensorVersioned managed{.version = {1, 0},
                                   .manager_ctx = nullptr,
                                   .deleter = nullptr,
                                   .flags = 0,
                                   .dl_tensor = {.data = memory.data(),
                                                 .device = {kDLCPU, 0},
                                                 .ndim = 1,
                                                 .dtype = {kDLFloat, 32, 1},
                                                 .shape = &extent,
                                                 .strides = nullptr,
                                                 .byte_offset = 0}};
};

template <class Change>
void check_tensor(Change change) {
  Tensor tensor;
  change(tensor.managed);
  check_error_text([&] { from_dlpack(&tensor.managed); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error_texts_interchange)

// Files

BOOST_AUTO_TEST_CASE(a_file_that_is_not_there) {
  check_error_text([] { load_npy("/nowhere/x.npy"); });
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_off) { check_file(std::string("\x93NUMPY\1\0\x40", 9)); }

BOOST_AUTO_TEST_CASE(a_file_that_is_of_another_kind) { check_file("PK\3\4 and so on"); }

BOOST_AUTO_TEST_CASE(a_file_of_a_later_version) { check_file(std::string("\x93NUMPY\4\0\x40", 9)); }

BOOST_AUTO_TEST_CASE(a_file_with_a_long_header) { check_file(std::string("\x93NUMPY\2\0\0\0\0\1", 12)); }

BOOST_AUTO_TEST_CASE(a_file_with_a_header_that_ends_early) { check_dict("{'descr': '<f4', 'shape': (0,)"); }

BOOST_AUTO_TEST_CASE(a_file_of_complex_numbers) { check_dict("{'descr': '<c8', 'shape': (0,)}"); }

BOOST_AUTO_TEST_CASE(a_file_of_two_arrays) {
  check_dict("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "12345678");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written) {
  const Array x = ones({2});
  check_error_text([&] { save_npy("/nowhere/x.npy", x); });
}

BOOST_AUTO_TEST_CASE(a_file_of_bfloat16) {
  const Array x = ones({2}, {.dtype = DType::bfloat16});
  check_error_text([&] { save_npy("/nowhere/x.npy", x); });
}

// Addresses

BOOST_AUTO_TEST_CASE(an_address_of_another_type) {
  check_error_text([] { data<double>(ones({2})); });
}

BOOST_AUTO_TEST_CASE(an_address_of_an_array_of_a_capture) {
  capture([] {
    const Array x = ones({2});
    check_error_text([&] { data<float>(x); });
  });
}

BOOST_AUTO_TEST_CASE(an_address_of_an_array_of_a_discarded_capture) {
  Array x;
  {
    const Stream stream;
    const StreamGuard on(stream);
    const Capture discarded(stream);
    x = ones({2});
  }
  check_error_text([&] { data<float>(x); });
}

BOOST_AUTO_TEST_CASE(a_span_of_an_array_of_a_gpu) {
  if (!a_gpu()) return;
  check_error_text([] { span<float>(ones({2})); });
}

BOOST_AUTO_TEST_CASE(a_span_of_a_view) {
  const Array x = ones({2, 3}, {.device = a_host_device});
  check_error_text([&] { span<float>(x.transpose(0, 1)); });
}

BOOST_AUTO_TEST_CASE(a_write_to_read_only_memory) {
  const DeviceGuard on(a_host_device);
  Array x = from_dlpack(to_dlpack(ones({2}), {.read_only = true}));
  check_error_text([&] { x += 1; });
}

// Tensors

BOOST_AUTO_TEST_CASE(a_consumers_stream_of_another_device) {
  const Array x = ones({2}, {.device = a_host_device});
  check_error_text([&] { to_dlpack(x, {.stream = Stream(a_host_device)}); });
}

BOOST_AUTO_TEST_CASE(a_consumers_stream_that_is_recorded) {
  if (!a_gpu()) return;
  const Array x = ones({2});
  capture([&] { check_error_text([&] { to_dlpack(x, {.stream = current_stream()}); }); });
}

BOOST_AUTO_TEST_CASE(a_read_only_tensor_without_a_version) {
  const Array x = ones({2});
  check_error_text([&] { to_dlpack_unversioned(x, {.read_only = true}); });
}

BOOST_AUTO_TEST_CASE(a_null_tensor) {
  check_error_text([] { from_dlpack(static_cast<DLManagedTensor*>(nullptr)); });
}

BOOST_AUTO_TEST_CASE(a_tensor_of_another_version) {
  check_tensor([](auto& tensor) { tensor.version = {2, 1}; });
}

BOOST_AUTO_TEST_CASE(a_tensor_on_a_device_of_another_kind) {
  check_tensor([](auto& tensor) { tensor.dl_tensor.device = {kDLROCM, 0}; });
}

BOOST_AUTO_TEST_CASE(a_tensor_of_complex_numbers) {
  check_tensor([](auto& tensor) { tensor.dl_tensor.dtype = {kDLComplex, 64, 1}; });
}

BOOST_AUTO_TEST_CASE(a_tensor_of_too_many_axes) {
  check_tensor([](auto& tensor) { tensor.dl_tensor.ndim = 9; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
