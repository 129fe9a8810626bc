#include <refrain/npy.hpp>

#include "array/make.hpp"
#include "array/npy_header.hpp"
#include "runtime/host_function.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>

namespace refrain {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

namespace {

std::string why(int error) { return std::generic_category().message(error); }

/// The bytes of a file from first to last, each read checked against its size, so that no length in it is believed.
class NpyFile {
 public:
  NpyFile(const std::filesystem::path& path, SourceLocation where) : name_(path.string()), where_(where) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    if (!error) stream_.open(path, std::ios::binary);
    if (error || !stream_.is_open()) {
      throw Error(Errc::invalid_value, "load_npy", name_,
                  "cannot be read: " + (error ? error.message() : why(errno)) +
                      "; give the path of a file that this process may read",
                  where_);
    }
    left_ = size;
  }

  const std::string& name() const noexcept { return name_; }
  std::uintmax_t left() const noexcept { return left_; }

  /// @throws Error(Errc::invalid_value) when there are fewer left
  void require(std::uintmax_t bytes, const char* what) const {
    if (bytes > left_) cut_off(what);
  }
  void read(void* target, std::uintmax_t bytes, const char* what) {
    require(bytes, what);
    stream_.read(static_cast<char*>(target), static_cast<std::streamsize>(bytes));
    if (static_cast<std::uintmax_t>(stream_.gcount()) != bytes) cut_off(what);  // meanwhile
    left_ -= bytes;
  }

 private:
  [[noreturn]] void cut_off(const char* what) const {
    throw Error(Errc::invalid_value, "load_npy", name_,
                std::string("ends before its ") + what + " does; it was cut off: save it again", where_);
  }

  std::string name_;
  SourceLocation where_;
  std::ifstream stream_;
  std::uintmax_t left_ = 0;
};

NpyHeader read_header(NpyFile& file, SourceLocation where) {
  std::array<char, 8> begin{};
  file.read(begin.data(), begin.size(), "magic string and version");
  if (std::string_view(begin.data(), npy_magic.size()) != npy_magic) {
    throw Error(Errc::invalid_value, "load_npy", file.name(),
                "is no .npy file; give one that numpy.save wrote (of an .npz archive, unzip it)", where);
  }
  const auto major = static_cast<unsigned char>(begin[6]);
  const auto minor = static_cast<unsigned char>(begin[7]);
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(Errc::invalid_value, "load_npy", file.name(),
                "is of a version of the format that is none of 1.0, 2.0 and 3.0; save it with numpy.save", where);
  }
  std::array<unsigned char, 4> length{};
  file.read(length.data(), major == 1 ? 2 : 4, "header's length");
  std::uint32_t size = 0;
  for (std::size_t i = length.size(); i-- > 0;) size = size << 8 | length[i];
  constexpr std::uint32_t most = 1 << 16;  // those of dtypes that arrays have are some 200 bytes long
  if (size > most) {
    throw Error(
        Errc::invalid_value, "load_npy", file.name(),
        "has a header of " + std::to_string(size) + " bytes, as no array of numbers has; save it with numpy.save",
        where);
  }
  std::string text(size, '\0');
  file.read(text.data(), size, "header");
  return parse_npy_header(text, file.name(), where);
}

void swap_bytes(std::byte* elements, std::int64_t size_bytes, std::int64_t element) {
  for (std::byte* at = elements; at < elements + size_bytes; at += element) std::reverse(at, at + element);
}

/// As its elements lie in a file where the first axis varies fastest.
Shape reversed(const Shape& shape, SourceLocation where) {
  std::array<std::int64_t, Shape::max_ndim> extents{};
  std::reverse_copy(shape.begin(), shape.end(), extents.begin());
  return Shape(std::span<const std::int64_t>(extents.data(), static_cast<std::size_t>(shape.ndim())), where);
}

}  // namespace

void save_npy(const std::filesystem::path& path, const Array& array, SourceLocation where) {
  require_defined(array, "save_npy", where);
  if (array.dtype() == DType::bfloat16) {
    throw Error(Errc::invalid_value, "save_npy", "an array of bfloat16",
                "has a dtype that NumPy has not; cast it to float32, which holds all its values", where);
  }
  runtime::refuse_in_callback("save_npy", where);
  require_values(array, "save_npy", where);
  const auto size = static_cast<std::size_t>(array.size_bytes());
  const auto elements = std::make_unique<std::byte[]>(size);
  copy_out(array, elements.get(), "save_npy", where);

  const std::string preamble = npy_preamble(array.shape(), array.dtype());
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(preamble.data(), static_cast<std::streamsize>(preamble.size()));
  file.write(reinterpret_cast<const char*>(elements.get()), static_cast<std::streamsize>(size));
  file.close();
  if (file) return;
  throw Error(Errc::invalid_value, "save_npy", path.string(),
              "cannot be written: " + why(errno) + "; give a path where this process may write, with room", where);
}

Array load_npy(const std::filesystem::path& path, std::optional<Device> device, SourceLocation where) {
  NpyFile file(path, where);
  const NpyHeader header = read_header(file, where);
  const std::int64_t element = size_of(header.dtype);
  const std::int64_t size = header.shape.size() * element;
  if (file.left() > static_cast<std::uintmax_t>(size)) {
    throw Error(Errc::invalid_value, "load_npy", file.name(),
                "goes on after the " + std::to_string(size) + " bytes of its elements; save one array in a file",
                where);
  }
  file.require(static_cast<std::uintmax_t>(size), "elements");
  const auto elements = std::make_unique<std::byte[]>(static_cast<std::size_t>(size));
  file.read(elements.get(), static_cast<std::uintmax_t>(size), "elements");
  if (header.is_big_endian) swap_bytes(elements.get(), size, element);
  if (header.dtype == DType::bool_) {
    std::transform(elements.get(), elements.get() + size, elements.get(),
                   [](std::byte value) { return value == std::byte{0} ? value : std::byte{1}; });
  }
  const std::span<const std::byte> bytes(elements.get(), static_cast<std::size_t>(size));
  if (!header.is_fortran) return from_host_bytes(bytes, header.shape, header.dtype, device, where);
  const Array stored = from_host_bytes(bytes, reversed(header.shape, where), header.dtype, device, where);
  Strides strides{};
  std::reverse_copy(stored.strides().begin(), stored.strides().end(), strides.begin());
  return ArrayAccess::view(stored, header.shape, strides).contiguous(where);
}

}  // namespace refrain
