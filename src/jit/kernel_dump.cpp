#include "jit/kernel_dump.hpp"

#include "jit/disk_cache.hpp"
#include "runtime/environment.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace refrain::jit {

KernelDump::KernelDump(std::string_view key) {
  const std::string folder = runtime::environment("REFRAIN_DUMP_KERNELS");
  if (folder.empty()) return;
  char name[32];
  std::snprintf(name, sizeof name, "/fused_%016llx", static_cast<unsigned long long>(hash_of(key)));
  stem_ = folder + name;
}

void KernelDump::write(const char* suffix, std::string_view text) const {
  if (stem_.empty()) return;
  const std::filesystem::path path = stem_ + suffix;
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace refrain::jit
