#include "support.hpp"

#include <cmath>
#include <optional>
#include <set>
#include <sstream>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::live_modes;
using rf::test::require_error;

namespace {

constexpr std::initializer_list<rf::Optimize> all_levels = {rf::Optimize::none, rf::Optimize::all};

}  // namespace

BOOST_AUTO_TEST_SUITE(graph_replay, *boost::unit_test::label("sanitize"))

// Values before and after the first replay

BOOST_AUTO_TEST_CASE(a_captured_array_has_no_values_before_the_first_replay) {
  for (const bool live : live_modes) {
    int line = 0;
    auto [graph, array] = rf::capture(
        [&] {
          line = __LINE__ + 1;
          return rf::full({1}, 4);
        },
        {.live = live});
    const std::string place = "graph_replay.cpp:" + std::to_string(line);
    const std::initializer_list<std::string_view> words = {"replay", place};
    std::ostringstream text;
    require_error(
        rf::Errc::illegal_state, [&] { array.item<float>(); }, words);
    require_error(
        rf::Errc::illegal_state, [&] { array.to_vector<float>(); }, words);
    require_error(
        rf::Errc::illegal_state, [&] { text << array; }, words);
    require_error(
        rf::Errc::illegal_state, [&] { array + 1; }, words);
    require_error(
        rf::Errc::illegal_state, [&] { array += 1; }, words);
    const rf::GraphExec exec = graph.instantiate();
    require_error(
        rf::Errc::illegal_state, [&] { array.item<float>(); }, words);
    exec.replay();
    BOOST_TEST(array.item<float>() == 4.0F);
    BOOST_TEST(rf::test::holds(array + 1, 5));
  }
}

BOOST_AUTO_TEST_CASE(shape_and_dtype_of_a_captured_array_are_known_at_once) {
  const auto [graph, array] = rf::capture([] { return rf::ones({2, 3}, {.dtype = rf::DType::int32}) + 1; });
  BOOST_TEST((array.shape() == rf::Shape{2, 3}));
  BOOST_TEST((array.dtype() == rf::DType::int32));
  BOOST_TEST(array.device() == rf::current_device());
}

BOOST_AUTO_TEST_CASE(a_graph_may_read_what_another_graph_wrote) {
  for (const bool live : live_modes) {
    const auto [first, array] = rf::capture([] { return rf::test::filled(3); }, {.live = live});
    const rf::GraphExec fills = first.instantiate();
    const auto [second, sum] = rf::capture([&a = array] { return a + 1; }, {.live = live});
    const rf::GraphExec adds = second.instantiate();
    require_error(rf::Errc::illegal_state, [&e = adds] { e.replay(); }, {"replay that graph first"});
    fills.replay();
    adds.replay();
    BOOST_TEST(rf::test::holds(sum, 4));
  }
}

BOOST_AUTO_TEST_CASE(every_replay_computes_anew) {
  for (const bool live : live_modes) {
    for (const rf::Optimize optimize : all_levels) {
      const rf::Stream side;
      rf::Array state = rf::test::filled(1);
      auto [graph, output] = rf::capture(
          [&] {
            rf::Array doubled = state * 2;
            side.wait_stream(rf::current_stream());
            {
              const rf::StreamGuard on(side);
              state += 1;
            }
            rf::current_stream().wait_stream(side);
            return doubled - state;
          },
          {.live = live});
      const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
      for (int i = 1; i <= 4; ++i) {
        exec.replay();
        BOOST_TEST(rf::test::holds(output, 2 * i - (i + 1)));
        BOOST_TEST(rf::test::holds(state, i + 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(instantiating_leaves_the_graph_as_it_was) {
  const auto [graph, output] = rf::capture([] { return rf::test::filled(1) + 1; });
  const std::string before = graph.to_dot();
  const rf::GraphExec first = graph.instantiate();
  first.replay();
  const rf::GraphExec second = graph.instantiate({.optimize = rf::Optimize::none});
  second.replay();
  BOOST_TEST(graph.to_dot() == before);
  BOOST_TEST(rf::test::holds(output, 2));
}

BOOST_AUTO_TEST_CASE(a_replay_may_go_to_any_stream_of_its_kind) {
  const auto devices = rf::test::two_devices();
  rf::Array counter = rf::zeros({2});
  const rf::Device own = counter.device();
  const rf::GraphExec exec = rf::capture([&] { counter += 1; }).instantiate();
  std::vector<rf::Stream> streams = {rf::default_stream(), rf::Stream(), rf::Stream(3)};
  if (devices) streams.emplace_back(own == devices->first ? devices->second : devices->first);
  for (const rf::Stream& stream : streams) {
    exec.replay(stream);
    stream.synchronize();
  }
  BOOST_TEST(rf::test::holds(counter, static_cast<double>(streams.size())));
}

BOOST_AUTO_TEST_CASE(a_replay_on_another_kind_of_device_is_refused) {
  if (rf::current_device().kind == rf::DeviceKind::host) return;  // without a GPU there is one kind
  const rf::GraphExec exec = rf::capture([] { return rf::test::filled(1); }).first.instantiate();
  const rf::Stream host(rf::Device{rf::DeviceKind::host, 0});
  require_error(rf::Errc::wrong_device, [&] { exec.replay(host); }, {"host:0", "cuda:0"});
}

// Lifetime

BOOST_AUTO_TEST_CASE(outputs_outlive_graph_and_executable, *label("conformance-40")) {
  for (const bool live : live_modes) {
    rf::Array output;
    {
      auto [graph, result] = rf::capture([] { return rf::test::slowly(5, 5); }, {.live = live});
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      output = result;
    }
    const rf::Array other = rf::test::filled(-1, output.size());  // would get the memory if it were free
    BOOST_TEST(rf::test::holds(output, 5));
    BOOST_TEST(rf::test::holds(output + 1, 6));
    BOOST_TEST(rf::test::holds(other, -1));
  }
}

BOOST_AUTO_TEST_CASE(an_executable_may_be_destroyed_in_flight) {
  for (const bool live : live_modes) {
    const rf::Stream stream;
    rf::Array counter = rf::zeros({2});
    for (int i = 0; i < 5; ++i) {
      rf::test::keep_busy(stream, 3);
      const rf::GraphExec exec = rf::capture(
                                     [&] {
                                       const rf::Array one = rf::test::filled(0, 2) + 1;
                                       counter += one;
                                     },
                                     {.live = live})
                                     .instantiate();
      exec.replay(stream);
      exec.replay(stream);
    }
    BOOST_TEST(rf::test::holds(counter, 10));
  }
}

BOOST_AUTO_TEST_CASE(an_executable_outlives_its_graph_and_the_streams_of_its_capture) {
  for (const bool live : live_modes) {
    rf::Array counter = rf::zeros({2});
    std::optional<rf::GraphExec> exec;
    {
      const rf::Stream origin;
      const rf::Stream member;
      exec = rf::capture(origin,
                         [&] {
                           member.wait_stream(origin);
                           const rf::StreamGuard on(member);
                           counter += 2;
                           origin.wait_stream(member);
                         },
                         {.live = live})
                 .instantiate();
    }
    exec->replay();
    exec->replay();
    BOOST_TEST(rf::test::holds(counter, 4));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_outlives_the_arrays_it_was_made_with) {
  for (const bool live : live_modes) {
    rf::Array output;
    rf::GraphExec exec;
    {
      const rf::Array input = rf::test::filled(6);
      auto [graph, result] = rf::capture([&] { return input * 2; }, {.live = live});
      exec = graph.instantiate();
      output = result;
    }
    rf::trim(rf::current_device());
    const rf::Array other = rf::test::filled(50);
    exec.replay();
    BOOST_TEST(rf::test::holds(output, 12));
    BOOST_TEST(rf::test::holds(other, 50));
  }
}

BOOST_AUTO_TEST_CASE(dropped_graphs_give_their_memory_back) {
  const rf::Device device = rf::current_device();
  const auto cycle = [] {
    auto [graph, output] = rf::capture([] {
      const rf::Array temporary = rf::zeros({1 << 18});
      return temporary + 1;
    });
    const rf::GraphExec exec = graph.instantiate();
    exec.replay();
    rf::synchronize();
  };
  cycle();
  const std::int64_t before = rf::memory_stats(device).live;
  for (int i = 0; i < 10; ++i) cycle();
  BOOST_TEST(rf::memory_stats(device).live == before);
}

// Random numbers: each replay draws on

BOOST_AUTO_TEST_CASE(replays_draw_on_and_obey_a_new_seed, *label("report-53")) {
  using Values = std::vector<float>;
  constexpr std::int64_t count = 1000;
  const auto eager = [](std::uint64_t seed) {
    rf::manual_seed(seed);
    std::vector<Values> all;
    for (int i = 0; i < 3; ++i) all.push_back(rf::randn({count}).to_vector<float>());
    return all;
  };
  const std::vector<Values> of_seed_0 = eager(0);
  const std::vector<Values> of_seed_1 = eager(1);
  BOOST_TEST((of_seed_0 != of_seed_1));
  for (const bool live : live_modes) {
    for (const rf::Optimize optimize : all_levels) {
      rf::manual_seed(0);
      const auto [graph, r] = rf::capture([] { return rf::randn({count}); }, {.live = live});
      const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
      BOOST_TEST(rf::generator_state(rf::current_device()).offset == 0U);  // capturing draws nothing
      const auto replay = [&exec = exec, &r = r] {
        exec.replay();
        return r.to_vector<float>();
      };
      for (const Values& expected : of_seed_0) BOOST_TEST((replay() == expected));
      rf::manual_seed(1);
      for (const Values& expected : of_seed_1) BOOST_TEST((replay() == expected));
      rf::manual_seed(0);
      BOOST_TEST((replay() == of_seed_0[0]));
    }
  }
  const std::set<Values> distinct(of_seed_0.begin(), of_seed_0.end());
  BOOST_TEST(distinct.size() == of_seed_0.size());
  double sum = 0;
  double squares = 0;
  for (const float value : of_seed_0[0]) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  BOOST_TEST(std::abs(sum / count) < 0.15);  // over four standard errors
  BOOST_TEST(std::abs(squares / count - 1) < 0.25);
}

// Two graphs

BOOST_AUTO_TEST_CASE(an_output_that_only_another_graph_uses_has_the_values_of_its_own) {
  const rf::Array x = rf::test::filled(3);
  auto [first, y] = rf::capture([&] { return x + 1; });
  auto [second, z] = rf::capture([&, &input = y] { return input * 2; });
  y = {};
  const rf::GraphExec makes = first.instantiate();
  const rf::GraphExec uses = second.instantiate();
  makes.replay();
  uses.replay();
  BOOST_TEST(rf::test::holds(z, 8));
}

BOOST_AUTO_TEST_CASE(an_array_that_is_recorded_but_never_written_may_be_read_after_the_replay) {
  auto [graph, array] = rf::capture([] { return rf::empty({3}); });
  graph.instantiate().replay();
  BOOST_TEST(array.to_vector<float>().size() == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
