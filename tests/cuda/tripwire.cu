// Work that other code puts on a native stream while Refrain records it, held back.

#include "support.hpp"
#include "support_runtime.hpp"

#include <refrain/cuda.hpp>

#include <thread>

namespace rf = refrain;
using rf::test::holds;
using rf::test::require_error;

namespace {

__global__ void stray_kernel(float* x) { *x += 100; }

/// A stream of other code's, with memory.
struct Exposed {
  runtime::Stream native;
  rf::Stream stream = rf::Stream::wrap(native);
  rf::Array x = rf::zeros({4});
  float* address = nullptr;

  Exposed() {
    rf::current_stream().enqueue("address", rf::readwrite(x), [&](cudaStream_t, float* own) { address = own; });
    rf::synchronize();
  }
  void stray() const { stray_kernel<<<1, 1, 0, native>>>(address); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_tripwire, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(stray_work_is_found_and_named_and_everything_goes_on) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  const auto body = [&](bool strays) {
    e.x += 1;
    if (strays) {
      e.stray();
      CUDA_REQUIRE(cudaMemsetAsync(e.address, 0, 4, e.native));
    }
    e.x *= 2;
  };
  require_error(rf::Errc::capture_unsupported, [&] { rf::capture([&] { body(true); }); },
                {"stray_kernel(float*)", "a memset", "after 'add'", "before 'mul'", "tripwire.cu:", "enqueue", "live"});
  require_error(rf::Errc::capture_unsupported, [&] { rf::capture(e.stream, [&] { body(true); }); }, {"stray_kernel"});
  BOOST_TEST(runtime::status(e.native) == cudaStreamCaptureStatusNone);
  BOOST_TEST(holds(e.x, 0));  // nothing of it has run
  rf::capture([&] { body(false); }).instantiate().replay();
  BOOST_TEST(holds(e.x, 2));
  e.stray();
  BOOST_TEST(e.x.to_vector<float>()[0] == 102);
}

BOOST_AUTO_TEST_CASE(work_of_other_code_before_and_after_the_capture_is_no_stray) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  e.stray();
  const rf::Graph graph = rf::capture([&] { e.x += 1; });
  e.stray();
  graph.instantiate().replay();
  BOOST_TEST((e.x.to_vector<float>() == std::vector<float>{201, 1, 1, 1}));
}

BOOST_AUTO_TEST_CASE(a_stream_whose_handle_went_out_is_watched_too) {
  const rf::Stream stream;
  Exposed e;
  const cudaStream_t native = stream.native();
  const rf::StreamGuard on(stream);
  require_error(rf::Errc::capture_unsupported,
                [&] {
                  rf::capture([&] {
                    e.x += 1;
                    stray_kernel<<<1, 1, 0, native>>>(e.address);
                  });
                },
                {"stray_kernel"});
}

BOOST_AUTO_TEST_CASE(what_is_captured_live_is_no_stray) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  const rf::Graph graph = rf::capture(e.stream,
                                      [&] {
                                        e.x += 1;
                                        e.stray();
                                      },
                                      {.live = true});
  graph.instantiate().replay();
  BOOST_TEST((e.x.to_vector<float>() == std::vector<float>{101, 1, 1, 1}));
}

BOOST_AUTO_TEST_CASE(calls_of_refrain_from_another_thread_are_no_strays) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  rf::Array y = rf::zeros({1000});
  rf::synchronize();
  const rf::Graph graph = rf::capture([&] {
    e.x += 1;
    const bool is_right = rf::test::on_another_thread([&] {
      const rf::StreamGuard here(e.stream);
      for (int i = 0; i < 20; ++i) {
        y += 1;
        e.stream.query();
        const rf::Array temporary = y * 2;
        const rf::Event done = e.stream.record_event();
        done.synchronize();
        e.stream.synchronize();
      }
      return holds(y, 20);
    });
    BOOST_TEST(is_right);
    e.x += 1;
  });
  BOOST_TEST(graph.node_count() == 2);
  graph.instantiate().replay();
  BOOST_TEST(holds(e.x, 2));
}

BOOST_AUTO_TEST_CASE(arrays_that_were_used_on_the_stream_may_go_while_it_is_recorded) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  for (int i = 0; i < 10; ++i) {
    auto used = std::make_unique<rf::Array>(rf::ones({1000}) * 2);
    const rf::Graph graph = rf::capture([&] {
      e.x += 1;
      used.reset();
      e.x += 1;
    });
    graph.instantiate().replay();
  }
  BOOST_TEST(holds(e.x, 20));
}

BOOST_AUTO_TEST_CASE(several_threads_may_record_one_stream_that_other_code_has) {
  Exposed e;
  std::atomic<int> wrong{0};
  const auto run = [&] {
    const rf::StreamGuard on(e.stream);
    for (int i = 0; i < 20; ++i) {
      auto [graph, y] = rf::capture([] { return rf::ones({4}) + 1; });
      graph.instantiate().replay();
      if (y.to_vector<float>()[3] != 2) ++wrong;
    }
  };
  std::thread other(run);
  run();
  other.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(runtime::status(e.native) == cudaStreamCaptureStatusNone);
}

BOOST_AUTO_TEST_CASE(a_watch_that_other_code_breaks_is_begun_again_and_reported) {
  Exposed e;
  const rf::StreamGuard on(e.stream);
  const rf::Graph graph = rf::capture([&] {
    e.x += 1;
    const cudaError_t refused = rf::test::on_another_thread([&] { return cudaStreamSynchronize(e.native); });
    BOOST_TEST(refused == cudaErrorStreamCaptureUnsupported);
    static_cast<void>(rf::test::on_another_thread([&] { return e.stream.query(); }));  // begins it again
    e.x += 1;
  });
  BOOST_TEST(rf::test::of_kind(graph.diagnostics(), rf::DiagnosticKind::watch_broken).size() == 1U);
  graph.instantiate().replay();
  BOOST_TEST(holds(e.x, 2));
  require_error(rf::Errc::capture_unsupported,
                [&] {
                  rf::capture([&] {
                    e.x += 1;
                    static_cast<void>(rf::test::on_another_thread([&] { return cudaStreamSynchronize(e.native); }));
                    static_cast<void>(rf::test::on_another_thread([&] { return e.stream.query(); }));
                    e.stray();
                  });
                },
                {"stray_kernel"});
}

BOOST_AUTO_TEST_SUITE_END()
