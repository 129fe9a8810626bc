// How many commands a reduction is: one, and two a pass where few rows have more chunks than a block does.

#include "support.hpp"

#include <refrain/reduce.hpp>

#include <cmath>
#include <functional>

using boost::unit_test::label;

namespace refrain::test {

namespace {

struct NamedOp {
  const char* name;
  std::function<Array(const Array&)> apply;
};

int commands_of(const std::function<Array(const Array&)>& op, const Array& x) {
  return capture([&] { return op(x); }).first.node_count();
}

/// Of one pass, over the last axis.
const std::vector<NamedOp>& folds() {
  static const std::vector<NamedOp> ops = {
      {"sum", [](const Array& x) { return sum(x, -1); }},
      {"prod", [](const Array& x) { return prod(x, -1); }},
      {"mean", [](const Array& x) { return mean(x, -1); }},
      {"min", [](const Array& x) { return min(x, -1); }},
      {"max", [](const Array& x) { return max(x, -1); }},
      {"argmin", [](const Array& x) { return argmin(x, -1); }},
      {"argmax", [](const Array& x) { return argmax(x, -1, true); }},
      {"any", [](const Array& x) { return any(x, -1); }},
      {"all", [](const Array& x) { return all(x, -1); }},
  };
  return ops;
}

/// Of floating types, over the last axis.
const std::vector<NamedOp>& float_folds() {
  static const std::vector<NamedOp> ops = {
      {"norm", [](const Array& x) { return norm(x, -1); }},
      {"dot", [](const Array& x) { return dot(x.flatten(), x.flatten()); }},
  };
  return ops;
}

const std::vector<NamedOp>& two_passes() {
  static const std::vector<NamedOp> ops = {
      {"var", [](const Array& x) { return var(x, -1); }},
      {"logsumexp", [](const Array& x) { return logsumexp(x, -1); }},
  };
  return ops;
}

const NamedOp softmax_op = {"softmax", [](const Array& x) { return softmax(x); }};

void require_commands(const std::vector<NamedOp>& ops, const Array& x, int count) {
  for (const NamedOp& op : ops) {
    BOOST_TEST_CONTEXT(op.name << " of " << x.shape() << ' ' << x.dtype()) {
      BOOST_TEST(commands_of(op.apply, x) == count);
    }
  }
}

constexpr std::int64_t chunk = 8192;

}  // namespace

BOOST_AUTO_TEST_SUITE(reductions_commands)

BOOST_AUTO_TEST_CASE(each_is_one) {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                            DType::float32, DType::float64}) {
    const Array x = ones({40, 50}, {.dtype = dtype});
    require_commands(folds(), x, 1);
    if (!is_floating(dtype)) continue;
    require_commands(float_folds(), x, 1);
    require_commands(two_passes(), x, 1);
    require_commands({softmax_op}, x, 1);
  }
}

BOOST_AUTO_TEST_CASE(each_is_one_whatever_the_layout) {
  const Array x = ones({40, 50});
  for (const Array& view : {x.transpose(0, 1), x.flip(1), x.slice({.begin = 0, .end = 40, .step = 2}, 1),
                            x.select(0).expand({30, 50}), x.reshape({5, 8, 50}).transpose(0, 2)}) {
    require_commands(folds(), view, 1);
    require_commands(two_passes(), view, 1);
    require_commands({softmax_op}, view, 1);
  }
  BOOST_TEST(capture([&] { return argmax(x); }).first.node_count() == 1);
  BOOST_TEST(capture([&] { return softmax(x, 0); }).first.node_count() == 1);
  BOOST_TEST(capture([&] { return var(x, {0, 1}); }).first.node_count() == 1);
}

BOOST_AUTO_TEST_CASE(a_block_does_several_chunks) {
  for (const Array& x :
       {zeros({2, chunk + 1}), zeros({1, 16 * chunk}), zeros({17 * chunk}).expand({512, 17 * chunk})}) {
    require_commands(folds(), x, 1);
    require_commands(two_passes(), x, 1);
    require_commands({softmax_op}, x, 1);
  }
}

BOOST_AUTO_TEST_CASE(few_long_rows_are_two_a_pass) {
  const Array x = zeros({1, 16 * chunk + 1});
  require_commands(folds(), x, 2);
  require_commands(float_folds(), x, 2);
  require_commands(two_passes(), x, 4);
}

BOOST_AUTO_TEST_CASE(other_types_are_cast_first) {
  const Array x = ones({40, 50}, {.dtype = DType::int32});
  require_commands({float_folds()[0]}, x, 2);
  require_commands(two_passes(), x, 2);
  require_commands({softmax_op}, x, 2);
}

BOOST_AUTO_TEST_CASE(what_is_refused_leaves_no_cast_in_a_capture) {
  const Array whole = ones({2, 3}, {.dtype = DType::int32});
  const auto [graph, total] = capture([&] {
    require_error(Errc::invalid_value, [&] { var(whole, 2); });
    require_error(Errc::invalid_value, [&] { norm(whole, 2); });
    require_error(Errc::invalid_value, [&] { logsumexp(whole, 2); });
    require_error(Errc::invalid_value, [&] { softmax(whole, 2); });
    return sum(whole);
  });
  BOOST_TEST(graph.node_count() == 1);
}

BOOST_AUTO_TEST_CASE(the_variance_of_nothing_is_nothing_by_its_divisor) {
  for (const double correction : {-2.0, -1.0}) BOOST_TEST(var(ones({0}), {}, correction).item<float>() == 0);
  for (const double correction : {0.0, 1.0}) BOOST_TEST(std::isnan(var(ones({0}), {}, correction).item<float>()));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
