#include "jit/library_note.hpp"

#include "jit/disk_cache.hpp"
#include "runtime/environment.hpp"

#include <dlfcn.h>
#include <sys/stat.h>

#include <sstream>

namespace refrain::jit {

namespace {

/// What tells a file from any other, and from itself when it has been written since; empty when it is not there.
std::string identity_of(const std::string& path) {
  struct stat is {};
  if (::stat(path.c_str(), &is) != 0) return {};
  std::ostringstream text;
  text << path << ' ' << is.st_dev << ' ' << is.st_ino << ' ' << is.st_size << ' ' << is.st_mtim.tv_sec << '.'
       << is.st_mtim.tv_nsec;
  return text.str();
}

/// All that decides where the loader finds a library of that name.
std::string key_of(std::string_view name) {
  Dl_info own{};
  const bool has_own = dladdr(reinterpret_cast<const void*>(&identity_of), &own) != 0 && own.dli_fname != nullptr;
  return "library " + std::string(name) + "\n" + runtime::environment("LD_LIBRARY_PATH") + "\n" +
         identity_of("/etc/ld.so.cache") + "\n" + identity_of("/proc/self/exe") + "\n" +
         (has_own ? identity_of(own.dli_fname) : std::string());
}

}  // namespace

std::optional<LibraryNote::Found> LibraryNote::load(std::string_view name) {
  const std::optional<std::string> kept = DiskCache::load(key_of(name));
  if (!kept) return std::nullopt;
  std::istringstream text(*kept);
  Found found;
  std::string identity;
  if (!(text >> found.version) || !text.ignore() || !std::getline(text, found.path) || !std::getline(text, identity)) {
    return std::nullopt;
  }
  if (identity.empty() || identity != identity_of(found.path)) return std::nullopt;
  return found;
}

void LibraryNote::store(std::string_view name, const Found& found) {
  if (found.path.empty() || found.path.front() != '/') return;  // of this folder only
  DiskCache::store(key_of(name), std::to_string(found.version) + "\n" + found.path + "\n" + identity_of(found.path));
}

}  // namespace refrain::jit
