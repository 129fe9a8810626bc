#include "array/accesses.hpp"

#include "array/make.hpp"

#include <refrain/error.hpp>

#include <string>

namespace refrain {

using runtime::Access;
using runtime::AccessMode;
using runtime::Buffer;

namespace {

std::string name_of(int position) { return "argument " + std::to_string(position); }

void require_array(const MemoryAccess& access, Device device, int position, const Label& label) {
  const Array& array = *access.array;
  require_usable(array, label.text, label.where);
  if (array.device() != device) {
    throw Error(Errc::wrong_device, label.text, name_of(position) + ", an array on " + array.device().str(),
                "cannot be reached by work on " + device.str() + "; move it with to_device first", label.where);
  }
  if (array.is_contiguous()) return;
  throw Error(Errc::invalid_value, label.text, name_of(position) + ", a view of shape " + array.shape().str(),
              "does not lie in row-major order, which is what code that gets an address takes it for; give "
              "x.contiguous(), and write what that changes back with assign",
              label.where);
}

void require_bytes(const MemoryAccess& access, int position, const Label& label) {
  if (access.bytes >= 0 && (access.address != nullptr || access.bytes == 0)) return;
  throw Error(Errc::invalid_value, label.text,
              name_of(position) + ", " + std::to_string(access.bytes) + " bytes at " +
                  (access.address == nullptr ? "a null pointer" : "an address"),
              "is no memory; give the address and how many bytes the work touches", label.where);
}

}  // namespace

Accesses::Accesses(std::size_t count) {
  if (count > few_.size()) many_.reserve(count);
}

void Accesses::add(const MemoryAccess& access, Device device, int position, const Label& label) {
  Access added;
  const AccessMode mode = access.is_written ? AccessMode::write : AccessMode::read;
  if (access.array != nullptr) {
    require_array(access, device, position, label);
    added = whole(*access.array, mode);
  } else {
    require_bytes(access, position, label);
    foreign_.emplace_back(Buffer::foreign(device, access.address, access.bytes, label.where));
    foreign_.back()->is_array = false;
    added = {foreign_.back().get(), 0, access.bytes, mode};
  }
  if (many_.capacity() > 0) {
    many_.push_back(added);
  } else {
    few_[count_] = added;
  }
  ++count_;
}

namespace detail {

void require_element_type(const MemoryAccess& access, std::optional<DType> wanted, int position, const Label& label) {
  if (!access.dtype || !wanted || *access.dtype == *wanted) return;
  throw Error(
      Errc::invalid_value, label.text, name_of(position) + ", an array of " + std::string(to_string(*access.dtype)),
      "is no " + std::string(to_string(*wanted)) + ", which is what it is taken for; cast it first", label.where);
}

}  // namespace detail
}  // namespace refrain
