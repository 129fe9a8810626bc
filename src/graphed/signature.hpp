#pragma once

#include "runtime/buffer.hpp"

#include <refrain/array.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::detail {

/// A block of memory that arrays of a call are in, or that is given as an address and bytes.
struct CallBlock {
  runtime::Buffer* buffer = nullptr;  ///< null: given as an address
  std::byte* address = nullptr;       ///< where it begins
  std::int64_t size_bytes = 0;
  std::int64_t offset = 0;  ///< of the first array in it

  bool is_foreign() const noexcept { return buffer == nullptr || buffer->is_foreign(); }
  bool overlaps(const std::byte* begin, std::int64_t bytes) const noexcept {
    return address < begin + bytes && begin < address + size_bytes;
  }
};

/// An array of a call.
struct CallArray {
  Array* array = nullptr;
  int block = -1;              ///< -1: the array is empty
  bool is_assignable = false;  ///< the function may make it another array
};

/// What a call's arguments and state are. The words tell signatures apart; the rest differs from call to call.
class Signature {
 public:
  void clear() noexcept;
  void add(std::uint64_t word) { words_.push_back(word); }
  void add(std::string_view text);
  void add(const Array& array, bool is_assignable);
  void add(const void* address, std::int64_t bytes);

  const std::vector<std::uint64_t>& words() const noexcept { return words_; }
  std::uint64_t hash() const noexcept;
  const std::vector<CallBlock>& blocks() const noexcept { return blocks_; }
  const std::vector<CallArray>& arrays() const noexcept { return arrays_; }
  /// Whether a variable that may be made another array is there twice, so that no two leaves could stand in for it.
  bool has_shared_variables() const noexcept { return has_shared_variables_; }
  /// The array of that number is there from now on.
  void point_at(std::size_t number, Array& array) noexcept { arrays_[number].array = &array; }
  /// E.g. "float32[2, 3], float32[3]".
  std::string str() const;

 private:
  int add_block(const CallBlock& block);
  void add_array(Array* array, int block, bool is_assignable);

  std::vector<std::uint64_t> words_;
  std::vector<CallBlock> blocks_;
  std::vector<CallArray> arrays_;
  bool has_shared_variables_ = false;
};

}  // namespace refrain::detail
