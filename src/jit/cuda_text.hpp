#pragma once

#include "jit/expression.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// What the generators of CUDA source have in common.

namespace refrain::jit {

/// As the headers of kernels/ name it: of a value that is computed with.
const char* type_name(kernels::Type type);
/// What memory and registers hold.
const char* stored_name(kernels::Type type);

/// An op of values. `operand(k)`: the text of its k-th, a name or an element of an array. Of floats and doubles it is
/// what the table of ops says, which compiles in less time than a call of the op's template.
std::string op_text(const Instruction& instruction, const std::function<std::string(int)>& operand);
/// What scalar_bits made, as a stored `type`.
std::string from_bits_text(kernels::Type type, const std::string& bits);

/// Source behind the headers of kernels/ that declare what it names, and no others: they take longer to read than many
/// a kernel to compile.
std::string with_includes(const std::string& text);

/// A kernel's parameter, value by value as its struct has them: all of eight bytes, or of multiples of them.
class ParameterBlock {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(sizeof(T) % 8 == 0);
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    all.insert(all.end(), bytes, bytes + sizeof value);
  }
  std::vector<std::byte> all;
};

}  // namespace refrain::jit
