#pragma once

#include <refrain/access.hpp>
#include <refrain/native.hpp>
#include <refrain/stream.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace refrain {

/// A function for streams of CUDA devices, in `Stream::enqueue`; a plain function is one too.
template <class Fn>
struct OnCuda {
  Fn fn;
};
template <class Fn>
OnCuda<std::decay_t<Fn>> on_cuda(Fn&& fn) {
  return {std::forward<Fn>(fn)};
}

/// A function for streams of host devices, in `Stream::enqueue`: called with the pointers, in stream order, by each
/// replay anew. The command owns it.
template <class Fn>
struct OnHost {
  Fn fn;
};
template <class Fn>
OnHost<std::decay_t<Fn>> on_host(Fn&& fn) {
  return {std::forward<Fn>(fn)};
}

namespace detail {

template <class T>
inline constexpr bool is_access = std::is_base_of_v<MemoryAccess, std::decay_t<T>>;
template <class T>
inline constexpr bool is_on_host = false;
template <class Fn>
inline constexpr bool is_on_host<OnHost<Fn>> = true;

/// The function of a call, or null.
template <bool on_host, class First, class... Rest>
auto* function_of(First& first, Rest&... rest) {
  if constexpr (!is_access<First> && is_on_host<std::decay_t<First>> == on_host) {
    return &first;
  } else if constexpr (sizeof...(Rest) > 0) {
    return function_of<on_host>(rest...);
  } else {
    return static_cast<std::nullptr_t*>(nullptr);
  }
}

template <class Fn>
Fn& unwrapped(Fn& fn) {
  return fn;
}
template <class Fn>
Fn& unwrapped(OnCuda<Fn>& on_cuda) {
  return on_cuda.fn;
}

/// Calls fn with what comes first and a DevicePointer for each access.
template <std::size_t count, class Fn, class... First>
void call_with_pointers(Fn& fn, void* const* addresses, const MemoryAccess* accesses, const Label& label,
                        First... first) {
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    fn(first..., DevicePointer(addresses[i], accesses[i], static_cast<int>(i), label)...);
  }
  (std::make_index_sequence<count>());
}

/// Refers to a callable that puts work on a stream; empty at first.
class StreamFunction {
 public:
  StreamFunction() = default;
  template <class Fn>
  explicit StreamFunction(Fn& fn)
      : fn_(&fn), call_([](void* callable, cudaStream_t stream, void* const* addresses) {
          (*static_cast<Fn*>(callable))(stream, addresses);
        }) {}

  explicit operator bool() const noexcept { return fn_ != nullptr; }
  void operator()(cudaStream_t stream, void* const* addresses) const { call_(fn_, stream, addresses); }

 private:
  void* fn_ = nullptr;
  void (*call_)(void*, cudaStream_t, void* const*) = nullptr;
};

using HostAccessFunction = std::function<void(void* const* addresses)>;

/// `on_cuda` is called in it, `on_host` is kept; either may be empty.
void submit_enqueue(const Stream& stream, const Label& label, std::span<const MemoryAccess> accesses,
                    const StreamFunction& on_cuda, HostAccessFunction on_host);

}  // namespace detail

template <class... Args>
void Stream::enqueue(Label label, Args&&... args) const {
  constexpr std::size_t count = (std::size_t{0} + ... + (detail::is_access<Args> ? 1 : 0));
  static_assert(sizeof...(Args) > count, "enqueue needs a function that takes a cudaStream_t and the pointers");
  static_assert(
      sizeof...(Args) - count <= 2,
      "enqueue takes accesses (read, write, readwrite), then one function, or one by on_cuda and one by on_host");
  std::array<MemoryAccess, count> accesses{};
  std::size_t next = 0;
  const auto note = [&](const auto& arg) {
    static_assert(!std::is_same_v<std::decay_t<decltype(arg)>, Array>,
                  "say what is done with the array: read(x), write(x) or readwrite(x)");
    if constexpr (detail::is_access<decltype(arg)>) accesses[next++] = arg;
  };
  (note(args), ...);
  auto* const for_cuda = detail::function_of<false>(args...);
  auto* const for_host = detail::function_of<true>(args...);
  detail::HostAccessFunction on_host;
  if constexpr (!std::is_same_v<decltype(for_host), std::nullptr_t* const>) {
    if (device(label.where).kind == DeviceKind::host) {
      on_host = [fn = for_host->fn, accesses, label](void* const* addresses) mutable {
        detail::call_with_pointers<count>(fn, addresses, accesses.data(), label);
      };
    }
  }
  if constexpr (std::is_same_v<decltype(for_cuda), std::nullptr_t* const>) {
    detail::submit_enqueue(*this, label, accesses, {}, std::move(on_host));
  } else {
    auto call = [&](cudaStream_t native, void* const* addresses) {
      detail::call_with_pointers<count>(detail::unwrapped(*for_cuda), addresses, accesses.data(), label, native);
    };
    detail::submit_enqueue(*this, label, accesses, detail::StreamFunction(call), std::move(on_host));
  }
}

}  // namespace refrain
