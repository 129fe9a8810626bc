// refrain_tests [Boost.Test options] -- --device=host|cuda

#define BOOST_TEST_NO_MAIN
#include <refrain/device.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

constexpr int skipped = 77;  // CTest's SKIP_RETURN_CODE

bool init_unit_test() { return true; }

/// The text after the last `--device=`; "host" when there is none.
std::string wanted_device(int argc, char** argv) {
  constexpr std::string_view option = "--device=";
  std::string device = "host";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.substr(0, option.size()) == option) device = argument.substr(option.size());
  }
  return device;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string device = wanted_device(argc, argv);
  if (device != "host" && device != "cuda") {
    std::cerr << "--device=" << device << " is not known; write --device=host or --device=cuda\n";
    return EXIT_FAILURE;
  }
  // The process's default device, and a second host ordinal for tests of several devices; read at first use.
  setenv("REFRAIN_DEVICE", device.c_str(), 1);
  setenv("REFRAIN_HOST_DEVICES", "2", 1);
  if (device == "cuda" && refrain::device_count(refrain::DeviceKind::cuda) == 0) {
    std::cerr << "skipped: there is no CUDA device (" << refrain::why_no_cuda() << ")\n";
    return skipped;
  }
  return boost::unit_test::unit_test_main(init_unit_test, argc, argv);
}
