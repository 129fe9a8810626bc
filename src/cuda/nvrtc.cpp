#include "cuda/nvrtc.hpp"

#include "jit/cuda_source.hpp"
#include "jit/library_note.hpp"
#include "runtime/library.hpp"

#include <refrain/error.hpp>

#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace refrain::cuda {

namespace {

std::string library_name() { return "libnvrtc.so." + std::to_string(CUDART_VERSION / 1000); }

/// NVRTC as an earlier process found it, so that none is loaded where all kernels are there already, which takes longer
/// than all else. Nothing where the program itself has loaded one, which is then used.
const std::optional<jit::LibraryNote::Found>& known_file() {
  static const std::optional<jit::LibraryNote::Found> known = [] {
    const std::string name = library_name();
    return runtime::Library::is_loaded(name) ? std::nullopt : jit::LibraryNote::load(name);
  }();
  return known;
}

/// NVRTC, loaded at the first kernel that is made, or to know its version: from the file whose version is known, if one
/// is.
struct Nvrtc {
  std::string path;
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetCUBINSize) code_size;
  decltype(&nvrtcGetCUBIN) code;
  decltype(&nvrtcGetErrorString) describe;

  static const Nvrtc& get() {
    static const Nvrtc all = [] {
      const std::string name = library_name();
      const auto& known = known_file();
      const runtime::Library library(
          {known ? known->path : name, known ? std::string() : REFRAIN_CUDA_LIBRARIES "/" + name}, "instantiate",
          "install NVRTC of CUDA " + std::to_string(CUDART_VERSION / 1000) + ", or put its folder into LD_LIBRARY_PATH",
          {});
      Nvrtc found{};
      found.path = library.path();
      library.find(found.version, "nvrtcVersion");
      library.find(found.create, "nvrtcCreateProgram");
      library.find(found.destroy, "nvrtcDestroyProgram");
      library.find(found.compile, "nvrtcCompileProgram");
      library.find(found.log_size, "nvrtcGetProgramLogSize");
      library.find(found.log, "nvrtcGetProgramLog");
      library.find(found.code_size, "nvrtcGetCUBINSize");
      library.find(found.code, "nvrtcGetCUBIN");
      library.find(found.describe, "nvrtcGetErrorString");
      return found;
    }();
    return all;
  }
};

/// The one place where a status of NVRTC becomes an Error.
void check(nvrtcResult status, const char* expression, const std::string& more = {}) {
  if (status == NVRTC_SUCCESS) return;
  throw Error(Errc::backend, "nvrtc", expression, Nvrtc::get().describe(status) + more, {});
}

/// 0 where it cannot be loaded.
int loaded_version() {
  try {
    const Nvrtc& nvrtc = Nvrtc::get();
    int major = 0;
    int minor = 0;
    check(nvrtc.version(&major, &minor), "nvrtcVersion");
    const int version = major * 1000 + minor * 10;  // as CUDART_VERSION
    jit::LibraryNote::store(library_name(), {nvrtc.path, version});
    return version;
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace

int nvrtc_version() {
  static const int version = known_file() ? known_file()->version : loaded_version();
  return version;
}

std::string compile_kernel(const std::string& source, const std::string& architecture, bool is_contracted) {
  const Nvrtc& nvrtc = Nvrtc::get();
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const jit::KernelSource& header : jit::kernel_sources()) {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  nvrtcProgram made = nullptr;
  check(nvrtc.create(&made, source.c_str(), "fused.cu", static_cast<int>(names.size()), texts.data(), names.data()),
        "nvrtcCreateProgram");
  const auto destroy = [&](nvrtcProgram* program) { (void)nvrtc.destroy(program); };
  const std::unique_ptr<nvrtcProgram, decltype(destroy)> program(&made, destroy);
  const std::string for_architecture = "--gpu-architecture=" + architecture;
  const char* const contraction = is_contracted ? "--fmad=true" : "--fmad=false";
  // Minimal: without CUDA's textures and functions of the runtime, whose declarations take a fifth of an empty kernel's
  // time.
  const char* options[] = {for_architecture.c_str(), "--std=c++20", contraction, "-default-device", "--minimal"};
  const nvrtcResult status = nvrtc.compile(made, std::size(options), options);
  if (status != NVRTC_SUCCESS) {
    std::size_t size = 0;
    std::string log;
    if (nvrtc.log_size(made, &size) == NVRTC_SUCCESS) {
      log.resize(size);
      (void)nvrtc.log(made, log.data());
    }
    check(status, "nvrtcCompileProgram", ":\n" + log + "\n" + source);
  }
  std::size_t size = 0;
  check(nvrtc.code_size(made, &size), "nvrtcGetCUBINSize");
  std::string code(size, '\0');
  check(nvrtc.code(made, code.data()), "nvrtcGetCUBIN");
  return code;
}

}  // namespace refrain::cuda
