#include "cuda/fused.hpp"

#include "cuda/device.hpp"
#include "cuda/driver.hpp"
#include "cuda/nvrtc.hpp"
#include "cuda/scopes.hpp"
#include "jit/cuda_last.hpp"
#include "jit/cuda_row_shape.hpp"
#include "jit/cuda_source.hpp"
#include "jit/disk_cache.hpp"
#include "jit/kernel_dump.hpp"
#include "kernels/reduce.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <atomic>
#include <compare>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

constexpr int has_clusters = 90;  // compute capability, 10 x major + minor

/// Kernels by all that they are made from.
class KernelCache {
 public:
  static KernelCache& get() {
    static KernelCache& all = *new KernelCache;
    return all;
  }

  struct Key {
    std::string architecture;
    std::string source;
    bool is_contracted;

    auto operator<=>(const Key&) const = default;
  };

  bool has(const Key& key) {
    const std::lock_guard lock(mutex_);
    return kernels_.contains(key);
  }

  CUkernel get(const Key& key) {
    {
      const std::lock_guard lock(mutex_);
      const auto known = kernels_.find(key);
      if (known != kernels_.end()) return known->second;
    }
    const CUkernel made = load(code_of(key));
    const std::lock_guard lock(mutex_);
    return kernels_.emplace(key, made).first->second;  // another thread may have been faster
  }

 private:
  static std::string code_of(const Key& key) {
    static const std::uint64_t headers = [] {
      std::uint64_t hash = jit::hash_of({});
      for (const jit::KernelSource& header : jit::kernel_sources()) hash = jit::hash_of(header.text, hash);
      return hash;
    }();
    const std::string made_for = key.architecture + " nvrtc " + std::to_string(nvrtc_version()) +
                                 (key.is_contracted ? " contracted" : "") + " headers " + std::to_string(headers);
    const std::string kept_as = made_for + "\n" + key.source;
    const jit::KernelDump dump(kept_as);
    dump.write(".cu", "// " + made_for + "\n" + key.source);
    if (auto code = jit::DiskCache::load(kept_as)) return std::move(*code);
    std::string code;
    try {
      code = compile_kernel(key.source, key.architecture, key.is_contracted);
    } catch (const Error& error) {
      dump.write(".log", error.what());
      throw;
    }
    jit::DiskCache::store(kept_as, code);
    return code;
  }

  static CUkernel load(const std::string& code) {
    using Load = CUresult(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned);
    using Find = CUresult(CUkernel*, CUlibrary, const char*);
    static auto* const load_data = reinterpret_cast<Load*>(driver_function("cuLibraryLoadData"));
    static auto* const find = reinterpret_cast<Find*>(driver_function("cuLibraryGetKernel"));
    const CallScope call;
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    check(load_data(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
    check(find(&kernel, library, "fused_kernel"), "cuLibraryGetKernel");
    return kernel;
  }

  std::mutex mutex_;
  std::map<Key, CUkernel> kernels_;
};

std::string architecture_of(int device) { return "sm_" + std::to_string(compute_capability(device)); }

/// By number, devices that have been asked for a cluster of wide_cluster blocks, and have no room for it.
std::atomic<std::uint64_t> without_wide_clusters{0};

constexpr int wide_cluster = 16;  // what devices of compute capability 9.0 take, where enough of them is there

bool may_have_wide_clusters(int device) {
  return device < 64 && compute_capability(device) == has_clusters && (without_wide_clusters >> device & 1) == 0;
}

jit::LaunchShape shape_of(int device, const runtime::FusedCommand& command) {
  jit::LaunchShape shape =
      jit::launch_shape(*command.expression, command.further, properties_of(device).multiprocessors);
  if (command.expression->has_rows() && may_have_wide_clusters(device)) shape.most_cluster = wide_cluster;
  return shape;
}

/// Lets a kernel have clusters that not every device has room for, and asks whether this one has: a part of one, or
/// one with fewer multiprocessors side by side, may have none.
bool allow_wide_clusters(int device, CUkernel kernel, const jit::RowShape& rows) {
  using GetDevice = CUresult(CUdevice*, int);
  using SetAttribute = CUresult(CUfunction_attribute, int, CUkernel, CUdevice);
  using Ask = CUresult(int*, CUfunction, const CUlaunchConfig*);
  static auto* const get_device = reinterpret_cast<GetDevice*>(driver_function("cuDeviceGet"));
  static auto* const set_attribute = reinterpret_cast<SetAttribute*>(driver_function("cuKernelSetAttribute"));
  static auto* const ask = reinterpret_cast<Ask*>(driver_function("cuOccupancyMaxActiveClusters"));
  const DeviceScope current(device);
  CUdevice number = 0;
  check(get_device(&number, device), "cuDeviceGet");
  check(set_attribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, kernel, number), "cuKernelSetAttribute");
  CUlaunchAttribute cluster{};
  cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  cluster.value.clusterDim = {static_cast<unsigned>(rows.blocks), 1, 1};
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(rows.blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(rows.block_size());
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &cluster;
  config.numAttrs = 1;
  int clusters = 0;
  return ask(&clusters, reinterpret_cast<CUfunction>(kernel), &config) == CUDA_SUCCESS && clusters > 0;
}

KernelCache::Key key_of(int device, const runtime::FusedCommand& command, const jit::LaunchShape& shape) {
  return {architecture_of(device),
          jit::cuda_source(*command.expression, shape, 1 + command.further.size(), command.last.get(),
                           command.is_last_early),
          command.expression->is_contracted};
}

}  // namespace

std::string why_no_fusion() {
  static const std::string why = [] {
    const int version = nvrtc_version();
    const auto name = [](int number) {
      return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    };
    if (version == 0) return std::string("NVRTC cannot be loaded");
    // Functions such as exp may give other bits.
    if (version / 10 != CUDART_VERSION / 10) {
      return "NVRTC is of CUDA " + name(version) + ", and Refrain was built with " + name(CUDART_VERSION);
    }
    return std::string();
  }();
  return why;
}

runtime::FusionLimits fusion_limits(int device) {
  constexpr int has_long_parameters = 70;  // with CUDA 12.1 and later
  const int capability = compute_capability(device);
  return {kernels::reduce_chunk * (capability >= has_clusters ? jit::LaunchShape::portable_cluster : 1), true,
          capability >= has_long_parameters ? 32'764 : 4096};
}

void make_kernels(const runtime::Plan& plan) {
  const auto is_fused = [](const runtime::PlannedCommand& planned) {
    return std::holds_alternative<runtime::FusedCommand>(planned.command->payload);
  };
  if (std::count_if(plan.commands.begin(), plan.commands.end(), is_fused) < 2) return;  // made where it is asked for
  std::set<KernelCache::Key> wanted;
  for (const runtime::PlannedCommand& planned : plan.commands) {
    const auto* fused = std::get_if<runtime::FusedCommand>(&planned.command->payload);
    if (fused == nullptr) continue;
    const int device = planned.command->device.index;
    auto key = key_of(device, *fused, shape_of(device, *fused));
    if (!KernelCache::get().has(key)) wanted.insert(std::move(key));
  }
  if (wanted.empty()) return;
  const std::vector<KernelCache::Key> all(wanted.begin(), wanted.end());
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex failing;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      try {
        KernelCache::get().get(all[i]);
      } catch (...) {
        const std::lock_guard lock(failing);
        failed = std::current_exception();
      }
    }
  };
  const std::size_t threads = std::min<std::size_t>(all.size(), std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {  // no more threads are to be had: these do it
  }
  work();
  others.clear();  // when they are done
  if (failed != nullptr) std::rethrow_exception(failed);
}

FusedKernel kernel_of(int device, const runtime::FusedCommand& command) {
  jit::LaunchShape shape = shape_of(device, command);
  CUkernel kernel = KernelCache::get().get(key_of(device, command, shape));
  if (!command.expression->has_rows()) return {kernel, shape};
  const jit::RowShape rows(*command.expression, shape.most_cluster);
  if (rows.blocks > jit::LaunchShape::portable_cluster && !allow_wide_clusters(device, kernel, rows)) {
    without_wide_clusters |= std::uint64_t{1} << device;
    shape = shape_of(device, command);
    kernel = KernelCache::get().get(key_of(device, command, shape));
  }
  return {kernel, shape};
}

void launch_fused(const FusedKernel& fused, int device, const runtime::FusedCommand& command, void* const* addresses,
                  const kernels::Target& target) {
  std::vector<kernels::RandomArgs> draws;
  for (const runtime::RandomCommand& draw : command.draws) draws.push_back(draw.args);
  const std::size_t parts = 1 + command.further.size();
  const auto scalars = std::span(command.scalars).first(parts * command.expression->scalars.size());
  jit::CudaLaunch launch =
      command.further.empty()
          ? jit::cuda_launch(*command.expression, fused.shape, addresses, scalars, draws,
                             properties_of(device).multiprocessors)
          : jit::cuda_launch_of_parts(*command.expression, command.further, fused.shape, addresses, scalars);
  if (command.last != nullptr) {
    jit::add_last(launch, *command.last, addresses + parts * command.expression->arrays(),
                  std::span(command.scalars).subspan(scalars.size()), fused.blocks);
  }
  const CUkernel kernel = fused.kernel;
  void* parameters[] = {launch.parameters.data()};
  const auto grid = static_cast<unsigned>(launch.grid);
  const auto block = static_cast<unsigned>(launch.block);
  if (target.graph == nullptr && target.exec == nullptr) {
    using Launch = CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
                            void**, void**);
    static auto* const launch_kernel = reinterpret_cast<Launch*>(driver_function("cuLaunchKernel"));
    check(launch_kernel(reinterpret_cast<CUfunction>(kernel), grid, 1, 1, block, 1, 1, 0, target.stream, parameters,
                        nullptr),
          "cuLaunchKernel");
    return;
  }
  CUDA_KERNEL_NODE_PARAMS params{};
  params.kern = kernel;
  params.gridDimX = grid;
  params.gridDimY = params.gridDimZ = 1;
  params.blockDimX = block;
  params.blockDimY = params.blockDimZ = 1;
  params.kernelParams = parameters;
  const DriverGraphs& driver = DriverGraphs::get();
  if (target.exec != nullptr) {
    check(driver.set_kernel_params(target.exec, target.in, &params), "cuGraphExecKernelNodeSetParams");
  } else {
    check(driver.add_kernel(target.node, target.graph, target.before, target.before_count, &params),
          "cuGraphAddKernelNode");
  }
}

}  // namespace refrain::cuda
