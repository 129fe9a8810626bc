#pragma once

#include <refrain/access.hpp>
#include <refrain/array.hpp>
#include <refrain/generator.hpp>
#include <refrain/param.hpp>
#include <refrain/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace refrain {

/// How `graphed` takes a struct of the program's apart: specialise it to name the members that matter, all of which it
/// must know how to take (arrays, parameters, plain values, containers and tuples of such, other structs).
///
///     template <>
///     struct refrain::Fields<Layer> {
///       static auto of(auto& layer) { return std::tie(layer.weight, layer.bias); }
///     };
template <class T>
struct Fields;

template <>
struct Fields<Device> {
  static auto of(auto& device) { return std::tie(device.kind, device.index); }
};

namespace detail {

/// How many elements a container among the leaves has.
struct LeafCount {
  std::size_t count = 0;
};
/// What a handle is a handle of.
struct LeafIdentity {
  std::uint64_t id = 0;
};

template <class T>
struct IsParam : std::false_type {};
template <class T>
struct IsParam<Param<T>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
concept LeafText = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept LeafFields = requires(T& object) {
  Fields<std::remove_const_t<T>>::of(object);
};
template <class T>
concept LeafRange = requires(T& object) {
  object.begin() != object.end();
  object.size();
};
template <class T>
concept LeafTuple = requires {
  std::tuple_size<std::remove_const_t<T>>::value;
};
template <class>
inline constexpr bool no_leaves = false;
template <class>
inline constexpr bool is_initializer_list = false;
template <class T>
inline constexpr bool is_initializer_list<std::initializer_list<T>> = true;
template <class Tuple>
consteval bool owns_elements() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return (!std::is_reference_v<std::tuple_element_t<i, Tuple>> && ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>());
}

/// Calls `take` for each array, parameter, piece of memory, plain value, text, container size and identity in the
/// object, in an order that its type and the sizes give.
template <class T, class Take>
void each_leaf(T& object, Take&& take) {
  using Bare = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Bare, Array> || IsParam<Bare>::value || std::is_base_of_v<MemoryAccess, Bare> ||
                std::is_arithmetic_v<Bare> || std::is_enum_v<Bare>) {
    take(object);
  } else if constexpr (std::is_empty_v<Bare>) {
    // Its type says all.
  } else if constexpr (LeafText<Bare>) {
    static_assert(
        !requires { std::remove_cvref_t<Take>::is_result; } || std::is_same_v<Bare, std::string>,
        "a text in the result must own its characters: return a std::string");
    take(std::string_view(object));
  } else if constexpr (std::is_same_v<Bare, Stream>) {
    take(LeafIdentity{object.id()});
  } else if constexpr (std::is_same_v<Bare, Generator>) {
    take(LeafIdentity{reinterpret_cast<std::uintptr_t>(object.core().get())});
  } else if constexpr (LeafFields<T>) {
    std::apply([&](auto&... fields) { (each_leaf(fields, take), ...); }, Fields<Bare>::of(object));
  } else if constexpr (IsOptional<Bare>::value) {
    take(LeafCount{object.has_value() ? std::size_t{1} : std::size_t{0}});
    if (object.has_value()) each_leaf(*object, take);
  } else if constexpr (std::is_same_v<Bare, std::vector<bool>>) {
    take(LeafCount{object.size()});
    for (const bool element : object) take(element);
  } else if constexpr (LeafTuple<Bare>) {
    static_assert(owns_elements<Bare>(), "a tuple of references names others' arrays: give these themselves");
    std::apply([&](auto&... elements) { (each_leaf(elements, take), ...); }, object);
  } else if constexpr (LeafRange<T>) {
    static_assert(!std::ranges::view<Bare> && !is_initializer_list<Bare>,
                  "a view names others' arrays: give the container that has them");
    take(LeafCount{static_cast<std::size_t>(object.size())});
    for (auto& element : object) each_leaf(element, take);
  } else if constexpr (std::is_same_v<Bare, Shape>) {
    take(LeafCount{static_cast<std::size_t>(object.ndim())});
    for (const std::int64_t extent : object) take(extent);
  } else {
    static_assert(!std::is_pointer_v<Bare>,
                  "a bare pointer says nothing of what it points to: pass read(pointer, bytes), write or readwrite");
    static_assert(no_leaves<T>, "graphed does not know this type: specialise refrain::Fields for it");
  }
}

}  // namespace detail
}  // namespace refrain
