// REFRAIN_DUMP_KERNELS: the texts of made kernels as files.

#include "jit/kernel_dump.hpp"
#include "support.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace refrain::test {

namespace {

using jit::KernelDump;
namespace fs = std::filesystem;

/// A folder of its own, which the variable names, until the end of the scope.
class DumpScope {
 public:
  DumpScope() {
    std::string pattern = (fs::temp_directory_path() / "refrain-dump-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
    base_ = pattern;
    setenv("REFRAIN_DUMP_KERNELS", folder().c_str(), 1);
  }
  ~DumpScope() {
    unsetenv("REFRAIN_DUMP_KERNELS");
    std::error_code ignored;
    fs::remove_all(base_, ignored);
  }
  DumpScope(const DumpScope&) = delete;
  DumpScope& operator=(const DumpScope&) = delete;

  fs::path folder() const { return base_ / "not" / "yet" / "there"; }
  std::set<std::string> names() const {
    std::set<std::string> all;
    if (!fs::exists(folder())) return all;
    for (const auto& entry : fs::directory_iterator(folder())) all.insert(entry.path().filename().string());
    return all;
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(folder() / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  fs::path base_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(host_kernel_dump)

BOOST_AUTO_TEST_CASE(texts_of_one_kernel_have_one_name) {
  const DumpScope scope;
  const KernelDump dump("sm_90\nsource");
  dump.write(".cu", "the source");
  dump.write(".log", "what was wrong");
  const std::set<std::string> names = scope.names();
  BOOST_TEST_REQUIRE(names.size() == 2U);
  const std::string stem = names.begin()->substr(0, names.begin()->find('.'));
  BOOST_TEST(stem.starts_with("fused_"));
  BOOST_TEST(stem.size() == 6 + 16U);
  BOOST_TEST(scope.text_of(stem + ".cu") == "the source");
  BOOST_TEST(scope.text_of(stem + ".log") == "what was wrong");
}

BOOST_AUTO_TEST_CASE(another_kernel_has_another_name_and_the_same_is_written_anew) {
  const DumpScope scope;
  KernelDump("one").write(".cu", "a longer text");
  KernelDump("one").write(".cu", "1");
  KernelDump("two").write(".cu", "2");
  const std::set<std::string> names = scope.names();
  BOOST_TEST_REQUIRE(names.size() == 2U);
  std::set<std::string> texts;
  for (const std::string& name : names) texts.insert(scope.text_of(name));
  BOOST_TEST((texts == std::set<std::string>{"1", "2"}));
}

BOOST_AUTO_TEST_CASE(without_the_variable_and_without_a_folder_nothing_happens) {
  const DumpScope scope;
  unsetenv("REFRAIN_DUMP_KERNELS");
  KernelDump("one").write(".cu", "text");
  BOOST_TEST(scope.names().empty());
  setenv("REFRAIN_DUMP_KERNELS", "/proc/nowhere", 1);
  KernelDump("one").write(".cu", "text");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
