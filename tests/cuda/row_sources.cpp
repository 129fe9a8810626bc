// The CUDA source of fused commands with reductions whose elements are read elsewhere, in part, or along several axes,
// is compiled by NVRTC, which needs no GPU.

#include "cuda/nvrtc.hpp"
#include "jit/cuda_source.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace refrain::test {

namespace {

using jit::Instruction;
using Kind = Instruction::Kind;
using kernels::ElementwiseOp;
using kernels::Type;
using Strides = std::vector<std::int64_t>;

constexpr int multiprocessors = 132;

/// Rows of float32 along the last axes of some.
class Maker {
 public:
  Maker(const Strides& extents, int row_ndim) : dense_(extents.size()) {
    made.ndim = static_cast<int>(extents.size());
    made.row_ndim = row_ndim;
    made.size = 1;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      dense_[axis] = made.size;
      made.size *= extents[axis];
      made.extents[axis] = extents[axis];
    }
  }

  const Strides& dense() const { return dense_; }
  /// One value a row.
  Strides of_rows() const {
    Strides strides = dense_;
    for (int axis = 0; axis < made.ndim; ++axis) {
      strides[static_cast<std::size_t>(axis)] =
          axis < made.row_axis() ? strides[static_cast<std::size_t>(axis)] / made.row_length() : 0;
    }
    return strides;
  }

  int add(Kind kind, int number, Type type = Type::float32, Strides operands = {}) {
    Instruction instruction;
    instruction.kind = kind;
    instruction.type = type;
    instruction.in_type = kind == Kind::take ? Type::int32 : Type::float32;
    instruction.number = number;
    for (std::size_t i = 0; i < operands.size(); ++i) instruction.operands[i] = static_cast<int>(operands[i]);
    made.code.push_back(instruction);
    return static_cast<int>(made.code.size()) - 1;
  }
  int add(ElementwiseOp op, int a, int b) {
    const int value = add(Kind::op, 0, Type::float32, {a, b});
    made.code.back().op = op;
    return value;
  }
  jit::Layout layout(const Strides& strides, Type type = Type::float32) const {
    jit::Layout of;
    of.type = type;
    of.is_dense = strides == dense_;
    std::copy(strides.begin(), strides.end(), of.strides);
    return of;
  }
  /// What the input is, loaded where it is none that an index leads to.
  int input(jit::Layout of) {
    made.inputs.push_back(std::move(of));
    const int number = static_cast<int>(made.inputs.size()) - 1;
    return made.inputs.back().taken ? number : add(Kind::load, number, made.inputs.back().type);
  }
  int sum(int value) {
    if (made.reductions.empty()) made.reductions.push_back({});
    return add(Kind::reduce, 0, Type::float32, {value});
  }
  void output(int value, const Strides& strides) {
    made.outputs.push_back(layout(strides));
    made.results.push_back(value);
  }

  /// With clusters of so many blocks at most.
  void require_compiled(int most_cluster) const {
    jit::LaunchShape shape = jit::launch_shape(made, {}, multiprocessors);
    shape.most_cluster = most_cluster;
    try {
      const std::string code = cuda::compile_kernel(jit::cuda_source(made, shape), "sm_90");
      BOOST_TEST(code.find("fused_kernel") != std::string::npos);
    } catch (const Error& error) {
      BOOST_ERROR(error.what());
    }
  }

  jit::Expression made;

 private:
  Strides dense_;
};

void require_moves(const Strides& extents, int row_ndim, int most_cluster = 8) {
  Maker maker(extents, row_ndim);
  const int last = maker.made.ndim - 1;
  const std::int64_t columns = extents.back();
  maker.made.windows.resize(2);
  for (jit::Window& window : maker.made.windows) std::copy(extents.begin(), extents.end(), window.end);
  maker.made.windows[0].begin[last] = 1;
  maker.made.windows[1].end[0] = extents[0] - 1;
  // Around the last axis, around the first one, and around all of them as one.
  jit::Layout turned = maker.layout(maker.dense());
  turned.strides[last] = 0;
  turned.wraps = {{last, last, columns, 1, 1}};
  jit::Layout shifted = maker.layout(maker.dense());
  shifted.strides[0] = 0;
  shifted.wraps = {{0, 0, extents[0], 2, maker.dense()[0]}};
  jit::Layout carried = maker.layout(Strides(extents.size(), 0));
  carried.wraps = {{0, last, maker.made.size, 3, 1}};
  int value = maker.add(ElementwiseOp::add, maker.input(turned), maker.input(shifted));
  value = maker.add(ElementwiseOp::add, value, maker.input(carried));
  for (const int window : {0, 1}) {
    jit::Layout part = maker.layout(maker.dense());
    part.window = window;
    value = maker.add(Kind::choose, window, Type::float32, {maker.input(part), value});
  }
  const int indices = maker.input(maker.layout(maker.dense(), Type::int32));
  jit::Layout table = maker.layout(Strides(extents.size(), 0));
  table.taken.emplace();
  table.taken->size = columns;
  table.taken->ndim = 1;
  table.taken->extents[0] = columns;
  table.taken->strides[0] = 1;
  const int taken = maker.add(Kind::take, maker.input(table), Type::float32, {indices});
  const int total = maker.sum(value);
  Strides backwards = maker.dense();
  std::reverse(backwards.begin() + maker.made.row_axis(), backwards.end());
  const int odd = maker.input(maker.layout(backwards));
  const int left = maker.add(ElementwiseOp::mul, value, total);
  const int more = maker.add(ElementwiseOp::add, maker.add(ElementwiseOp::sub, left, taken), odd);
  maker.output(more, maker.dense());
  maker.output(left, backwards);
  maker.output(maker.sum(more), maker.of_rows());
  BOOST_TEST_CONTEXT(extents.size() << " axes, " << row_ndim << " of a row of " << maker.made.row_length()) {
    maker.require_compiled(most_cluster);
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_row_sources)

BOOST_AUTO_TEST_CASE(rows_that_are_read_elsewhere_compile) {
  require_moves({300, 100}, 1);
  require_moves({300, 32, 16}, 2);
  require_moves({5, 3, 40, 50}, 2);
  require_moves({256, 256}, 2);
  require_moves({3, 30, 10, 100}, 3);
  require_moves({3, 8192}, 1);
  require_moves({256, 256}, 2, 16);
  require_moves({3, 20000}, 1, 16);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
