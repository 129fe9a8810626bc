// Reports of programs that record anew each step and update the executable that they have.

#include "support.hpp"

#include <refrain/refrain.hpp>

#include <string>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;

namespace {

/// Every command is a node of its own.
constexpr rf::InstantiateOptions literal{.optimize = rf::Optimize::none};

using Program = rf::Array (*)(const rf::Array&);

rf::Array chain_of_three(const rf::Array& x) { return (x + 1) * 2 - 3; }
rf::Array chain_of_four(const rf::Array& x) { return ((x + 1) * 2 - 3) / 2; }

/// Four branches that join.
rf::Array fork_of_four(const rf::Array& x) {
  const rf::Stream main = rf::current_stream();
  const std::vector<rf::Stream> branches(4);
  std::vector<rf::Array> parts;
  for (const rf::Stream& branch : branches) {
    branch.wait_stream(main);
    const rf::StreamGuard on(branch);
    parts.push_back(x * static_cast<int>(parts.size() + 1));
  }
  rf::Array sum = x + 0;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    main.wait_stream(branches[i]);
    sum = sum + parts[i];
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_updates)

BOOST_AUTO_TEST_CASE(each_step_is_recorded_anew_and_an_update_that_is_refused_makes_another, *label("report-40")) {
  const Program steps[] = {chain_of_three, chain_of_three, chain_of_four, fork_of_four, chain_of_three, fork_of_four};
  const rf::Array start = filled(0);
  const rf::GraphExec exec = rf::capture([&] { return chain_of_three(start); }).first.instantiate(literal);
  int made_anew = 0;
  for (int step = 0; step < 60; ++step) {
    const Program program = steps[step % 6];
    const rf::Array x = filled(static_cast<float>(step));  // at another address each time
    const float expected = program(x).to_vector<float>()[0];
    const auto [graph, result] = rf::capture([&] { return program(x); });
    const rf::GraphUpdate update = exec.update(graph);
    made_anew += update.in_place ? 0 : 1;
    BOOST_TEST(update.in_place == update.difference.empty());
    exec.replay();
    BOOST_TEST(holds(result, static_cast<double>(expected)));
  }
  // Five of six steps have another form than the one before; the first of all has not.
  BOOST_TEST(made_anew == 49);
}

BOOST_AUTO_TEST_CASE(branches_in_another_order_of_creation_are_never_mixed_up, *label("report-41")) {
  const rf::Stream main;
  const auto record = [&](const rf::Array& x, const rf::Array& y, bool a_first, rf::Array& a, rf::Array& b) {
    const rf::Stream left;
    const rf::Stream right;
    return rf::capture(main, [&] {
      const auto branch = [&](const rf::Stream& stream, const rf::Array& from, float factor, rf::Array& to) {
        stream.wait_stream(main);
        const rf::StreamGuard on(stream);
        to = from * factor;
      };
      if (a_first) branch(left, x, 2, a);
      branch(right, y, 3, b);
      if (!a_first) branch(left, x, 2, a);
      main.wait_stream(left);
      main.wait_stream(right);
    });
  };
  rf::Array a;
  rf::Array b;
  const rf::Array x = filled(10);
  const rf::Array y = filled(100);
  const rf::GraphExec exec = record(x, y, true, a, b).instantiate();
  for (int turn = 0; turn < 10; ++turn) {
    const rf::Array from = filled(static_cast<float>(turn));
    const rf::Array other = filled(static_cast<float>(turn) + 0.5F);
    exec.update(record(from, other, turn % 2 != 0, a, b));
    exec.replay();
    BOOST_TEST(holds(a, 2.0 * turn));
    BOOST_TEST(holds(b, 3.0 * (turn + 0.5)));
  }
}

BOOST_AUTO_TEST_CASE(two_forms_in_turns_end_in_bounded_time, *label("report-42")) {
  const rf::Array x = filled(1);
  auto [three, y] = rf::capture([&] { return chain_of_three(x); });
  auto [four, z] = rf::capture([&] { return chain_of_four(x); });
  const rf::GraphExec exec = three.instantiate(literal);
  for (int turn = 0; turn < 500; ++turn) {
    BOOST_TEST(!exec.update(four).in_place);
    exec.replay();
    BOOST_TEST(!exec.update(three).in_place);
    exec.replay();
  }
  BOOST_TEST(holds(y, 1));
  BOOST_TEST(holds(z, 0.5));
}

BOOST_AUTO_TEST_SUITE_END()
