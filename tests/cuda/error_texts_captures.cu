// The texts of errors about other code's work and captures, as in tests/error_texts.cpp.

#include "support.hpp"
#include "support_errors.hpp"
#include "support_runtime.hpp"

#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::check_error_text;

__global__ void stray() {}

BOOST_AUTO_TEST_SUITE(cuda_error_texts_captures)

BOOST_AUTO_TEST_CASE(other_code_puts_work_on_a_stream_that_is_recorded) {
  const runtime::Stream native;
  const rf::Stream stream = rf::Stream::wrap(native);
  const rf::StreamGuard on(stream);
  check_error_text([&] { rf::capture([&] { stray<<<1, 1, 0, native>>>(); }); });
}

BOOST_AUTO_TEST_CASE(a_draw_in_a_capture_of_other_code) {
  const runtime::Stream native;
  const rf::Stream stream = rf::Stream::wrap(native);
  const rf::StreamGuard on(stream);
  runtime::begin(native);
  check_error_text([] { rf::rand({4}); });
  runtime::end(native);
}

BOOST_AUTO_TEST_CASE(a_stream_of_a_broken_capture_of_other_code) {
  const runtime::Stream native;
  const rf::Stream stream = rf::Stream::wrap(native);
  runtime::begin(native);
  static_cast<void>(cudaStreamSynchronize(native));
  check_error_text([&] { stream.query(); });
  BOOST_TEST(runtime::failed_end(native) == cudaErrorStreamCaptureInvalidated);
}

BOOST_AUTO_TEST_SUITE_END()
