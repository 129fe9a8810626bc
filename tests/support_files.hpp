#pragma once

#include <filesystem>
#include <string>

namespace refrain::test {

/// A file that is there until the end of the scope.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content = {});
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  void write(const std::string& content) const;
  std::string content() const;

 private:
  std::filesystem::path path_;
};

}  // namespace refrain::test
