#include "graphed/signature.hpp"

#include "runtime/array_access.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace refrain::detail {

namespace {

/// What is recorded for addresses that are multiples of some bytes is right for all of that kind; nothing that is made
/// asks for more than so many.
constexpr std::uint64_t most_alignment = 16;

std::uint64_t alignment_of(const std::byte* address) noexcept {
  const auto number = reinterpret_cast<std::uintptr_t>(address) | most_alignment;
  return static_cast<std::uint64_t>(std::countr_zero(number));
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ (hash >> 32);
}

}  // namespace

void Signature::clear() noexcept {
  words_.clear();
  blocks_.clear();
  arrays_.clear();
  has_shared_variables_ = false;
}

void Signature::add(std::string_view text) {
  words_.push_back(text.size());
  for (std::size_t at = 0; at < text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof(word), text.size() - at));
    words_.push_back(word);
  }
}

int Signature::add_block(const CallBlock& block) {
  const int number = static_cast<int>(blocks_.size());
  for (int i = 0; i < number; ++i) {
    const CallBlock& other = blocks_[static_cast<std::size_t>(i)];
    if (block.buffer != nullptr && other.buffer == block.buffer) return i;
    // Which memory of other code's overlaps, and how, is part of what was recorded.
    if (!block.is_foreign() || !other.is_foreign() || !block.overlaps(other.address, other.size_bytes)) continue;
    words_.push_back((std::uint64_t{0xffff} << 48) | static_cast<std::uint64_t>(i));
    words_.push_back(static_cast<std::uint64_t>(block.address - other.address));
  }
  blocks_.push_back(block);
  return number;
}

void Signature::add_array(Array* array, int block, bool is_assignable) {
  for (const CallArray& each : arrays_) {
    if (each.array == array && (is_assignable || each.is_assignable)) has_shared_variables_ = true;
  }
  arrays_.push_back({array, block, is_assignable});
}

void Signature::add(const Array& array, bool is_assignable) {
  auto* const mutable_array = const_cast<Array*>(&array);  // assigned to where the caller gave it to be changed
  if (!array.defined()) {
    words_.push_back(~std::uint64_t{0});
    add_array(mutable_array, -1, is_assignable);
    return;
  }
  runtime::Buffer& named = *array.buffer();
  runtime::Buffer& buffer = named.named() != nullptr ? *named.named() : named;
  const std::int64_t offset = ArrayAccess::offset(array);
  auto* const begin = static_cast<std::byte*>(buffer.address());
  const std::size_t known = blocks_.size();
  const int number = add_block({&buffer, begin, buffer.size_bytes(), offset});
  const Shape& shape = ArrayAccess::shape(array);
  const auto ndim = static_cast<std::uint64_t>(shape.ndim());
  const bool is_contiguous = ArrayAccess::is_contiguous(array);
  const Device device = buffer.device();
  // Memory that nobody may write is another thing to record with: writes are refused.
  words_.push_back(static_cast<std::uint64_t>(ArrayAccess::dtype(array)) | ndim << 8 |
                   static_cast<std::uint64_t>(device.kind) << 12 | static_cast<std::uint64_t>(device.index) << 16 |
                   alignment_of(begin == nullptr ? nullptr : begin + offset) << 24 |
                   static_cast<std::uint64_t>(is_contiguous) << 30 |
                   static_cast<std::uint64_t>(buffer.is_read_only) << 31 | static_cast<std::uint64_t>(number) << 34);
  for (const std::int64_t extent : shape) words_.push_back(static_cast<std::uint64_t>(extent));
  if (!is_contiguous) {
    const Strides& strides = ArrayAccess::strides(array);
    for (std::uint64_t axis = 0; axis < ndim; ++axis) words_.push_back(static_cast<std::uint64_t>(strides[axis]));
  }
  if (static_cast<std::size_t>(number) < known) {  // where it lies among the others of its block
    words_.push_back(static_cast<std::uint64_t>(offset - blocks_[static_cast<std::size_t>(number)].offset));
  }
  add_array(mutable_array, number, is_assignable);
}

void Signature::add(const void* address, std::int64_t bytes) {
  auto* const begin = static_cast<std::byte*>(const_cast<void*>(address));
  words_.push_back(static_cast<std::uint64_t>(bytes));
  words_.push_back(alignment_of(begin));
  add_block({nullptr, begin, bytes, 0});
}

std::uint64_t Signature::hash() const noexcept {
  std::uint64_t hash = words_.size();
  for (const std::uint64_t word : words_) hash = mixed(hash, word);
  return hash;
}

std::string Signature::str() const {
  std::string text;
  for (const CallArray& each : arrays_) {
    text += text.empty() ? "" : ", ";
    if (each.block < 0) {
      text += "no array";
      continue;
    }
    text += std::string(to_string(ArrayAccess::dtype(*each.array))) + ArrayAccess::shape(*each.array).str();
  }
  return text.empty() ? "no arrays" : text;
}

}  // namespace refrain::detail
