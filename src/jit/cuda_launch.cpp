#include "jit/cuda_source.hpp"

#include "jit/cuda_moves.hpp"
#include "jit/cuda_rows.hpp"
#include "jit/cuda_text.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

// What kernels of expressions are launched with.

namespace refrain::jit {

namespace {

/// Of most kernels, so that nodes are given other addresses without much ado.
constexpr std::size_t usual_parameter_bytes = 512;

/// Of the numbers that a thread draws at a time, those that all threads have.
std::int64_t full_rounds(const Expression& expression) {
  const Draw& draw = expression.draws.front();
  const int numbers = kernels::numbers_per_draw(draw.distribution, draw.type);
  return expression.size / (std::int64_t{expression.grid} * kernels::random_block * numbers);
}

/// Appends the kernel's arguments of one expression.
/// @return turns of threads
std::int64_t pack(ParameterBlock& packer, const Expression& expression, const LaunchShape& shape,
                  void* const* addresses, std::span<const kernels::Value> scalars) {
  const std::size_t arrays = expression.arrays();
  const int width = shape.width;
  bool is_aligned = has_vectors(expression, width);
  bool is_strided = !expression.windows.empty();
  for (std::size_t i = 0; i < arrays; ++i) {
    const Layout& of = expression.layout(i);
    const std::int64_t bytes = width * kernels::element_size(of.type);
    const bool is_vector = !is_elsewhere(of) && (of.is_dense || of.strides[expression.ndim - 1] == 1);
    if (is_vector && reinterpret_cast<std::uintptr_t>(addresses[i]) % static_cast<std::uintptr_t>(bytes) != 0) {
      is_aligned = false;
    }
    is_strided = is_strided || (!of.is_dense && !of.is_single);
  }
  packer.add(expression.size);
  packer.add(is_aligned && width > 1 ? expression.size / width * width : std::int64_t{0});
  if (expression.has_sums()) {
    packer.add(expression.parts);
    packer.add(full_rounds(expression));
  }
  for (std::size_t i = 0; i < arrays; ++i) packer.add(addresses[i]);
  if (arrays == 0) packer.add(static_cast<void*>(nullptr));  // the member is there
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    packer.add(kernels::scalar_bits(expression.scalars[i], scalars[i]));
  }
  if (is_strided) {
    for (int axis = 0; axis < expression.ndim; ++axis) packer.add(expression.extents[axis]);
    for (int axis = 0; axis < expression.ndim; ++axis) {
      packer.add(shape.is_narrow ? divisor(expression.extents[axis]) : Divisor{0, 0});
    }
    for (std::size_t i = 0; i < arrays; ++i) {
      for (int axis = 0; axis < expression.ndim; ++axis) packer.add(expression.layout(i).strides[axis]);
    }
  }
  for (const std::int64_t number : move_members(expression, addresses + expression.outputs.size(), width))
    packer.add(number);
  return is_aligned ? (expression.size - 1) / width + 1 : expression.size;
}

}  // namespace

std::int64_t parameter_bytes(const Expression& expression) {
  const std::vector<void*> addresses(expression.arrays(), nullptr);
  const std::vector<kernels::Value> scalars(expression.scalars.size());
  ParameterBlock packer;
  pack(packer, expression, {}, addresses.data(), scalars);
  return std::ssize(packer.all) + std::ssize(expression.draws) * static_cast<std::int64_t>(sizeof(kernels::RandomArgs));
}

CudaLaunch cuda_launch(const Expression& expression, const LaunchShape& shape, void* const* addresses,
                       std::span<const kernels::Value> scalars, std::span<const kernels::RandomArgs> draws,
                       int multiprocessors) {
  if (expression.has_rows()) return rows_launch(expression, shape.most_cluster, addresses, scalars);
  CudaLaunch launch;
  ParameterBlock packer;
  packer.all.reserve(usual_parameter_bytes);
  const std::int64_t turns = pack(packer, expression, shape, addresses, scalars);
  for (const kernels::RandomArgs& draw : draws) packer.add(draw);
  launch.parameters = std::move(packer.all);
  launch.block = shape.block;
  launch.grid = draws.empty() ? std::min(shape.blocks_for(turns), most_blocks(multiprocessors))
                              : shape.blocks_for(std::int64_t{expression.grid} * kernels::random_block);
  return launch;
}

CudaLaunch cuda_launch_of_parts(const Expression& expression, Further further, const LaunchShape& shape,
                                void* const* addresses, std::span<const kernels::Value> scalars) {
  const std::size_t arrays = expression.arrays();
  const std::size_t scalars_each = expression.scalars.size();
  ParameterBlock classes[block_classes];
  std::int32_t counts[block_classes] = {};
  for (std::size_t i = 0; i <= further.size(); ++i) {
    const Expression& part = i == 0 ? expression : *further[i - 1];
    ParameterBlock packer;
    const auto own_scalars = scalars.subspan(i * scalars_each, scalars_each);
    const std::int64_t turns = pack(packer, part, shape, addresses + i * arrays, own_scalars);
    const auto blocks = static_cast<std::uint64_t>(shape.blocks_for(turns));
    const int c = std::min(static_cast<int>(std::bit_width(blocks - 1)), block_classes - 1);
    classes[c].all.insert(classes[c].all.end(), packer.all.begin(), packer.all.end());
    ++counts[c];
  }
  std::int32_t tables[2][block_classes] = {};  // first blocks, first parts
  std::int32_t block = 0;
  std::int32_t part = 0;
  CudaLaunch launch;
  for (int c = 0; c < block_classes; ++c) {
    tables[0][c] = block;
    tables[1][c] = part;
    block += counts[c] << c;
    part += counts[c];
  }
  launch.block = shape.block;
  launch.grid = block;
  ParameterBlock all;
  all.add(tables);
  launch.parameters = std::move(all.all);
  for (const ParameterBlock& of : classes)
    launch.parameters.insert(launch.parameters.end(), of.all.begin(), of.all.end());
  return launch;
}

std::int64_t blocks_of(const Expression& expression, Further further, std::span<const kernels::RandomArgs> draws,
                       int multiprocessors) {
  const std::size_t parts = 1 + further.size();
  const std::vector<void*> addresses(parts * expression.arrays(), nullptr);
  const std::vector<kernels::Value> scalars(parts * expression.scalars.size());
  const LaunchShape shape = launch_shape(expression, further, multiprocessors);
  if (!further.empty()) return cuda_launch_of_parts(expression, further, shape, addresses.data(), scalars).grid;
  return cuda_launch(expression, shape, addresses.data(), scalars, draws, multiprocessors).grid;
}

}  // namespace refrain::jit
