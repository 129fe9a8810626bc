// Graphs that users saw read memory which was no longer what it had been: storage replaced behind a name, temporaries
// of forked streams.

#include "support.hpp"
#include "support_scopes.hpp"

#include <utility>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Optimize;
using rf::test::filled;
using rf::test::holds;
using rf::test::record;
using rf::test::Scope;
using rf::test::scopes;

namespace {

constexpr std::initializer_list<Optimize> levels = {Optimize::none, Optimize::all};

/// Takes the memory that is free, and writes to it.
std::vector<rf::Array> flood(std::int64_t size) {
  std::vector<rf::Array> all;
  for (int i = 0; i < 8; ++i) all.push_back(filled(-7, size));
  return all;
}

// Storage behind a name

/// A way to give the name `x` other storage; `other` is an array of the same shape that holds 100.
struct Replacement {
  const char* name;
  double after;  ///< what x holds then; unless 0
  void (*replace)(rf::Array& x, rf::Array& other);
};

constexpr std::initializer_list<Replacement> replacements = {
    {"assigned a copy", 100, [](rf::Array& x, rf::Array& other) { x = other; }},
    {"move-assigned", 100, [](rf::Array& x, rf::Array& other) { x = std::move(other); }},
    {"swapped", 100, [](rf::Array& x, rf::Array& other) { std::swap(x, other); }},
    {"given another size", 50, [](rf::Array& x, rf::Array&) { x = filled(50, 3 * x.size()); }},
    {"computed anew", 101, [](rf::Array& x, rf::Array& other) { x = other + 1; }},
    {"dropped", 0, [](rf::Array& x, rf::Array&) { x = rf::Array(); }},
};

/// y = 2 x and z += x, whose names are given other storage after the capture.
void old_storage_is_used(Scope scope, const Replacement& way, bool before_instantiate) {
  constexpr std::int64_t size = 5000;
  const rf::Stream stream;
  rf::Array x = filled(3, size);
  rf::Array y;
  rf::Array z = filled(0, size);
  const rf::Array old_z = z;
  rf::Array for_x = filled(100, size);
  rf::Array for_z = filled(100, size);
  rf::synchronize();
  const rf::Graph graph = record(scope, stream, [&] {
    y = x * 2;
    z += x;
  });
  rf::GraphExec exec;
  const auto replace = [&] {
    way.replace(x, for_x);
    way.replace(z, for_z);
  };
  if (before_instantiate) replace();
  exec = graph.instantiate();
  if (!before_instantiate) replace();
  const std::vector<rf::Array> others = flood(size);
  for (int i = 1; i <= 3; ++i) {
    exec.replay();
    BOOST_TEST(holds(y, 6));
    BOOST_TEST(holds(old_z, 3 * i));
  }
  for (const rf::Array* replaced : {&x, &z}) {
    BOOST_TEST(replaced->defined() == (way.after != 0));
    if (replaced->defined()) BOOST_TEST(holds(*replaced, way.after));
  }
  for (const rf::Array& other : others) BOOST_TEST(holds(other, -7));
  // The old storage is still there to be written: through the graph's list, or another handle.
  graph.inputs().at(0).assign(10);
  exec.replay();
  BOOST_TEST(holds(y, 20));
  BOOST_TEST(holds(old_z, 19));
}

// Temporaries of forked streams

constexpr std::int64_t large = 1 << 15;

/// What a forked stream makes of a temporary that is dropped before it has run, while the first stream fills memory of
/// that size with a sentinel.
struct Drop {
  const char* name;
  void (*run)(const rf::Stream& first, const rf::Stream& second, const rf::Stream& third, rf::Array& out);
};

/// out = 9, by way of a temporary that is 1 at first.
void slowly_into(rf::Array& out, rf::Array& temporary) {
  for (int i = 0; i < 8; ++i) temporary += 1;
  out.assign(temporary);
}

constexpr std::initializer_list<Drop> drops = {
    {"made and used on the forked stream",
     [](auto&, auto& second, auto&, auto& out) {
       const rf::StreamGuard on(second);
       rf::Array temporary = filled(1, large);
       slowly_into(out, temporary);
     }},
    {"made before the fork",
     [](auto& first, auto& second, auto&, auto& out) {
       rf::Array temporary = filled(1, large);
       second.wait_stream(first);
       const rf::StreamGuard on(second);
       slowly_into(out, temporary);
     }},
    {"handed to a third stream",
     [](auto& first, auto& second, auto& third, auto& out) {
       rf::Array temporary;
       {
         const rf::StreamGuard on(second);
         temporary = filled(0, large) + 1;
       }
       third.wait_stream(second);
       const rf::StreamGuard on(third);
       slowly_into(out, temporary);
       temporary = rf::Array();
       first.wait_stream(third);
     }},
    {"used by two streams",
     [](auto&, auto& second, auto& third, auto& out) {
       rf::Array temporary;
       {
         const rf::StreamGuard on(second);
         temporary = filled(1, large);
       }
       third.wait_stream(second);
       rf::Array copy;
       {
         const rf::StreamGuard on(third);
         copy = temporary + 0;
       }
       const rf::StreamGuard on(second);
       second.wait_stream(third);
       temporary = rf::Array();
       slowly_into(out, copy);
     }},
};

/// The sentinels, as the first stream sees them afterwards.
rf::Array drop_on_a_fork(const Drop& drop, const rf::Stream& first, const std::vector<rf::Stream>& forks,
                         rf::Array& out) {
  for (const rf::Stream& fork : forks) fork.wait_stream(first);
  drop.run(first, forks[0], forks[1], out);
  rf::Array seen = filled(0, large);
  for (int i = 0; i < 4; ++i) {
    const rf::Array sentinel = filled(-1, large);
    seen += sentinel;
  }
  for (const rf::Stream& fork : forks) first.wait_stream(fork);
  return seen;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_memory)

BOOST_AUTO_TEST_CASE(a_graph_keeps_to_the_storage_that_its_arrays_had_at_the_capture, *label("report-27")) {
  for (const Scope scope : scopes) {
    for (const Replacement& way : replacements) {
      for (const bool before_instantiate : {false, true}) {
        BOOST_TEST_CONTEXT(scope << ", " << way.name) { old_storage_is_used(scope, way, before_instantiate); }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_temporary_of_a_forked_stream_is_not_overwritten_before_its_last_use, *label("report-31")) {
  for (const Drop& drop : drops) {
    BOOST_TEST_CONTEXT(drop.name << ", eager") {
      const rf::Stream first;
      const std::vector<rf::Stream> forks(2);
      const rf::StreamGuard on(first);
      rf::Array out = filled(0, large);
      for (int i = 0; i < 50; ++i) {
        const rf::Array seen = drop_on_a_fork(drop, first, forks, out);
        BOOST_TEST(holds(out, 9));
        BOOST_TEST(holds(seen, -4));
        out.assign(0);
      }
    }
    for (const Scope scope : scopes) {
      for (const Optimize optimize : levels) {
        BOOST_TEST_CONTEXT(drop.name << ", " << scope) {
          const rf::Stream first;
          const std::vector<rf::Stream> forks(2);
          rf::Array out = filled(0, large);
          rf::synchronize();
          const auto [graph, seen] = record(scope, first, [&] { return drop_on_a_fork(drop, first, forks, out); });
          const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
          for (int i = 0; i < 200; ++i) {
            exec.replay();
            if (i % 8 != 0 && i != 199) continue;
            BOOST_TEST(holds(out, 9));
            BOOST_TEST(holds(seen, -4));
            out.assign(0);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
