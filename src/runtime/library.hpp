#pragma once

#include <refrain/source_location.hpp>

#include <initializer_list>
#include <string>
#include <type_traits>

namespace refrain::runtime {

/// A shared library that is loaded at its first use, so that programs without that use neither need it nor pay for it.
class Library {
 public:
  /// The first of these files or names that can be loaded.
  /// @param needed_by the call, for the error
  /// @param remedy what to do where none can
  /// @throws Error(Errc::not_supported)
  Library(std::initializer_list<std::string> names, const char* needed_by, const std::string& remedy,
          SourceLocation where);

  /// Whether the program has loaded a library of that name.
  static bool is_loaded(const std::string& name) noexcept;

  /// Its file; empty where the loader cannot tell.
  std::string path() const;
  /// Whether the program had loaded it itself.
  bool was_loaded() const noexcept { return was_loaded_; }
  /// Fills in a pointer to the function of this name.
  /// @throws Error(Errc::not_supported) when it has none
  template <class Function>
  void find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(address_of(name));
  }

 private:
  void* address_of(const char* name) const;

  void* handle_ = nullptr;  ///< kept for good
  bool was_loaded_ = false;
  std::string name_;
  const char* needed_by_;
  std::string remedy_;
  SourceLocation where_;
};

}  // namespace refrain::runtime
