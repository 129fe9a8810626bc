#include "array/make.hpp"
#include "runtime/environment.hpp"
#include "runtime/submit.hpp"

#include <refrain/error.hpp>
#include <refrain/movement.hpp>

#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace refrain {

namespace {

/// What is counted, and for whom.
struct Count {
  const char* label;
  std::string what;  ///< for errors
  DType dtype;
  std::optional<Device> device;
  SourceLocation where;
};

/// As many elements as a Shape may have.
constexpr std::int64_t most_elements = (std::int64_t{1} << 60) - 1;

Array make_numbers(const Count& count, kernels::MoveArgs args) {
  const Device device = count.device.value_or(current_device());
  runtime::require_device(device, count.label, count.where);
  runtime::StreamCore& stream = runtime::thread_stream(device);
  Array array = make_array(stream, Shape({args.size}, count.where), count.dtype, count.where);
  if (args.size == 0) return array;
  args.op = kernels::MoveOp::count;
  args.type = static_cast<kernels::Type>(count.dtype);
  const runtime::Access write = whole(array, runtime::AccessMode::write);
  runtime::submit(stream, {stream.device, runtime::MoveCommand{args}, {&write, 1}, count.label, count.where});
  return array;
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
std::string text_of(const Scalar& value) {
  return is_floating(value.dtype) ? text_of(value.f) : std::to_string(value.i);
}

/// The integer that it is, or nothing.
std::optional<std::int64_t> as_integer(const Scalar& value) {
  if (!is_floating(value.dtype)) return value.i;
  const bool fits = value.f >= -0x1p63 && value.f < 0x1p63 && std::trunc(value.f) == value.f;
  return fits ? std::optional(static_cast<std::int64_t>(value.f)) : std::nullopt;
}

double as_double(const Scalar& value) { return is_floating(value.dtype) ? value.f : static_cast<double>(value.i); }

void refuse_long(bool is_long, const Count& count) {
  if (!is_long) return;
  throw Error(Errc::invalid_value, count.label, count.what,
              "has 2^60 elements or more, too many to address; give a larger step, or bounds that are nearer",
              count.where);
}

/// Whether both fit the dtype, an integer's or a float's.
bool fit(DType dtype, std::int64_t first, std::int64_t last) {
  switch (dtype) {
    case DType::uint8: return std::in_range<std::uint8_t>(first) && std::in_range<std::uint8_t>(last);
    case DType::int32: return std::in_range<std::int32_t>(first) && std::in_range<std::int32_t>(last);
    default: return true;
  }
}

Array count_integers(std::int64_t start, std::int64_t stop, std::int64_t step, const Count& count) {
  kernels::MoveArgs args{};
  args.is_whole = true;
  args.start.i = start;
  args.step.i = step;
  if (step > 0 ? start < stop : start > stop) {
    // Unsigned, for the distance may be longer than int64 is.
    const auto from = static_cast<std::uint64_t>(start);
    const auto to = static_cast<std::uint64_t>(stop);
    const auto by = static_cast<std::uint64_t>(step);
    const std::uint64_t steps = step > 0 ? (to - from - 1) / by : (from - to - 1) / (0 - by);
    refuse_long(steps >= static_cast<std::uint64_t>(most_elements), count);
    args.size = static_cast<std::int64_t>(steps) + 1;
    if (!fit(count.dtype, start, static_cast<std::int64_t>(from + steps * by))) {
      throw Error(Errc::invalid_value, count.label, count.what,
                  "does not fit " + std::string(to_string(count.dtype)) + "; use a wider dtype", count.where);
    }
  }
  return make_numbers(count, args);
}

Array count_floats(double start, double stop, double step, const Count& count) {
  if (!std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    throw Error(Errc::invalid_value, count.label, count.what, "cannot be counted; give finite numbers", count.where);
  }
  kernels::MoveArgs args{};
  args.start.f = start;
  args.step.f = step;
  const double size = std::ceil((stop - start) / step);
  refuse_long(size >= 0x1p60, count);
  args.size = size > 0 ? static_cast<std::int64_t>(size) : 0;
  return make_numbers(count, args);
}

}  // namespace

Array arange(const Scalar& start, const Scalar& stop, const Scalar& step, ArrayOptions options, SourceLocation where) {
  const bool is_whole = !is_floating(start.dtype) && !is_floating(stop.dtype) && !is_floating(step.dtype);
  const DType dtype = options.dtype.value_or(is_whole ? DType::int64 : DType::float32);
  if (dtype == DType::bool_) {
    throw Error(Errc::invalid_value, "arange", "dtype bool", "has no numbers to count with; use int64 or another one",
                where);
  }
  const Count count{"arange", text_of(start) + " to " + text_of(stop) + " by " + text_of(step), dtype, options.device,
                    where};
  if (as_double(step) == 0) {
    throw Error(Errc::invalid_value, count.label, count.what, "does not move on; give a step that is not 0", where);
  }
  if (!is_whole && is_floating(dtype)) {
    return count_floats(as_double(start), as_double(stop), as_double(step), count);
  }
  const auto first = as_integer(start);
  const auto end = as_integer(stop);
  const auto by = as_integer(step);
  if (!first || !end || !by) {
    throw Error(
        Errc::invalid_value, count.label, count.what,
        "has numbers that are no " + std::string(to_string(dtype)) + "; give whole ones, or use a floating dtype",
        where);
  }
  return count_integers(*first, *end, *by, count);
}

Array arange(const Scalar& start, const Scalar& stop, ArrayOptions options, SourceLocation where) {
  return arange(start, stop, 1, options, where);
}

Array arange(const Scalar& stop, ArrayOptions options, SourceLocation where) {
  return arange(0, stop, 1, options, where);
}

Array linspace(double start, double stop, std::int64_t count, ArrayOptions options, SourceLocation where) {
  const Count numbers{"linspace", text_of(start) + " to " + text_of(stop), options.dtype.value_or(DType::float32),
                      options.device, where};
  if (!is_floating(numbers.dtype)) {
    throw Error(Errc::invalid_value, numbers.label, "dtype " + std::string(to_string(numbers.dtype)),
                "does not hold what lies between whole numbers; use a floating one, and cast", where);
  }
  if (count < 0) {
    throw Error(Errc::invalid_value, numbers.label, "a count of " + std::to_string(count),
                "is negative; give 0 or more", where);
  }
  const double distance = stop - start;
  if (!std::isfinite(distance)) {
    throw Error(Errc::invalid_value, numbers.label, numbers.what,
                "is no range; give numbers that are finite, and not too far apart", where);
  }
  kernels::MoveArgs args{};
  args.size = count;
  args.start.f = start;
  if (count > 1) {
    args.step.f = distance / static_cast<double>(count - 1);
    args.has_last = true;
    args.last.f = stop;
  }
  return make_numbers(numbers, args);
}

}  // namespace refrain
