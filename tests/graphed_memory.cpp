// Memory of the program's own, and work of the program's own, in graphed functions.

#include "support.hpp"
#include "support_foreign_work.hpp"
#include "support_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <vector>

namespace rf = refrain;
using rf::test::filled;
using rf::test::foreign_blend;
using rf::test::foreign_triple;
using rf::test::holds;
using rf::test::Memory;
using rf::test::Way;

BOOST_AUTO_TEST_SUITE(graphed_memory, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(work_of_the_programs_own_has_the_arrays_of_each_call) {
  for (const Way way : {Way::enqueue, Way::launch}) {
    rf::Array total = filled(0);
    const auto fn = [&](rf::Array to, const rf::Array& from) {
      foreign_blend(rf::current_stream(), way, to, from * 2);
      foreign_blend(rf::current_stream(), way, total, from);
      return to + total;
    };
    rf::Array reference_total = filled(0);
    auto step = rf::graphed(fn);
    float expected_total = 0;
    for (int i = 0; i < 8; ++i) {
      const auto f = static_cast<float>(i);
      const rf::Array to = filled(f);
      const rf::Array from = filled(f + 1);
      expected_total = expected_total / 2 + f + 1;
      const float expected_to = f / 2 + 2 * (f + 1);
      const rf::Array result = step(to, from);
      BOOST_TEST(holds(to, expected_to));
      BOOST_TEST(holds(total, expected_total));
      BOOST_TEST(holds(result, expected_to + expected_total));
    }
    BOOST_TEST(step.statistics().recordings == 1);
  }
}

BOOST_AUTO_TEST_CASE(what_such_work_writes_is_a_result_that_stays) {
  for (const Way way : {Way::enqueue, Way::launch}) {
    auto step = rf::graphed([&](const rf::Array& from) {
      const rf::Array to = rf::empty({4});
      foreign_triple(rf::current_stream(), way, to, from);
      return std::pair(to, to + 1);
    });
    std::vector<std::pair<rf::Array, rf::Array>> all;
    for (int i = 0; i < 6; ++i) all.push_back(step(filled(static_cast<float>(i))));
    for (int i = 0; i < 6; ++i) {
      BOOST_TEST(holds(all[static_cast<std::size_t>(i)].first, 3 * i));
      BOOST_TEST(holds(all[static_cast<std::size_t>(i)].second, 3 * i + 1));
    }
    BOOST_TEST(step.statistics().recordings == 1);
  }
}

BOOST_AUTO_TEST_CASE(such_work_may_use_a_part_of_an_argument) {
  auto step = rf::graphed([](rf::Array x) {
    foreign_blend(rf::current_stream(), Way::enqueue, x.slice(0, 4), x.slice(4, 8));
    return rf::sum(x);
  });
  for (int i = 0; i < 4; ++i) {
    const rf::Array x = filled(static_cast<float>(i), 8);
    BOOST_TEST(holds(step(x), 4 * (i / 2.0 + i) + 4 * i));
    BOOST_TEST(holds(x.slice(0, 4), i / 2.0 + i));
    const rf::Array big = filled(static_cast<float>(i), 16);
    BOOST_TEST(holds(step(big.slice(8, 16)), 4 * (i / 2.0 + i) + 4 * i));
    BOOST_TEST(holds(big.slice(0, 8), i));
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(values_may_be_needed_behind_such_work) {
  auto step = rf::graphed([](rf::Array x) {
    foreign_blend(rf::current_stream(), Way::enqueue, x, x * 2);
    const float value = x.to_vector<float>().front();
    x += 1;
    return x + value;
  });
  for (int i = 0; i < 3; ++i) {
    const rf::Array x = filled(static_cast<float>(i));
    BOOST_TEST(holds(step(x), 2 * 2.5 * i + 1));
    BOOST_TEST(holds(x, 2.5 * i + 1));
  }
  BOOST_TEST(step.statistics().eager == 3);
}

BOOST_AUTO_TEST_CASE(an_argument_that_the_function_uses_anyway_is_not_mixed_up) {
  rf::Array weight = filled(1);
  auto step = rf::graphed([&](const rf::Array& x) {
    weight += 1;
    foreign_blend(rf::current_stream(), Way::enqueue, weight, x);
    return weight + x;
  });
  for (int i = 0; i < 3; ++i) {
    const float before = weight.to_vector<float>().front();
    BOOST_TEST(holds(step(filled(4)), (before + 1) / 2 + 8));
    const float now = weight.to_vector<float>().front();
    BOOST_TEST(holds(step(weight), 3 * (now + 1)));
  }
}

BOOST_AUTO_TEST_CASE(addresses_are_arguments_of_enqueued_work) {
  const Memory a(4);
  const Memory b(4);
  a.fill(1);
  b.fill(5);
  const auto triple = rf::on_host([](float* x) {
    for (int i = 0; i < 4; ++i) x[i] *= 3;
  });
  if (rf::current_device().kind != rf::DeviceKind::host) {
    BOOST_TEST_MESSAGE("the function is for host devices");
    return;
  }
  auto step = rf::graphed([&](auto memory) { rf::current_stream().enqueue("triple", memory, triple); });
  for (int i = 0; i < 3; ++i) {
    step(rf::readwrite(a.at(), 16));
    step(rf::readwrite(b.at(), 16));
  }
  BOOST_TEST((a.values() == std::vector<float>(4, 27)));
  BOOST_TEST((b.values() == std::vector<float>(4, 135)));
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_CASE(an_array_made_of_an_address_is_that_of_each_call) {
  const Memory a(4);
  const Memory b(4);
  a.fill(1);
  b.fill(5);
  auto step = rf::graphed([](auto memory) {
    rf::Array x = rf::from_blob(static_cast<float*>(memory.address), {4});
    x *= 3;
  });
  for (int i = 0; i < 3; ++i) {
    step(rf::readwrite(a.at(), 16));
    step(rf::readwrite(b.at(), 16));
  }
  BOOST_TEST((a.values() == std::vector<float>(4, 27)));
  BOOST_TEST((b.values() == std::vector<float>(4, 135)));
  BOOST_TEST(step.statistics().recordings == 2);
}

BOOST_AUTO_TEST_CASE(accesses_of_arrays_are_arguments_too) {
  auto step = rf::graphed([](auto memory) {
    rf::Array x = *memory.array;
    x += 1;
    return x * 2;
  });
  for (int i = 0; i < 4; ++i) {
    rf::Array x = filled(static_cast<float>(i));
    BOOST_TEST(holds(step(rf::readwrite(x)), 2 * (i + 1)));
    BOOST_TEST(holds(x, i + 1));
  }
  BOOST_TEST(step.statistics().recordings == 1);
}

BOOST_AUTO_TEST_SUITE_END()
