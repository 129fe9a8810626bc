#include "jit/cuda_last.hpp"

#include "jit/cuda_text.hpp"
#include "kernels/elementwise.hpp"

#include <cstddef>
#include <string>

namespace refrain::jit {

void write_last(std::ostream& text, const Expression& last) {
  text << "struct Last {\n  void* arrays[" << last.arrays() << "];\n";
  if (!last.scalars.empty()) text << "  u64 scalars[" << last.scalars.size() << "];\n";
  // The block's barrier comes before its count, and the last block's reads after all counts.
  text << "  u64* blocks;\n};\n"
          "__device__ __forceinline__ void finish(const Last& args) {\n"
          "  __syncthreads();\n"
          "  if (threadIdx.x != 0) return;\n"
          "  __threadfence();\n"
          "  if (atomicAdd(args.blocks, u64(1)) + 1 != gridDim.x) return;\n"
          "  __threadfence();\n"
          "  *args.blocks = 0;\n";
  for (std::size_t i = 0; i < last.code.size(); ++i) {
    const Instruction& instruction = last.code[i];
    const auto number = static_cast<std::size_t>(instruction.number);
    const std::string type = stored_name(instruction.type);
    text << "  const " << type << " v" << i << " = ";
    if (instruction.kind == Instruction::Kind::load) {
      text << "*static_cast<const " << type << "*>(args.arrays[" << last.outputs.size() + number << "])";
    } else if (instruction.kind == Instruction::Kind::scalar) {
      text << "from_bits<" << type << ">(args.scalars[" << number << "])";
    } else {
      text << op_text(instruction, [&](int k) { return "v" + std::to_string(instruction.operands[k]); });
    }
    text << ";\n";
  }
  for (std::size_t i = 0; i < last.outputs.size(); ++i) {
    text << "  *static_cast<" << stored_name(last.outputs[i].type) << "*>(args.arrays[" << i << "]) = v"
         << last.results[i] << ";\n";
  }
  text << "}\n";
}

void add_last(CudaLaunch& launch, const Expression& last, void* const* addresses,
              std::span<const kernels::Value> scalars, const void* blocks) {
  ParameterBlock packer;
  for (std::size_t i = 0; i < last.arrays(); ++i) packer.add(addresses[i]);
  for (std::size_t i = 0; i < scalars.size(); ++i) packer.add(kernels::scalar_bits(last.scalars[i], scalars[i]));
  packer.add(blocks);
  launch.parameters.insert(launch.parameters.end(), packer.all.begin(), packer.all.end());
}

}  // namespace refrain::jit
