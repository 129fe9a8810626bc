// Kernels of the host give the same bits in one part and in many: elementwise ops, draws, moves, copies, what is fused.

#include "host/support_splits.hpp"

#include "jit/host_engine.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/host.hpp"
#include "kernels/random_plan.hpp"

#include <array>
#include <memory>
#include <numeric>

namespace refrain::test {

namespace {

using kernels::ElementwiseArgs;
using kernels::ElementwiseOp;
using kernels::MoveArgs;
using kernels::MoveOp;
using kernels::RandomArgs;
using kernels::Type;

using Extents = std::vector<i64>;

i64 size_of(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), i64{1}, std::multiplies<>());
}

std::size_t bytes_of(i64 count, Type type) { return static_cast<std::size_t>(count * kernels::element_size(type)); }

Extents dense_strides(const Extents& extents) {
  Extents strides(extents.size());
  i64 step = 1;
  for (std::size_t axis = extents.size(); axis-- > 0; step *= extents[axis]) strides[axis] = step;
  return strides;
}

/// An op over positions of these extents; its inputs are all of `data`, with strides of their own.
ElementwiseArgs elementwise(ElementwiseOp op, Type in, Type out, const Extents& extents, const void* data,
                            const std::vector<Extents>& inputs) {
  ElementwiseArgs args{};
  args.op = op;
  args.in_type = in;
  args.out_type = out;
  args.input_count = static_cast<int>(inputs.size());
  args.ndim = static_cast<int>(extents.size());
  args.size = size_of(extents);
  const Extents strides = dense_strides(extents);
  args.contiguous = true;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    args.extents[axis] = extents[axis];
    args.out_strides[axis] = strides[axis];
  }
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    args.contiguous = args.contiguous && inputs[k] == strides;
    args.inputs[k].data = data;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) args.inputs[k].strides[axis] = inputs[k][axis];
  }
  return args;
}

void require_same_results(const std::string& what, ElementwiseArgs args) {
  require_same_bits(what, bytes_of(args.size, args.out_type), [&](void* out, const Split& split) {
    args.out = out;
    kernels::elementwise_host(args, split);
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_splits)

// Elementwise

BOOST_AUTO_TEST_CASE(dense_ops) {
  const auto data = noise(1 << 20, 2);
  for (const i64 size : {1, 511, 512, 513, 100'003}) {
    const auto of = [&](ElementwiseOp op, Type in, Type out, int inputs) {
      const std::vector<Extents> strides(static_cast<std::size_t>(inputs), Extents{1});
      require_same_results("op " + std::to_string(static_cast<int>(op)) + " of " + std::to_string(size),
                           elementwise(op, in, out, {size}, data.data(), strides));
    };
    of(ElementwiseOp::add, Type::float32, Type::float32, 2);
    of(ElementwiseOp::pow, Type::float32, Type::float32, 2);
    of(ElementwiseOp::gelu, Type::float16, Type::float16, 1);
    of(ElementwiseOp::erf, Type::float64, Type::float64, 1);
    of(ElementwiseOp::less, Type::int32, Type::bool_, 2);
    of(ElementwiseOp::clamp, Type::int64, Type::int64, 3);
    of(ElementwiseOp::where, Type::float32, Type::float32, 3);
    of(ElementwiseOp::copy, Type::uint8, Type::uint8, 1);
    of(ElementwiseOp::copy, Type::float32, Type::bfloat16, 1);
  }
}

BOOST_AUTO_TEST_CASE(scalars) {
  const auto data = noise(1 << 20, 3);
  ElementwiseArgs args =
      elementwise(ElementwiseOp::mul, Type::float32, Type::float32, {70'001}, data.data(), {{1}, {1}});
  args.inputs[1].data = nullptr;
  args.inputs[1].scalar.f = 0.999;
  require_same_results("a dense product with a scalar", args);
  args.contiguous = false;
  args.inputs[0].strides[0] = 3;
  require_same_results("a strided product with a scalar", args);
}

BOOST_AUTO_TEST_CASE(results_that_go_past_the_caches) {
  constexpr i64 size = (i64{1} << 23) + 77;
  const auto data = numbers(9'000'000, 4);
  require_same_results("a large sum",
                       elementwise(ElementwiseOp::add, Type::float32, Type::float32, {size}, data.data(), {{1}, {1}}));
  require_same_results("a large transposed copy", elementwise(ElementwiseOp::copy, Type::float32, Type::float32,
                                                              {3000, 2800}, data.data(), {{1, 3000}}));
}

BOOST_AUTO_TEST_CASE(strided_inputs) {
  const auto data = numbers(1'000'000, 5);
  const auto add = [&](const std::string& what, const Extents& extents, const std::vector<Extents>& inputs) {
    require_same_results(
        what, elementwise(ElementwiseOp::add, Type::float32, Type::float32, extents, data.data() + 500'000, inputs));
  };
  add("every second", {50'001}, {{2}, {1}});
  add("from the end", {50'001}, {{-1}, {1}});
  add("broadcast rows", {37, 501}, {{0, 1}, {501, 1}});
  add("broadcast columns", {501, 37}, {{1, 0}, {37, 1}});
  add("short rows", {20'000, 3}, {{4, 1}, {3, 1}});
  add("transposed", {300, 200}, {{1, 300}, {200, 1}});
  add("transposed, with few columns", {3000, 20}, {{1, 3000}, {20, 1}});
  add("both transposed", {128, 513}, {{1, 128}, {1, 128}});
  add("permuted", {31, 65, 33}, {{33, 33 * 31, 1}, {65 * 33, 33, 1}});
  add("the first axis last", {40, 70, 90}, {{1, 40 * 90, 40}, {0, 90, 1}});
  add("shorter steps along another axis", {64, 70}, {{5, 400}, {70, 1}});
  add("one long axis of three", {3, 2, 9000}, {{-18'000, 9000, 1}, {1, 0, 3}});
}

BOOST_AUTO_TEST_CASE(strided_and_updated_targets) {
  const auto data = numbers(200'000, 6);
  const auto into = [&](const std::string& what, const Extents& extents, const Extents& out, bool is_updated) {
    ElementwiseArgs args = elementwise(ElementwiseOp::add, Type::float32, Type::float32, extents, data.data(),
                                       {dense_strides(extents), dense_strides(extents)});
    i64 last = 0;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      args.out_strides[axis] = out[axis];
      last += (extents[axis] - 1) * out[axis];
    }
    args.contiguous = out == dense_strides(extents);
    require_same_bits(what, bytes_of(last + 1, Type::float32), [&](void* target, const Split& split) {
      args.out = target;
      if (is_updated) {
        args.inputs[1].data = target;
        std::copy(out.begin(), out.end(), args.inputs[1].strides);
      }
      kernels::elementwise_host(args, split);
    });
  };
  into("every third", {40'000}, {3}, false);
  into("rows with gaps", {300, 100}, {128, 1}, false);
  into("a transposed target", {200, 300}, {1, 200}, false);
  into("in place", {100'003}, {1}, true);
  into("rows in place", {300, 100}, {128, 1}, true);
}

// Draws

BOOST_AUTO_TEST_CASE(draws) {
  using kernels::Distribution;
  for (const Distribution distribution :
       {Distribution::uniform, Distribution::normal, Distribution::bernoulli, Distribution::exponential,
        Distribution::randint32, Distribution::randint64}) {
    const bool is_whole = distribution >= Distribution::randint32;
    const std::vector<Type> types =
        is_whole ? std::vector{Type::int32, Type::int64} : std::vector{Type::float16, Type::float32, Type::float64};
    for (const Type type : types) {
      // A thread for every number; several rounds, the last one not full.
      for (const auto& [size, blocks] : std::vector<std::array<i64, 2>>{{1, 0}, {2500, 0}, {100'003, 0}, {10'001, 3}}) {
        RandomArgs args{};
        args.distribution = distribution;
        args.type = type;
        args.size = size;
        args.grid =
            blocks > 0 ? static_cast<int>(blocks) : kernels::plan_random(distribution, type, size, 132, 2048).grid;
        args.low = -5;
        args.range = distribution == Distribution::randint64 ? kernels::u64{1} << 40 : 1000;
        args.first = 0.25;
        args.second = 2;
        args.seed = 42;
        args.offset = 12;
        require_same_bits(std::to_string(size) + " numbers", bytes_of(size, type), [&](void* out, const Split& split) {
          args.out = out;
          kernels::random_host(args, split);
        });
      }
    }
  }
}

// Moves and copies

BOOST_AUTO_TEST_CASE(moves) {
  const auto data = numbers(100'000, 7);
  const auto move = [&](const std::string& what, MoveArgs args) {
    require_same_bits(what, bytes_of(args.size, args.type), [&](void* out, const Split& split) {
      args.out = out;
      kernels::move_host(args, split);
    });
  };
  MoveArgs count{};
  count.op = MoveOp::count;
  count.type = Type::float32;
  count.size = 30'001;
  count.start.f = -3;
  count.step.f = 0.1;
  count.has_last = true;
  count.last.f = 77;
  move("a count", count);

  MoveArgs roll{};
  roll.op = MoveOp::gather;
  roll.type = Type::float32;
  roll.size = 300 * 100;
  roll.in = data.data();
  roll.ndim = 2;
  roll.extents[0] = 300;
  roll.extents[1] = 100;
  roll.strides[0] = 100;
  roll.strides[1] = 1;
  roll.shifts[0] = 7;
  roll.shifts[1] = 99;
  move("a roll", roll);
  roll.flat_shift = 12'345;
  move("a roll of all", roll);

  std::vector<std::int64_t> indices(20'003);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<std::int64_t>(i * 7919 % 100'100);
  MoveArgs take{};
  take.op = MoveOp::gather;
  take.type = Type::float32;
  take.size = static_cast<i64>(indices.size());
  take.in = data.data();
  take.indices = indices.data();
  take.has_indices = true;
  take.wide_indices = true;
  take.ndim = 1;
  take.extents[0] = take.size;
  take.index_strides[0] = 1;
  take.fill = 0x7fc00000;
  take.taken_size = 100'000;
  take.taken_ndim = 1;
  take.taken_extents[0] = 100'000;
  take.taken_strides[0] = 1;
  move("a take", take);
}

BOOST_AUTO_TEST_CASE(copies) {
  constexpr i64 size = 100'003;
  const auto data = noise(size, 8);
  require_same_bits("a copy", size,
                    [&](void* out, const Split& split) { kernels::copy_host(out, data.data(), size, split); });
  require_same_bits("a copy onto itself", size, [&](void* out, const Split& split) {
    kernels::copy_host(static_cast<std::byte*>(out) + 100, out, size - 100, split);
  });
}

// Fused

BOOST_AUTO_TEST_CASE(fused_ops_and_draws) {
  using jit::Instruction;
  constexpr i64 rows = 60;
  constexpr i64 columns = 501;
  const auto data = numbers(rows * columns, 9);
  const auto instruction = [](Instruction::Kind kind, ElementwiseOp op, int a, int b) {
    Instruction made;
    made.kind = kind;
    made.op = op;
    made.operands[0] = a;
    made.operands[1] = b;
    return made;
  };
  for (const bool has_draws : {false, true}) {
    for (const bool is_in_place : {false, true}) {
      jit::Expression expression;
      expression.size = rows * columns;
      expression.ndim = 2;
      expression.extents[0] = rows;
      expression.extents[1] = columns;
      jit::Layout dense;
      dense.is_dense = false;
      dense.strides[0] = columns;
      dense.strides[1] = 1;
      jit::Layout across = dense;
      across.strides[0] = 1;
      across.strides[1] = rows;
      jit::Layout target = dense;
      target.is_in_place = is_in_place;
      expression.inputs = {dense, across};
      expression.outputs = {target, dense};
      expression.code = {instruction(Instruction::Kind::load, ElementwiseOp::copy, -1, -1),
                         instruction(Instruction::Kind::load, ElementwiseOp::copy, -1, -1)};
      expression.code[1].number = 1;
      if (has_draws) {
        expression.draws = {{kernels::Distribution::normal, Type::float32}};
        expression.grid = 5;  // several rounds
        expression.code.push_back(instruction(Instruction::Kind::draw, ElementwiseOp::copy, -1, -1));
      } else {
        expression.code.push_back(instruction(Instruction::Kind::op, ElementwiseOp::mul, 1, 1));
      }
      expression.code.push_back(instruction(Instruction::Kind::op, ElementwiseOp::add, 0, 2));
      expression.code.push_back(instruction(Instruction::Kind::op, ElementwiseOp::mul, 3, 1));
      expression.results = {3, 4};
      RandomArgs draw{};
      draw.distribution = kernels::Distribution::normal;
      draw.type = Type::float32;
      draw.size = expression.size;
      draw.grid = expression.grid;
      draw.second = 1;
      draw.seed = 3;
      const jit::HostEngine engine(std::make_shared<jit::Expression>(expression));
      const std::size_t bytes = bytes_of(expression.size, Type::float32);
      require_same_bits("a fused command", 2 * bytes, [&](void* out, const Split& split) {
        auto* const second = static_cast<std::byte*>(out) + bytes;
        std::vector<float> first = data;  // its memory is an input too, in place
        void* const read = is_in_place ? first.data() : const_cast<float*>(data.data());
        const std::array<void*, 4> addresses = {first.data(), second, read, const_cast<float*>(data.data())};
        engine.run(addresses.data(), {}, std::span(&draw, has_draws ? 1 : 0), split);
        std::memcpy(out, first.data(), bytes);
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
