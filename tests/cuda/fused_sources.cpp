// The CUDA source of fused commands is compiled by NVRTC, which needs no GPU.

#include "cuda/support_sources.hpp"
#include "kernels/elementwise.hpp"

#include <cstdint>
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

BOOST_AUTO_TEST_CASE(odd_functions_of_opposites_are_computed_once) {
  const auto calls_of = [](Type type) {
    Maker maker;
    const auto product = [&](int x, int factor) {
      return maker.add({Instruction::Kind::op, ElementwiseOp::mul, type, type, {x, factor, -1}, 0});
    };
    const int x = maker.input(type);
    const int opposite = maker.add({Instruction::Kind::op, ElementwiseOp::neg, type, type, {x, -1, -1}, 0});
    const int factor = maker.scalar(type);
    for (int argument : {product(x, factor), product(opposite, factor)}) {
      const Type result = type == Type::int32 ? Type::float32 : type;
      const Instruction cast{Instruction::Kind::op, ElementwiseOp::copy, result, type, {argument, -1, -1}, 0};
      if (result != type) argument = maker.add(cast);
      maker.output(maker.add({Instruction::Kind::op, ElementwiseOp::erf, result, result, {argument, -1, -1}, 0}));
    }
    maker.require_compiled();
    const std::string source = jit::cuda_source(maker.made, jit::launch_shape(maker.made, {}, multiprocessors));
    int calls = 0;
    for (auto at = source.find("erf"); at != std::string::npos; at = source.find("erf", at + 1)) ++calls;
    return calls;
  };
  BOOST_TEST(calls_of(Type::float32) == 1);
  BOOST_TEST(calls_of(Type::float64) == 1);
  BOOST_TEST(calls_of(Type::int32) == 2);  // the least integer is its own opposite
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

BOOST_AUTO_TEST_CASE(what_does_not_compile_is_told_with_the_log_and_the_source) {
  require_error(Errc::backend, [] { cuda::compile_kernel("int x = nothing;", "sm_90"); },
                {"nvrtc", "identifier \"nothing\" is undefined", "int x = nothing;"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
