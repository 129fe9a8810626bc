// Whatever call of a backend fails: the caller is told that failure, nothing is left over, and the next try works.

#include "internal/failing_backend.hpp"
#include "support.hpp"

#include <atomic>
#include <memory>

namespace refrain::test {

namespace {

/// A program that makes all it needs and gives a number.
struct Program {
  const char* name;
  double (*run)();
};

double sum_of(const Array& array) {
  double sum = 0;
  for (const float value : array.to_vector<float>()) sum += value;
  return sum;
}

/// Two streams and an event between them; a literal, random numbers, an op in place.
Array fork_and_join(const Stream& side, Event& ready) {
  manual_seed(7);
  Array left = rand({8}) + array({1.0});
  Array right;
  {
    const StreamGuard on(side);
    right = ones({8}) * 3;
    right += 1;
    ready.record(side);
  }
  current_stream().wait_event(ready);
  return left + right;
}

double eager() {
  const Stream stream;
  const Stream side;
  Event ready;
  const StreamGuard on(stream);
  const Array sum = fork_and_join(side, ready);
  side.wait_stream(stream);
  side.synchronize();
  const bool is_done = ready.query() && stream.query();
  return sum_of(sum) + (is_done ? 0 : 1000);
}

double replayed(CaptureOptions options, Optimize optimize) {
  const Stream stream;
  const Stream side;
  Event ready;
  const StreamGuard on(stream);
  auto [graph, sum] = capture([&] { return fork_and_join(side, ready); }, options);
  const GraphExec exec = graph.instantiate({.optimize = optimize});
  exec.replay(stream);
  exec.replay(side);
  return sum_of(sum);
}

double held_back() { return replayed({}, Optimize::all); }
double as_written() { return replayed({}, Optimize::none); }
double live() { return replayed({.live = true}, Optimize::none); }

double by_stream(CaptureOptions options) {
  const Stream stream;
  const Stream side;
  Event forked;
  Event joined;
  Array x = full({8}, 2);
  Capture scope(stream, options);
  {
    const StreamGuard on(stream);
    x *= 2;
    forked.record(stream);
    side.wait_event(forked);
    const StreamGuard on_side(side);
    x += 1;
    joined.record(side);
  }
  stream.wait_event(joined);
  const Graph graph = scope.end();
  graph.instantiate().replay();
  return sum_of(x);
}

double stream_scoped() { return by_stream({}); }
double stream_scoped_live() { return by_stream({.live = true}); }

double nested() {
  const Stream side;
  Array x = zeros({8});
  const GraphExec inner = capture([&] {
                            const Array more = x + array({1.0});
                            x.assign(more * 2);
                          }).instantiate();
  const GraphExec outer = capture([&] {
                            inner.replay();
                            inner.replay(side);
                            current_stream().wait_stream(side);
                            x -= 1;
                          }).instantiate();
  outer.replay();
  return sum_of(x);
}

double with_functions_and_event_nodes() {
  Event outside({.external = true});
  Event before({.timing = true});
  Event after({.timing = true});
  Array x = zeros({8});
  const auto calls = std::make_shared<std::atomic<int>>(0);
  outside.record(current_stream());
  const GraphExec exec = capture([&] {
                           current_stream().wait_event(outside);
                           before.record(current_stream());
                           x += 1;
                           current_stream().launch_host_func([calls] { ++*calls; });
                           after.record(current_stream());
                         }).instantiate();
  exec.replay();
  exec.replay();
  synchronize();
  return sum_of(x) + 100 * *calls + (after.query() && before.elapsed_time(after) >= 0 ? 0 : 1000);
}

constexpr std::initializer_list<Program> programs = {
    {"eager", eager},
    {"held back", held_back},
    {"as written", as_written},
    {"live", live},
    {"stream-scoped", stream_scoped},
    {"stream-scoped, live", stream_scoped_live},
    {"nested", nested},
    {"host functions and event nodes", with_functions_and_event_nodes},
};

std::int64_t live_bytes() {
  synchronize();
  return memory_stats(current_device()).live;
}

/// Runs the program with the fault. True when the fault's call was reached.
bool fails(const Program& program, FailingBackend& backend, int n, Errc code, double expected) {
  const auto fault = std::make_shared<Fault>(n, code);
  backend.arm(fault);
  try {
    const double result = program.run();
    // Memory has a second try; a stream that is let go is asked whether it is done, and again later.
    const std::string failed = fault->failed();
    BOOST_TEST((failed.empty() || code == Errc::out_of_memory || failed == "is_complete"), failed);
    BOOST_TEST(result == expected);
  } catch (const Error& error) {
    BOOST_TEST(fault->has_failed());
    BOOST_TEST((error.code() == code), error.what());
    const bool is_it = std::string(error.what()).find("fails as it was told to") != std::string::npos;
    BOOST_TEST((is_it || code == Errc::out_of_memory), error.what());  // that is told with what is live and the remedy
  }
  backend.arm(std::make_shared<Fault>(0));
  synchronize();
  BOOST_TEST(fault->executables == 0);
  return fault->has_failed();
}

void fail_every_call(Errc code) {
  FailingBackend backend(current_device().kind);
  for (const Program& program : programs) {
    const double expected = program.run();
    const std::int64_t before = live_bytes();
    int n = 0;
    bool goes_on = true;
    while (goes_on) {
      ++n;
      BOOST_TEST_CONTEXT(program.name << ", call " << n) {
        goes_on = fails(program, backend, n, code, expected);
        BOOST_TEST(live_bytes() == before);
        BOOST_TEST(program.run() == expected);
      }
    }
    BOOST_TEST(n > 10, program.name);  // else the fault meets nothing
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(internal_recovery)

BOOST_AUTO_TEST_CASE(any_call_may_fail_and_nothing_is_left_over) { fail_every_call(Errc::backend); }

BOOST_AUTO_TEST_CASE(any_call_may_run_out_of_memory_and_nothing_is_left_over) { fail_every_call(Errc::out_of_memory); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
