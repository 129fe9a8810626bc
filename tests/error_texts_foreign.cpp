// The texts of errors of launches, functions and graphs of the program's own, as in error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"

namespace refrain::test {

namespace {

constexpr Device a_host_device{DeviceKind::host, 0};

/// A launch that is refused.
class NoKernel final : public detail::KernelCall {
 public:
  std::shared_ptr<KernelCall> clone() const override { return std::make_shared<NoKernel>(); }
  int launch(cudaStream_t, void* const*) const override { return 0; }
  int add_to(cudaGraph_t, std::span<const cudaGraphNode_t>, void* const*, cudaGraphNode_t*) const override { return 0; }
  int set_in(cudaGraphExec_t, cudaGraphNode_t, void* const*) const override { return 0; }
  const LaunchConfig& config() const noexcept override { return config_; }
  void set_config(const LaunchConfig& config) override { config_ = config; }
  void set_value(int, const void*) override {}
  bool has_pointer(const void*) const noexcept override { return false; }
  bool has_values_of(const KernelCall&) const override { return true; }
  void replace_pointer(const KernelCall&, const void*, void*) override {}

 private:
  LaunchConfig config_;
};

void launch_nothing(const Stream& stream, const LaunchConfig& config) {
  detail::submit_launch(stream, config, NoKernel(), {}, {}, true);
}

void launch_nothing(const Stream& stream, const LaunchConfig& config, const detail::KernelArgument& array) {
  detail::submit_launch(stream, config, NoKernel(), {&array, 1}, {}, true);
}

/// A function for either device, with any pointers, that does nothing.
constexpr auto nothing = [](auto...) {};

template <class... Accesses>
void enqueue_nothing(const Stream& stream, Label label, const Accesses&... accesses) {
  stream.enqueue(label, accesses..., on_cuda(nothing), on_host(nothing));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(error_texts_foreign)

// Launches are refused before anything asks for the kernel

BOOST_AUTO_TEST_CASE(a_kernel_with_a_grid_of_nothing) {
  check_error_text([] { launch_nothing(current_stream(), {.grid = 0}); });
}

BOOST_AUTO_TEST_CASE(a_kernel_with_too_many_threads) {
  check_error_text([] { launch_nothing(current_stream(), {.block = {1024, 2}}); });
}

BOOST_AUTO_TEST_CASE(a_kernel_whose_clusters_do_not_fit) {
  check_error_text([] { launch_nothing(current_stream(), {.grid = 3, .cluster = 2}); });
}

BOOST_AUTO_TEST_CASE(a_kernel_on_the_host) {
  check_error_text([] { launch_nothing(Stream(a_host_device), {}); });
}

BOOST_AUTO_TEST_CASE(a_kernel_with_an_array_of_another_device) {
  if (!a_gpu()) return;
  const Array there = ones({2}, {.device = a_host_device});
  check_error_text([&] { launch_nothing(current_stream(), {}, {readwrite(there), DType::float32, 0}); });
}

BOOST_AUTO_TEST_CASE(a_kernel_with_an_array_of_another_type) {
  if (!a_gpu()) return;
  const Array x = ones({2});
  check_error_text([&] { launch_nothing(current_stream(), {}, {readwrite(x), DType::int32, 0}); });
}

// Functions

BOOST_AUTO_TEST_CASE(a_function_for_cuda_alone_on_the_host) {
  check_error_text([] { Stream(a_host_device).enqueue("mine", nothing); });
}

BOOST_AUTO_TEST_CASE(a_function_for_the_host_alone_on_cuda) {
  if (!a_gpu()) return;
  check_error_text([] { current_stream().enqueue("mine", on_host(nothing)); });
}

BOOST_AUTO_TEST_CASE(a_function_without_a_label) {
  check_error_text([] { enqueue_nothing(current_stream(), ""); });
}

BOOST_AUTO_TEST_CASE(a_function_with_an_array_of_another_device) {
  const Device other = a_gpu() ? a_host_device : Device{DeviceKind::host, 1};
  const Array there = ones({2}, {.device = other});
  check_error_text([&] { enqueue_nothing(current_stream(), "mine", read(there)); });
}

BOOST_AUTO_TEST_CASE(a_function_that_takes_an_array_for_another_type) {
  const Stream stream;
  const Array x = ones({2});
  stream.wait_stream(current_stream());
  check_error_text([&] {
    stream.enqueue("mine", read(x), on_cuda([](cudaStream_t, const double*) {}), on_host([](const double*) {}));
    stream.synchronize();
  });
}

BOOST_AUTO_TEST_CASE(bytes_at_a_null_pointer) {
  check_error_text([] { enqueue_nothing(current_stream(), "mine", read(nullptr, 4)); });
}

BOOST_AUTO_TEST_CASE(bytes_of_a_negative_size) {
  const int number = 0;
  check_error_text([&] { enqueue_nothing(current_stream(), "mine", read(&number, -4)); });
}

BOOST_AUTO_TEST_CASE(a_device_is_reached_in_an_enqueued_function) {
  if (!a_gpu()) return;
  check_error_text([] { current_stream().enqueue("mine", [](cudaStream_t) { current_stream().query(); }); });
}

BOOST_AUTO_TEST_CASE(a_capture_is_ended_by_another_thread_while_a_function_is_called) {
  if (!a_gpu()) return;
  const Stream origin;
  Capture capture(origin);
  const auto ends = [&](cudaStream_t) { on_another_thread([&] { capture.end(); }); };
  check_error_text([&] { origin.enqueue("mine", ends); });
}

// Graphs

BOOST_AUTO_TEST_CASE(a_native_graph_on_the_host) {
  check_error_text([] { Stream(a_host_device).add_graph(nullptr, "mine"); });
}

BOOST_AUTO_TEST_CASE(a_native_graph_that_is_null) {
  if (!a_gpu()) return;
  check_error_text([] { current_stream().add_graph(nullptr, "mine"); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
