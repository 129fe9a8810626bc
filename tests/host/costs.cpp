// What fused commands of the host are taken to cost, by which they are cut into parts.

#include "host/cost.hpp"
#include "jit/expression.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>

namespace refrain::test {

namespace {

using jit::Expression;
using jit::Instruction;
using kernels::Type;

/// Rows of 1000 float32 that are read and written.
Expression copied(std::int64_t rows) {
  Expression expression;
  expression.size = rows * 1000;
  expression.ndim = 2;
  expression.extents[0] = rows;
  expression.extents[1] = 1000;
  jit::Layout dense;
  dense.strides[0] = 1000;
  dense.strides[1] = 1;
  expression.inputs = {dense};
  expression.outputs = {dense};
  Instruction load;
  load.kind = Instruction::Kind::load;
  expression.code = {load};
  expression.results = {0};
  return expression;
}

double cost_of(Expression expression) {
  runtime::FusedCommand command;
  command.expression = std::make_shared<const Expression>(std::move(expression));
  return host::estimated_ns(command);
}

void add(Expression& to, Instruction::Kind kind, int operand, int number = 0) {
  Instruction instruction;
  instruction.kind = kind;
  instruction.operands[0] = operand;
  instruction.number = number;
  to.code.push_back(instruction);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_costs)

BOOST_AUTO_TEST_CASE(reductions_cost_what_they_do_for_each_element_and_each_row) {
  Expression sums = copied(100);
  sums.reductions.push_back({});
  add(sums, Instruction::Kind::reduce, 0);
  BOOST_TEST(cost_of(sums) >= cost_of(copied(100)) + 100'000 * 0.2);
  // What goes on with one value a row costs little.
  Expression more = sums;
  for (int i = 0; i < 10; ++i) add(more, Instruction::Kind::op, 1 + i);
  BOOST_TEST(cost_of(more) < cost_of(sums) + 100 * 10);
}

BOOST_AUTO_TEST_CASE(what_is_read_elsewhere_costs_more_than_what_is_read_in_place) {
  Expression rolled = copied(100);
  rolled.inputs[0].wraps = {{0, 0, 100, 1, 1000}};
  BOOST_TEST(cost_of(rolled) > cost_of(copied(100)));
  Expression taken = copied(100);
  add(taken, Instruction::Kind::take, 0);
  BOOST_TEST(cost_of(taken) >= cost_of(copied(100)) + 100'000);
  Expression chosen = copied(100);
  add(chosen, Instruction::Kind::choose, 0);
  BOOST_TEST(cost_of(chosen) > cost_of(copied(100)));
}

BOOST_AUTO_TEST_CASE(parts_add_up_and_single_elements_are_read_once) {
  runtime::FusedCommand command;
  command.expression = std::make_shared<const Expression>(copied(10));
  const double one = host::estimated_ns(command);
  command.further.assign(3, command.expression);
  BOOST_TEST(host::estimated_ns(command) == 4 * one, boost::test_tools::tolerance(1e-9));
  Expression single = copied(10);
  single.inputs[0].is_single = true;
  BOOST_TEST(cost_of(single) < one);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
