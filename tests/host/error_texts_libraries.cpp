// The error texts of libraries that are loaded when they are first used.

#include "runtime/library.hpp"
#include "support.hpp"
#include "support_errors.hpp"

#include <refrain/linalg.hpp>

namespace refrain::test {

BOOST_AUTO_TEST_SUITE(host_error_texts_libraries)

BOOST_AUTO_TEST_CASE(a_library_that_is_not_there) {
  check_error_text([] {
    runtime::Library({"/nowhere/libnowhere.so.1", "libnowhere.so.1"}, "matmul", "install it",
                     SourceLocation::current());
  });
}

BOOST_AUTO_TEST_CASE(a_library_without_the_function) {
  const runtime::Library library({"", "libc.so.6"}, "matmul", "install another", SourceLocation::current());
  BOOST_TEST(library.was_loaded());
  void (*function)() = nullptr;
  check_error_text([&] { library.find(function, "no_such_function"); });
}

BOOST_AUTO_TEST_CASE(a_stride_that_openblas_cannot_count) {
  const DeviceGuard on({DeviceKind::host, 0});
  std::vector<float> memory(4);
  const Array wide = from_blob(memory.data(), {2, 2}, {.strides = {std::int64_t{1} << 31, 1}});
  check_error_text([&] { matmul(wide, ones({2, 2})); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
