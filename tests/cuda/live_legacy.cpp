// Other code's work on the legacy stream while a live capture is open.

#include "support.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

namespace rf = refrain;
using rf::test::holds;
using rf::test::record;
using rf::test::Scope;

namespace {

constexpr Scope live_scopes[] = {{false, true}, {true, true}};
constexpr rf::CaptureOptions guarded{.guard_legacy_stream = true};

struct Stray {
  const char* name;
  cudaError_t (*issue)(float*);
};
std::ostream& operator<<(std::ostream& out, const Stray& stray) { return out << stray.name; }

constexpr Stray strays[] = {
    {"kernel", [](float*) { return runtime::try_launch(cudaStreamLegacy); }},
    {"null stream", [](float*) { return runtime::try_launch(nullptr); }},
    {"memset", [](float* p) { return cudaMemsetAsync(p, 0, sizeof(float), cudaStreamLegacy); }},
    {"synchronous copy",
     [](float* p) {
       float number = 0;
       return cudaMemcpy(&number, p, sizeof(number), cudaMemcpyDefault);
     }},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_live_legacy)

BOOST_AUTO_TEST_CASE(stray_work_fails_and_invalidates_a_capture_that_guards_it) {
  const foreign::Memory<float> number(1);
  for (const Stray& stray : strays) {
    for (const Scope scope : live_scopes) {
      BOOST_TEST_CONTEXT(stray << ", " << scope) {
        const rf::Stream origin;
        rf::Array x = rf::zeros({4});
        rf::synchronize();
        rf::test::require_error(rf::Errc::capture_invalidated, [&] {
          record(
              scope, origin,
              [&] {
                x += 1;
                BOOST_TEST(stray.issue(number) == cudaErrorStreamCaptureImplicit);
                static_cast<void>(cudaGetLastError());
                x += 1;
              },
              guarded);
        });
        BOOST_TEST(!origin.is_capturing());
        BOOST_TEST(stray.issue(number) == cudaSuccess);  // it disturbs nothing now
        const rf::Graph graph = record(
            scope, origin, [&] { x += 1; }, guarded);
        graph.instantiate().replay();
        BOOST_TEST(holds(x, 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(stray_work_runs_at_once_where_nothing_guards) {
  const foreign::Memory<float> number(1);
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({4});
      rf::synchronize();
      const rf::Graph graph = record(scope, origin, [&] {
        x += 1;
        for (const Stray& stray : strays) BOOST_TEST(stray.issue(number) == cudaSuccess);
      });
      BOOST_TEST(graph.node_count() == 1);
      graph.instantiate().replay();
      BOOST_TEST(holds(x, 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_guard_adds_nothing_to_the_graph) {
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      const rf::Stream branch;
      rf::Array x = rf::zeros({4});
      rf::Array y = rf::zeros({4});
      const auto program = [&] {
        x += 1;
        branch.wait_stream(origin);
        {
          const rf::StreamGuard on(branch);
          y.assign(x);
        }
        origin.wait_stream(branch);
        x += y;
      };
      const rf::Graph plain = record(scope, origin, program);
      const rf::Graph graph = record(scope, origin, program, guarded);
      BOOST_TEST(graph.node_count() == plain.node_count());
      BOOST_TEST(read_graph(graph.native()) == read_graph(plain.native()));
      graph.instantiate().replay();
      BOOST_TEST(holds(x, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_capture_that_is_left_gives_the_legacy_stream_back) {
  const foreign::Memory<float> number(1);
  for (const Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({4});
      BOOST_CHECK_THROW(record(
                            scope, origin,
                            [&] {
                              x += 1;
                              throw std::runtime_error("left");
                            },
                            guarded),
                        std::runtime_error);
      for (const Stray& stray : strays) BOOST_TEST(stray.issue(number) == cudaSuccess);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_device_of_a_capture_is_guarded) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const rf::Stream origin(devices->first);
  const rf::Stream there(devices->second);
  const foreign::DeviceScope on(devices->second);
  const foreign::Memory<float> number(1);
  rf::test::require_error(rf::Errc::capture_invalidated, [&] {
    record(
        {false, true}, origin,
        [&] {
          rf::bench::empty(origin);
          there.wait_stream(origin);
          rf::bench::empty(there);
          BOOST_TEST(cudaMemsetAsync(number, 0, sizeof(float), cudaStreamLegacy) == cudaErrorStreamCaptureImplicit);
          static_cast<void>(cudaGetLastError());
          origin.wait_stream(there);
          rf::bench::empty(origin);
        },
        guarded);
  });
}

BOOST_AUTO_TEST_SUITE_END()
