// Repeats in expressions, which CUDA source has as loops: what one is, and which values go from turn to turn.

#include "jit/repeats.hpp"
#include "support.hpp"

#include <cstddef>
#include <initializer_list>
#include <optional>

namespace refrain::test {

namespace {

using jit::Expression;
using jit::Instruction;
using jit::Loop;
using jit::Repeat;
using kernels::ElementwiseOp;
using kernels::Type;

int add(Expression& to, Instruction::Kind kind, int number) {
  to.code.push_back({kind, ElementwiseOp::copy, Type::float32, Type::float32, {-1, -1, -1}, number});
  return static_cast<int>(to.code.size()) - 1;
}
int add(Expression& to, ElementwiseOp op, int a, int b) {
  to.code.push_back({Instruction::Kind::op, op, Type::float32, Type::float32, {a, b, -1}, 0});
  return static_cast<int>(to.code.size()) - 1;
}

/// `turns` times z = z * scale + summand, of element 0; scale and summand are instructions 1 and 2.
Expression chain(int turns) {
  Expression made;
  int z = add(made, Instruction::Kind::load, 0);
  const int scale = add(made, Instruction::Kind::scalar, 0);
  const int summand = add(made, Instruction::Kind::load, 1);
  for (int i = 0; i < turns; ++i) z = add(made, ElementwiseOp::add, add(made, ElementwiseOp::mul, z, scale), summand);
  made.results = {z};
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_repeats)

BOOST_AUTO_TEST_CASE(a_chain_is_one_and_its_turns_fit_a_loop) {
  for (const int turns : {16, 18, 50, 97, 200}) {
    const Expression made = chain(turns);
    const std::optional<Repeat> repeat = jit::find_repeat(made);
    BOOST_REQUIRE(repeat.has_value());
    BOOST_TEST(repeat->period == 2U);
    BOOST_TEST(repeat->turns % repeat->unrolled == 0U);
    BOOST_TEST(repeat->turns > 0U);
    BOOST_TEST(repeat->unrolled > 12U);
    BOOST_TEST(repeat->unrolled <= 25U);
    BOOST_TEST(repeat->unrolled % repeat->unrolled_alone == 0U);
    BOOST_TEST(repeat->unrolled_alone <= 10U);
    BOOST_TEST(repeat->end() == made.code.size());
    BOOST_TEST(static_cast<std::size_t>(turns) - repeat->turns <= repeat->unrolled);
  }
}

BOOST_AUTO_TEST_CASE(a_turn_takes_over_what_the_one_before_has_made) {
  const Expression made = chain(51);
  const std::optional<Repeat> repeat = jit::find_repeat(made);
  BOOST_REQUIRE(repeat.has_value());
  const Loop loop(made, *repeat);
  const std::size_t product = repeat->begin;
  const std::size_t sum = product + 1;
  BOOST_TEST(!loop.is_kept(product));
  BOOST_TEST(loop.is_kept(sum));
  BOOST_TEST(loop.is_taken_over(sum));
  BOOST_TEST((loop.kept(made.code[product].operands[0], product) == sum));
  BOOST_TEST(!loop.kept(made.code[product].operands[1], product).has_value());  // a scalar
  BOOST_TEST(!loop.kept(made.code[sum].operands[0], sum).has_value());          // of its own turn
  BOOST_TEST((loop.kept(made.results[0], made.code.size()) == sum));
}

BOOST_AUTO_TEST_CASE(short_ones_are_none) {
  BOOST_TEST(!jit::find_repeat(chain(15)).has_value());
  BOOST_TEST(!jit::find_repeat(Expression{}).has_value());
}

BOOST_AUTO_TEST_CASE(branches_that_can_run_side_by_side_are_none) {
  Expression made;
  const int scale = add(made, Instruction::Kind::scalar, 0);
  int sum = scale;
  for (int branch = 0; branch < 4; ++branch) {
    int z = add(made, Instruction::Kind::load, branch);
    for (int i = 0; i < 40; ++i) z = add(made, ElementwiseOp::mul, z, scale);
    sum = add(made, ElementwiseOp::add, sum, z);
  }
  made.results = {sum};
  BOOST_TEST(!jit::find_repeat(made).has_value());
}

BOOST_AUTO_TEST_CASE(values_of_earlier_turns_are_not_read_behind_it) {
  Expression made = chain(50);
  made.results.push_back(40);
  BOOST_TEST(!jit::find_repeat(made).has_value());
  made.results.pop_back();
  made.results.push_back(add(made, ElementwiseOp::add, 40, made.results[0]));
  BOOST_TEST(!jit::find_repeat(made).has_value());
}

BOOST_AUTO_TEST_CASE(a_value_that_is_both_fixed_and_taken_over_is_read_otherwise_before) {
  Expression made;
  const int first = add(made, Instruction::Kind::load, 0);
  int z = first;
  for (int i = 0; i < 50; ++i) z = add(made, ElementwiseOp::mul, z, first);
  made.results = {z};
  const std::optional<Repeat> repeat = jit::find_repeat(made);
  BOOST_REQUIRE(repeat.has_value());
  BOOST_TEST(repeat->begin > 1U);
  const auto& operands = made.code[repeat->begin].operands;
  BOOST_TEST(operands[0] != operands[1]);
}

BOOST_AUTO_TEST_CASE(what_the_first_two_turns_read_alike_is_not_two_turns_back_later) {
  Expression made;
  const int before = add(made, Instruction::Kind::load, 0);
  int b = add(made, Instruction::Kind::load, 1);
  int two_back = before;
  int one_back = before;
  for (int i = 0; i < 30; ++i) {
    const int a = add(made, ElementwiseOp::neg, b, -1);
    b = add(made, ElementwiseOp::sub, a, two_back);
    two_back = one_back;
    one_back = a;
  }
  made.results = {b};
  const std::optional<Repeat> repeat = jit::find_repeat(made);
  BOOST_TEST((!repeat || repeat->period > 2U));
}

BOOST_AUTO_TEST_CASE(other_ops_types_and_reads_two_turns_back_end_one) {
  Expression made = chain(50);
  made.code[50].op = ElementwiseOp::sub;
  BOOST_TEST(!jit::find_repeat(made).has_value());
  made = chain(50);
  made.code[50].in_type = Type::float64;
  BOOST_TEST(!jit::find_repeat(made).has_value());
  Expression two;  // as Fibonacci's numbers, each a turn
  int a = add(two, Instruction::Kind::load, 0);
  int b = add(two, Instruction::Kind::load, 1);
  for (int i = 0; i < 60; ++i) {
    const int next = add(two, ElementwiseOp::add, a, b);
    a = b;
    b = next;
  }
  two.results = {b};
  const std::optional<Repeat> repeat = jit::find_repeat(two);
  BOOST_TEST((!repeat || repeat->period > 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
