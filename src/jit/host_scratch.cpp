#include "jit/host_scratch.hpp"

#include <cstdlib>
#include <new>
#include <utility>

namespace refrain::jit {

std::byte* scratch(std::size_t bytes) {
  struct Memory {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
    ~Memory() { std::free(at); }
  };
  thread_local Memory memory;
  bytes = (bytes + 63) / 64 * 64;
  if (memory.bytes < bytes) {
    std::free(std::exchange(memory.at, nullptr));
    memory.bytes = 0;
    memory.at = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
    if (memory.at == nullptr) throw std::bad_alloc();
    memory.bytes = bytes;
  }
  return memory.at;
}

kernels::Row find_row(const Instruction& instruction) {
  using Finders = kernels::Finders<kernels::RowOf>;
  if (instruction.op == kernels::ElementwiseOp::copy) return Finders::copy(instruction.type, instruction.in_type);
  switch (instruction.operand_count()) {
    case 1: return Finders::unary(instruction.op, instruction.in_type);
    case 2: return Finders::binary(instruction.op, instruction.in_type);
    default: return Finders::ternary(instruction.op, instruction.in_type);
  }
}

}  // namespace refrain::jit
