// Tracing by CUPTI that starts after the graph was made.

#include "native_graph.hpp"
#include "support.hpp"

#include <cupti.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace rf = refrain;
using boost::unit_test::label;

#define CUPTI_REQUIRE(expression) BOOST_REQUIRE_EQUAL((expression), CUPTI_SUCCESS)

namespace {

/// CUPTI's calls, opened when they are first needed as a profiler would be.
struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;

  bool complete() const { return register_callbacks && enable && disable && flush_all && next_record; }
};

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

const Cupti& cupti() {
  static const Cupti opened = [] {
    Cupti calls;
    void* library = dlopen(REFRAIN_TEST_CUPTI, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = dlopen("libcupti.so", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return calls;
    look_up(library, "cuptiActivityRegisterCallbacks", calls.register_callbacks);
    look_up(library, "cuptiActivityEnable", calls.enable);
    look_up(library, "cuptiActivityDisable", calls.disable);
    look_up(library, "cuptiActivityFlushAll", calls.flush_all);
    look_up(library, "cuptiActivityGetNextRecord", calls.next_record);
    return calls;
  }();
  return opened;
}

std::atomic<int> traced_kernels{0};

void CUPTIAPI on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *size = 1U << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most_records = 0;  // as many as fit
}

void CUPTIAPI on_buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  CUpti_Activity* record = nullptr;
  while (valid > 0 && cupti().next_record(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ++traced_kernels;
  }
  std::free(buffer);
}

/// How many kernels a trace of `run` sees.
template <class Run>
int traced(const Run& run) {
  static const CUptiResult registered = cupti().register_callbacks(on_buffer_requested, on_buffer_completed);
  CUPTI_REQUIRE(registered);
  rf::synchronize();
  traced_kernels = 0;
  CUPTI_REQUIRE(cupti().enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  run();
  rf::synchronize();
  CUPTI_REQUIRE(cupti().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
  CUPTI_REQUIRE(cupti().disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  return traced_kernels;
}

int kernel_nodes(const rf::GraphExec& exec) {
  const NativeGraph graph = read_graph(exec.native_graph());
  return static_cast<int>(std::count(graph.types.begin(), graph.types.end(), cudaGraphNodeTypeKernel));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_profiling)

BOOST_AUTO_TEST_CASE(a_trace_may_start_after_the_graph_was_made_and_sees_its_kernels, *label("report-60")) {
  const rf::Stream side;
  rf::Array x = rf::zeros({1000});
  rf::Array y = rf::zeros({1000});
  const rf::Graph graph = rf::capture([&] {
    x += 1;
    side.wait_stream(rf::current_stream());
    {
      const rf::StreamGuard on(side);
      y += x;
    }
    rf::current_stream().wait_stream(side);
    x += 1;
  });
  const rf::GraphExec literal = graph.instantiate({.optimize = rf::Optimize::none});
  const rf::GraphExec planned = graph.instantiate();
  if (!cupti().complete()) {
    BOOST_TEST_MESSAGE("left out: there is no CUPTI to open");
    return;
  }
  double expected_x = 0;
  double expected_y = 0;
  const auto replay = [&](const rf::GraphExec& exec) {
    exec.replay();
    expected_y += expected_x + 1;
    expected_x += 2;
  };
  const auto require_right = [&] {
    BOOST_TEST(rf::test::holds(x, expected_x));
    BOOST_TEST(rf::test::holds(y, expected_y));
  };
  for (const rf::GraphExec& exec : {literal, planned}) {
    BOOST_REQUIRE_GT(kernel_nodes(exec), 0);
    for (int round = 0; round < 2; ++round) {
      BOOST_TEST(traced([&] { replay(exec); }) >= kernel_nodes(exec));
      require_right();
      replay(exec);
      require_right();
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
