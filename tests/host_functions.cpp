// Functions of the user's in stream order.

#include "support.hpp"

#include <refrain/refrain.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rf = refrain;
using refrain::test::require_error;

namespace {

struct Way {
  bool live;
  rf::Optimize optimize;
};
const Way ways[] = {{false, rf::Optimize::none}, {false, rf::Optimize::all}, {true, rf::Optimize::all}};

}  // namespace

BOOST_AUTO_TEST_SUITE(host_functions, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_function_runs_between_the_work_before_and_the_work_after) {
  const rf::Stream stream;
  std::vector<int> seen;
  rf::test::keep_busy(stream, 10);
  stream.launch_host_func([&] { seen.push_back(1); });
  stream.launch_host_func([&] { seen.push_back(2); });
  const rf::Stream other;
  other.wait_stream(stream);
  other.launch_host_func([&] { seen.push_back(3); });
  other.synchronize();
  BOOST_TEST(seen == (std::vector<int>{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(issuing_a_function_does_not_wait_for_it) {
  const rf::Stream stream;
  std::atomic<bool> go{false};
  std::atomic<bool> ran{false};
  stream.launch_host_func([&] {
    while (!go) std::this_thread::yield();
    ran = true;
  });
  BOOST_TEST(!ran);
  BOOST_TEST(!stream.query());
  go = true;
  stream.synchronize();
  BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(a_captured_function_runs_once_in_each_replay, *boost::unit_test::label("report-59")) {
  for (const Way& way : ways) {
    int calls = 0;
    std::string text;
    const auto body = [&] {
      const rf::Stream here = rf::current_stream();
      rf::bench::empty(here);
      here.launch_host_func([&calls, &text, copy = std::string("by value")] {
        ++calls;
        text = copy;
      });
      rf::bench::empty(here);
    };
    const rf::Graph graph = rf::capture(body, {.live = way.live});
    BOOST_TEST(calls == 0);
    BOOST_TEST(graph.nodes()[1].kind == "host_function");
    const rf::GraphExec exec = graph.instantiate({.optimize = way.optimize});
    for (int i = 0; i < 5; ++i) exec.replay();
    rf::synchronize();
    BOOST_TEST(calls == 5);
    BOOST_TEST(text == "by value");
  }
}

BOOST_AUTO_TEST_CASE(a_graph_keeps_its_functions_and_drops_them_once) {
  for (const Way& way : ways) {
    const auto witness = std::make_shared<int>(0);
    {
      rf::GraphExec exec;
      {
        const rf::Graph graph = rf::capture(
            [&] { rf::current_stream().launch_host_func([held = witness] { ++*held; }); }, {.live = way.live});
        exec = graph.instantiate({.optimize = way.optimize});
      }
      exec.replay();
    }  // the replay may be in flight
    rf::synchronize();
    BOOST_TEST(*witness == 1);
    for (int i = 0; i < 100 && witness.use_count() > 1; ++i) rf::synchronize();
    BOOST_TEST(witness.use_count() == 1);
  }
}

BOOST_AUTO_TEST_CASE(an_eager_function_is_dropped_after_it_ran) {
  const auto witness = std::make_shared<int>(0);
  const rf::Stream stream;
  stream.launch_host_func([held = witness] { ++*held; });
  stream.synchronize();
  for (int i = 0; i < 100 && witness.use_count() > 1; ++i) stream.synchronize();
  BOOST_TEST(*witness == 1);
  BOOST_TEST(witness.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(what_a_function_throws_is_thrown_once_by_the_next_synchronisation) {
  const rf::Stream stream;
  int later = 0;
  stream.launch_host_func([] { throw std::runtime_error("from the function"); });
  stream.launch_host_func([&] { ++later; });
  BOOST_CHECK_EXCEPTION(stream.synchronize(), std::runtime_error, [](const std::runtime_error& error) {
    return std::string(error.what()) == "from the function";
  });
  BOOST_TEST(later == 1);
  stream.synchronize();
}

BOOST_AUTO_TEST_CASE(a_function_in_a_replay_that_throws_lets_the_later_nodes_run) {
  for (const Way& way : ways) {
    int later = 0;
    const rf::GraphExec exec = rf::capture(
                                   [&] {
                                     rf::current_stream().launch_host_func([] { throw std::logic_error("once"); });
                                     rf::current_stream().launch_host_func([&] { ++later; });
                                   },
                                   {.live = way.live})
                                   .instantiate({.optimize = way.optimize});
    exec.replay();
    BOOST_CHECK_THROW(rf::synchronize(), std::logic_error);
    BOOST_TEST(later == 1);
    rf::synchronize();
  }
}

BOOST_AUTO_TEST_CASE(calls_that_reach_a_device_are_refused_in_a_function) {
  const rf::Stream stream;
  const rf::Array array = rf::test::filled(1);
  const rf::GraphExec exec = rf::capture([&] { rf::bench::empty(rf::current_stream()); }).instantiate();
  rf::Event event;
  std::vector<rf::Errc> codes;
  const auto code_of = [&](const std::function<void()>& call) {
    try {
      call();
    } catch (const rf::Error& error) {
      codes.push_back(error.code());
    }
  };
  stream.launch_host_func([&] {
    code_of([&] { rf::bench::empty(stream); });
    code_of([&] { array + 1; });
    code_of([&] { array.to_vector<float>(); });
    code_of([&] { stream.synchronize(); });
    code_of([&] { stream.query(); });
    code_of([&] { event.record(stream); });
    code_of([&] { exec.replay(stream); });
    code_of([] { rf::synchronize(); });
    code_of([] { rf::capture([] {}); });
    code_of([&] { rf::memory_stats(array.device()); });
    code_of([&] { rf::trim(array.device()); });
    code_of([&] { rf::to_device(array, {rf::DeviceKind::host, 0}) + 1; });
  });
  stream.synchronize();
  BOOST_TEST(codes.size() == 12U);
  for (const rf::Errc code : codes) BOOST_TEST((code == rf::Errc::not_permitted));
}

BOOST_AUTO_TEST_CASE(an_array_may_be_dropped_in_a_function) {
  const rf::Stream stream;
  const std::int64_t before = rf::memory_stats(rf::current_device()).live;
  rf::Array array = rf::test::filled(1, 1000);
  stream.launch_host_func([&array] { array = {}; });
  stream.synchronize();
  BOOST_TEST(!array.defined());
  BOOST_TEST(rf::memory_stats(rf::current_device()).live == before);
  BOOST_TEST(rf::test::holds(rf::test::filled(2, 1000), 2));
}

BOOST_AUTO_TEST_CASE(a_function_that_blocks_does_not_keep_other_streams_from_running) {
  std::atomic<int> arrived{0};
  constexpr int streams = 6;  // more than this machine may have cores
  std::vector<rf::Stream> all;
  for (int i = 0; i < streams; ++i) all.emplace_back();
  if (rf::current_device().kind == rf::DeviceKind::cuda) return;  // CUDA calls host functions one after another
  for (const rf::Stream& stream : all) {
    stream.launch_host_func([&] {
      ++arrived;
      while (arrived < streams) std::this_thread::yield();
    });
  }
  rf::synchronize();
  BOOST_TEST(arrived == streams);
}

BOOST_AUTO_TEST_CASE(an_empty_function_is_refused) {
  const rf::Stream stream;
  require_error(rf::Errc::invalid_value, [&] { stream.launch_host_func({}); }, {"launch_host_func", "empty"});
}

BOOST_AUTO_TEST_CASE(a_functions_closure_may_wait_for_its_stream_when_it_is_destroyed) {
  struct Waits {
    rf::Stream stream;
    explicit Waits(rf::Stream of) : stream(std::move(of)) {}
    ~Waits() { stream.synchronize(); }
  };
  const rf::Stream stream;
  stream.launch_host_func([waits = std::make_shared<Waits>(stream)] {});
  stream.synchronize();
  {
    const rf::GraphExec exec = rf::capture([&] {
                                 rf::current_stream().launch_host_func([waits = std::make_shared<Waits>(stream)] {});
                               }).instantiate();
    exec.replay(stream);
  }
  stream.synchronize();
  BOOST_TEST(stream.query());
}

BOOST_AUTO_TEST_CASE(streams_events_and_graphs_may_be_dropped_in_a_function) {
  const rf::Stream stream;
  auto other = std::make_unique<rf::Stream>();
  auto event = std::make_unique<rf::Event>();
  event->record(*other);
  auto exec =
      std::make_unique<rf::GraphExec>(rf::capture([] { rf::bench::empty(rf::current_stream()); }).instantiate());
  exec->replay(*other);
  stream.launch_host_func([&] {
    exec.reset();
    event.reset();
    other.reset();
  });
  stream.synchronize();
  BOOST_TEST(!exec);
  rf::bench::empty(stream);
  stream.synchronize();
}

BOOST_AUTO_TEST_CASE(a_function_of_a_replay_may_ask_for_what_needs_no_device) {
  rf::manual_seed(42);
  std::uint64_t seed = 0;
  const rf::Device device = rf::current_device();
  const rf::GraphExec exec = rf::capture([&] {
                               rf::current_stream().launch_host_func([&] { seed = rf::generator_state(device).seed; });
                             }).instantiate();
  exec.replay();
  rf::synchronize();
  BOOST_TEST(seed == 42U);
}

BOOST_AUTO_TEST_SUITE_END()
