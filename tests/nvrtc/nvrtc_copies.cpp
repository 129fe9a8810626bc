// A libnvrtc.so for tests that make thousands of kernels: NVRTC makes one after another in a process, so this one has
// several copies of the real library (REFRAIN_NVRTC), each with a lock of its own, and gives every program to one that
// is free. It is loaded where LD_LIBRARY_PATH names its folder.

#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// One copy of the library.
struct Copy {
  decltype(&nvrtcVersion) version;
  decltype(&nvrtcCreateProgram) create;
  decltype(&nvrtcDestroyProgram) destroy;
  decltype(&nvrtcCompileProgram) compile;
  decltype(&nvrtcGetProgramLogSize) log_size;
  decltype(&nvrtcGetProgramLog) log;
  decltype(&nvrtcGetCUBINSize) code_size;
  decltype(&nvrtcGetCUBIN) code;
  decltype(&nvrtcGetErrorString) describe;

  /// A path that no other copy has: the loader tells libraries apart by their files.
  explicit Copy(const fs::path& path) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr) throw std::runtime_error(dlerror());
    };
    find(version, "nvrtcVersion");
    find(create, "nvrtcCreateProgram");
    find(destroy, "nvrtcDestroyProgram");
    find(compile, "nvrtcCompileProgram");
    find(log_size, "nvrtcGetProgramLogSize");
    find(log, "nvrtcGetProgramLog");
    find(code_size, "nvrtcGetCUBINSize");
    find(code, "nvrtcGetCUBIN");
    find(describe, "nvrtcGetErrorString");
  }
};

/// As many copies as threads run at once, made when they are first needed.
class Copies {
 public:
  /// Never destroyed: threads may be at work when the process ends.
  static Copies& all() {
    static Copies& copies = []() -> Copies& {
      std::atexit([] { all().remove_folders(); });
      return *new Copies;
    }();
    return copies;
  }

  const Copy& any() { return *copies_.front(); }

  const Copy& take() {
    std::unique_lock lock(mutex_);
    if (free_.empty() && copies_.size() < most_) add();
    is_free_.wait(lock, [this] { return !free_.empty(); });
    const Copy* const copy = free_.back();
    free_.pop_back();
    return *copy;
  }
  void give(const Copy& copy) {
    const std::lock_guard lock(mutex_);
    free_.push_back(&copy);
    is_free_.notify_one();
  }

 private:
  Copies() : real_(fs::canonical(REFRAIN_NVRTC)), most_(std::max(1U, std::thread::hardware_concurrency())) { add(); }

  void add() {
    std::string folder = (fs::temp_directory_path() / "nvrtc-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no folder for a copy of NVRTC");
    for (const auto& file : fs::directory_iterator(real_.parent_path())) {
      const std::string name = file.path().filename();
      if (name.starts_with("libnvrtc-builtins.")) fs::create_symlink(file.path(), fs::path(folder) / name);
    }
    const fs::path path = fs::path(folder) / "libnvrtc.so";
    fs::copy_file(real_, path);
    folders_.emplace_back(folder);
    copies_.push_back(std::make_unique<Copy>(path));
    fs::remove(path);  // the largest part; what it is loaded from stays until the end
    free_.push_back(copies_.back().get());
  }

  void remove_folders() {
    const std::lock_guard lock(mutex_);
    std::error_code ignored;
    for (const fs::path& folder : folders_) fs::remove_all(folder, ignored);
  }

  const fs::path real_;
  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable is_free_;
  std::vector<fs::path> folders_;
  std::vector<std::unique_ptr<Copy>> copies_;
  std::vector<const Copy*> free_;
};

}  // namespace

/// A program of one of the copies, which is the program's alone until it is destroyed.
struct _nvrtcProgram {
  const Copy& copy = Copies::all().take();
  nvrtcProgram real = nullptr;

  _nvrtcProgram() = default;
  ~_nvrtcProgram() { Copies::all().give(copy); }
  _nvrtcProgram(const _nvrtcProgram&) = delete;
  _nvrtcProgram& operator=(const _nvrtcProgram&) = delete;
};

#pragma GCC visibility push(default)
extern "C" {

nvrtcResult nvrtcVersion(int* major, int* minor) { return Copies::all().any().version(major, minor); }

const char* nvrtcGetErrorString(nvrtcResult result) { return Copies::all().any().describe(result); }

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* source, const char* name, int count,
                               const char* const* headers, const char* const* names) {
  *program = new _nvrtcProgram;
  return (*program)->copy.create(&(*program)->real, source, name, count, headers, names);
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  const std::unique_ptr<_nvrtcProgram> gone(std::exchange(*program, nullptr));
  return gone->copy.destroy(&gone->real);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char* const* options) {
  return program->copy.compile(program->real, count, options);
}
nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t* size) {
  return program->copy.log_size(program->real, size);
}
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char* log) { return program->copy.log(program->real, log); }
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t* size) {
  return program->copy.code_size(program->real, size);
}
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char* code) { return program->copy.code(program->real, code); }

}  // extern "C"
#pragma GCC visibility pop
