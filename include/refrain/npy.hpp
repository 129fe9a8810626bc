#pragma once

#include <refrain/array.hpp>
#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <filesystem>
#include <optional>

namespace refrain {

/// Writes the elements to a file that `numpy.load` reads: format 1.0, little endian, row-major. Waits for the last
/// writer, as `Array::to_vector`. A file that is there is replaced.
/// @throws Error(Errc::invalid_value) for bfloat16, which NumPy has not, and where the file cannot be written;
///         otherwise as Array::to_vector
void save_npy(const std::filesystem::path& path, const Array& array, SourceLocation where = SourceLocation::current());

/// A new, row-major array of the shape, dtype and elements that a file of `numpy.save` holds: format 1.0 to 3.0, little
/// or big endian, C or Fortran order, of at most 8 axes. In a capture the graph owns the elements, as those of any
/// literal. The file is trusted in nothing: its sizes are checked before memory is taken.
/// @throws Error(Errc::invalid_value) naming the file and what is wrong with it: not there, cut off, followed by other
///         bytes, no .npy file, or of a dtype that no array has (also where pickles are: they are never read);
///         otherwise as from_host
Array load_npy(const std::filesystem::path& path, std::optional<Device> device = std::nullopt,
               SourceLocation where = SourceLocation::current());

}  // namespace refrain
