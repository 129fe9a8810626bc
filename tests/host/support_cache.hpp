#pragma once

#include "support.hpp"

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

namespace refrain::test {

/// A cache of its own until the end of the scope.
class CacheScope {
 public:
  CacheScope() {
    std::string pattern = (std::filesystem::temp_directory_path() / "refrain-cache-XXXXXX").string();
    BOOST_REQUIRE(mkdtemp(pattern.data()) != nullptr);
    base_ = pattern;
    setenv("XDG_CACHE_HOME", pattern.c_str(), 1);
  }
  ~CacheScope() {
    unsetenv("XDG_CACHE_HOME");
    std::error_code ignored;
    std::filesystem::permissions(folder(), std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(base_, ignored);
  }
  CacheScope(const CacheScope&) = delete;
  CacheScope& operator=(const CacheScope&) = delete;

  std::filesystem::path folder() const { return base_ / "refrain"; }
  std::size_t count() const {
    if (!std::filesystem::exists(folder())) return 0;
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder()), std::filesystem::directory_iterator()));
  }
  /// The only file.
  std::filesystem::path file() const { return std::filesystem::directory_iterator(folder())->path(); }

 private:
  std::filesystem::path base_;
};

}  // namespace refrain::test
