// What the arguments of a graphed function are to it: which arrays share memory, which are the function's own too, and
// how they are given.

#include "support.hpp"
#include "support_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace rf = refrain;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

/// What it does depends on how its argument is given.
struct Overloaded {
  rf::Array operator()(const rf::Array& x) const { return x + 1; }
  rf::Array operator()(rf::Array&& x) const { return x * 10; }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(graphed_arguments)

BOOST_AUTO_TEST_CASE(arrays_that_share_memory_are_another_signature_than_those_that_do_not) {
  const auto fn = [](rf::Array a, const rf::Array& b) {
    a += b;
    return a + b;
  };
  auto step = rf::graphed(fn);
  const auto both = [&](auto make) {
    const std::pair<rf::Array, rf::Array> mine = make();
    const std::pair<rf::Array, rf::Array> given = make();
    const rf::Array eager = fn(mine.first, mine.second);
    const rf::Array graphed = step(given.first, given.second);
    BOOST_TEST((eager.to_vector<float>() == graphed.to_vector<float>()));
    BOOST_TEST((mine.first.to_vector<float>() == given.first.to_vector<float>()));
  };
  for (int i = 0; i < 3; ++i) {
    both([] { return std::pair(filled(1), filled(2)); });
    both([] {
      const rf::Array x = filled(3);
      return std::pair(x, x);
    });
    both([] {
      const rf::Array x = rf::arange(8).cast(rf::DType::float32);
      return std::pair(x.slice(0, 4), x.slice(2, 6));
    });
    both([] {
      const rf::Array x = rf::arange(8).cast(rf::DType::float32);
      return std::pair(x.slice(0, 4), x.slice(3, 7));
    });
    both([] {
      const rf::Array x = rf::arange(8).cast(rf::DType::float32);
      return std::pair(x.slice(0, 4), x.slice(4, 8));
    });
  }
  BOOST_TEST(step.statistics().recordings == 5);
}

BOOST_AUTO_TEST_CASE(an_argument_may_be_an_array_that_the_function_uses_anyway) {
  rf::Array weight = filled(1);
  const auto fn = [&](rf::Array x) {
    x += 1;
    return x + weight;
  };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 4; ++i) {
    const rf::Array other = filled(10);
    BOOST_TEST(holds(step(other), 11 + 1 + i));
    BOOST_TEST(holds(step(weight), 2 * (2 + i)));  // which moves the weight on by one
  }
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(views_of_other_blocks_take_each_others_place) {
  auto step = rf::graphed([](const rf::Array& x) { return x.flip(0) * 2; });
  const rf::Array big = rf::arange(40).cast(rf::DType::float32);
  const rf::Array small = rf::arange(8).cast(rf::DType::float32);
  BOOST_TEST((step(small.slice(4, 8)).to_vector<float>() == std::vector<float>{14, 12, 10, 8}));
  BOOST_TEST((step(big.slice(36, 40)).to_vector<float>() == std::vector<float>{78, 76, 74, 72}));
  BOOST_TEST((step(big.slice(4, 8)).to_vector<float>() == std::vector<float>{14, 12, 10, 8}));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(memory_at_addresses_is_passed_too) {
  const rf::test::Memory a(4);
  const rf::test::Memory b(4);
  a.fill(1);
  b.fill(5);
  auto step = rf::graphed([](const rf::Array& x) {
    rf::Array y = x;
    y += 1;
  });
  step(rf::from_blob(a.at(), {4}));
  step(rf::from_blob(b.at(), {4}));
  step(rf::from_blob(a.at(), {4}));
  BOOST_TEST((a.values() == std::vector<float>(4, 3)));
  BOOST_TEST((b.values() == std::vector<float>(4, 6)));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(overlapping_memory_of_other_code_is_told_from_separate_memory) {
  const rf::test::Memory memory(12);
  const auto fn = [](rf::Array x, const rf::Array& y) { x += y; };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 3; ++i) {
    for (const int distance : {0, 2, 4, 8}) {
      const auto run = [&](const auto& call) {
        memory.fill(1);
        call(rf::from_blob(memory.at(distance), {4}), rf::from_blob(memory.at(), {4}));
        call(rf::from_blob(memory.at(distance), {4}), rf::from_blob(memory.at(), {4}));
        return memory.values();
      };
      BOOST_TEST((run(step) == run(fn)));
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_other_code_given_twice_keeps_its_order) {
  const rf::test::Memory memory(12);
  const auto fn = [](rf::Array a, rf::Array b) {
    a += 1;
    b *= 2;
    a += 3;
    return a - b;
  };
  auto step = rf::graphed(fn);
  for (int i = 0; i < 3; ++i) {
    for (const int distance : {0, 1, 3, 6}) {
      const auto run = [&](const auto& call) {
        memory.fill(1);
        const rf::Array result = call(rf::from_blob(memory.at(distance), {4}), rf::from_blob(memory.at(), {4}));
        return std::pair(result.to_vector<float>(), memory.values());
      };
      BOOST_TEST((run(step) == run(fn)));
    }
  }
}

BOOST_AUTO_TEST_CASE(values_and_buffers_may_be_new_at_once) {
  const auto fn = [](const rf::Array& x, const rf::Param<float>& a, const rf::Param<float>& b) {
    return (x * a + x * 0.5F) * b - a;
  };
  const auto step = rf::graphed(fn);
  rf::Param<float> a(1, "a");
  rf::Param<float> b(1, "b");
  std::vector<rf::Array> held;
  for (int i = 0; i < 30; ++i) {
    const rf::Array x = filled(static_cast<float>(i % 7));
    a = static_cast<float>(i % 3);
    b = static_cast<float>(i % 5);
    const rf::Array result = step(x, a, b);
    BOOST_TEST((result.to_vector<float>() == fn(x, a, b).to_vector<float>()));
    if (i % 4 != 0) held.push_back(result);
    if (held.size() > 5) held.erase(held.begin());
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(after_a_value_that_is_refused_the_next_call_has_its_own) {
  const auto step = rf::graphed(
      [](const rf::Array& x, const rf::Param<std::int64_t>& a, const rf::Param<std::int64_t>& b) { return x * a + b; });
  const rf::Array x = filled(2).cast(rf::DType::int32);
  const rf::Array y = filled(3).cast(rf::DType::int32);
  rf::Param<std::int64_t> a(2, "a");
  rf::Param<std::int64_t> b(5, "b");
  for (int i = 0; i < 2; ++i) BOOST_TEST(holds(step(x, a, b), 9));
  for (const std::int64_t next : {7, 2}) {  // as with the refused call, and as before it
    a = 7;
    b = std::int64_t{1} << 40;
    require_error(rf::Errc::invalid_value, [&] { step(y, a, b); }, {"does not fit", "int32"});
    a = next;
    b = 5;
    BOOST_TEST(holds(step(x, a, b), 2 * static_cast<double>(next) + 5));
    BOOST_TEST(holds(step(y, a, b), 3 * static_cast<double>(next) + 5));
  }
}

BOOST_AUTO_TEST_CASE(a_variable_given_twice_is_one_variable) {
  const auto fn = [](rf::Array& a, rf::Array& b) {
    a = a + 1;
    b = b * 2;
  };
  auto step = rf::graphed(fn);
  rf::Array x = filled(1);
  step(x, x);
  BOOST_TEST(holds(x, 4));
  step(x, x);
  BOOST_TEST(holds(x, 10));
  rf::Array y = filled(5);
  step(x, y);
  BOOST_TEST(holds(x, 11));
  BOOST_TEST(holds(y, 10));
}

BOOST_AUTO_TEST_CASE(long_numbers_are_told_apart) {
  auto step = rf::graphed([](const rf::Array& x, long double more) { return x + static_cast<double>(more * 1e9L); });
  const rf::Array x = filled(0);
  BOOST_TEST(holds(step(x, 1e-9L), 1));
  BOOST_TEST(holds(step(x, 2e-9L), 2));
}

BOOST_AUTO_TEST_CASE(an_argument_that_nothing_is_done_with_may_be_a_captured_array) {
  const rf::Array weight = filled(2);
  auto step = rf::graphed([&](const rf::Array&) { return weight * 3; });
  for (int i = 0; i < 4; ++i) BOOST_TEST(holds(step(i % 2 == 0 ? weight : filled(1)), 6));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(overloads_are_told_apart) {
  auto step = rf::graphed(Overloaded());
  for (int i = 0; i < 3; ++i) {
    const rf::Array x = filled(2);
    BOOST_TEST(holds(step(x), 3));
    BOOST_TEST(holds(step(filled(2)), 20));
  }
  auto generic = rf::graphed([](auto&& out, const rf::Array& x) { out = x * 2; });
  rf::Array out;
  generic(rf::Array(), filled(1));
  generic(out, filled(3));
  BOOST_TEST(holds(out, 6));
}

BOOST_AUTO_TEST_CASE(how_an_argument_is_given_is_no_signature_of_one_form) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  rf::Array x = filled(1);
  const rf::Array& constant = x;
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(holds(step(x), 2));
    BOOST_TEST(holds(step(constant), 2));
    BOOST_TEST(holds(step(filled(1)), 2));
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_SUITE_END()
