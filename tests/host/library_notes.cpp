// What one process learns of a library, for those after it: as long as it is the same file that they would find.

#include "jit/library_note.hpp"
#include "support.hpp"
#include "support_cache.hpp"
#include "support_files.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace refrain::test {

namespace {

using jit::LibraryNote;

constexpr const char* name = "libnowhere.so.1";

}  // namespace

BOOST_AUTO_TEST_SUITE(host_library_notes)

BOOST_AUTO_TEST_CASE(what_is_noted_comes_back_under_its_name_alone) {
  const CacheScope cache;
  const TemporaryFile library("code");
  BOOST_TEST(!LibraryNote::load(name).has_value());
  LibraryNote::store(name, {library.path(), 13000});
  const auto found = LibraryNote::load(name);
  BOOST_REQUIRE(found.has_value());
  BOOST_TEST(found->path == library.path().string());
  BOOST_TEST(found->version == 13000);
  BOOST_TEST(!LibraryNote::load("libnowhere.so.2").has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_has_changed_is_another) {
  const CacheScope cache;
  const TemporaryFile library("code");
  const auto note = [&] { LibraryNote::store(name, {library.path(), 13000}); };
  note();
  library.write("longer code");
  BOOST_TEST(!LibraryNote::load(name).has_value());
  note();
  BOOST_TEST(LibraryNote::load(name).has_value());
  using namespace std::chrono_literals;
  std::filesystem::last_write_time(library.path(), std::filesystem::last_write_time(library.path()) + 1us);
  BOOST_TEST(!LibraryNote::load(name).has_value());
  note();
  const TemporaryFile other("longer code");
  std::filesystem::last_write_time(other.path(), std::filesystem::last_write_time(library.path()));
  std::filesystem::rename(other.path(), library.path());
  BOOST_TEST(!LibraryNote::load(name).has_value());
  note();
  std::filesystem::remove(library.path());
  BOOST_TEST(!LibraryNote::load(name).has_value());
  note();  // of nothing
  BOOST_TEST(!LibraryNote::load(name).has_value());
}

BOOST_AUTO_TEST_CASE(other_folders_to_look_in_may_have_another_file) {
  const CacheScope cache;
  const TemporaryFile library("code");
  const char* const before = std::getenv("LD_LIBRARY_PATH");
  const std::string folders = before != nullptr ? before : "";
  LibraryNote::store(name, {library.path(), 13000});
  setenv("LD_LIBRARY_PATH", (folders + ":/nowhere").c_str(), 1);
  BOOST_TEST(!LibraryNote::load(name).has_value());
  before != nullptr ? setenv("LD_LIBRARY_PATH", folders.c_str(), 1) : unsetenv("LD_LIBRARY_PATH");
  BOOST_TEST(LibraryNote::load(name).has_value());
}

BOOST_AUTO_TEST_CASE(a_path_of_this_folder_is_not_noted) {
  const CacheScope cache;
  const TemporaryFile library("code");
  LibraryNote::store(name, {std::filesystem::relative(library.path()), 13000});
  BOOST_TEST(cache.count() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
