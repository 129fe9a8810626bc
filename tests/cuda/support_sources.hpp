#pragma once

#include "cuda/nvrtc.hpp"
#include "jit/cuda_source.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

// Expressions by hand, for tests of the CUDA source that is made of them.

namespace refrain::test {

inline constexpr int multiprocessors = 132;

/// Writes an expression over 1000 positions, or 10 rows of 100.
class Maker {
 public:
  explicit Maker(bool is_strided = false) {
    made.size = 1000;
    made.ndim = is_strided ? 2 : 1;
    made.extents[0] = is_strided ? 10 : 1000;
    made.extents[1] = 100;
  }

  jit::Layout layout(kernels::Type type, std::initializer_list<std::int64_t> strides) const {
    jit::Layout of;
    of.type = type;
    of.is_dense = strides.size() == 0;
    of.is_single = !of.is_dense && std::all_of(strides.begin(), strides.end(), [](auto stride) { return stride == 0; });
    std::copy(strides.begin(), strides.end(), of.strides);
    if (strides.size() == 0) of.strides[made.ndim - 1] = 1;
    return of;
  }
  int add(jit::Instruction::Kind kind, kernels::Type type, int number) {
    return add({kind, kernels::ElementwiseOp::copy, type, type, {-1, -1, -1}, number});
  }
  int add(const jit::Instruction& instruction) {
    made.code.push_back(instruction);
    return static_cast<int>(made.code.size()) - 1;
  }
  int input(kernels::Type type, std::initializer_list<std::int64_t> strides = {}) {
    made.inputs.push_back(layout(type, strides));
    return add(jit::Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
  }
  /// An input that is read elsewhere along some axes.
  int rolled(kernels::Type type, std::initializer_list<std::int64_t> strides, std::vector<jit::Wrap> wraps) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().wraps = std::move(wraps);
    made.inputs.back().is_single = false;
    return add(jit::Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
  }
  /// What `index` leads to along axes of these strides.
  int taken(kernels::Type type, std::initializer_list<std::int64_t> strides, int index,
            std::vector<std::int64_t> along) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().is_single = false;
    auto& taken = made.inputs.back().taken.emplace();
    taken.ndim = static_cast<int>(along.size());
    std::copy(along.begin(), along.end(), taken.strides);
    const kernels::Type index_type = made.code[static_cast<std::size_t>(index)].type;
    const int input = static_cast<int>(made.inputs.size()) - 1;
    return add({jit::Instruction::Kind::take, kernels::ElementwiseOp::copy, type, index_type, {index, -1, -1}, input});
  }
  /// An input that is read within a window only, and its value there, else `otherwise`.
  int windowed(kernels::Type type, std::initializer_list<std::int64_t> strides, int window, int otherwise) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().window = window;
    made.inputs.back().is_single = false;
    const int value = add(jit::Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
    return add(
        {jit::Instruction::Kind::choose, kernels::ElementwiseOp::copy, type, type, {value, otherwise, -1}, window});
  }
  int scalar(kernels::Type type) {
    made.scalars.push_back(type);
    return add(jit::Instruction::Kind::scalar, type, static_cast<int>(made.scalars.size()) - 1);
  }
  void output(int value, std::initializer_list<std::int64_t> strides = {}) {
    made.outputs.push_back(layout(made.code[static_cast<std::size_t>(value)].type, strides));
    made.results.push_back(value);
  }
  int draw(kernels::Distribution distribution, kernels::Type type) {
    made.grid = 4;
    made.draws.push_back({distribution, type});
    return add(jit::Instruction::Kind::draw, type, static_cast<int>(made.draws.size()) - 1);
  }

  /// NVRTC makes machine code of it.
  void require_compiled(jit::Further further = {}, const jit::Expression* last = nullptr,
                        bool is_last_early = false) const {
    const jit::LaunchShape shape = jit::launch_shape(made, further, multiprocessors);
    try {
      const std::string source = jit::cuda_source(made, shape, 1 + further.size(), last, is_last_early);
      const std::string code = cuda::compile_kernel(source, "sm_90");
      BOOST_TEST(code.find("fused_kernel") != std::string::npos);
    } catch (const Error& error) {
      BOOST_ERROR(error.what());
    }
  }
  /// The shape that it is launched in when it has so many positions.
  jit::LaunchShape shape_at(std::int64_t size) const {
    jit::Expression sized = made;
    sized.size = sized.extents[0] = size;
    return jit::launch_shape(sized, {}, multiprocessors);
  }

  jit::Expression made;
};

}  // namespace refrain::test
