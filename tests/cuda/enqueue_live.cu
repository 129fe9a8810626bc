// Live captures that functions break.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_runtime.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::require_error;

namespace {

__global__ void add(float* x, float value) { x[threadIdx.x] += value; }

constexpr int size = 4;

struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<1, size, 0, stream>>>(x, value); }
};

struct Own {};

using Function = std::function<void(cudaStream_t stream, float* x)>;

void enqueue(rf::Array& x, const Function& function) {
  rf::current_stream().enqueue("mine", rf::readwrite(x), function);
}

bool eager_work_is_right(rf::Array& x) {
  x.assign(1);
  enqueue(x, Adds{2});
  x += 1;
  return rf::test::holds(x, 4) && cudaGetLastError() == cudaSuccess;
}

constexpr rf::test::Scope live_scopes[] = {{false, true}, {true, true}};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue_live)

BOOST_AUTO_TEST_CASE(a_live_capture_that_a_function_breaks_is_gone_and_its_streams_are_usable) {
  const Function functions[] = {
      [](cudaStream_t stream, float*) { static_cast<void>(cudaStreamSynchronize(stream)); },
      [](cudaStream_t, float*) { static_cast<void>(cudaDeviceSynchronize()); },
      [](cudaStream_t stream, float*) { runtime::end(stream); },
  };
  for (const rf::test::Scope scope : live_scopes) {
    for (const Function& function : functions) {
      BOOST_TEST_CONTEXT(scope) {
        const rf::Stream origin;
        rf::Array x = rf::zeros({size});
        origin.wait_stream(rf::current_stream());
        const auto body = [&] {
          x += 1;
          enqueue(x, function);
        };
        require_error(rf::Errc::capture_invalidated, [&] { rf::test::record(scope, origin, body); },
                      {"[mine]", "live", "enqueue_live.cu:"});
        BOOST_TEST(!rf::is_capturing());
        BOOST_TEST(!origin.is_capturing());
        const rf::StreamGuard on(origin);
        BOOST_TEST(eager_work_is_right(x));
        x.assign(0);
        rf::test::record(scope, origin, [&] { enqueue(x, Adds{1}); }).instantiate().replay();
        BOOST_TEST(rf::test::holds(x, 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_live_capture_is_handed_on_as_it_is) {
  for (const rf::test::Scope scope : live_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream origin;
      rf::Array x = rf::zeros({size});
      origin.wait_stream(rf::current_stream());
      const auto body = [&] {
        enqueue(x, [](cudaStream_t stream, float* to) {
          Adds{100}(stream, to);
          throw Own{};
        });
      };
      BOOST_CHECK_THROW(rf::test::record(scope, origin, body), Own);
      BOOST_TEST(!origin.is_capturing());
      const rf::StreamGuard on(origin);
      BOOST_TEST(eager_work_is_right(x));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fork_that_is_not_joined_is_found_at_the_end_of_a_live_capture) {
  const runtime::Fork fork;
  rf::Array x = rf::zeros({size});
  const auto body = [&] {
    enqueue(x, [&](cudaStream_t stream, float* to) {
      fork.begin(stream);
      Adds{100}(fork.side, to);
    });
  };
  require_error(rf::Errc::capture_unjoined, [&] { rf::capture(body, {.live = true}); });
  BOOST_TEST(runtime::status(fork.side) == cudaStreamCaptureStatusNone);
  BOOST_TEST(eager_work_is_right(x));
}

BOOST_AUTO_TEST_SUITE_END()
