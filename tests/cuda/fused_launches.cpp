// Fused commands whose threads and blocks have parts of their own in CUDA source: draws and their sums, commands side
// by side, what the last block does. NVRTC compiles it, which needs no GPU.

#include "cuda/support_sources.hpp"
#include "jit/cuda_last.hpp"
#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace refrain::test {

namespace {

using jit::Instruction;
using kernels::Distribution;
using kernels::ElementwiseOp;
using kernels::Type;

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_fused_launches)

BOOST_AUTO_TEST_CASE(every_draw_compiles) {
  const auto floats = {Type::float16, Type::bfloat16, Type::float32, Type::float64};
  const auto require_draw = [](Distribution distribution, Type type) {
    Maker maker;
    maker.output(maker.draw(distribution, type));
    maker.output(maker.draw(distribution, type));
    maker.require_compiled();
  };
  for (const Type type : floats) {
    for (const auto distribution :
         {Distribution::uniform, Distribution::normal, Distribution::bernoulli, Distribution::exponential}) {
      require_draw(distribution, type);
    }
    Maker unit;
    unit.output(unit.draw(Distribution::uniform, type));
    unit.made.draws.back().is_unit = true;
    unit.require_compiled();
  }
  require_draw(Distribution::bernoulli, Type::bool_);
  for (const Type type : {Type::int32, Type::int64}) {
    require_draw(Distribution::randint32, type);
    require_draw(Distribution::randint64, type);
  }
}

BOOST_AUTO_TEST_CASE(sums_of_one_kind_are_kept_apart) {
  Maker maker;
  const int draw = maker.draw(Distribution::randint32, Type::int32);
  const int bound = maker.scalar(Type::int32);
  maker.made.reductions.push_back({kernels::ReduceOp::sum, Type::bool_, Type::int64, Type::int64});
  maker.made.parts = 8;
  for (const ElementwiseOp op : {ElementwiseOp::less, ElementwiseOp::greater}) {
    const int truth = maker.add({Instruction::Kind::op, op, Type::bool_, Type::int32, {draw, bound, -1}, 0});
    maker.output(
        maker.add({Instruction::Kind::reduce, ElementwiseOp::copy, Type::int64, Type::bool_, {truth, -1, -1}, 0}));
  }
  maker.require_compiled();
  const std::string source = jit::cuda_source(maker.made, jit::launch_shape(maker.made, {}, multiprocessors));
  for (const char* const part : {"block_sum(sums.of0)", "block_sum(sums.of1)"}) {
    BOOST_TEST(source.find(part) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(sums_of_draws_compile) {
  for (const Type type : {Type::int32, Type::int64}) {
    Maker maker;
    const int draw = maker.draw(Distribution::randint32, type);
    maker.output(draw);
    maker.made.reductions.push_back({kernels::ReduceOp::sum, type, Type::int64, Type::int64});
    maker.made.parts = 8;
    maker.output(maker.add({Instruction::Kind::reduce, ElementwiseOp::copy, Type::int64, type, {draw, -1, -1}, 0}));
    maker.require_compiled();
  }
}

BOOST_AUTO_TEST_CASE(draws_with_counters_compile_for_one_number_a_thread_and_for_more) {
  for (const std::int64_t size : {1000, 100000}) {
    Maker maker;
    maker.made.size = maker.made.extents[0] = size;
    const int a = maker.draw(Distribution::normal, Type::float32);
    const int b = maker.draw(Distribution::normal, Type::float32);
    for (jit::Draw& draw : maker.made.draws) draw.is_counted = true;
    maker.made.draws[1].same_as = 0;
    maker.output(maker.add({Instruction::Kind::op, ElementwiseOp::add, Type::float32, Type::float32, {a, b, -1}, 0}));
    BOOST_TEST(jit::launch_shape(maker.made, {}, multiprocessors).has_one_turn == (size == 1000));
    maker.require_compiled();
  }
}

BOOST_AUTO_TEST_CASE(parts_of_one_structure_compile_and_are_found_by_their_blocks) {
  Maker maker;
  const int a = maker.input(Type::float32);
  const int one = maker.input(Type::float32, {0});
  const int b = maker.scalar(Type::float32);
  const int product =
      maker.add({Instruction::Kind::op, ElementwiseOp::mul, Type::float32, Type::float32, {a, b, -1}, 0});
  maker.output(
      maker.add({Instruction::Kind::op, ElementwiseOp::add, Type::float32, Type::float32, {product, one, -1}, 0}));
  std::vector<std::shared_ptr<const jit::Expression>> further;
  for (const std::int64_t size : {1, 60000, 5000}) {
    jit::Expression part = maker.made;
    part.size = part.extents[0] = size;
    BOOST_TEST((jit::structure_of(part) == jit::structure_of(maker.made)));
    further.push_back(std::make_shared<const jit::Expression>(part));
  }
  maker.require_compiled(further);

  const jit::LaunchShape shape = jit::launch_shape(maker.made, further, multiprocessors);
  alignas(16) static float memory[4] = {};
  std::vector<void*> addresses(12, memory);
  addresses[7] = memory + 1;  // an input of the third part, which is gone through one by one
  std::vector<kernels::Value> scalars(4);
  for (std::size_t i = 0; i < scalars.size(); ++i) scalars[i].f = static_cast<double>(i);
  const jit::CudaLaunch launch = jit::cuda_launch_of_parts(maker.made, further, shape, addresses.data(), scalars);
  constexpr std::size_t table_bytes = 2 * jit::block_classes * sizeof(std::int32_t);
  const auto part_bytes = static_cast<std::size_t>(jit::parameter_bytes(maker.made));
  BOOST_REQUIRE(launch.parameters.size() == table_bytes + 4 * part_bytes);
  // As the kernel does it: each block has a part, and each part as many blocks as it has turns for, or the next power
  // of two.
  std::int32_t tables[2][jit::block_classes];
  std::memcpy(tables, launch.parameters.data(), table_bytes);
  std::map<std::int64_t, std::int64_t> blocks;  // by the part's size
  for (std::int32_t block = 0; block < launch.grid; ++block) {
    int c = 0;
    for (int k = 1; k < jit::block_classes; ++k) c += block >= tables[0][k] ? 1 : 0;
    const std::int32_t part = tables[1][c] + ((block - tables[0][c]) >> c);
    BOOST_REQUIRE(part < 4);
    std::int64_t size = 0;
    std::memcpy(&size, launch.parameters.data() + table_bytes + static_cast<std::size_t>(part) * part_bytes,
                sizeof size);
    ++blocks[size];
  }
  BOOST_REQUIRE(blocks.size() == 4U);
  for (const auto& [size, count] : blocks) {
    const std::int64_t turns = size == 60000 ? size : (size - 1) / shape.width + 1;
    BOOST_TEST(std::min<std::int64_t>(shape.blocks_for(turns), 128) <= count);
    BOOST_TEST(count < 2 * shape.blocks_for(turns));
  }
}

BOOST_AUTO_TEST_CASE(what_the_last_block_does_compiles_in_each_kind_of_kernel) {
  Maker last;
  last.made.size = last.made.extents[0] = 1;
  const int counter = last.input(Type::int64);
  const int step = last.scalar(Type::int64);
  const int half = last.input(Type::float16);
  last.output(last.add({Instruction::Kind::op, ElementwiseOp::add, Type::int64, Type::int64, {counter, step, -1}, 0}));
  last.output(last.add({Instruction::Kind::op, ElementwiseOp::exp, Type::float16, Type::float16, {half, -1, -1}, 0}));
  Maker plain;
  plain.output(plain.input(Type::float32));
  plain.require_compiled({}, &last.made);
  const std::vector<std::shared_ptr<const jit::Expression>> further(3, std::make_shared<jit::Expression>(plain.made));
  plain.require_compiled(further, &last.made);
  plain.require_compiled(further, &last.made, true);
  for (const Type type : {Type::float32, Type::bfloat16, Type::bool_}) {  // single elements, which are read first
    plain.made.inputs.push_back(plain.layout(type, {0}));
    plain.output(plain.add(Instruction::Kind::load, type, static_cast<int>(plain.made.inputs.size()) - 1));
  }
  plain.require_compiled({}, &last.made, true);
  for (const std::int64_t size : {1000, 100000}) {
    Maker drawing;
    drawing.made.size = drawing.made.extents[0] = size;
    drawing.output(drawing.draw(Distribution::uniform, Type::float32));
    drawing.require_compiled({}, &last.made);
  }
  // Its parameters come after those of the parts: two outputs, two inputs, a scalar, and where blocks are counted.
  alignas(16) static float memory[4] = {};
  const std::vector<void*> addresses(4, memory);
  const std::vector<kernels::Value> scalars(1);
  jit::CudaLaunch launch;
  jit::add_last(launch, last.made, addresses.data(), scalars, memory);
  BOOST_TEST(launch.parameters.size() == 6 * sizeof(void*));
}

BOOST_AUTO_TEST_CASE(what_blocks_have_drawn_is_summed_by_the_last_one) {
  Maker last(true);
  last.made.size = last.made.extents[1] = 1000;
  last.made.extents[0] = 1;
  const int part = last.input(Type::int64, {0, 1});
  const int factor = last.scalar(Type::float64);
  last.made.reductions.push_back({kernels::ReduceOp::sum, Type::int64, Type::int64, Type::int64});
  const auto op = [&](ElementwiseOp of, Type type, Type in_type, int a, int b) {
    return last.add({Instruction::Kind::op, of, type, in_type, {a, b, -1}, 0});
  };
  const int sum =
      last.add({Instruction::Kind::reduce, ElementwiseOp::copy, Type::int64, Type::int64, {part, -1, -1}, 0});
  const int wide = op(ElementwiseOp::copy, Type::float64, Type::int64, sum, -1);
  last.output(sum, {0, 0});
  last.output(op(ElementwiseOp::mul, Type::float64, Type::float64, wide, factor), {0, 0});
  BOOST_TEST(jit::can_be_last(last.made));
  Maker drawing;
  const int draw = drawing.draw(Distribution::randint32, Type::int32);
  drawing.made.reductions.push_back({kernels::ReduceOp::sum, Type::int32, Type::int64, Type::int64});
  drawing.made.parts = 1000;
  drawing.output(
      drawing.add({Instruction::Kind::reduce, ElementwiseOp::copy, Type::int64, Type::int32, {draw, -1, -1}, 0}));
  drawing.require_compiled({}, &last.made);
  // Rows whose order counts, and what is an element again, are work for a kernel of its own.
  jit::Expression floating = last.made;
  floating.reductions[0].acc_type = Type::float64;
  BOOST_TEST(!jit::can_be_last(floating));
  // So is a row of several axes along which an array is no line.
  jit::Expression grid = last.made;
  grid.row_ndim = 2;
  grid.extents[0] = 10;
  grid.extents[1] = 100;
  grid.inputs[0].strides[0] = 1;
  grid.inputs[0].strides[1] = 0;
  BOOST_TEST(!jit::can_be_last(grid));
  last.output(op(ElementwiseOp::add, Type::int64, Type::int64, part, sum), {0, 1});
  BOOST_TEST(!jit::can_be_last(last.made));
}

BOOST_AUTO_TEST_CASE(small_work_is_spread_and_large_work_goes_by_16_bytes) {
  Maker maker;
  const int factor = maker.scalar(Type::float32);
  const int summand = maker.input(Type::float32);
  int chain = maker.input(Type::float32);
  for (int i = 0; i < 50; ++i) {
    chain =
        maker.add({Instruction::Kind::op, ElementwiseOp::mul, Type::float32, Type::float32, {chain, factor, -1}, 0});
    chain =
        maker.add({Instruction::Kind::op, ElementwiseOp::add, Type::float32, Type::float32, {chain, summand, -1}, 0});
  }
  maker.output(chain);
  const jit::LaunchShape small = maker.shape_at(1000);
  BOOST_TEST(small.width == 1);
  BOOST_TEST(small.blocks_for(1000) > 1);
  for (const std::int64_t size : {1 << 20, 1 << 26}) {
    BOOST_TEST(maker.shape_at(size).width == 4);
    BOOST_TEST(maker.shape_at(size).block == 256);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
