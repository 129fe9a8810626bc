// Captures that fail: what reaches the caller, and what works afterwards.

#include "support.hpp"

#include <stdexcept>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::test::live_modes;
using rf::test::require_error;

namespace {

struct Own {};

/// x = 2x + 1 as a graph of its own, replayed once.
void step(rf::Array& x, bool live) {
  const rf::Graph graph = rf::capture(
      [&] {
        x *= 2;
        x += 1;
      },
      {.live = live});
  graph.instantiate().replay();
}

/// Eager work and captures of either scope work on the stream.
void require_usable(const rf::Stream& stream, bool live) {
  BOOST_TEST(!rf::is_capturing());
  BOOST_TEST(!stream.is_capturing());
  const rf::StreamGuard on(stream);
  rf::Array x = rf::test::filled(1);
  step(x, live);
  if (!(stream == rf::default_stream())) rf::capture(stream, [&] { x += 4; }, {.live = live}).instantiate().replay();
  x += stream == rf::default_stream() ? 5.0F : 1.0F;
  BOOST_TEST(rf::test::holds(x, 8));
}

/// Opens a capture on each stream in a function of its own, the last of which throws.
void captures_in_nested_functions(const std::vector<rf::Stream>& streams, std::size_t depth, bool live) {
  if (depth == streams.size()) throw Own{};
  const rf::Stream& stream = streams[depth];
  const rf::Capture capture(stream, {.live = live});
  const rf::StreamGuard on(stream);
  const rf::Array temporary = rf::test::filled(1) + 1;
  captures_in_nested_functions(streams, depth + 1, live);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(failed_captures)

// What reaches the caller

BOOST_AUTO_TEST_CASE(the_bodys_exception_reaches_the_caller_unchanged, *label("report-6")) {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
    int number = 0;
  };
  const auto body = [] {
    const rf::Array temporary = rf::test::filled(1) + 1;
    Mine mine("of the body");
    mine.number = 42;
    throw mine;
  };
  for (const bool live : live_modes) {
    try {
      rf::capture(body, {.live = live});
      BOOST_ERROR("nothing was thrown");
    } catch (const Mine& mine) {
      BOOST_TEST(mine.what() == std::string("of the body"));
      BOOST_TEST(mine.number == 42);
    }
    require_usable(rf::default_stream(), live);
  }
}

BOOST_AUTO_TEST_CASE(an_exception_that_is_no_class_reaches_the_caller, *label("report-6")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const auto body = [] {
      rf::bench::empty(rf::current_stream());
      throw 42;
    };
    BOOST_CHECK_EXCEPTION(rf::capture(body, {.live = live}), int, [](int number) { return number == 42; });
    BOOST_CHECK_EXCEPTION(rf::capture(origin, body, {.live = live}), int, [](int number) { return number == 42; });
    require_usable(origin, live);
  }
}

BOOST_AUTO_TEST_CASE(a_refused_call_is_the_one_error_that_reaches_the_caller, *label("report-6")) {
  for (const bool live : live_modes) {
    const rf::Stream origin;
    const rf::Stream forked;
    const auto body = [&] {
      forked.wait_stream(rf::current_stream());
      rf::bench::empty(forked);  // never joined: would be refused at the end
      const rf::Array sum = rf::test::filled(1) + 1;
      sum.to_vector<float>();
    };
    require_error(Errc::capture_unsupported, [&] { rf::capture(body, {.live = live}); }, {"failed_captures.cpp:"});
    require_error(Errc::capture_unsupported, [&] { rf::capture(origin, body, {.live = live}); });
    for (const rf::Stream& stream : {origin, forked, rf::default_stream()}) require_usable(stream, live);
  }
}

// Scopes left by exceptions

BOOST_AUTO_TEST_CASE(an_exception_may_leave_captures_of_nested_functions) {
  for (const bool live : live_modes) {
    const std::vector<rf::Stream> streams(1);
    const std::vector<rf::Stream> several = {rf::Stream(), rf::Stream(), rf::Stream()};
    BOOST_CHECK_THROW(captures_in_nested_functions(streams, 0, live), Own);
    BOOST_CHECK_THROW(captures_in_nested_functions(several, 0, live), Own);
    BOOST_TEST((rf::current_stream() == rf::default_stream()));
    for (const rf::Stream& stream : several) require_usable(stream, live);
  }
}

BOOST_AUTO_TEST_CASE(an_exception_caught_between_two_captures_ends_the_inner_one_alone) {
  for (const bool live : live_modes) {
    const rf::Stream outer;
    const std::vector<rf::Stream> inner = {rf::Stream(), rf::Stream()};
    rf::Array x = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(outer,
                                        [&] {
                                          x += 1;
                                          BOOST_CHECK_THROW(captures_in_nested_functions(inner, 0, live), Own);
                                          BOOST_TEST(rf::is_capturing());
                                          x += 1;
                                        },
                                        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(x, 3));
    for (const rf::Stream& stream : inner) require_usable(stream, live);
  }
}

BOOST_AUTO_TEST_CASE(a_capture_destroyed_while_another_exception_unwinds_does_not_throw) {
  struct CapturesInItsDestructor {
    bool live;
    int* nodes;
    ~CapturesInItsDestructor() {
      try {
        const rf::Capture left;
        rf::bench::empty(rf::current_stream());
        throw 1;
      } catch (int) {
        *nodes = rf::capture([] { rf::bench::empty(rf::current_stream()); }, {.live = live}).node_count();
      }
    }
  };
  for (const bool live : live_modes) {
    int nodes = 0;
    const auto unwind = [&] {
      const CapturesInItsDestructor at_the_end{live, &nodes};
      const rf::Capture capture({.live = live});
      rf::bench::empty(rf::current_stream());
      throw Own{};
    };
    BOOST_CHECK_THROW(unwind(), Own);
    BOOST_TEST(nodes == 1);
  }
}

BOOST_AUTO_TEST_CASE(steps_that_run_eagerly_after_a_failed_capture_are_done_once, *label("report-8")) {
  for (const bool live : live_modes) {
    rf::Array x = rf::test::filled(1);
    double expected = 1;
    for (int i = 0; i < 10; ++i) {
      const auto body = [&] {
        x *= 2;
        if (i % 3 == 0 && rf::is_capturing()) rf::synchronize();  // refused
        x += 1;
      };
      try {
        rf::capture(body, {.live = live}).instantiate().replay();
      } catch (const rf::Error&) {
        body();
      }
      expected = 2 * expected + 1;
      BOOST_TEST(rf::test::holds(x, expected));
    }
  }
}

// What they leave behind

BOOST_AUTO_TEST_CASE(a_hundred_failed_captures_leave_memory_as_it_was, *label("report-7")) {
  const rf::Device device = rf::current_device();
  const rf::Stream origin;
  const rf::Stream forked;
  const rf::Array input = rf::test::filled(1, 50000);
  const rf::Array other_shape = rf::test::filled(1, 3);
  const auto throws = [&] {
    const rf::Array temporary = input + 1;
    const rf::Array sum = temporary + input;
    throw Own{};
  };
  const auto refused = [&] {
    const rf::Array temporary = input + 1;
    return temporary + other_shape;
  };
  const auto unjoined = [&] {
    forked.wait_stream(origin);
    const rf::StreamGuard on(forked);
    return rf::test::filled(1, 50000);
  };
  for (const bool live : live_modes) {
    const auto fail = [&](int count) {
      for (int i = 0; i < count; i += 4) {
        BOOST_CHECK_THROW(rf::capture(throws, {.live = live}), Own);
        BOOST_CHECK_THROW(rf::capture(origin, throws, {.live = live}), Own);
        require_error(Errc::invalid_value, [&] { rf::capture(refused, {.live = live}); });
        require_error(Errc::capture_unjoined, [&] { rf::capture(origin, unjoined, {.live = live}); });
      }
      rf::synchronize();
    };
    fail(4);
    const rf::MemoryStats before = rf::memory_stats(device);
    fail(100);
    BOOST_TEST(rf::memory_stats(device).live == before.live);
    BOOST_TEST(rf::memory_stats(device).reserved == before.reserved);
    require_usable(origin, live);
  }
}

BOOST_AUTO_TEST_SUITE_END()
