#include "runtime/library.hpp"

#include <refrain/error.hpp>

#include <dlfcn.h>
#include <link.h>

namespace refrain::runtime {

Library::Library(std::initializer_list<std::string> names, const char* needed_by, const std::string& remedy,
                 SourceLocation where)
    : needed_by_(needed_by), remedy_(remedy), where_(where) {
  std::string why;
  for (const std::string& name : names) {
    if (name.empty()) continue;
    name_ = name;
    handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    was_loaded_ = handle_ != nullptr;
    if (!was_loaded_) handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    if (why.empty()) why = dlerror();
  }
  throw Error(Errc::not_supported, needed_by, *names.begin(), "cannot be loaded (" + why + "); " + remedy, where);
}

bool Library::is_loaded(const std::string& name) noexcept {
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

std::string Library::path() const {
  const link_map* map = nullptr;
  return dlinfo(handle_, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

void* Library::address_of(const char* name) const {
  void* const address = dlsym(handle_, name);
  if (address != nullptr) return address;
  throw Error(Errc::not_supported, needed_by_, name_, std::string("has no function ") + name + "; " + remedy_, where_);
}

}  // namespace refrain::runtime
