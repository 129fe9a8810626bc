// The cache of a graphed function: bounded, never in the way.

#include "support.hpp"
#include "support_concurrency.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

BOOST_AUTO_TEST_SUITE(graphed_cache)

BOOST_AUTO_TEST_CASE(the_least_recently_used_signature_goes_first) {
  int calls = 0;
  auto step = rf::graphed(
      [&](const rf::Array& x) {
        ++calls;
        return x + 1;
      },
      {.capacity = 2});
  const auto call = [&](std::int64_t size) {
    (void)step(filled(1, size));
    rf::synchronize();  // of several that could go, those without work go first
  };
  call(1);
  call(2);
  call(1);
  call(3);  // in the place of 2
  BOOST_TEST(calls == 3);
  call(1);
  BOOST_TEST(calls == 3);
  call(2);
  BOOST_TEST(calls == 4);
  BOOST_TEST(step.statistics().signatures == 2);
  BOOST_TEST(step.statistics().evictions == 2);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_bounded_in_bytes) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; }, {.max_bytes = 100'000});
  for (std::int64_t i = 1; i <= 10; ++i) (void)step(filled(1, i * 2000));
  const auto now = step.statistics();
  BOOST_TEST(now.bytes <= 100'000);
  BOOST_TEST(now.evictions > 0);
  BOOST_TEST(now.signatures >= 1);
  const rf::Array large = step(filled(2, 100'000));  // the newest stays, whatever it takes
  BOOST_TEST(holds(large, 3));
  BOOST_TEST(step.statistics().signatures == 1);
}

BOOST_AUTO_TEST_CASE(nothing_in_flight_is_let_go) {
  const rf::Stream stream;
  rf::Array total = filled(0);
  auto step = rf::graphed(
      [&](const rf::Array& x) {
        total += rf::sum(x);
        return x * 2;
      },
      {.capacity = 2});
  std::vector<rf::Array> results;
  for (std::int64_t i = 1; i <= 12; ++i) {
    rf::test::keep_busy(rf::current_stream(), 1);
    results.push_back(step(filled(1, i)));
  }
  BOOST_TEST(holds(total, 78));
  for (const rf::Array& each : results) BOOST_TEST(holds(each, 2));
  BOOST_TEST(step.statistics().signatures == 2);
}

/// REFRAIN_CALLS of them, say a million; else fewer. Most are of few signatures, the others of any of a thousand.
BOOST_AUTO_TEST_CASE(many_calls_over_many_signatures_stay_within_bounds) {
  const char* const wanted = std::getenv("REFRAIN_CALLS");
  const int calls = wanted != nullptr ? std::atoi(wanted) : 5000;
  constexpr int signatures = 1000;
  constexpr int often = 48;
  auto step = rf::graphed([](const rf::Array& x) { return x * 2 + 1; }, {.capacity = 64});
  std::vector<rf::Array> inputs;
  for (int i = 0; i < signatures; ++i) inputs.push_back(filled(static_cast<float>(i), i + 1));
  std::uint64_t random = 1;
  std::int64_t settled = 0;
  for (int i = 0; i < calls; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto number = static_cast<std::size_t>(random >> 33);
    const std::size_t which = number % 10 == 0 ? number / 10 % signatures : number / 10 % often;
    const rf::Array y = step(inputs[which]);
    if (i % 97 == 0) BOOST_TEST(holds(y, 2.0 * static_cast<double>(which) + 1));
    if (i == calls / 2) settled = rf::memory_stats(rf::current_device()).live;
  }
  rf::synchronize();
  const auto now = step.statistics();
  BOOST_TEST(now.signatures == 64);
  BOOST_TEST(now.eager == 0);
  BOOST_TEST(now.hits + now.recordings == calls);
  BOOST_TEST(now.evictions == now.recordings - 64);
  // 64 signatures of at most 4 kB, up to four blocks each.
  BOOST_TEST(rf::memory_stats(rf::current_device()).live <= settled + 64 * 4 * 4096);
}

BOOST_AUTO_TEST_CASE(two_signatures_in_turns_are_hits_only_after_their_first_calls) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; });
  const rf::Array small = filled(1, 1);
  const rf::Array large = filled(2, 40);
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(holds(step(small), 2));
    BOOST_TEST(holds(step(large), 3));
  }
  BOOST_TEST(step.statistics().recordings == 2);
  BOOST_TEST(step.statistics().hits == 198);
  BOOST_TEST(step.statistics().rebinds == 0);
}

BOOST_AUTO_TEST_CASE(limits_that_nothing_could_be_kept_in_are_refused) {
  const auto make = [](rf::GraphedOptions options) { (void)rf::graphed([] {}, options); };
  require_error(rf::Errc::invalid_value, [&] { make({.capacity = 0}); }, {"capacity = 0"});
  require_error(rf::Errc::invalid_value, [&] { make({.max_bytes = -1}); }, {"max_bytes = -1"});
  require_error(rf::Errc::invalid_value, [&] { make({.buffer_sets = 0}); }, {"buffer_sets = 0"});
}

BOOST_AUTO_TEST_CASE(one_set_of_buffers_is_enough_to_be_right) {
  auto step = rf::graphed([](const rf::Array& x) { return x * 0.5 + 1; }, {.buffer_sets = 1});
  rf::Array x = filled(8);
  float expected = 8;
  for (int i = 0; i < 10; ++i) {
    x = step(x);
    expected = expected * 0.5F + 1;
    BOOST_TEST(holds(x, expected));
  }
  BOOST_TEST(step.statistics().instantiations == 1);
}

BOOST_AUTO_TEST_CASE(functions_may_share_room_for_temporaries) {
  const rf::ArenaPool pool;
  const auto fn = [](const rf::Array& x) { return rf::softmax(x * 2, -1) + rf::sum(x); };
  auto a = rf::graphed(fn, {.arena_pool = pool});
  auto b = rf::graphed(fn, {.arena_pool = pool});
  for (int i = 0; i < 5; ++i) {
    const rf::Array x = filled(static_cast<float>(i), 64);
    const std::vector<float> expected = fn(x).to_vector<float>();
    BOOST_TEST((a(x).to_vector<float>() == expected));
    BOOST_TEST((b(x).to_vector<float>() == expected));
  }
}

BOOST_AUTO_TEST_CASE(a_report_names_signatures_and_counts) {
  auto step = rf::graphed([](const rf::Array& x) { return x + 1; }, {.label = "my step"});
  (void)step(filled(1, 3));
  (void)step(filled(1, 3));
  (void)step(filled(1, 5));
  const std::string text = step.explain();
  for (const char* word : {"'my step' at", "graphed_cache.cpp", "2 signatures", "1 hits", "2 recordings", "float32[3]",
                           "float32[5]", "1 commands as 1"}) {
    BOOST_TEST_CONTEXT(word << " in " << text) { BOOST_TEST(text.find(word) != std::string::npos); }
  }
}

BOOST_AUTO_TEST_SUITE_END()
