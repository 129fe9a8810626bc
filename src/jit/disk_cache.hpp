#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace refrain::jit {

/// Made kernels, kept from process to process in $XDG_CACHE_HOME/refrain, else ~/.cache/refrain; `REFRAIN_CACHE=0` does
/// without. Nothing of it is an error: what cannot be read, is not the user's own, or is not whole, is not there, and
/// what cannot be written is not kept. Any number of processes may read and write it.
class DiskCache {
 public:
  /// The code that was kept under this key, which is compared whole.
  static std::optional<std::string> load(std::string_view key);
  static void store(std::string_view key, std::string_view code);
};

/// FNV-1a of the bytes.
std::uint64_t hash_of(std::string_view bytes, std::uint64_t seed = 0xcbf29ce484222325U) noexcept;

}  // namespace refrain::jit
