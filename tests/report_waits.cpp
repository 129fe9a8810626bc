// Host code in a captured body: calls that would wait for the device, prints, counters.

#include "support.hpp"
#include "support_scopes.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <sstream>

using boost::unit_test::label;
namespace rf = refrain;
using rf::Errc;
using rf::test::Edges;
using rf::test::filled;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

/// A call that the host would have to wait in.
struct Waiting {
  const char* call;
  Errc code;
  void (*make)(const rf::Stream& stream, const rf::Event& event, const rf::Array& one);
};

constexpr std::initializer_list<Waiting> waiting_calls = {
    {"synchronize", Errc::capture_unsupported, [](auto& stream, auto&, auto&) { stream.synchronize(); }},
    {"query", Errc::capture_unsupported, [](auto& stream, auto&, auto&) { stream.query(); }},
    {"synchronize", Errc::capture_unsupported, [](auto&, auto&, auto&) { rf::synchronize(); }},
    {"synchronize", Errc::captured_event, [](auto&, auto& event, auto&) { event.synchronize(); }},
    {"query", Errc::captured_event, [](auto&, auto& event, auto&) { event.query(); }},
    {"item", Errc::capture_unsupported, [](auto&, auto&, auto& one) { one.template item<float>(); }},
    {"to_vector", Errc::capture_unsupported, [](auto&, auto&, auto& one) { one.template to_vector<float>(); }},
    {"print", Errc::capture_unsupported, [](auto&, auto&, auto& one) { std::ostringstream() << one; }},
};

/// x = 2 (x + 1) with the call in the middle.
void step_with(const Waiting& waiting, rf::Array& x) {
  x += 1;
  waiting.make(rf::current_stream(), rf::current_stream().record_event(), x);
  x *= 2;
}

void refused_calls_leave_a_capture_intact(Scope scope, const Waiting& waiting) {
  const rf::Stream stream;
  rf::Array x = filled(1, 1);
  rf::synchronize();
  const rf::Graph graph = record(scope, stream, [&] {
    x += 1;
    const rf::Event event = rf::current_stream().record_event();
    require_error(waiting.code, [&] { waiting.make(stream, event, x); }, {waiting.call});
    x *= 2;
  });
  BOOST_TEST((rf::test::edges(graph) == Edges{{0, 1}}));
  const rf::GraphExec exec = graph.instantiate();
  for (int i = 0; i < 3; ++i) exec.replay(stream);
  BOOST_TEST(holds(x, 22));  // 4, 10, 22
}

void a_body_left_by_a_refused_call_runs_eagerly(Scope scope, const Waiting& waiting) {
  const rf::Stream stream;
  rf::Array x = filled(1, 1);
  rf::synchronize();
  require_error(waiting.code, [&] { record(scope, stream, [&] { step_with(waiting, x); }); }, {waiting.call});
  BOOST_TEST(!rf::is_capturing());
  BOOST_TEST(!stream.is_capturing());
  BOOST_TEST(holds(x, 1));
  {
    const rf::StreamGuard on(stream);
    step_with(waiting, x);
  }
  BOOST_TEST(holds(x, 4));
  record(scope, stream, [&] { x += 1; }).instantiate().replay(stream);
  BOOST_TEST(holds(x, 5));
}

bool has_digits(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report_waits)

BOOST_AUTO_TEST_CASE(a_call_that_would_wait_in_a_capture_is_refused_by_itself_and_harms_nothing, *label("report-1")) {
  for (const Scope scope : scopes) {
    for (const Waiting& waiting : waiting_calls) {
      BOOST_TEST_CONTEXT(scope << ", " << waiting.call << ", " << to_string(waiting.code)) {
        refused_calls_leave_a_capture_intact(scope, waiting);
        a_body_left_by_a_refused_call_runs_eagerly(scope, waiting);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(host_code_of_the_body_runs_at_the_capture_alone_and_prints_no_garbage, *label("report-61")) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const rf::Stream stream;
      rf::Array x = filled(7, 3);
      rf::synchronize();
      int body_runs = 0;
      std::atomic<int> function_runs{0};
      std::ostringstream printed;
      const rf::Graph graph = record(scope, stream, [&] {
        ++body_runs;
        x += 1;
        require_error(Errc::capture_unsupported, [&] { printed << x; }, {"print"});
        require_error(Errc::capture_unsupported, [&] { printed << x.to_vector<float>().at(0); }, {"to_vector"});
        const rf::Array made = x * 2;
        require_error(Errc::capture_unsupported, [&] { printed << made; }, {"print"});
        rf::current_stream().launch_host_func([&] { ++function_runs; });  // the hook that replays do call
      });
      BOOST_TEST(!has_digits(printed.str()), printed.str());
      BOOST_TEST(body_runs == 1);
      BOOST_TEST(function_runs == 0);
      BOOST_TEST(graph.node_count() == 3);
      const rf::GraphExec exec = graph.instantiate();
      for (int i = 1; i <= 5; ++i) {
        exec.replay(stream);
        std::ostringstream text;
        text << x;  // between replays it is fine
        BOOST_TEST((text.str().find("[" + std::to_string(7 + i) + ".") != std::string::npos), text.str());
        BOOST_TEST(holds(x, 7 + i));
      }
      stream.synchronize();
      BOOST_TEST(body_runs == 1);
      BOOST_TEST(function_runs == 5);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
