#pragma once

// What needs CUDA's headers: launches of the program's own kernels.

#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

namespace refrain {
namespace detail {

inline dim3 to_cuda(const Dim3& extents) { return dim3(extents.x, extents.y, extents.z); }

template <class T>
inline constexpr bool is_memory_argument =
    std::is_same_v<std::decay_t<T>, Array> || std::is_base_of_v<MemoryAccess, std::decay_t<T>>;

/// What a parameter that points to T does with an array that is given as it is.
template <class T>
MemoryAccess access_of(const Array& array) {
  if constexpr (std::is_const_v<T>) {
    return read(array);
  } else {
    return readwrite(array);
  }
}
template <class T>
const MemoryAccess& access_of(const MemoryAccess& access) {
  return access;
}

template <class T>
inline constexpr bool is_write = false;
template <bool reads>
inline constexpr bool is_write<Accessed<reads, true>> = true;

/// A pointer to memory that nobody said anything about.
template <class Param, class Arg>
inline constexpr bool is_bare_pointer = std::is_pointer_v<Param> && !std::is_function_v<std::remove_pointer_t<Param>> &&
                                        !is_memory_argument<Arg> && !std::is_same_v<Arg, std::nullptr_t>;

template <class T>
inline constexpr bool is_parameter = false;
template <class T>
inline constexpr bool is_parameter<Param<T>> = true;

/// The parameter's value as far as it is known: an address is not yet.
template <class To, class Arg>
To initial_value(const Arg& arg) {
  if constexpr (is_memory_argument<Arg>) {
    static_assert(std::is_pointer_v<To>, "memory is given for a kernel parameter that is no pointer");
    return nullptr;
  } else if constexpr (is_parameter<Arg>) {
    static_assert(std::is_same_v<decltype(arg.value()), To>, "a Param has the kernel parameter's own type");
    return arg.value();
  } else {
    static_assert(std::is_convertible_v<const Arg&, To>, "an argument does not convert to its kernel parameter");
    return static_cast<To>(arg);
  }
}

/// `extra`: how many accesses follow the arguments.
template <std::size_t extra, class... Params>
class TypedKernelCall final : public KernelCall {
 public:
  /// `args`: a tuple of references to the arguments, then the accesses.
  template <class Args>
  TypedKernelCall(const LaunchConfig& config, void (*kernel)(Params...), const Args& args)
      : TypedKernelCall(config, kernel, args, std::index_sequence_for<Params...>(), std::make_index_sequence<extra>()) {
  }

  std::span<const KernelArgument> arguments() const { return {arguments_.data(), argument_count_}; }
  std::span<const ParameterUse> parameters() const { return {parameters_.data(), parameter_count_}; }

  std::shared_ptr<KernelCall> clone() const override { return std::make_shared<TypedKernelCall>(*this); }

  int launch(cudaStream_t stream, void* const* addresses) const override {
    Values values = values_with(addresses);
    std::array<void*, most> pointers = pointers_to(values);
    if (const cudaError_t status = allow_shared_memory(); status != cudaSuccess) return status;
    Attributes attributes;
    cudaLaunchConfig_t launch{};
    launch.gridDim = to_cuda(config_.grid);
    launch.blockDim = to_cuda(config_.block);
    launch.dynamicSmemBytes = config_.shared_bytes;
    launch.stream = stream;
    launch.attrs = attributes.data();
    launch.numAttrs = write_attributes(attributes);
    return cudaLaunchKernelExC(&launch, function(), pointers.data());
  }

  int add_to(cudaGraph_t graph, std::span<const cudaGraphNode_t> before, void* const* addresses,
             cudaGraphNode_t* node) const override {
    Values values = values_with(addresses);
    std::array<void*, most> pointers = pointers_to(values);
    if (const cudaError_t status = allow_shared_memory(); status != cudaSuccess) return status;
    const cudaKernelNodeParams params = node_params(pointers);
    cudaError_t status = cudaGraphAddKernelNode(node, graph, before.data(), before.size(), &params);
    Attributes attributes;
    const unsigned count = write_attributes(attributes);
    for (unsigned i = 0; i < count && status == cudaSuccess; ++i) {
      status = cudaGraphKernelNodeSetAttribute(*node, attributes[i].id, &attributes[i].val);
    }
    return status;
  }

  int set_in(cudaGraphExec_t exec, cudaGraphNode_t node, void* const* addresses) const override {
    Values values = values_with(addresses);
    std::array<void*, most> pointers = pointers_to(values);
    if (const cudaError_t status = allow_shared_memory(); status != cudaSuccess) return status;
    const cudaKernelNodeParams params = node_params(pointers);
    return cudaGraphExecKernelNodeSetParams(exec, node, &params);
  }

  const LaunchConfig& config() const noexcept override { return config_; }
  void set_config(const LaunchConfig& config) override { config_ = config; }

  void set_value(int parameter, const void* value) override {
    visit_value(parameter, [&](auto& own) { own = *static_cast<const std::decay_t<decltype(own)>*>(value); });
  }

  bool has_values_of(const KernelCall& other) const override {
    const auto* const same = dynamic_cast<const TypedKernelCall*>(&other);
    if (same == nullptr || same->kernel_ != kernel_) return false;
    return has_values_of(*same, std::index_sequence_for<Params...>());
  }

  bool has_pointer(const void* address) const noexcept override {
    for (const void* pointer : bare_) {
      if (pointer != nullptr && pointer == address) return true;
    }
    return false;
  }

  void replace_pointer(const KernelCall& original, const void* address, void* by) override {
    const auto& bare = static_cast<const TypedKernelCall&>(original).bare_;
    std::size_t at = 0;
    const auto replace = [&](auto& own) {
      using Value = std::decay_t<decltype(own)>;
      const void* const pointer = bare[at++];
      if constexpr (std::is_pointer_v<Value> && !std::is_function_v<std::remove_pointer_t<Value>>) {
        if (pointer != nullptr && pointer == address) own = static_cast<Value>(by);
      }
    };
    std::apply([&](auto&... own) { (replace(own), ...); }, values_);
  }

 private:
  static constexpr std::size_t most = sizeof...(Params) > 0 ? sizeof...(Params) : 1;
  using Values = std::tuple<std::decay_t<Params>...>;
  using Attributes = std::array<cudaLaunchAttribute, 3>;

  template <class Args, std::size_t... i, std::size_t... k>
  TypedKernelCall(const LaunchConfig& config, void (*kernel)(Params...), const Args& args, std::index_sequence<i...>,
                  std::index_sequence<k...>)
      : config_(config), kernel_(kernel), values_(initial_value<std::decay_t<Params>>(std::get<i>(args))...) {
    (note<std::decay_t<Params>>(std::get<i>(args), static_cast<int>(i)), ...);
    (note_extra(std::get<sizeof...(Params) + k>(args)), ...);
  }

  template <class To, class Arg>
  void note(const Arg& arg, int parameter) {
    if constexpr (is_memory_argument<Arg>) {
      using Pointee = std::remove_pointer_t<To>;
      static_assert(!is_write<Arg> || !std::is_const_v<Pointee>,
                    "memory that is written is given for a const kernel parameter");
      arguments_[argument_count_++] = {access_of<Pointee>(arg), known_dtype<std::remove_cv_t<Pointee>>(), parameter};
    } else if constexpr (is_parameter<Arg>) {
      parameters_[parameter_count_++] = {arg.state().get(), parameter};
    } else if constexpr (is_bare_pointer<To, Arg>) {
      bare_[static_cast<std::size_t>(parameter)] = static_cast<To>(arg);
    }
  }

  template <class Arg>
  void note_extra(const Arg& arg) {
    static_assert(std::is_base_of_v<MemoryAccess, Arg>,
                  "after a kernel's arguments only accesses follow: read, write or readwrite");
    arguments_[argument_count_++] = {arg, std::nullopt, -1};
  }

  template <std::size_t... i>
  bool has_values_of([[maybe_unused]] const TypedKernelCall& other, std::index_sequence<i...>) const {
    const auto is_given_otherwise = [&](std::size_t parameter) {
      for (std::size_t k = 0; k < argument_count_; ++k) {
        if (arguments_[k].parameter == static_cast<int>(parameter)) return true;
      }
      for (std::size_t k = 0; k < parameter_count_; ++k) {
        if (parameters_[k].slot == static_cast<int>(parameter)) return true;
      }
      return false;
    };
    [[maybe_unused]] const auto is_same = [&](std::size_t parameter, const auto& own, const auto& others) {
      using Value = std::decay_t<decltype(own)>;
      if constexpr (std::is_scalar_v<Value>) {
        return is_given_otherwise(parameter) || std::memcmp(&own, &others, sizeof(own)) == 0;
      }
      return true;
    };
    return (is_same(i, std::get<i>(values_), std::get<i>(other.values_)) && ...);
  }

  template <class Visit>
  void visit_value(int parameter, Visit visit) {
    int at = 0;
    std::apply([&](auto&... own) { ((at++ == parameter ? visit(own) : void()), ...); }, values_);
  }

  Values values_with(void* const* addresses) const {
    Values values = values_;
    for (std::size_t k = 0; k < argument_count_; ++k) {
      int at = 0;
      const auto set = [&](auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_pointer_v<Value> && !std::is_function_v<std::remove_pointer_t<Value>>) {
          if (at == arguments_[k].parameter) value = static_cast<Value>(addresses[k]);
        }
        ++at;
      };
      std::apply([&](auto&... value) { (set(value), ...); }, values);
    }
    return values;
  }

  static std::array<void*, most> pointers_to(Values& values) {
    std::array<void*, most> pointers{};
    std::size_t count = 0;
    std::apply([&](auto&... value) { ((pointers[count++] = &value), ...); }, values);
    return pointers;
  }

  cudaKernelNodeParams node_params(std::array<void*, most>& pointers) const {
    cudaKernelNodeParams params{};
    params.func = const_cast<void*>(function());
    params.gridDim = to_cuda(config_.grid);
    params.blockDim = to_cuda(config_.block);
    params.sharedMemBytes = static_cast<unsigned>(config_.shared_bytes);
    params.kernelParams = pointers.data();
    return params;
  }

  unsigned write_attributes(Attributes& attributes) const {
    unsigned count = 0;
    if (config_.cluster) {
      attributes[count].id = cudaLaunchAttributeClusterDimension;
      attributes[count++].val.clusterDim = {config_.cluster->x, config_.cluster->y, config_.cluster->z};
    }
    if (config_.cooperative) {
      attributes[count].id = cudaLaunchAttributeCooperative;
      attributes[count++].val.cooperative = 1;
    }
    if (config_.priority) {
      attributes[count].id = cudaLaunchAttributePriority;
      attributes[count++].val.priority = *config_.priority;
    }
    return count;
  }

  /// Allows all that the device has, since the permission is the kernel's: another thread's smaller need must not take
  /// it back before the launch.
  cudaError_t allow_shared_memory() const {
    constexpr std::size_t without_consent = 48 * 1024;
    if (config_.shared_bytes <= without_consent) return cudaSuccess;
    cudaFuncAttributes attributes{};
    cudaError_t status = cudaFuncGetAttributes(&attributes, function());
    if (status != cudaSuccess) return status;
    if (config_.shared_bytes <= static_cast<std::size_t>(attributes.maxDynamicSharedSizeBytes)) return cudaSuccess;
    int device = 0;
    int most = 0;
    status = cudaGetDevice(&device);
    if (status == cudaSuccess) {
      status = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
    }
    if (status != cudaSuccess) return status;
    most -= static_cast<int>(attributes.sharedSizeBytes);
    if (config_.shared_bytes > static_cast<std::size_t>(most)) return cudaErrorInvalidValue;
    return cudaFuncSetAttribute(function(), cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  }

  const void* function() const { return reinterpret_cast<const void*>(kernel_); }

  LaunchConfig config_;
  void (*kernel_)(Params...);
  Values values_;
  std::array<KernelArgument, most + extra> arguments_{};
  std::size_t argument_count_ = 0;
  std::array<ParameterUse, most> parameters_{};
  std::size_t parameter_count_ = 0;
  std::array<const void*, most> bare_{};  ///< by parameter: a pointer that nothing is said about, as it was given
};

/// Whether the arguments say what the kernel touches: those of the parameters, then accesses.
template <class Params, class Args, class Indices>
inline constexpr bool is_declared_launch = true;
template <class... Params, class... Args, std::size_t... i>
inline constexpr bool is_declared_launch<std::tuple<Params...>, std::tuple<Args...>, std::index_sequence<i...>> =
    (!is_bare_pointer<std::decay_t<Params>, std::tuple_element_t<i, std::tuple<Args...>>> && ...);

}  // namespace detail

template <class... Params, class... Args>
void Stream::launch(const LaunchConfig& config, void (*kernel)(Params...), const Args&... args) const {
  static_assert(sizeof...(Args) >= sizeof...(Params),
                "a kernel is launched with as many arguments as it has parameters");
  constexpr bool is_declared =
      detail::is_declared_launch<std::tuple<Params...>, std::tuple<Args...>, std::index_sequence_for<Params...>>;
  const detail::TypedKernelCall<sizeof...(Args) - sizeof...(Params), Params...> call(config, kernel,
                                                                                     std::forward_as_tuple(args...));
  detail::submit_launch(*this, config, call, call.arguments(), call.parameters(), is_declared);
}

}  // namespace refrain
