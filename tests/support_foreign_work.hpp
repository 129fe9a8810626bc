#pragma once

#include <refrain/array.hpp>
#include <refrain/stream.hpp>

#include <cstdint>

// Work of other code's on the device under test: host functions, or raw kernels on the stream's CUDA stream.

namespace refrain::test {

/// How a declared command comes to its stream.
enum class Way {
  enqueue,
  launch  ///< by `Stream::launch` on CUDA; on a host device as `enqueue`
};

/// to = to / 2 + from, element by element, of float32 side by side.
void foreign_blend(const Stream& stream, Way way, const Array& to, const Array& from);
/// to = 3 from, which needs no old values.
void foreign_triple(const Stream& stream, Way way, const Array& to, const Array& from);

/// foreign_blend of which Refrain is told nothing but its place among commands.
void undeclared_blend(const Stream& stream, Way way, float* to, const float* from, std::int64_t count);

}  // namespace refrain::test
