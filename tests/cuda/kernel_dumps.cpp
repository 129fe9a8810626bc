// REFRAIN_DUMP_KERNELS: the source of each fused kernel that a process makes, or takes from the disk, is a file.

#include "support.hpp"
#include "support_views.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace refrain::test {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts_in(const fs::path& folder) {
  std::vector<std::string> all;
  if (!fs::exists(folder)) return all;
  for (const auto& entry : fs::directory_iterator(folder)) {
    BOOST_TEST((entry.path().extension() == ".cu"), entry.path());
    std::ifstream file(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_kernel_dumps)

BOOST_AUTO_TEST_CASE(each_fused_kernel_is_dumped_once_and_contracted_ones_beside_it) {
  std::string pattern = (fs::temp_directory_path() / "refrain-dump-XXXXXX").string();
  BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
  setenv("REFRAIN_DUMP_KERNELS", pattern.c_str(), 1);
  // No other test has this chain, so that the process has not made its kernel yet.
  const Array x = wave({1000});
  const auto [graph, y] = capture([&] { return expm1(log1p(sin(x)) * tanh(x) + 0.375F) - cos(x); });
  const bool is_fused = graph.instantiate().node_count() == 1;
  graph.instantiate();
  const std::size_t exact = texts_in(pattern).size();
  graph.instantiate({.math = Math::fast});
  const std::vector<std::string> all = texts_in(pattern);
  unsetenv("REFRAIN_DUMP_KERNELS");
  fs::remove_all(pattern);
  BOOST_TEST(exact == (is_fused ? 1U : 0U));
  BOOST_TEST(all.size() == (is_fused ? 2U : 0U));
  for (const std::string& text : all) {
    BOOST_TEST(text.starts_with("// sm_"), text.substr(0, 200));
    BOOST_TEST(text.find("fused_kernel") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
