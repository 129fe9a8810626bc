#pragma once

#include <refrain/array.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <initializer_list>
#include <span>

// Numbers that are counted, and elements that are put together, moved around and picked out. Each call is one command,
// but for `concatenate` and `stack`, which are one for each array that has elements; results are new arrays. (Elements
// in other shapes and orders without a copy are views of Array: `flip`, `permute`, ...)

namespace refrain {

// Counting. Nothing is recorded for results of no elements.

/// start, start + step, ... without `stop`: ceil((stop - start) / step) numbers, worked out in float64 where one of the
/// three is no integer, or none where `step` leads away from `stop`. Integers give int64, others float32, or
/// `options.dtype`. Number i is start + i * step, exact if the three are integers (or bools, or whole numbers with an
/// integer dtype), else in float64 with the product and the sum rounded each; it is converted to the dtype once, as by
/// `cast`. Equal bits on all devices; a last number may be rounded to `stop`, so count with `linspace` where it
/// matters.
/// @throws Error(Errc::invalid_value) for a step of 0, numbers that are not finite, more than 2^60 of them, dtype bool,
///         and an integer dtype that does not hold them
Array arange(const Scalar& start, const Scalar& stop, const Scalar& step, ArrayOptions options = {},
             SourceLocation where = SourceLocation::current());
/// As above, by 1.
Array arange(const Scalar& start, const Scalar& stop, ArrayOptions options = {},
             SourceLocation where = SourceLocation::current());
/// As above, from 0 by 1.
Array arange(const Scalar& stop, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());

/// `count` numbers from `start` to `stop`, the last of which is `stop` itself; one is `start`. Number i is
/// start + i * ((stop - start) / (count - 1)) in float64, each of the four steps rounded, then rounded once to the
/// dtype: float32, or another floating one. Equal bits on all devices.
/// @throws Error(Errc::invalid_value) for a count below 0, numbers that are not finite or too far apart for float64,
/// and
///         other dtypes
Array linspace(double start, double stop, std::int64_t count, ArrayOptions options = {},
               SourceLocation where = SourceLocation::current());

// Putting together.

/// The arrays one after another along an axis, in the dtype that they are promoted to. Extents of other axes are equal.
/// @throws Error(Errc::invalid_value) for no arrays, shapes that do not fit and arrays without axes; wrong_device
Array concatenate(std::span<const Array> arrays, int axis = 0, SourceLocation where = SourceLocation::current());
Array concatenate(std::initializer_list<Array> arrays, int axis = 0, SourceLocation where = SourceLocation::current());

/// Arrays of one shape side by side along a new axis, which is axis `axis` of the result; dtypes as `concatenate`.
/// @throws as concatenate; Error(Errc::invalid_value) for arrays that have the most axes there can be
Array stack(std::span<const Array> arrays, int axis = 0, SourceLocation where = SourceLocation::current());
Array stack(std::initializer_list<Array> arrays, int axis = 0, SourceLocation where = SourceLocation::current());

// Moving around and picking out. Any view is read where it lies.

/// The elements in row-major order moved on by `shift` positions, back for a negative one, around the end; the shape
/// stays.
Array roll(const Array& array, std::int64_t shift, SourceLocation where = SourceLocation::current());
/// Moved on along an axis: element i is at i + shift.
/// @throws Error(Errc::invalid_value) for an axis that is not there
Array roll(const Array& array, std::int64_t shift, int axis, SourceLocation where = SourceLocation::current());
/// Moved on along some axes, each by its shift; the shifts of an axis that is named again are added.
/// @throws Error(Errc::invalid_value) for axes that are not there, or not as many as shifts
Array roll(const Array& array, std::initializer_list<std::int64_t> shifts, std::initializer_list<int> axes,
           SourceLocation where = SourceLocation::current());

/// The elements at `indices`, of int32 or int64, in the row-major order of `array`: an array of the indices' shape.
/// Negative indices count from the end. Which indices are out of range no device can say in time, so these give NaN, of
/// other dtypes the least number of int32 and int64, 255 of uint8, and true, as `jax.numpy.take` does; no other memory
/// is read.
/// @throws Error(Errc::invalid_value) for other dtypes of indices, and for an array without elements where there are
///         indices; wrong_device
Array take(const Array& array, const Array& indices, SourceLocation where = SourceLocation::current());
/// The positions at `indices` of an axis, whose place the indices' axes take.
/// @throws as above; Error(Errc::invalid_value) for an axis that is not there, and for more axes than arrays have
Array take(const Array& array, const Array& indices, int axis, SourceLocation where = SourceLocation::current());

}  // namespace refrain
