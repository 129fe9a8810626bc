#pragma once

#include <refrain/array.hpp>

#include <cstdint>

namespace refrain {

/// Restarts the random numbers of every device at (seed, offset 0).
/// @throws Error(Errc::capture_unsupported) while recording, unless it is the generator's present seed; then draws
///         after it start at offset 0 in every replay, as they would in every eager call
void manual_seed(std::uint64_t seed, SourceLocation where = SourceLocation::current());

/// Where a device's generator stands: Philox4x32-10, laid out as PyTorch's CUDA generator.
struct GeneratorState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  friend bool operator==(const GeneratorState&, const GeneratorState&) = default;
};
GeneratorState generator_state(Device device, SourceLocation where = SourceLocation::current());

/// Normal numbers of mean 0 and variance 1; any floating dtype. Equal to PyTorch's on a CUDA device with as many
/// multiprocessors; on the host float32 differs by at most 4e-6, before rounding to 16 bits too, float64 by 4e-15.
/// @throws Error(Errc::invalid_value) for other dtypes
Array randn(Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());

/// Uniform numbers of [0, 1); any floating dtype. Equal to PyTorch's on every device.
Array rand(Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());

/// Integers of [low, high); int64 unless told otherwise, or int32. Equal to PyTorch's on every device.
/// @throws Error(Errc::invalid_value) when high <= low or the dtype cannot hold the range
Array randint(std::int64_t low, std::int64_t high, Shape shape, ArrayOptions options = {},
              SourceLocation where = SourceLocation::current());

}  // namespace refrain
