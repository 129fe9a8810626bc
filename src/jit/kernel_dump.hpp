#pragma once

#include <string>
#include <string_view>

namespace refrain::jit {

/// Texts of one made kernel for somebody to read: files in the folder that REFRAIN_DUMP_KERNELS names, made where it is
/// not there. Without the variable nothing is written, and nothing is an error, as of the kernels that are kept on
/// disk.
class KernelDump {
 public:
  /// @param key all that the kernel is made from; files are named by its hash
  explicit KernelDump(std::string_view key);

  /// Writes "fused_HASH.cu" for the suffix ".cu".
  void write(const char* suffix, std::string_view text) const;

 private:
  std::string stem_;  ///< folder and name; empty: nothing is wanted
};

}  // namespace refrain::jit
