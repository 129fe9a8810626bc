// Kernels on disk: what is kept comes back whole or not at all, whatever happens to the files.

#include "jit/disk_cache.hpp"
#include "support.hpp"
#include "support_cache.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace refrain::test {

namespace {

using jit::DiskCache;
namespace fs = std::filesystem;

const std::string key = "sm_90\n__global__ void kernel() {}";
const std::string code(5000, '\x7f');

}  // namespace

BOOST_AUTO_TEST_SUITE(host_disk_cache)

BOOST_AUTO_TEST_CASE(what_is_kept_comes_back_under_its_key_alone) {
  const CacheScope cache;
  BOOST_TEST(!DiskCache::load(key));
  DiskCache::store(key, code);
  BOOST_TEST((DiskCache::load(key) == code));
  BOOST_TEST(!DiskCache::load(key + " "));
  DiskCache::store(key, "other");
  BOOST_TEST((DiskCache::load(key) == "other"));
  BOOST_TEST(cache.count() == 1U);
  struct stat is {};
  BOOST_REQUIRE(stat(cache.folder().c_str(), &is) == 0);
  BOOST_TEST((is.st_mode & 0777U) == 0700U);
}

BOOST_AUTO_TEST_CASE(any_byte_that_changed_is_noticed) {
  const CacheScope cache;
  DiskCache::store(key, code);
  std::string whole;
  {
    std::ifstream in(cache.file(), std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(in), {});
  }
  for (std::size_t at = 0; at < whole.size(); at += at < 100 ? 1 : 97) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    std::ofstream(cache.file(), std::ios::binary) << changed;
    BOOST_TEST(!DiskCache::load(key), "byte " << at);
  }
  for (const std::size_t length : {std::size_t{0}, std::size_t{10}, whole.size() - 1}) {
    std::ofstream(cache.file(), std::ios::binary) << whole.substr(0, length);
    BOOST_TEST(!DiskCache::load(key), "of length " << length);
  }
  std::ofstream(cache.file(), std::ios::binary) << whole << "more";
  BOOST_TEST(!DiskCache::load(key));
  DiskCache::store(key, code);
  BOOST_TEST((DiskCache::load(key) == code));
}

BOOST_AUTO_TEST_CASE(what_others_may_write_is_not_trusted) {
  const CacheScope cache;
  DiskCache::store(key, code);
  fs::permissions(cache.file(), fs::perms::group_write, fs::perm_options::add);
  BOOST_TEST(!DiskCache::load(key));
  fs::permissions(cache.file(), fs::perms::group_write, fs::perm_options::remove);
  BOOST_TEST((DiskCache::load(key) == code));
  fs::permissions(cache.folder(), fs::perms::others_write, fs::perm_options::add);
  BOOST_TEST(!DiskCache::load(key));
  DiskCache::store(key + "2", code);
  BOOST_TEST(cache.count() == 1U);
}

BOOST_AUTO_TEST_CASE(links_are_not_followed) {
  const CacheScope cache;
  DiskCache::store(key, code);
  const fs::path elsewhere = cache.folder().parent_path() / "elsewhere";
  const fs::path name = cache.file();
  fs::rename(name, elsewhere);
  fs::create_symlink(elsewhere, name);
  BOOST_TEST(!DiskCache::load(key));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_made_or_written_is_done_without) {
  const CacheScope cache;
  setenv("XDG_CACHE_HOME", "/proc/nowhere", 1);
  DiskCache::store(key, code);
  BOOST_TEST(!DiskCache::load(key));
  setenv("REFRAIN_CACHE", "0", 1);
  setenv("XDG_CACHE_HOME", cache.folder().parent_path().c_str(), 1);
  DiskCache::store(key, code);
  BOOST_TEST(!DiskCache::load(key));
  unsetenv("REFRAIN_CACHE");
  BOOST_TEST(cache.count() == 0U);
}

BOOST_AUTO_TEST_CASE(many_may_write_and_read_at_once) {
  const CacheScope cache;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        DiskCache::store(key, code);
        const auto found = DiskCache::load(key);
        if (!found || *found != code) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(wrong == 0);
  BOOST_TEST(cache.count() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
