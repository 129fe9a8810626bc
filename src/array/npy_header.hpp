#pragma once

#include <refrain/dtype.hpp>
#include <refrain/shape.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace refrain {

// The format of .npy files (numpy.lib.format): a magic string, a version, the length of a header, the header, which is
// a Python dict of three entries and says what the bytes after it are, and these.

inline constexpr std::string_view npy_magic = "\x93NUMPY";

/// What a header says of the elements.
struct NpyHeader {
  DType dtype = DType::float32;
  bool is_big_endian = false;
  bool is_fortran = false;  ///< the first axis varies fastest
  Shape shape;
};

/// Reads the text of the dict. `file` is what errors name.
/// @throws Error(Errc::invalid_value) where the text is anything but such a dict, or of a dtype that no array has
NpyHeader parse_npy_header(std::string_view text, const std::string& file, SourceLocation where);

/// All that comes before the elements of a file of format 1.0, little endian and row-major. Not of bfloat16.
std::string npy_preamble(const Shape& shape, DType dtype);

}  // namespace refrain
