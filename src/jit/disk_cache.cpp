#include "jit/disk_cache.hpp"

#include "runtime/environment.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace refrain::jit {

namespace {

constexpr std::array<char, 16> magic = {'r', 'e', 'f', 'r', 'a', 'i', 'n', ' ', 'k', 'e', 'r', 'n', 'e', 'l', ' ', '1'};

struct Header {
  std::array<char, 16> magic;
  std::uint64_t key_bytes;
  std::uint64_t code_bytes;
  std::uint64_t checksum;  ///< of key and code
};

/// An open file.
class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool is_open() const noexcept { return descriptor_ >= 0; }
  int get() const noexcept { return descriptor_; }

  bool read(void* to, std::size_t bytes) const {
    for (auto* at = static_cast<char*>(to); bytes > 0;) {
      const ssize_t got = ::read(descriptor_, at, bytes);
      if (got <= 0) return false;
      at += got;
      bytes -= static_cast<std::size_t>(got);
    }
    return true;
  }
  bool write(const void* from, std::size_t bytes) const {
    for (const auto* at = static_cast<const char*>(from); bytes > 0;) {
      const ssize_t put = ::write(descriptor_, at, bytes);
      if (put <= 0) return false;
      at += put;
      bytes -= static_cast<std::size_t>(put);
    }
    return true;
  }
  /// The size of a regular file that is the user's own and nobody else may write; -1 of any other.
  std::int64_t own_size() const {
    struct stat is {};
    if (::fstat(descriptor_, &is) != 0 || !S_ISREG(is.st_mode) || is.st_uid != ::geteuid()) return -1;
    return (is.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? -1 : static_cast<std::int64_t>(is.st_size);
  }

 private:
  int descriptor_;
};

/// The folder, made where it is not there; empty when there is none to be trusted.
std::string folder() {
  if (runtime::environment("REFRAIN_CACHE") == "0") return {};
  std::string base = runtime::environment("XDG_CACHE_HOME");
  if (base.empty() || base.front() != '/') {
    const std::string home = runtime::environment("HOME");
    if (home.empty() || home.front() != '/') return {};
    base = home + "/.cache";
  }
  const std::string path = base + "/refrain";
  std::error_code ignored;
  std::filesystem::create_directories(base, ignored);
  (void)::mkdir(path.c_str(), S_IRWXU);
  struct stat is {};
  if (::lstat(path.c_str(), &is) != 0 || !S_ISDIR(is.st_mode) || is.st_uid != ::geteuid()) return {};
  return (is.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? std::string() : path;
}

std::string path_of(const std::string& in, std::string_view key) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/%016llx.kernel", static_cast<unsigned long long>(hash_of(key)));
  return in + name.data();
}

std::uint64_t checksum_of(std::string_view key, std::string_view code) { return hash_of(code, hash_of(key)); }

}  // namespace

std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed) noexcept {
  std::uint64_t hash = seed;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

std::optional<std::string> DiskCache::load(std::string_view key) {
  const std::string in = folder();
  if (in.empty()) return std::nullopt;
  const File file(::open(path_of(in, key).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  Header header{};
  if (!file.is_open() || !file.read(&header, sizeof header) || header.magic != magic) return std::nullopt;
  const std::int64_t size = file.own_size();
  if (size < 0 || header.key_bytes != key.size() || header.code_bytes > static_cast<std::uint64_t>(size) ||
      sizeof header + header.key_bytes + header.code_bytes != static_cast<std::uint64_t>(size)) {
    return std::nullopt;
  }
  std::string kept_key(header.key_bytes, '\0');
  std::string code(header.code_bytes, '\0');
  if (!file.read(kept_key.data(), kept_key.size()) || !file.read(code.data(), code.size())) return std::nullopt;
  if (kept_key != key || checksum_of(key, code) != header.checksum) return std::nullopt;
  return code;
}

void DiskCache::store(std::string_view key, std::string_view code) {
  const std::string in = folder();
  if (in.empty()) return;
  std::string temporary = in + "/new.XXXXXX";
  bool is_whole = false;
  {
    const File file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file.is_open()) return;
    const Header header{magic, key.size(), code.size(), checksum_of(key, code)};
    is_whole = file.write(&header, sizeof header) && file.write(key.data(), key.size()) &&
               file.write(code.data(), code.size());
  }
  // A name appears with all of its content, whoever else writes it.
  if (!is_whole || std::rename(temporary.c_str(), path_of(in, key).c_str()) != 0) (void)::unlink(temporary.c_str());
}

}  // namespace refrain::jit
