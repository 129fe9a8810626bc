// A kernel that faults ends the process's use of the device: what is told, and that the rest goes on. Each case runs in
// a process of its own, for the device does not come back.

#include "runtime/buffer.hpp"
#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

namespace rf = refrain;

namespace {

__global__ void fault() { *static_cast<volatile int*>(nullptr) = 1; }

/// What a case of this binary prints, run with these variables set. It must end well.
std::string run_in_a_process(const std::string& name, const std::string& variables = "") {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = variables + " '" + self + "' --color_output=no --run_test=cuda_device_loss_child/" +
                              name + " -- --device=cuda 2>&1";
  FILE* const child = popen(command.c_str(), "r");
  BOOST_REQUIRE(child != nullptr);
  std::string text;
  std::array<char, 4096> part;
  while (std::fgets(part.data(), part.size(), child) != nullptr) text += part.data();
  const int status = pclose(child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0), text);
  return text;
}

void require_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) BOOST_TEST((text.find(word) != std::string::npos), word << " is missing in: " << text);
}

/// The text of the error that says the device is lost.
template <class Call>
std::string told_by(const Call& call) {
  try {
    call();
  } catch (const rf::Error& error) {
    BOOST_TEST((error.code() == rf::Errc::device_lost), error.what());
    return error.what();
  }
  BOOST_ERROR("nothing was thrown");
  return {};
}

void require_host_goes_on() {
  const rf::DeviceGuard host({rf::DeviceKind::host, 0});
  auto [graph, sum] = rf::capture([] { return rf::ones({4}) + 2; });
  graph.instantiate().replay();
  BOOST_TEST(rf::test::holds(sum, 3));
}

}  // namespace

// Run by the cases below alone.
BOOST_AUTO_TEST_SUITE(cuda_device_loss_child, *boost::unit_test::disabled())

BOOST_AUTO_TEST_CASE(foreign_work_faults) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  rf::Array x = rf::ones({4});
  rf::Event event;
  const rf::GraphExec exec = rf::capture([&] { x *= 2; }).instantiate();
  x += 1;
  fault<<<1, 1, 0, stream.native()>>>();
  std::cout << told_by([&] { stream.synchronize(); }) << "\n";
  told_by([&] { rf::synchronize(); });
  told_by([&] { x.to_vector<float>(); });
  told_by([&] { x += 1; });
  told_by([&] { rf::ones({4}); });
  told_by([&] { exec.replay(); });
  told_by([&] { stream.record_event(event); });
  told_by([&] { rf::Stream another; });
  require_host_goes_on();
}

BOOST_AUTO_TEST_CASE(a_command_of_a_graph_faults) {
  const rf::Device device = rf::current_device();
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device.index;
  cudaMemPool_t pool = nullptr;
  BOOST_REQUIRE_EQUAL(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
  rf::Array sound = rf::ones({4});
  rf::set_memory_pool(device, pool);
  rf::Array gone = rf::ones({1 << 25});
  rf::Array result = rf::zeros({1 << 25});
  const rf::GraphExec exec = rf::capture([&] {
                               sound *= 2;
                               result -= gone;
                               sound += 1;
                             }).instantiate();
  rf::synchronize();
  // The memory goes from under the array.
  BOOST_REQUIRE_EQUAL(cudaFreeAsync(gone.buffer()->address(), nullptr), cudaSuccess);
  BOOST_REQUIRE_EQUAL(cudaDeviceSynchronize(), cudaSuccess);
  BOOST_REQUIRE_EQUAL(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  std::cout << told_by([&] {
    exec.replay();
    rf::synchronize();
  }) << "\n";
  require_host_goes_on();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(cuda_device_loss)

BOOST_AUTO_TEST_CASE(a_fault_is_told_with_what_was_submitted_last_and_the_host_goes_on) {
  const std::string text = run_in_a_process("foreign_work_faults");
  require_words(text, {"device_lost", "'add' at", "device_loss.cu:", "REFRAIN_SYNC=1", "REFRAIN_EXECUTION=eager"});
}

BOOST_AUTO_TEST_CASE(a_fault_in_a_graph_names_the_graph_and_run_command_by_command_the_command) {
  const std::string child = "a_command_of_a_graph_faults";
  require_words(run_in_a_process(child), {"device_lost", "'replay' of graph", "device_loss.cu:"});
  const std::string known = run_in_a_process(child, "REFRAIN_SYNC=1 REFRAIN_EXECUTION=eager");
  require_words(known, {"device_lost", "'sub' at", "device_loss.cu:"});
  BOOST_TEST((known.find("'add' at") == std::string::npos), known);
}

BOOST_AUTO_TEST_SUITE_END()
