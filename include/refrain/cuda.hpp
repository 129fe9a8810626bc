#pragma once

// What needs CUDA's headers: launches of the program's own kernels.

#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace refrain {
namespace detail {

inline dim3 to_cuda(const Dim3& extents) { return dim3(extents.x, extents.y, extents.z); }

template <class T>
inline constexpr bool is_array_argument =
    std::is_same_v<std::decay_t<T>, Array> || std::is_same_v<std::decay_t<T>, WriteOnly>;

inline const Array* array_of(const Array& array) { return &array; }
inline const Array* array_of(const WriteOnly& written) { return written.array; }

/// What an array must hold for a parameter that points to T; anything for `void`.
template <class T>
constexpr std::optional<DType> wanted_dtype() {
  if constexpr (std::is_void_v<T>) {
    return std::nullopt;
  } else {
    return dtype_of<T>();
  }
}

/// The parameter's value as far as it is known: the address of an array is not yet.
template <class Param, class Arg>
Param initial_value(const Arg& arg) {
  if constexpr (is_array_argument<Arg>) {
    static_assert(std::is_pointer_v<Param>, "an Array is given for a kernel parameter that is no pointer");
    return nullptr;
  } else {
    static_assert(std::is_convertible_v<const Arg&, Param>, "an argument does not convert to its kernel parameter");
    return static_cast<Param>(arg);
  }
}

template <class... Params>
class TypedKernelCall final : public KernelCall {
 public:
  template <class... Args>
  TypedKernelCall(const LaunchConfig& config, void (*kernel)(Params...), const Args&... args)
      : config_(config), kernel_(kernel), values_(initial_value<std::decay_t<Params>>(args)...) {
    int parameter = 0;
    (note_array<std::decay_t<Params>>(args, parameter++), ...);
  }

  std::span<const KernelArray> arrays() const { return {arrays_.data(), static_cast<std::size_t>(array_count_)}; }

  std::shared_ptr<const KernelCall> clone() const override { return std::make_shared<TypedKernelCall>(*this); }

  int launch(cudaStream_t stream, void* const* addresses) const override {
    Values values = values_with(addresses);
    std::array<void*, most> pointers = pointers_to(values);
    if (const cudaError_t status = allow_shared_memory(); status != cudaSuccess) return status;
    std::array<cudaLaunchAttribute, 2> attributes{};
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
    cudaKernelNodeParams params{};
    params.func = const_cast<void*>(function());
    params.gridDim = to_cuda(config_.grid);
    params.blockDim = to_cuda(config_.block);
    params.sharedMemBytes = static_cast<unsigned>(config_.shared_bytes);
    params.kernelParams = pointers.data();
    cudaError_t status = cudaGraphAddKernelNode(node, graph, before.data(), before.size(), &params);
    std::array<cudaLaunchAttribute, 2> attributes{};
    const unsigned count = write_attributes(attributes);
    for (unsigned i = 0; i < count && status == cudaSuccess; ++i) {
      status = cudaGraphKernelNodeSetAttribute(*node, attributes[i].id, &attributes[i].val);
    }
    return status;
  }

 private:
  static constexpr std::size_t most = sizeof...(Params) > 0 ? sizeof...(Params) : 1;
  using Values = std::tuple<std::decay_t<Params>...>;

  template <class Param, class Arg>
  void note_array(const Arg& arg, int parameter) {
    if constexpr (is_array_argument<Arg>) {
      using Pointee = std::remove_pointer_t<Param>;
      constexpr bool is_write_only = std::is_same_v<Arg, WriteOnly>;
      static_assert(!is_write_only || !std::is_const_v<Pointee>, "write(x) is given for a const kernel parameter");
      arrays_[static_cast<std::size_t>(array_count_++)] = {array_of(arg), wanted_dtype<std::remove_cv_t<Pointee>>(),
                                                           !is_write_only, !std::is_const_v<Pointee>, parameter};
    }
  }

  Values values_with(void* const* addresses) const {
    Values values = values_;
    set_addresses(values, addresses, std::index_sequence_for<Params...>());
    return values;
  }

  template <std::size_t... i>
  void set_addresses(Values& values, void* const* addresses, std::index_sequence<i...>) const {
    for (int k = 0; k < array_count_; ++k) {
      const int parameter = arrays_[static_cast<std::size_t>(k)].parameter;
      const auto set = [&](auto& value, std::size_t at) {
        if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>) {
          if (static_cast<int>(at) == parameter) value = static_cast<std::decay_t<decltype(value)>>(addresses[k]);
        }
      };
      (set(std::get<i>(values), i), ...);
    }
  }

  static std::array<void*, most> pointers_to(Values& values) {
    std::array<void*, most> pointers{};
    std::size_t count = 0;
    std::apply([&](auto&... value) { ((pointers[count++] = &value), ...); }, values);
    return pointers;
  }

  unsigned write_attributes(std::array<cudaLaunchAttribute, 2>& attributes) const {
    unsigned count = 0;
    if (config_.cluster) {
      attributes[count].id = cudaLaunchAttributeClusterDimension;
      attributes[count].val.clusterDim = {config_.cluster->x, config_.cluster->y, config_.cluster->z};
      ++count;
    }
    if (config_.cooperative) {
      attributes[count].id = cudaLaunchAttributeCooperative;
      attributes[count].val.cooperative = 1;
      ++count;
    }
    return count;
  }

  cudaError_t allow_shared_memory() const {
    constexpr std::size_t without_consent = 48 * 1024;
    if (config_.shared_bytes <= without_consent) return cudaSuccess;
    return cudaFuncSetAttribute(function(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(config_.shared_bytes));
  }

  const void* function() const { return reinterpret_cast<const void*>(kernel_); }

  LaunchConfig config_;
  void (*kernel_)(Params...);
  Values values_;
  std::array<KernelArray, most> arrays_{};
  int array_count_ = 0;
};

}  // namespace detail

template <class... Params, class... Args>
void Stream::launch(const LaunchConfig& config, void (*kernel)(Params...), const Args&... args) const {
  static_assert(sizeof...(Params) == sizeof...(Args),
                "a kernel is launched with as many arguments as it has parameters");
  const detail::TypedKernelCall<Params...> call(config, kernel, args...);
  detail::submit_launch(*this, config, call, call.arrays());
}

}  // namespace refrain
