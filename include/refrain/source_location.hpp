#pragma once

#include <string>

namespace refrain {

/// Where a call stands in the user's program. Taken by default arguments, so `a + b` knows its line.
/// (`std::source_location` is missing from the standard library clang 14 is used with.)
struct SourceLocation {
  const char* file = "";
  int line = 0;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) noexcept {
    return {file, line};
  }

  /// "file.cpp:12", or "" when nothing is known.
  std::string str() const { return line == 0 ? std::string() : std::string(file) + ":" + std::to_string(line); }
};

}  // namespace refrain
