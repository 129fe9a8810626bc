// The texts of errors of executables that are given something anew, as in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

namespace refrain::test {

namespace {

/// An executable of `y = x + step`.
struct Sum {
  Array x = filled(1);
  Param<float> step{1, "step"};
  Array y;
  GraphExec exec = capture([&] { y = x + step; }).instantiate();
};

}  // namespace

BOOST_AUTO_TEST_SUITE(error_texts_exec)

BOOST_AUTO_TEST_CASE(a_parameter_of_no_command_is_set) {
  const Sum sum;
  const Param<float> other(1, "other");
  check_error_text([&] { sum.exec.set(other, 2); });
}

BOOST_AUTO_TEST_CASE(the_geometry_of_what_is_no_launch_is_set) {
  const Sum sum;
  check_error_text([&] { sum.exec.set("add", {.grid = 2}); });
}

BOOST_AUTO_TEST_CASE(an_unknown_command_is_left_out) {
  const Sum sum;
  check_error_text([&] { sum.exec.enable("mul", false); });
}

BOOST_AUTO_TEST_CASE(a_host_function_is_left_out) {
  const GraphExec exec = capture([] { current_stream().launch_host_func([] {}); }).instantiate();
  check_error_text([&] { exec.enable("launch_host_func", false); });
}

BOOST_AUTO_TEST_CASE(an_empty_array_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(sum.x, Array()); });
}

BOOST_AUTO_TEST_CASE(an_array_of_no_command_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(filled(1), sum.x); });
}

BOOST_AUTO_TEST_CASE(a_slice_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(sum.x.slice(1, 3), filled(1, 2)); });
}

BOOST_AUTO_TEST_CASE(a_view_in_another_order_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(sum.x, filled(1, sum.x.size()).flip(0)); });
}

BOOST_AUTO_TEST_CASE(an_array_of_another_shape_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(sum.x, zeros({2, 2}, {.dtype = DType::int64})); });
}

BOOST_AUTO_TEST_CASE(an_array_of_another_device_is_bound) {
  const Sum sum;
  const Device other{DeviceKind::host, a_gpu() ? 0 : 1};
  check_error_text([&] { sum.exec.bind(sum.x, zeros({4}, {.device = other})); });
}

BOOST_AUTO_TEST_CASE(an_array_without_memory_is_bound) {
  const Sum sum;
  const auto [graph, made] = capture([] { return zeros({4}); });
  check_error_text([&, &later = made] { sum.exec.bind(sum.x, later); });
}

BOOST_AUTO_TEST_CASE(a_null_pointer_is_bound) {
  const Sum sum;
  check_error_text([&] { sum.exec.bind(nullptr, nullptr); });
}

BOOST_AUTO_TEST_CASE(an_address_of_no_command_is_bound) {
  const Sum sum;
  float number = 0;
  check_error_text([&] { sum.exec.bind(&number, &number); });
}

BOOST_AUTO_TEST_CASE(arrays_are_bound_to_elements_that_they_share) {
  const Array x = filled(1);
  Array y = zeros({4});
  const GraphExec exec = capture([&] { y.assign(x + 1); }).instantiate();
  exec.bind(x, y);
  check_error_text([&] { exec.replay(); });
}

BOOST_AUTO_TEST_CASE(the_output_for_an_empty_array) {
  const Sum sum;
  check_error_text([&] { sum.exec.output(Array()); });
}

BOOST_AUTO_TEST_CASE(the_output_for_an_array_of_no_command) {
  const Sum sum;
  check_error_text([&] { sum.exec.output(filled(1)); });
}

// What only CUDA devices have: tests/cuda/error_texts.cu has own kernels and functions

BOOST_AUTO_TEST_CASE(a_parameter_is_set_in_a_live_capture) {
  if (!a_gpu()) return;
  Array x = filled(1);
  const Param<float> step(1);
  const GraphExec exec = capture([&] { x += step; }, {.live = true}).instantiate();
  check_error_text([&] { exec.set(step, 2); });
}

BOOST_AUTO_TEST_CASE(an_update_by_a_live_capture) {
  if (!a_gpu()) return;
  const Sum sum;
  Array x = filled(1);
  const Graph live = capture([&] { x += 1; }, {.live = true});
  check_error_text([&] { sum.exec.update(live); });
}

BOOST_AUTO_TEST_CASE(an_update_by_a_graph_of_another_kind_of_device) {
  if (!a_gpu()) return;
  const Sum sum;
  const Graph elsewhere = [] {
    const DeviceGuard on(Device{DeviceKind::host, 0});
    Array x = filled(1);
    return capture([&] { x += 1; });
  }();
  check_error_text([&] { sum.exec.update(elsewhere); });
}

BOOST_AUTO_TEST_CASE(a_command_that_was_fused_is_left_out) {
  const Array x = ones({4});
  const auto [graph, y] = capture([&] { return (x + 1) * 2; });
  const GraphExec exec = graph.instantiate();
  check_error_text([&] { exec.enable("add", false); });
}

BOOST_AUTO_TEST_CASE(a_command_that_writes_shared_memory_is_left_out) {
  const Array x = ones({4});
  const auto [graph, y] = capture([&] { return exp(log(abs(sin(x)))); });
  const GraphExec exec = graph.instantiate({.passes = {.fusion = false}});
  check_error_text([&] { exec.enable("sin", false); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
