// Bodies that need values: what is recorded so far runs, the rest runs eagerly, nothing runs twice.

#include "support.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

/// Calls `fn` four times as it is and graphed, with inputs of 0, 1, 2, ...; results and effects must agree, and the
/// graphed one must have run it once a call.
void check_eager(const std::function<rf::Array(rf::Array)>& fn,
                 rf::SourceLocation where = rf::SourceLocation::current()) {
  BOOST_TEST_CONTEXT("at line " << where.line) {
    int calls = 0;
    auto step = rf::graphed([&](const rf::Array& x) {
      ++calls;
      return fn(x);
    });
    for (int i = 0; i < 4; ++i) {
      const rf::Array mine = filled(static_cast<float>(i));
      const rf::Array given = filled(static_cast<float>(i));
      rf::manual_seed(static_cast<std::uint64_t>(i));
      const rf::Array eager = fn(mine);
      rf::manual_seed(static_cast<std::uint64_t>(i));
      const rf::Array graphed = step(given);
      BOOST_TEST((eager.to_vector<float>() == graphed.to_vector<float>()));
      BOOST_TEST((mine.to_vector<float>() == given.to_vector<float>()));
    }
    BOOST_TEST(calls == 4);
    BOOST_TEST(step.statistics().eager == 4);
    BOOST_TEST(step.statistics().recordings == 1);
    BOOST_TEST(!rf::is_capturing());
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graphed_eager)

BOOST_AUTO_TEST_CASE(a_branch_on_data_is_taken_in_each_call) {
  check_eager([](rf::Array x) {
    x += 1;
    rf::Array y = x * 2;
    if (rf::sum(y).item<float>() > 20) y = y - 100;
    return y + x;
  });
}

BOOST_AUTO_TEST_CASE(values_may_be_read_in_every_way) {
  check_eager([](const rf::Array& x) { return x + (x * 2).to_vector<float>().front(); });
  check_eager([](const rf::Array& x) {
    std::ostringstream text;
    text << x + 1;
    return x + static_cast<double>(text.str().size());
  });
  check_eager([](rf::Array x) {
    const rf::Array y = x + 1;
    rf::current_stream().synchronize();
    x += 1;
    return y * x;
  });
  check_eager([](rf::Array x) {
    x += 1;
    const rf::Event event = rf::current_stream().record_event();
    const rf::Array y = x * 3;
    event.synchronize();
    return y + x;
  });
  check_eager([](rf::Array x) {
    rf::synchronize();
    x += 1;
    rf::synchronize();
    return x * 1;
  });
  check_eager([](const rf::Array& x) {
    const bool is_done = rf::current_stream().query();
    return x + 1 + (is_done ? 0 : 0);
  });
}

BOOST_AUTO_TEST_CASE(random_numbers_go_on_where_the_recording_stopped) {
  check_eager([](const rf::Array& x) {
    const rf::Array first = rf::rand({4}) + x;
    const float value = first.to_vector<float>().front();
    return rf::rand({4}) + first * value;
  });
}

BOOST_AUTO_TEST_CASE(several_streams_go_on_in_order) {
  const rf::Stream side;
  rf::Event done;
  check_eager([&](rf::Array x) {
    rf::Array y;
    {
      const rf::StreamGuard on(side);
      y = x * 2;
      side.record_event(done);
    }
    rf::current_stream().wait_event(done);
    const float value = (x + 1).to_vector<float>().front();
    rf::current_stream().wait_event(done);  // which belongs to what has run meanwhile
    {
      const rf::StreamGuard on(side);
      y += value;
    }
    rf::current_stream().wait_stream(side);
    return y + x;
  });
}

BOOST_AUTO_TEST_CASE(an_argument_is_the_callers_after_the_values_were_read) {
  check_eager([](rf::Array x) {
    const float before = x.to_vector<float>().front();
    x += 1;
    x = x * 2;
    return x + before;
  });
  auto step = rf::graphed([](rf::Array x) {
    (void)x.to_vector<float>();
    return x;
  });
  const rf::Array x = filled(1);
  BOOST_TEST(step(x).buffer() == x.buffer());
}

BOOST_AUTO_TEST_CASE(the_address_of_an_argument_runs_it_eagerly) {
  std::vector<const float*> seen;
  auto step = rf::graphed([&](const rf::Array& x) {
    seen.push_back(rf::data<float>(x));
    return x + 1;
  });
  const rf::Array a = filled(1);
  const rf::Array b = filled(2);
  BOOST_TEST(holds(step(a), 2));
  BOOST_TEST(holds(step(b), 3));
  BOOST_REQUIRE(seen.size() == 2U);
  BOOST_TEST(seen[0] == rf::data<float>(a));
  BOOST_TEST(seen[1] == rf::data<float>(b));
}

BOOST_AUTO_TEST_CASE(a_capture_of_its_own_runs_eagerly) {
  check_eager([](const rf::Array& x) {
    const rf::Array before = x + 1;
    auto [graph, y] = rf::capture([&] { return before * 2; });
    graph.instantiate().replay();
    return y + x;
  });
}

BOOST_AUTO_TEST_CASE(a_graph_of_the_programs_own_is_replayed_in_it) {
  const rf::Array input = filled(1);
  auto [graph, output] = rf::capture([&] { return input * 3; });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  rf::Array target = input;
  auto step = rf::graphed([&, y = output](const rf::Array& x) {
    target.assign(x);
    exec.replay();
    return y + x;
  });
  for (int i = 0; i < 4; ++i) BOOST_TEST(holds(step(filled(static_cast<float>(i))), 4 * i));
  BOOST_TEST(step.statistics().hits == 3);
}

BOOST_AUTO_TEST_CASE(strict_refuses_what_needs_values) {
  auto step = rf::graphed([](const rf::Array& x) { return x + x.to_vector<float>().front(); }, {.strict = true});
  require_error(rf::Errc::capture_unsupported, [&] { (void)step(filled(1)); }, {"to_vector"});
  BOOST_TEST(!rf::is_capturing());
}

BOOST_AUTO_TEST_CASE(the_reason_is_told_once_with_its_line) {
  std::vector<std::string> told;
  rf::set_log_sink([&](const rf::Diagnostic& each) {
    if (each.kind == rf::DiagnosticKind::runs_eagerly) told.push_back(each.text);
  });
  auto step = rf::graphed([](const rf::Array& x) { return x + rf::sum(x).item<float>(); }, {.label = "my step"});
  for (int i = 0; i < 4; ++i) (void)step(filled(1));
  rf::set_log_sink({});
  BOOST_REQUIRE(told.size() == 1U);
  for (const char* word : {"my step", "item at", "graphed_eager.cpp", "float32[4]"}) {
    BOOST_TEST_CONTEXT(word) { BOOST_TEST(told.front().find(word) != std::string::npos); }
  }
}

BOOST_AUTO_TEST_CASE(only_the_signature_that_needs_values_runs_eagerly) {
  auto step = rf::graphed([](const rf::Array& x, bool looks) {
    rf::Array y = x * 2;
    if (looks) y += y.to_vector<float>().front();
    return y;
  });
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(holds(step(filled(1), false), 2));
    BOOST_TEST(holds(step(filled(1), true), 4));
  }
  BOOST_TEST(step.statistics().hits == 2);
  BOOST_TEST(step.statistics().eager == 3);
}

BOOST_AUTO_TEST_CASE(a_throw_after_values_were_read_leaves_what_has_run) {
  rf::Array x = filled(1);
  auto step = rf::graphed([](rf::Array y) {
    y += 1;
    if (y.to_vector<float>().front() > 0) throw std::runtime_error("no");
  });
  BOOST_CHECK_THROW(step(x), std::runtime_error);
  BOOST_TEST(holds(x, 2));  // as an eager call
  BOOST_CHECK_THROW(step(x), std::runtime_error);
  BOOST_TEST(holds(x, 3));
}

BOOST_AUTO_TEST_CASE(state_that_was_changed_before_a_throw_stays_changed_once_it_has_run) {
  rf::Array weight = filled(1);
  bool is_bad = true;
  auto step = rf::graphed([&] {
                weight = weight + 1;
                if (weight.to_vector<float>().front() > 0 && is_bad) throw std::runtime_error("no");
              }).state(weight);
  BOOST_CHECK_THROW(step(), std::runtime_error);
  BOOST_TEST(holds(weight, 2));  // as a plain call would leave it
  is_bad = false;
  step();
  BOOST_TEST(holds(weight, 3));
}

BOOST_AUTO_TEST_CASE(a_container_that_grows_is_the_callers) {
  auto step = rf::graphed([](std::vector<rf::Array>& all) { all.push_back(all.back() + 1); });
  std::vector<rf::Array> all{filled(1)};
  for (std::size_t i = 2; i < 6; ++i) {
    step(all);
    BOOST_REQUIRE(all.size() == i);
    BOOST_TEST(holds(all.back(), static_cast<double>(i)));
  }
  BOOST_TEST(step.statistics().eager == 4);
}

BOOST_AUTO_TEST_SUITE_END()
