// Each op of the table inside a fused command against the same op alone, bit for bit: of one operand on all numbers of
// 16 bits and, on CUDA or where REFRAIN_FUZZ is set, on 2^24 patterns of float32; of two and three on all pairs of
// special numbers and on random ones. Many ops share one kernel.

#include "support.hpp"
#include "support_fuzz.hpp"
#include "support_numbers.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace refrain::test {

namespace {

constexpr std::size_t ops_a_kernel = 6;

/// What operands an op of the table takes; functions of floats take integers as float32.
enum class Takes { all, numbers, bits };

bool takes(Takes what, DType dtype) {
  switch (what) {
    case Takes::all: return true;
    case Takes::numbers: return dtype != DType::bool_;
    case Takes::bits: break;
  }
  return !is_floating(dtype);
}

/// An op on operands that are alike.
struct TableOp {
  std::string name;
  Takes operands;
  std::function<Array(const std::vector<Array>&)> apply;
};

constexpr auto unary(Array (*fn)(const Array&, SourceLocation)) {
  return [fn](const std::vector<Array>& x) { return fn(x[0], SourceLocation::current()); };
}
constexpr auto binary(Array (*fn)(const Operand&, const Operand&)) {
  return [fn](const std::vector<Array>& x) { return fn(x[0], x[1]); };
}

std::vector<TableOp> ops_of_one() {
  using List = std::vector<Array>;
  return {{"neg", Takes::numbers, [](const List& x) { return -x[0]; }},
          {"abs", Takes::numbers, unary(abs)},
          {"sign", Takes::numbers, unary(sign)},
          {"floor", Takes::all, unary(floor)},
          {"ceil", Takes::all, unary(ceil)},
          {"round", Takes::all, unary(round)},
          {"trunc", Takes::all, unary(trunc)},
          {"exp", Takes::all, unary(exp)},
          {"log", Takes::all, unary(log)},
          {"log1p", Takes::all, unary(log1p)},
          {"expm1", Takes::all, unary(expm1)},
          {"sqrt", Takes::all, unary(sqrt)},
          {"rsqrt", Takes::all, unary(rsqrt)},
          {"sin", Takes::all, unary(sin)},
          {"cos", Takes::all, unary(cos)},
          {"tanh", Takes::all, unary(tanh)},
          {"erf", Takes::all, unary(erf)},
          {"sigmoid", Takes::all, unary(sigmoid)},
          {"relu", Takes::numbers, unary(relu)},
          {"gelu", Takes::all, unary(gelu)},
          {"silu", Takes::all, unary(silu)},
          {"isnan", Takes::all, unary(isnan)},
          {"isfinite", Takes::all, unary(isfinite)},
          {"logical_not", Takes::all, unary(logical_not)},
          {"bitwise_not", Takes::bits, [](const List& x) { return ~x[0]; }}};
}

std::vector<TableOp> ops_of_two() {
  using List = std::vector<Array>;
  return {{"add", Takes::numbers, [](const List& x) { return x[0] + x[1]; }},
          {"sub", Takes::numbers, [](const List& x) { return x[0] - x[1]; }},
          {"mul", Takes::numbers, [](const List& x) { return x[0] * x[1]; }},
          {"div", Takes::all, [](const List& x) { return x[0] / x[1]; }},
          {"floor_divide", Takes::numbers, binary(floor_divide)},
          {"remainder", Takes::numbers, binary(remainder)},
          {"pow", Takes::numbers, binary(pow)},
          {"minimum", Takes::numbers, binary(minimum)},
          {"maximum", Takes::numbers, binary(maximum)},
          {"equal", Takes::all, [](const List& x) { return x[0] == x[1]; }},
          {"not_equal", Takes::all, [](const List& x) { return x[0] != x[1]; }},
          {"less", Takes::all, [](const List& x) { return x[0] < x[1]; }},
          {"less_equal", Takes::all, [](const List& x) { return x[0] <= x[1]; }},
          {"greater", Takes::all, [](const List& x) { return x[0] > x[1]; }},
          {"greater_equal", Takes::all, [](const List& x) { return x[0] >= x[1]; }},
          {"logical_and", Takes::all, binary(logical_and)},
          {"logical_or", Takes::all, binary(logical_or)},
          {"logical_xor", Takes::all, binary(logical_xor)},
          {"bitwise_and", Takes::bits, [](const List& x) { return x[0] & x[1]; }},
          {"bitwise_or", Takes::bits, [](const List& x) { return x[0] | x[1]; }},
          {"bitwise_xor", Takes::bits, [](const List& x) { return x[0] ^ x[1]; }}};
}

std::vector<TableOp> ops_of_three() {
  using List = std::vector<Array>;
  return {{"clamp", Takes::numbers, [](const List& x) { return clamp(x[0], x[1], x[2]); }},
          {"where", Takes::all, [](const List& x) { return where(x[0], x[1], x[2]); }}};
}

/// Casts, and ops with a number in the place of an operand: none of the table's, but in a command of its own too.
std::vector<TableOp> variants_of_one() {
  using List = std::vector<Array>;
  std::vector<TableOp> all = {{"x + 3", Takes::numbers, [](const List& x) { return x[0] + 3; }},
                              {"7 % x", Takes::numbers, [](const List& x) { return 7 % x[0]; }},
                              {"pow(x, 3)", Takes::numbers, [](const List& x) { return pow(x[0], 3); }},
                              {"pow(2, x)", Takes::numbers, [](const List& x) { return pow(2, x[0]); }},
                              {"x / 3", Takes::all, [](const List& x) { return x[0] / 3; }},
                              {"x < 5", Takes::all, [](const List& x) { return x[0] < 5; }},
                              // In one kernel, where what odd functions of opposites have in common is computed once.
                              {"erf(x / 3)", Takes::numbers, [](const List& x) { return erf(x[0] / 3); }},
                              {"erf(-x / 3)", Takes::numbers, [](const List& x) { return erf(-x[0] / 3); }},
                              {"tanh(x)", Takes::numbers, [](const List& x) { return tanh(x[0]); }},
                              {"tanh(-x)", Takes::numbers, [](const List& x) { return tanh(-x[0]); }},
                              {"sin(2 * x)", Takes::numbers, [](const List& x) { return sin(2 * x[0]); }},
                              {"sin(2 * -x)", Takes::numbers, [](const List& x) { return sin(2 * -x[0]); }}};
  for (const DType to : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                         DType::float32, DType::float64}) {
    all.push_back({"cast to " + std::string(to_string(to)), Takes::all, [to](const List& x) { return x[0].cast(to); }});
  }
  return all;
}

/// The names of the table's ops of so many operands.
std::set<std::string> names_in_table(int operands) {
  const std::set<std::string> of_one = {
#define REFRAIN_UNARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  const std::set<std::string> of_two = {
#define REFRAIN_BINARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  const std::set<std::string> of_three = {
#define REFRAIN_TERNARY(name, domain, result, expression) #name,
#include "kernels/elementwise_table.hpp"
  };
  return operands == 1 ? of_one : operands == 2 ? of_two : of_three;
}

bool is_thorough() { return current_device().kind == DeviceKind::cuda || fuzz_range(0).is_asked_for; }

/// What lists of a dtype's numbers have: there are no spans of std::vector<bool>.
template <class T>
using Held = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
Array operand_of(const std::vector<Held<T>>& values) {
  return as_array(values).cast(dtype_of<T>());
}

/// 0, 1, powers of two and their neighbours, of either sign; the largest and the least.
template <class T>
std::vector<Held<T>> special_numbers() {
  if constexpr (std::is_same_v<T, bool>) {
    return {0, 1};
  } else if constexpr (std::is_integral_v<T>) {
    std::vector<T> values = {0, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
    for (std::size_t bit = 0; bit < 8 * sizeof(T); bit += 2) {
      for (const std::int64_t beside : {-1, 0, 1}) {
        values.push_back(static_cast<T>((std::uint64_t{1} << bit) + static_cast<std::uint64_t>(beside)));
        values.push_back(static_cast<T>(-static_cast<std::uint64_t>(values.back())));
      }
    }
    return values;
  } else {
    return special_values<T>();
  }
}

template <class T>
std::vector<Held<T>> random_numbers_of(std::size_t count, unsigned seed) {
  std::vector<Held<T>> values = random_values<Held<T>>(count, seed);
  if constexpr (std::is_same_v<T, bool>) {
    for (std::uint8_t& value : values) value %= 2;
  }
  return values;
}

/// All numbers of 16 bits. Of wider ones a pattern of every so many, so that each sign, exponent and every high bit of
/// a fraction is there; then special ones.
template <class T>
Array sweep() {
  std::vector<Held<T>> values;
  if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    values = all_values<T>();
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const unsigned known_bits = !is_thorough() ? 14 : sizeof(T) == 4 ? 24 : 20;
    const unsigned other_bits = 8 * sizeof(T) - known_bits;
    std::mt19937_64 random(1);
    for (Bits i = 0; i < Bits{1} << known_bits; ++i) {
      const Bits others = static_cast<Bits>(random()) & ((Bits{1} << other_bits) - 1);
      values.push_back(std::bit_cast<T>(static_cast<Bits>(i << other_bits | others)));
    }
  } else {
    values = random_numbers_of<T>(4096, 1);
  }
  const std::vector<Held<T>> special = special_numbers<T>();
  values.insert(values.end(), special.begin(), special.end());
  return operand_of<T>(values);
}

/// All tuples of two special numbers, the last operand in another order, and random ones.
template <class T>
std::vector<Array> tuples(std::size_t operands) {
  const std::vector<Held<T>> special = special_numbers<T>();
  auto pairs = Pairs<Held<T>>::of(special, special);
  const std::size_t others = is_thorough() ? 1 << 18 : 1 << 12;
  pairs.append(random_numbers_of<T>(others, 2), random_numbers_of<T>(others, 3));
  std::vector<Array> all = {operand_of<T>(pairs.left), operand_of<T>(pairs.right)};
  if (operands == 3) {
    std::vector<Held<T>> third = pairs.left;
    std::shuffle(third.begin(), third.end(), std::mt19937(4));
    all.push_back(operand_of<T>(third));
  }
  return all;
}

/// Some ops between others: of what commands before them make, and read by commands behind them.
class Sandwich {
 public:
  Sandwich(std::vector<TableOp> ops, const std::vector<Array>& operands)
      : dtype_(operands[0].dtype()), ops_(std::move(ops)) {
    const Array keep = ones(operands[0].shape(), {.dtype = DType::bool_});
    std::tie(graph_, outputs_) = capture([&] {
      std::vector<Array> made;
      for (const Array& operand : operands) made.push_back(where(keep, operand, false));  // with all its bits
      std::vector<Array> all;
      for (const TableOp& op : ops_) {
        const Array result = op.apply(made);
        all.push_back(where(keep, result, false));
        all.push_back(next_to(result, made[0]));
      }
      return all;
    });
  }

  void instantiate() {
    fused_ = graph_.instantiate();
    alone_ = graph_.instantiate({.optimize = Optimize::none});
  }

  void require_same() const {
    BOOST_TEST(fused_.node_count() == 1, fused_.explain());
    BOOST_TEST(alone_.node_count() > static_cast<int>(2 * ops_.size()));
    alone_.replay();
    const std::vector<Array> expected = snapshots();
    for (Array output : outputs_) output.assign(true);  // so that what is not written is seen
    fused_.replay();
    const std::vector<Array> got = snapshots();
    std::vector<int> is_same(got.size());
    for_each_in_parallel(got.size(), [&](std::size_t i) { is_same[i] = same_bits(got[i], expected[i]) ? 1 : 0; });
    for (std::size_t i = 0; i < got.size(); ++i) {
      BOOST_TEST(is_same[i] == 1, ops_[i / 2].name << " of " << dtype_ << (i % 2 == 0 ? "" : ", read by another op")
                                                   << ", has other bits when it is fused; place, alone, fused:\n"
                                                   << (is_same[i] == 1 ? "" : differences(expected[i], got[i])));
    }
  }

 private:
  static std::string differences(const Array& expected, const Array& got) {
    const std::vector<double> alone = numbers(expected);
    const std::vector<double> fused = numbers(got);
    return wrong_ones(
        alone.size(), [&](std::size_t i) { return !is_identical(fused[i], alone[i]); },
        [&](std::size_t i) { return digits(i, alone[i], fused[i]); });
  }
  /// Of another value where `result` was not rounded before it is read.
  static Array next_to(const Array& result, const Array& operand) {
    const bool is_bool = result.dtype() == DType::bool_ && operand.dtype() == DType::bool_;
    return is_bool ? logical_xor(operand, result) : operand - result;
  }
  std::vector<Array> snapshots() const {
    std::vector<Array> all;
    for (const Array& output : outputs_) all.push_back(snapshot(output));
    return all;
  }

  DType dtype_;
  std::vector<TableOp> ops_;
  Graph graph_;
  std::vector<Array> outputs_;  ///< two an op
  GraphExec fused_;
  GraphExec alone_;
};

/// Those of the ops that operands of this dtype have, so many a kernel.
void add_sandwiches(std::vector<Sandwich>& all, const std::vector<TableOp>& ops, const std::vector<Array>& operands) {
  std::vector<TableOp> some;
  for (const TableOp& op : ops) {
    if (!takes(op.operands, operands[0].dtype())) continue;
    some.push_back(op);
    if (some.size() == ops_a_kernel) all.emplace_back(std::exchange(some, {}), operands);
  }
  if (!some.empty()) all.emplace_back(std::move(some), operands);
}

void require_same(std::vector<Sandwich>& all) {
  for_each_in_parallel(all.size(), [&](std::size_t i) { all[i].instantiate(); });
  for (const Sandwich& sandwich : all) sandwich.require_same();
}

template <class Fn>
void on_each_dtype(Fn fn) {
  for (const DType dtype : {DType::bool_, DType::uint8, DType::int32, DType::int64, DType::float16, DType::bfloat16,
                            DType::float32, DType::float64}) {
    with_type(dtype, [&]<class T>(T) { fn(T{}); });
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_op_table)

BOOST_AUTO_TEST_CASE(no_op_of_the_table_is_missing) {
  const auto names = [](const std::vector<TableOp>& ops) {
    std::set<std::string> all;
    for (const TableOp& op : ops) all.insert(op.name);
    return all;
  };
  BOOST_TEST((names(ops_of_one()) == names_in_table(1)));
  BOOST_TEST((names(ops_of_two()) == names_in_table(2)));
  std::set<std::string> of_three = names_in_table(3);
  of_three.insert("where");
  BOOST_TEST((names(ops_of_three()) == of_three));
}

BOOST_AUTO_TEST_CASE(fused_ops_of_one_number_give_the_bits_that_they_give_alone) {
  std::vector<Sandwich> all;
  on_each_dtype([&]<class T>(T) {
    const std::vector<Array> operand = {sweep<T>()};
    add_sandwiches(all, ops_of_one(), operand);
    add_sandwiches(all, variants_of_one(), operand);
  });
  require_same(all);
}

BOOST_AUTO_TEST_CASE(fused_ops_of_two_and_three_numbers_give_the_bits_that_they_give_alone) {
  std::vector<Sandwich> all;
  on_each_dtype([&]<class T>(T) {
    add_sandwiches(all, ops_of_two(), tuples<T>(2));
    add_sandwiches(all, ops_of_three(), tuples<T>(3));
  });
  require_same(all);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
