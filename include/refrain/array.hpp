#pragma once

#include <refrain/device.hpp>
#include <refrain/dtype.hpp>
#include <refrain/error.hpp>
#include <refrain/param.hpp>
#include <refrain/scalar.hpp>
#include <refrain/shape.hpp>
#include <refrain/source_location.hpp>
#include <refrain/stream.hpp>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace refrain {

namespace runtime {
class Buffer;
}

class Operand;

/// Positions of an axis, as in Python: from `begin` on, without `end`, every `step`-th; negative positions count from
/// the end, and an unset one is where the axis begins or ends in the direction of `step`.
struct Slice {
  std::optional<std::int64_t> begin = std::nullopt;
  std::optional<std::int64_t> end = std::nullopt;
  std::int64_t step = 1;
};

/// An n-dimensional array on one device, or a view of one: some of its elements in another shape or order. A handle:
/// copies name the same elements, so an in-place op is seen through all of them and through views; `a = b` only rebinds
/// the name. Ops are issued on the current stream of the array's device, return before they have run, and are recorded
/// while a capture is open. Arrays made while recording have no values before the first replay.
class Array {
 public:
  /// No array; any use but assignment and destruction throws Errc::invalid_value.
  Array() noexcept = default;
  Array(const Array& other) noexcept;
  Array(Array&& other) noexcept;
  Array& operator=(const Array& other) noexcept;
  Array& operator=(Array&& other) noexcept;
  ~Array();

  bool defined() const noexcept { return buffer_ != nullptr; }
  /// @throws Error(Errc::invalid_value) on an array that is empty or was moved from; as all below
  const Shape& shape(SourceLocation where = SourceLocation::current()) const;
  int ndim(SourceLocation where = SourceLocation::current()) const { return shape(where).ndim(); }
  std::int64_t size(SourceLocation where = SourceLocation::current()) const { return shape(where).size(); }
  std::int64_t size_bytes(SourceLocation where = SourceLocation::current()) const;
  DType dtype(SourceLocation where = SourceLocation::current()) const;
  Device device(SourceLocation where = SourceLocation::current()) const;
  /// Elements from one position of an axis to the next, an entry an axis.
  std::span<const std::int64_t> strides(SourceLocation where = SourceLocation::current()) const;
  /// Whether the elements lie side by side in row-major order.
  bool is_contiguous(SourceLocation where = SourceLocation::current()) const;

  // Views share the elements. An axis is counted from the last one when it is negative. All throw
  // Error(Errc::invalid_value), naming what does not fit.

  /// Rows [begin, end) of the first axis. Negative positions count from the end, as in Python; positions outside the
  /// axis are refused, and begin > end.
  Array slice(std::int64_t begin, std::int64_t end, SourceLocation where = SourceLocation::current()) const;
  /// Positions of one axis. Refuses positions outside it and those that `step` leads away from.
  Array slice(Slice positions, int axis = 0, SourceLocation where = SourceLocation::current()) const;
  /// One position of an axis, without the axis.
  Array select(std::int64_t position, int axis = 0, SourceLocation where = SourceLocation::current()) const;
  /// Axis i of the view is this array's axis axes[i].
  Array permute(std::initializer_list<int> axes, SourceLocation where = SourceLocation::current()) const;
  /// Two axes in each other's place.
  Array transpose(int axis, int other, SourceLocation where = SourceLocation::current()) const;
  /// The elements in row-major order in another shape; one extent may be -1 and is worked out. A view where strides can
  /// say it, else a copy.
  Array reshape(std::initializer_list<std::int64_t> extents, SourceLocation where = SourceLocation::current()) const;
  Array reshape(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  /// Axes first to last as one.
  Array flatten(int first = 0, int last = -1, SourceLocation where = SourceLocation::current()) const;
  /// Axes of extent 1, and new ones in front, repeated to this shape without copies. Such a view may not be written.
  Array expand(const Shape& shape, SourceLocation where = SourceLocation::current()) const;
  /// Without the axes of extent 1; without one of them.
  Array squeeze(SourceLocation where = SourceLocation::current()) const;
  Array squeeze(int axis, SourceLocation where = SourceLocation::current()) const;
  /// With a new axis of extent 1 at this place.
  Array unsqueeze(int axis, SourceLocation where = SourceLocation::current()) const;
  /// The axis backwards.
  Array flip(int axis, SourceLocation where = SourceLocation::current()) const;
  /// The array itself if its elements lie side by side in row-major order, else a copy of which that is true.
  Array contiguous(SourceLocation where = SourceLocation::current()) const;

  /// The elements in row-major order. Waits for the last writer on whatever stream; where other code has the current
  /// stream's native handle, for what it put there too.
  /// @throws Error(Errc::invalid_value) when T is not the dtype's type; capture_unsupported while recording;
  ///         illegal_state when the array belongs to a graph that was never replayed
  template <class T>
  std::vector<T> to_vector(SourceLocation where = SourceLocation::current()) const;

  /// The only element, converted to T as `cast` would.
  /// @throws Error(Errc::invalid_value) when there is not exactly one; else as to_vector
  template <class T>
  T item(SourceLocation where = SourceLocation::current()) const;

  // In-place ops. What overlaps the target is read before it is written, as if it were a copy.

  /// Overwrites the elements, broadcasting the source; the dtype stays this array's.
  /// @throws Error(Errc::invalid_value) when the shapes do not fit, the dtype would be narrowed, or the array has the
  ///         same element twice; as the ops below
  void assign(const Operand& source);

  Array& operator+=(const Operand& right);
  Array& operator-=(const Operand& right);
  Array& operator*=(const Operand& right);
  Array& operator/=(const Operand& right);

  Array& operator%=(const Operand& right);
  Array& operator&=(const Operand& right);
  Array& operator|=(const Operand& right);
  Array& operator^=(const Operand& right);

  friend Array operator+(const Operand& left, const Operand& right);
  friend Array operator-(const Operand& left, const Operand& right);
  friend Array operator*(const Operand& left, const Operand& right);
  /// True division: integers give float32.
  friend Array operator/(const Operand& left, const Operand& right);
  /// As `remainder`.
  friend Array operator%(const Operand& left, const Operand& right);
  friend Array operator-(const Operand& operand);

  // Comparisons element by element, in the promoted dtype: bool. NaN is unequal to everything.
  friend Array operator==(const Operand& left, const Operand& right);
  friend Array operator!=(const Operand& left, const Operand& right);
  friend Array operator<(const Operand& left, const Operand& right);
  friend Array operator<=(const Operand& left, const Operand& right);
  friend Array operator>(const Operand& left, const Operand& right);
  friend Array operator>=(const Operand& left, const Operand& right);

  // Bits of integers, and bools.
  friend Array operator&(const Operand& left, const Operand& right);
  friend Array operator|(const Operand& left, const Operand& right);
  friend Array operator^(const Operand& left, const Operand& right);
  friend Array operator~(const Operand& operand);

  /// The elements with another dtype: floats to integers truncate and saturate, NaN gives 0, integers to narrower ones
  /// wrap around, anything but zero is true. An array that has the dtype already is returned as it is, not copied.
  Array cast(DType dtype, SourceLocation where = SourceLocation::current()) const;

  runtime::Buffer* buffer() const noexcept { return buffer_; }

 private:
  friend struct ArrayAccess;

  void read_bytes(void* target, DType as, SourceLocation where) const;

  /// Which elements of the buffer, in which order.
  struct View {
    std::int64_t offset = 0;  ///< bytes from the buffer's begin to the first element
    Shape shape;
    Strides strides{};
    DType dtype = DType::float32;
    bool is_contiguous = true;
  };

  /// Its handle is counted already.
  Array(runtime::Buffer* buffer, const View& view) noexcept : buffer_(buffer), view_(view) {}

  runtime::Buffer* buffer_ = nullptr;
  View view_;
};

/// An operand of an op: an array or a scalar, and the place in the program that names it. Made implicitly.
class Operand {
 public:
  Operand(const Array& array, SourceLocation where = SourceLocation::current()) noexcept  // NOLINT
      : array_(&array), where_(where) {}
  template <class T>
    requires std::is_arithmetic_v<T> Operand(T value, SourceLocation where = SourceLocation::current())  // NOLINT
        : scalar_(value, where), where_(where) {}

    /// The parameter's present value, which executables may be given anew (`GraphExec::set`).
    template <class T>
      requires std::is_arithmetic_v<T> Operand(const Param<T>& parameter,  // NOLINT
                                               SourceLocation where = SourceLocation::current())
          : scalar_(parameter.value(), where), parameter_(parameter.state().get()), where_(where) {}

      const Array* array() const noexcept { return array_; }
      const Scalar& scalar() const noexcept { return scalar_; }
      const detail::ParameterState* parameter() const noexcept { return parameter_; }
      SourceLocation where() const noexcept { return where_; }

     private:
      const Array* array_ = nullptr;
      Scalar scalar_;
      const detail::ParameterState* parameter_ = nullptr;
      SourceLocation where_;
};

/// Prints values, shape and dtype, e.g. `array([10, 20, 30], dtype=int64, device=host:0)`; of large arrays only the
/// edges are read. Waits for the last writer.
std::ostream& operator<<(std::ostream& out, const Array& array);

/// Options of the functions that make arrays. Unset: float32 and the current device.
struct ArrayOptions {
  std::optional<DType> dtype = std::nullopt;
  std::optional<Device> device = std::nullopt;
};

/// An array of rank 1 with these values: integers become int64, floating-point numbers float32, as in PyTorch.
Array array(std::initializer_list<bool> values, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());
Array array(std::initializer_list<int> values, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());
Array array(std::initializer_list<std::int64_t> values, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());
Array array(std::initializer_list<float> values, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());
Array array(std::initializer_list<double> values, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());

Array zeros(Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());
Array ones(Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());
Array full(Shape shape, Scalar value, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());
/// Values are undefined until written.
Array empty(Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());

/// How memory that other code made is seen as an array.
struct BlobOptions {
  std::optional<Device> device = std::nullopt;  ///< unset: the current device
  std::vector<std::int64_t> strides = {};       ///< in elements, one an axis; empty: row-major
  /// Called once with the address when neither array nor graph names the memory and the work on it is done.
  std::function<void(void*)> deleter = nullptr;
  std::optional<Stream> stream = std::nullopt;  ///< the stream that other code has put its work on the memory on
};

/// An array of memory that other code made and keeps, or gives up with `deleter`. It takes part in the order of
/// Refrain's work: bytes that two arrays name are the same bytes. What other code does to it is ordered by streams:
/// the first use waits for what was put on `options.stream`.
/// `address` is that of the first element; with negative strides others lie before it.
/// @throws Error(Errc::invalid_value) when the address is null, misaligned or not the device's memory, or strides are
///         not one an axis
Array from_blob(void* address, Shape shape, DType dtype, BlobOptions options = {},
                SourceLocation where = SourceLocation::current());
template <class T>
Array from_blob(T* address, Shape shape, BlobOptions options = {}, SourceLocation where = SourceLocation::current()) {
  return from_blob(address, shape, dtype_of<T>(), std::move(options), where);
}

/// Copies `bytes` of host memory, row-major elements of `dtype`; the memory may be reused at once.
Array from_host_bytes(std::span<const std::byte> bytes, Shape shape, DType dtype, std::optional<Device> device,
                      SourceLocation where);

/// Copies host elements into a new array; `values` may be reused at once. The dtype is T's.
/// @throws Error(Errc::invalid_value) when the shape does not hold exactly `values.size()` elements
template <class T>
Array from_host(std::span<const T> values, Shape shape, std::optional<Device> device = std::nullopt,
                SourceLocation where = SourceLocation::current()) {
  return from_host_bytes(std::as_bytes(values), shape, dtype_of<T>(), device, where);
}
template <class T>
Array from_host(const std::vector<T>& values, Shape shape, std::optional<Device> device = std::nullopt,
                SourceLocation where = SourceLocation::current()) {
  static_assert(!std::is_same_v<T, bool>, "std::vector<bool> has no contiguous elements; use an array of bool");
  return from_host(std::span<const T>(values), shape, device, where);
}

template <class T>
std::vector<T> Array::to_vector(SourceLocation where) const {
  const std::int64_t n = size(where);
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(n));
    read_bytes(bytes.data(), DType::bool_, where);
    return {bytes.begin(), bytes.end()};
  } else {
    std::vector<T> values(static_cast<std::size_t>(n));
    read_bytes(values.data(), dtype_of<T>(), where);
    return values;
  }
}

/// One element of an array as a scalar of its own dtype.
/// @throws as Array::item
Scalar item_scalar(const Array& array, SourceLocation where);

template <class T>
T Array::item(SourceLocation where) const {
  const Scalar value = item_scalar(*this, where);
  if (!is_floating(value.dtype)) return static_cast<T>(value.i);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    // Limits as doubles: the largest one rounds up, hence >=.
    if (value.f != value.f) return 0;
    if (value.f >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    if (value.f <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value.f);
}

}  // namespace refrain
