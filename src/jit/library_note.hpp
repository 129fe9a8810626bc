#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace refrain::jit {

/// What a process has learnt of a library by loading it, kept with the made kernels for processes that need not load
/// it. As with those, nothing of it is an error.
class LibraryNote {
 public:
  struct Found {
    std::string path;
    int version = 0;
  };

  /// Nothing where no process kept it, where the file is not as it was, or where the search may end at another one: it
  /// was made by another program, or with other folders to look in.
  static std::optional<Found> load(std::string_view name);
  static void store(std::string_view name, const Found& found);
};

}  // namespace refrain::jit
