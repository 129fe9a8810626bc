// The CUDA source of fused commands is compiled by NVRTC, which needs no GPU.

#include "cuda/nvrtc.hpp"
#include "jit/cuda_last.hpp"
#include "jit/cuda_source.hpp"
#include "kernels/elementwise.hpp"
#include "support.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
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

constexpr Type all_types[] = {Type::bool_,   Type::uint8,    Type::int32,   Type::int64,
                              Type::float16, Type::bfloat16, Type::float32, Type::float64};

constexpr int multiprocessors = 132;

/// Writes an expression over 1000 positions, or 10 rows of 100.
class Maker {
 public:
  explicit Maker(bool is_strided = false) {
    made.size = 1000;
    made.ndim = is_strided ? 2 : 1;
    made.extents[0] = is_strided ? 10 : 1000;
    made.extents[1] = 100;
  }

  jit::Layout layout(Type type, std::initializer_list<std::int64_t> strides) const {
    jit::Layout of;
    of.type = type;
    of.is_dense = strides.size() == 0;
    of.is_single = !of.is_dense && std::all_of(strides.begin(), strides.end(), [](auto stride) { return stride == 0; });
    std::copy(strides.begin(), strides.end(), of.strides);
    if (strides.size() == 0) of.strides[made.ndim - 1] = 1;
    return of;
  }
  int add(Instruction::Kind kind, Type type, int number) {
    return add({kind, ElementwiseOp::copy, type, type, {-1, -1, -1}, number});
  }
  int add(const Instruction& instruction) {
    made.code.push_back(instruction);
    return static_cast<int>(made.code.size()) - 1;
  }
  int input(Type type, std::initializer_list<std::int64_t> strides = {}) {
    made.inputs.push_back(layout(type, strides));
    return add(Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
  }
  /// An input that is read elsewhere along some axes.
  int rolled(Type type, std::initializer_list<std::int64_t> strides, std::vector<jit::Wrap> wraps) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().wraps = std::move(wraps);
    made.inputs.back().is_single = false;
    return add(Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
  }
  /// What `index` leads to along axes of these strides.
  int taken(Type type, std::initializer_list<std::int64_t> strides, int index, std::vector<std::int64_t> along) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().is_single = false;
    auto& taken = made.inputs.back().taken.emplace();
    taken.ndim = static_cast<int>(along.size());
    std::copy(along.begin(), along.end(), taken.strides);
    const Type index_type = made.code[static_cast<std::size_t>(index)].type;
    const int input = static_cast<int>(made.inputs.size()) - 1;
    return add({Instruction::Kind::take, ElementwiseOp::copy, type, index_type, {index, -1, -1}, input});
  }
  /// An input that is read within a window only, and its value there, else `otherwise`.
  int windowed(Type type, std::initializer_list<std::int64_t> strides, int window, int otherwise) {
    made.inputs.push_back(layout(type, strides));
    made.inputs.back().window = window;
    made.inputs.back().is_single = false;
    const int value = add(Instruction::Kind::load, type, static_cast<int>(made.inputs.size()) - 1);
    return add({Instruction::Kind::choose, ElementwiseOp::copy, type, type, {value, otherwise, -1}, window});
  }
  int scalar(Type type) {
    made.scalars.push_back(type);
    return add(Instruction::Kind::scalar, type, static_cast<int>(made.scalars.size()) - 1);
  }
  void output(int value, std::initializer_list<std::int64_t> strides = {}) {
    made.outputs.push_back(layout(made.code[static_cast<std::size_t>(value)].type, strides));
    made.results.push_back(value);
  }
  int draw(Distribution distribution, Type type) {
    made.grid = 4;
    made.draws.push_back({distribution, type});
    return add(Instruction::Kind::draw, type, static_cast<int>(made.draws.size()) - 1);
  }

  /// NVRTC makes machine code of it.
  void require_compiled(jit::Further further = {}, const jit::Expression* last = nullptr) const {
    const jit::LaunchShape shape = jit::launch_shape(made, further, multiprocessors);
    try {
      const std::string code = cuda::compile_kernel(jit::cuda_source(made, shape, 1 + further.size(), last), "sm_90");
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

/// The op's result, where it takes the type.
template <class Op, class T>
void add_op(Maker& to, ElementwiseOp op, Type type, int a, int b, int c) {
  if constexpr (Op::template takes<T>) {
    constexpr bool is_truth = kernels::is_same<typename Op::template Result<T>, bool>;
    Instruction instruction{Instruction::Kind::op, op, is_truth ? Type::bool_ : type, type, {a, -1, -1}, 0};
    if (Op::arity > 1) instruction.operands[1] = b;
    if (Op::arity > 2) instruction.operands[2] = c;
    to.output(to.add(instruction));
  }
}

template <class T>
void require_ops(Type type) {
  Maker maker;
  const int a = maker.input(type);
  const int b = maker.input(type);
  const int c = maker.scalar(type);
#define REFRAIN_UNARY(name, domain, result, expression) \
  add_op<kernels::ops::name, T>(maker, ElementwiseOp::name, type, a, b, c);
#define REFRAIN_BINARY(name, domain, result, expression) REFRAIN_UNARY(name, domain, result, expression)
#define REFRAIN_TERNARY(name, domain, result, expression) REFRAIN_UNARY(name, domain, result, expression)
#include "kernels/elementwise_table.hpp"
  BOOST_TEST_CONTEXT("type " << static_cast<int>(type)) { maker.require_compiled(); }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_fused_sources)

BOOST_AUTO_TEST_CASE(every_op_of_every_type_compiles) {
  require_ops<bool>(Type::bool_);
  require_ops<kernels::u8>(Type::uint8);
  require_ops<kernels::i32>(Type::int32);
  require_ops<kernels::i64>(Type::int64);
  require_ops<kernels::Half>(Type::float16);
  require_ops<kernels::BFloat>(Type::bfloat16);
  require_ops<float>(Type::float32);
  require_ops<double>(Type::float64);
}

BOOST_AUTO_TEST_CASE(every_cast_and_choice_compiles) {
  Maker maker;
  for (const Type from : all_types) {
    const int a = maker.input(from);
    const int b = maker.scalar(from);
    const int condition = maker.input(Type::bool_);
    maker.output(maker.add({Instruction::Kind::op, ElementwiseOp::where, from, from, {condition, a, b}, 0}));
    for (const Type to : all_types) {
      if (to == from) continue;
      maker.output(maker.add({Instruction::Kind::op, ElementwiseOp::copy, to, from, {a, -1, -1}, 0}));
    }
  }
  maker.require_compiled();
}

BOOST_AUTO_TEST_CASE(sources_include_what_they_name_and_no_more) {
  const auto op = [](Maker& maker, ElementwiseOp of, Type type, int a, int b) {
    return maker.add({Instruction::Kind::op, of, type, type, {a, b, -1}, 0});
  };
  const auto includes = [](const Maker& maker, const char* header) {
    const std::string source = jit::cuda_source(maker.made, jit::launch_shape(maker.made, {}, multiprocessors));
    return source.find(header) != std::string::npos;
  };
  Maker sum;
  sum.output(op(sum, ElementwiseOp::add, Type::float32, sum.input(Type::float32), sum.scalar(Type::float32)));
  for (const char* const header : {"math.hpp", "half.hpp", "elementwise.hpp"}) {
    BOOST_TEST_CONTEXT(header) { BOOST_TEST(!includes(sum, header)); }
  }
  Maker power;
  power.output(op(power, ElementwiseOp::exp, Type::float64, power.input(Type::float64), -1));
  BOOST_TEST(includes(power, "math.hpp"));
  BOOST_TEST(!includes(power, "elementwise.hpp"));
  Maker whole;
  whole.output(op(whole, ElementwiseOp::add, Type::int32, whole.input(Type::int32), whole.scalar(Type::int32)));
  BOOST_TEST(includes(whole, "elementwise.hpp"));
}

BOOST_AUTO_TEST_CASE(repeats_are_loops) {
  for (const Type type : {Type::float32, Type::float16, Type::int64}) {
    for (const std::int64_t size : {std::int64_t{1000}, std::int64_t{1} << 20}) {
      for (const bool is_drawn : {false, true}) {
        if (is_drawn && type == Type::int64) continue;
        Maker maker;
        maker.made.size = maker.made.extents[0] = size;
        const int factor = maker.scalar(type);
        const int summand = maker.input(type);
        int chain = is_drawn ? maker.draw(Distribution::normal, type) : maker.input(type);
        for (int i = 0; i < 40; ++i) {
          chain = maker.add({Instruction::Kind::op, ElementwiseOp::mul, type, type, {chain, factor, -1}, 0});
          chain = maker.add({Instruction::Kind::op, ElementwiseOp::add, type, type, {chain, summand, -1}, 0});
        }
        maker.output(chain);
        maker.output(maker.add({Instruction::Kind::op, ElementwiseOp::neg, type, type, {chain, -1, -1}, 0}));
        maker.require_compiled();
        const std::string source = jit::cuda_source(maker.made, jit::launch_shape(maker.made, {}, multiprocessors));
        BOOST_TEST(source.find("for (int turn") != std::string::npos);
      }
    }
  }
}

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

BOOST_AUTO_TEST_CASE(strided_arrays_compile) {
  Maker maker(true);
  const int dense = maker.input(Type::float32);
  const int row = maker.input(Type::float32, {0, 1});
  const int column = maker.input(Type::float32, {1, 0});
  const int turned = maker.input(Type::float32, {1, 10});
  int sum = dense;
  for (const int other : {row, column, turned}) {
    sum = maker.add({Instruction::Kind::op, ElementwiseOp::add, Type::float32, Type::float32, {sum, other, -1}, 0});
  }
  maker.output(sum);
  maker.output(sum, {200, 1});
  maker.output(sum, {1, 10});
  maker.require_compiled();
}

/// Every reduction of a type, of `rows` rows of `n`, and what is left when a result is taken out of them.
void require_reductions(std::int64_t rows, std::int64_t n, Type type) {
  Maker maker;
  maker.made.size = rows * n;
  maker.made.ndim = 2;
  maker.made.extents[0] = rows;
  maker.made.extents[1] = n;
  const int x = maker.input(type, {n, 1});
  const int turned = maker.input(type, {n, -1});
  const int of_row = maker.input(type, {1, 0});
  const bool is_floating = type >= Type::float16;
  const auto add = [&](kernels::ReduceOp op, Type acc, Type out, int value, int center) {
    Instruction reduce{Instruction::Kind::reduce, ElementwiseOp::copy, out, type, {value, center, -1}, 0};
    reduce.number = static_cast<int>(maker.made.reductions.size());
    maker.made.reductions.push_back({op, type, acc, out, 3, op == kernels::ReduceOp::sum_of_squares});
    const int result = maker.add(reduce);
    maker.output(result, {1, 0});
    return result;
  };
  const Type wide = !is_floating ? Type::int64 : type < Type::float32 ? Type::float32 : Type::float64;
  const Type total = is_floating ? type : Type::int64;
  int result = x;
  for (const auto op : {kernels::ReduceOp::min, kernels::ReduceOp::max}) result = add(op, type, type, result, -1);
  for (const auto op : {kernels::ReduceOp::any, kernels::ReduceOp::all}) add(op, Type::bool_, Type::bool_, x, -1);
  for (const auto op : {kernels::ReduceOp::sum, kernels::ReduceOp::prod}) add(op, wide, total, turned, -1);
  if (is_floating) {
    add(kernels::ReduceOp::sum_of_squares, wide, type, x, -1);
    add(kernels::ReduceOp::var, wide, type, x, of_row);
  }
  const Instruction least{Instruction::Kind::op, ElementwiseOp::minimum, type, type, {x, result, -1}, 0};
  const int rest = type == Type::bool_ ? x : maker.add(least);
  maker.output(rest, {n, 1});
  maker.output(rest, {1, rows});
  BOOST_TEST_CONTEXT(rows << " rows of " << n << " of type " << static_cast<int>(type)) { maker.require_compiled(); }
}

BOOST_AUTO_TEST_CASE(rows_compile) {
  for (const Type type : all_types) require_reductions(300, 100, type);
  for (const std::int64_t n : {1024, 1000}) require_reductions(300, n, Type::float32);
  for (const std::int64_t n : {1024, 4000, 8192, 20000, 65536}) require_reductions(3, n, Type::float32);
  for (const Type type : {Type::bool_, Type::float16, Type::int64}) require_reductions(3, 20000, type);
}

BOOST_AUTO_TEST_CASE(arrays_that_are_read_elsewhere_compile) {
  for (const bool is_strided : {false, true}) {
    for (const std::int64_t size : {std::int64_t{1000}, std::int64_t{1} << 40}) {
      Maker maker(is_strided);
      maker.made.size = size;
      for (const Type type : all_types) {
        const int index = maker.input(type == Type::float16 ? Type::int32 : Type::int64);
        maker.output(maker.input(type));
        if (is_strided) {
          maker.output(maker.rolled(type, {0, 0}, {{0, 1, 1000, 100, 1}}));
          maker.output(maker.rolled(type, {100, 0}, {{1, 1, 100, 1, 1}}));
          maker.output(maker.rolled(type, {0, 1}, {{0, 0, 10, 3, 200}}), {200, 1});
          maker.output(maker.rolled(type, {0, 2}, {{0, 0, 10, 3, 200}}));
          maker.output(maker.rolled(type, {0, 0}, {{0, 0, 10, 3, 1}, {1, 1, 100, 4, 10}}), {1, 10});
          maker.output(maker.taken(type, {0, 0}, index, {100, 1}));
          maker.output(maker.taken(type, {7, 3}, index, {}));
        } else {
          maker.output(maker.rolled(type, {0}, {{0, 0, 1000, 1, 1}}));
          maker.output(maker.rolled(type, {0}, {{0, 0, 1000, 1, -2}}));
          maker.output(maker.taken(type, {0}, index, {3}));
        }
      }
      maker.require_compiled();
    }
  }
  Maker maker(true);
  maker.output(maker.draw(Distribution::normal, Type::float32));
  maker.output(maker.rolled(Type::float32, {100, 0}, {{1, 1, 100, 1, 1}}));
  maker.require_compiled();
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

BOOST_AUTO_TEST_CASE(rows_read_what_they_have_in_common_in_any_phase) {
  Maker maker;
  maker.made.size = 512 * 1024;
  maker.made.ndim = 2;
  maker.made.extents[0] = 512;
  maker.made.extents[1] = 1024;
  const Type type = Type::float32;
  const auto op = [&](ElementwiseOp of, int a, int b) {
    return maker.add({Instruction::Kind::op, of, type, type, {a, b, -1}, 0});
  };
  maker.made.reductions.push_back({kernels::ReduceOp::sum, type, Type::float64, type});
  const auto sum = [&](int value) {
    return maker.add({Instruction::Kind::reduce, ElementwiseOp::copy, type, type, {value, -1, -1}, 0});
  };
  const int x = maker.input(type, {1024, 1});
  const int early = maker.input(type, {0, 1});
  const int late = maker.input(type, {0, 1});
  const int scaled = op(ElementwiseOp::mul, op(ElementwiseOp::sub, x, sum(x)), early);
  maker.output(op(ElementwiseOp::add, op(ElementwiseOp::div, scaled, sum(scaled)), late), {1024, 1});
  maker.require_compiled();
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

BOOST_AUTO_TEST_CASE(windows_compile) {
  for (const std::int64_t size : {std::int64_t{1000}, std::int64_t{1} << 40}) {
    Maker maker(true);
    maker.made.size = size;
    maker.made.windows = {{{0, 1}, {10, 100}}, {{2, 0}, {9, 100}}, {{1, 1}, {2, 3}}, {{0, 0}, {10, 100}}};
    for (const Type type : all_types) {
      int value = maker.input(type);
      for (const int window : {0, 1, 2, 3}) value = maker.windowed(type, {100, window}, window, value);
      maker.output(value);
    }
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

BOOST_AUTO_TEST_CASE(contraction_is_another_kernel) {
  Maker maker;
  const int x = maker.input(Type::float32);
  const int y = maker.input(Type::float32);
  const auto op = [&](ElementwiseOp kind, int a, int b) {
    return maker.add({Instruction::Kind::op, kind, Type::float32, Type::float32, {a, b, -1}, 0});
  };
  maker.output(op(ElementwiseOp::add, op(ElementwiseOp::mul, x, y), y));
  const std::string source = jit::cuda_source(maker.made, jit::launch_shape(maker.made, {}, multiprocessors));
  const std::string exact = cuda::compile_kernel(source, "sm_90");
  BOOST_TEST((cuda::compile_kernel(source, "sm_90", false) == exact));
  BOOST_TEST((cuda::compile_kernel(source, "sm_90", true) != exact));
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

BOOST_AUTO_TEST_CASE(what_does_not_compile_is_told_with_the_log_and_the_source) {
  require_error(Errc::backend, [] { cuda::compile_kernel("int x = nothing;", "sm_90"); },
                {"nvrtc", "identifier \"nothing\" is undefined", "int x = nothing;"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
