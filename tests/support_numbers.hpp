#pragma once

#include <refrain/refrain.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

// References of the elementwise ops: which numbers a dtype has, what rounding to it means, and how far two numbers are
// apart. Nothing here is the library's but its types.

namespace refrain::test {

/// Wider than every dtype (on x86-64, 64 bits of precision).
using Real = long double;

template <class T>
struct Format;
template <>
struct Format<float16> {
  static constexpr int precision = 11, least_exponent = -14, most_exponent = 15;
};
template <>
struct Format<bfloat16> {
  static constexpr int precision = 8, least_exponent = -126, most_exponent = 127;
};
template <>
struct Format<float> {
  static constexpr int precision = 24, least_exponent = -126, most_exponent = 127;
};
template <>
struct Format<double> {
  static constexpr int precision = 53, least_exponent = -1022, most_exponent = 1023;
};

/// The least number of a dtype's that is not subnormal.
template <class T>
Real least_normal() {
  return std::ldexp(Real{1}, Format<T>::least_exponent);
}
/// What is too large by one unit.
template <class T>
Real overflow() {
  return std::ldexp(Real{1}, Format<T>::most_exponent + 1);
}

/// The distance of T's numbers about x, which is finite.
template <class T>
Real ulp(Real x) {
  const int exponent = x == 0 ? Format<T>::least_exponent : std::max(std::ilogb(x), Format<T>::least_exponent);
  return std::ldexp(Real{1}, exponent - Format<T>::precision + 1);
}

/// x as the nearest number of T, ties to even.
template <class T>
Real nearest(Real x) {
  if (x == 0 || !std::isfinite(x)) return x;
  const Real unit = ulp<T>(x);
  const Real rounded = std::nearbyint(x / unit) * unit;
  return std::abs(rounded) < overflow<T>() ? rounded : std::copysign(std::numeric_limits<Real>::infinity(), x);
}

template <class T>
Real real(T x) {
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    return static_cast<float>(x);
  } else {
    return x;
  }
}

/// Calls `fn` with a value of the C++ type of this dtype.
template <class Fn>
auto with_type(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::bool_: return fn(bool{});
    case DType::uint8: return fn(std::uint8_t{});
    case DType::float16: return fn(float16{});
    case DType::bfloat16: return fn(bfloat16{});
    case DType::int32: return fn(std::int32_t{});
    case DType::int64: return fn(std::int64_t{});
    case DType::float32: return fn(float{});
    case DType::float64: break;
  }
  return fn(double{});
}

/// x, a number of an integer's dtype or a bool's or else of a float's, cast to To: floats to integers truncate and
/// saturate, NaN gives 0, integers keep their low bits, anything but 0 is true, and to floats it is rounded once.
template <class To>
Real converted(Real x, bool from_integer) {
  if constexpr (std::is_same_v<To, bool>) {
    return x == 0 ? 0 : 1;
  } else if constexpr (!std::is_integral_v<To>) {
    return nearest<To>(x);
  } else {
    if (from_integer) return static_cast<To>(static_cast<std::int64_t>(x));
    if (std::isnan(x)) return 0;
    constexpr Real least = std::numeric_limits<To>::min();
    constexpr Real most = std::numeric_limits<To>::max();
    return std::min(std::max(std::trunc(x), least), most) + Real{0};  // no -0
  }
}

/// How far `got` is from `exact` in units of T about the larger of `exact` and `scale`; infinite numbers are the first
/// ones that do not fit.
template <class T>
Real distance(Real got, Real exact, Real scale = 0) {
  if (std::isnan(exact) || std::isnan(got)) {
    return std::isnan(exact) && std::isnan(got) ? 0 : std::numeric_limits<Real>::infinity();
  }
  const auto within = [](Real x) { return std::min(std::max(x, -overflow<T>()), overflow<T>()); };
  return std::abs(within(got) - within(exact)) / ulp<T>(std::max(std::abs(within(exact)), within(std::abs(scale))));
}

/// The same number, NaN or zero of the same sign.
inline bool is_identical(Real got, Real expected) {
  if (std::isnan(expected)) return std::isnan(got);
  return got == expected && std::signbit(got) == std::signbit(expected);
}

/// Zeros, the least and the largest numbers, infinities, NaN, halves and numbers where functions turn.
template <class T>
std::vector<T> special_values() {
  const Real tiny = ulp<T>(0);
  const Real least = least_normal<T>();
  const Real most = overflow<T>() - ulp<T>(overflow<T>() / 2);
  const Real integers_end = std::ldexp(Real{1}, Format<T>::precision);
  std::vector<T> values;
  for (const Real x : {Real{0},
                       tiny,
                       3 * tiny,
                       least - tiny,
                       least,
                       Real{0.001L},
                       Real{0.1L},
                       Real{0.25L},
                       Real{0.5L},
                       Real{0.7L},
                       1 - ulp<T>(0.5L),
                       Real{1},
                       1 + ulp<T>(1),
                       Real{1.5L},
                       Real{2},
                       Real{2.5L},
                       Real{3},
                       Real{3.14159L},
                       Real{3.5L},
                       Real{7},
                       Real{10},
                       Real{88.5L},
                       Real{100},
                       integers_end / 2 - 0.5L,
                       integers_end - 1,
                       integers_end,
                       most / 2,
                       most,
                       std::numeric_limits<Real>::infinity()}) {
    for (const Real sign : {1, -1}) {
      if constexpr (std::is_same_v<T, double>) {
        values.push_back(static_cast<double>(sign * x));
      } else {
        values.push_back(T(static_cast<float>(nearest<T>(sign * x))));
      }
    }
  }
  values.push_back(T(std::numeric_limits<float>::quiet_NaN()));
  return values;
}

/// Half of them any bits, NaNs and subnormal numbers among them, half between -20 and 20. Integers: any bits, or small.
template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937_64 bits(seed);
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (std::is_integral_v<T>) {
      values[i] = static_cast<T>(i % 2 == 0 ? bits() : bits() % 21 - 10);
    } else {
      const std::uint64_t any = bits();
      if (i % 2 == 0) {
        std::memcpy(static_cast<void*>(&values[i]), &any, sizeof(T));
      } else {
        using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
        values[i] = T(static_cast<Wide>(std::ldexp(static_cast<double>(any >> 11), -53) * 40 - 20));
      }
    }
  }
  return values;
}

/// All 65536 numbers of a 16-bit dtype.
template <class T>
std::vector<T> all_values() {
  std::vector<T> values(65536);
  for (std::size_t i = 0; i < values.size(); ++i) values[i].bits = static_cast<std::uint16_t>(i);
  return values;
}

template <class T>
Array as_array(const std::vector<T>& values) {
  return from_host(values, {static_cast<std::int64_t>(values.size())});
}

/// Every value of the first with every one of the second, as two lists.
template <class T>
struct Pairs {
  std::vector<T> left, right;

  static Pairs of(const std::vector<T>& first, const std::vector<T>& second) {
    Pairs pairs;
    for (const T& x : first) {
      pairs.left.insert(pairs.left.end(), second.size(), x);
      pairs.right.insert(pairs.right.end(), second.begin(), second.end());
    }
    return pairs;
  }
  void append(const std::vector<T>& first, const std::vector<T>& second) {
    left.insert(left.end(), first.begin(), first.end());
    right.insert(right.end(), second.begin(), second.end());
  }
};

/// The first few elements for which `is_wrong(i)`, each as `text(i)`; empty when there are none. One assertion in place
/// of one an element.
inline std::string wrong_ones(std::size_t count, const std::function<bool(std::size_t)>& is_wrong,
                              const std::function<std::string(std::size_t)>& text) {
  std::string all;
  int found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_wrong(i) && ++found <= 5) all += text(i) + "\n";
  }
  return found > 5 ? all + "and " + std::to_string(found - 5) + " more" : all;
}

/// Numbers with all their digits, comma-separated.
template <class... Numbers>
std::string digits(Numbers... numbers) {
  std::ostringstream out;
  out.precision(21);
  const char* separator = "";
  ((out << separator << numbers, separator = ", "), ...);
  return out.str();
}

}  // namespace refrain::test
