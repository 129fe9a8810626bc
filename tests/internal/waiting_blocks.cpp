// The blocks that a fused kernel is launched with are those by which it is taken to be small.

#include "graph/passes/cost.hpp"
#include "jit/cuda_source.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>

namespace refrain::test {

namespace {

constexpr int multiprocessors = 132;

std::shared_ptr<jit::Expression> doubled(std::int64_t size, int ops = 1) {
  auto expression = std::make_shared<jit::Expression>();
  expression->size = expression->extents[0] = size;
  jit::Layout dense;
  dense.strides[0] = 1;
  expression->inputs = {dense};
  expression->outputs = {dense};
  expression->code.resize(1);
  expression->code[0].kind = jit::Instruction::Kind::load;
  for (int i = 0; i < ops; ++i) {
    jit::Instruction op;
    op.op = kernels::ElementwiseOp::exp;
    op.operands[0] = i;
    expression->code.push_back(op);
  }
  expression->results = {ops};
  return expression;
}

std::int64_t blocks_of(runtime::FusedCommand command) {
  runtime::Command fused;
  fused.payload = std::move(command);
  return graph::waiting_blocks(fused, multiprocessors);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(internal_waiting_blocks)

BOOST_AUTO_TEST_CASE(small_work_that_is_spread_has_the_blocks_that_it_is_launched_with) {
  for (const std::int64_t size : {1000, 20'000, 1 << 20}) {
    const auto expression = doubled(size, 50);
    const jit::LaunchShape shape = jit::launch_shape(*expression, {}, multiprocessors);
    BOOST_TEST(blocks_of({expression, {}, {}, {}, {}}) == shape.blocks_for((size - 1) / shape.width + 1));
  }
}

BOOST_AUTO_TEST_CASE(parts_have_powers_of_two) {
  runtime::FusedCommand command{doubled(5000), {}, {}, {doubled(100), doubled(60'000)}, {}};
  const jit::LaunchShape shape = jit::launch_shape(*command.expression, command.further, multiprocessors);
  std::int64_t blocks = 0;
  for (const std::int64_t size : {5000, 100, 60'000}) {
    std::int64_t own = 1;
    while (own < shape.blocks_for((size - 1) / shape.width + 1) && own < 128) own *= 2;
    blocks += own;
  }
  BOOST_TEST(blocks_of(command) == blocks);
}

BOOST_AUTO_TEST_CASE(rows_have_a_block_or_a_cluster_each) {
  const auto rows = doubled(300 * 4000);
  rows->ndim = 2;
  rows->extents[0] = 300;
  rows->extents[1] = 4000;
  for (auto* layouts : {&rows->inputs, &rows->outputs}) {
    (*layouts)[0].strides[0] = 4000;
    (*layouts)[0].strides[1] = 1;
  }
  rows->reductions.push_back({});
  jit::Instruction reduce;
  reduce.kind = jit::Instruction::Kind::reduce;
  reduce.operands[0] = 1;
  rows->code.push_back(reduce);
  rows->results = {2};
  rows->outputs[0].strides[0] = 1;
  rows->outputs[0].strides[1] = 0;
  BOOST_TEST(blocks_of({rows, {}, {}, {}, {}}) == 300);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
