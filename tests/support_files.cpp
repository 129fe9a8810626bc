#include "support_files.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace refrain::test {

TemporaryFile::TemporaryFile(const std::string& content) {
  std::string name = (std::filesystem::temp_directory_path() / "refrain_tests_XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file < 0) throw std::runtime_error("no temporary file can be made");
  ::close(file);
  path_ = name;
  write(content);
}

TemporaryFile::~TemporaryFile() {
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void TemporaryFile::write(const std::string& content) const {
  // A new one each time: file systems write one that is cut to nothing and filled again to the disk at once.
  std::filesystem::remove(path_);
  std::ofstream(path_, std::ios::binary) << content;
}

std::string TemporaryFile::content() const {
  std::ifstream file(path_, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace refrain::test
