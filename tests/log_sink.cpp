// set_log_sink: whom it is told about what, when, and in which thread.

#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace rf = refrain;
using rf::DiagnosticKind;
using rf::Hazards;
using rf::test::HazardsScope;
using rf::test::live_modes;
using rf::test::require_error;

namespace {

/// A log sink until the end of the scope, in place of none.
class SinkScope {
 public:
  explicit SinkScope(std::function<void(const rf::Diagnostic&)> sink) { rf::set_log_sink(std::move(sink)); }
  ~SinkScope() { rf::set_log_sink({}); }
  SinkScope(const SinkScope&) = delete;
  SinkScope& operator=(const SinkScope&) = delete;
};

using Kinds = std::vector<DiagnosticKind>;

/// Keeps the kinds of what it is told.
std::function<void(const rf::Diagnostic&)> into(Kinds& kinds) {
  return [&kinds](const rf::Diagnostic& finding) { kinds.push_back(finding.kind); };
}

void increment_on(const rf::Stream& stream, rf::Array& array) {
  const rf::StreamGuard on(stream);
  array += 1;
}

/// An eager conflict of two streams without a wait.
class Race {
 public:
  Race() { rf::synchronize(); }
  void run() {
    rf::test::keep_busy(first_, 10);
    increment_on(first_, array_);
    increment_on(second_, array_);
  }
  const rf::Array& array() const { return array_; }

 private:
  const rf::Stream first_;
  const rf::Stream second_;
  rf::Array array_ = rf::test::filled(1);
};

}  // namespace

BOOST_AUTO_TEST_SUITE(log_sink)

// What it is told

BOOST_AUTO_TEST_CASE(an_order_added_to_eager_work_is_told_once) {
  const HazardsScope mode(Hazards::add);
  std::vector<rf::Diagnostic> told;
  const SinkScope sink([&](const rf::Diagnostic& finding) { told.push_back(finding); });
  Race race;
  race.run();
  rf::synchronize();
  BOOST_REQUIRE(told.size() == 1U);
  BOOST_TEST((told[0].kind == DiagnosticKind::edge_added));
  BOOST_TEST((told[0].severity == rf::Severity::warning));
  BOOST_TEST((told[0].text.find("log_sink.cpp:") != std::string::npos), told[0].text);
  BOOST_TEST(rf::test::holds(race.array(), 3));
  BOOST_TEST(told.size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_order_added_before_a_replay_is_told_once) {
  const HazardsScope mode(Hazards::add);
  const rf::Stream writer;
  const rf::Stream reader;
  rf::Array array = rf::test::filled(1);
  rf::synchronize();
  const auto [graph, twice] = rf::capture([&] { return array * 2; });
  const rf::GraphExec exec = graph.instantiate();
  Kinds told;
  const SinkScope sink(into(told));
  rf::test::keep_busy(writer, 10);
  increment_on(writer, array);
  exec.replay(reader);
  BOOST_TEST((told == Kinds{DiagnosticKind::edge_added}));
  BOOST_TEST(rf::test::holds(twice, 4));
}

BOOST_AUTO_TEST_CASE(each_warning_of_a_capture_is_told_once_when_it_has_ended) {
  const HazardsScope mode(Hazards::add);
  for (const bool live : live_modes) {
    const rf::Stream second;
    const rf::Event never;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    Kinds told;
    const SinkScope sink(into(told));
    rf::Capture capture({.live = live});
    second.wait_event(never);
    array += 1;
    increment_on(second, array);
    BOOST_TEST(told.empty());
    const rf::Graph graph = capture.end();
    BOOST_TEST(std::count(told.begin(), told.end(), DiagnosticKind::unarmed_wait) == 1);
    BOOST_TEST(std::count(told.begin(), told.end(), DiagnosticKind::edge_added) == 1);
    BOOST_TEST(told.size() == 2U);
    for (int i = 0; i < 3; ++i) graph.instantiate().replay();
    rf::synchronize();
    BOOST_TEST(told.size() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(a_capture_of_nothing_is_told_once) {
  for (const bool live : live_modes) {
    Kinds told;
    const SinkScope sink(into(told));
    rf::capture([] {}, {.live = live}).instantiate().replay();
    BOOST_TEST((told == Kinds{DiagnosticKind::empty_capture}));
  }
}

BOOST_AUTO_TEST_CASE(findings_that_are_no_warnings_are_not_told) {
  Kinds told;
  const SinkScope sink(into(told));
  const rf::Stream second;
  const auto [graph, output] = rf::capture([&] {
    second.wait_stream(rf::current_stream());
    const rf::StreamGuard on(second);
    return rf::test::filled(1) + 1;
  });
  graph.instantiate().replay();
  rf::synchronize();
  BOOST_TEST(!graph.diagnostics().empty());
  BOOST_TEST(told.empty());
}

BOOST_AUTO_TEST_CASE(a_discarded_capture_tells_nothing) {
  struct Own {};
  const HazardsScope mode(Hazards::add);
  const rf::Stream second;
  rf::Array array = rf::test::filled(1);
  rf::synchronize();
  Kinds told;
  const SinkScope sink(into(told));
  const auto body = [&] {
    array += 1;
    increment_on(second, array);
    throw Own{};
  };
  BOOST_CHECK_THROW(rf::capture(body), Own);
  BOOST_TEST(told.empty());
}

BOOST_AUTO_TEST_CASE(ignored_and_refused_hazards_are_not_told) {
  Kinds told;
  const SinkScope sink(into(told));
  {
    const HazardsScope mode(Hazards::ignore);
    Race race;
    race.run();
    BOOST_TEST(rf::test::holds(race.array(), 3));
  }
  {
    const HazardsScope mode(Hazards::error);
    Race race;
    require_error(rf::Errc::illegal_state, [&] { race.run(); });
  }
  BOOST_TEST(told.empty());
}

// Where it is called

BOOST_AUTO_TEST_CASE(it_is_called_in_the_thread_that_caused_the_warning) {
  const HazardsScope mode(Hazards::add);
  std::vector<std::thread::id> told;
  const SinkScope sink([&](const rf::Diagnostic&) { told.push_back(std::this_thread::get_id()); });
  const auto cause = [] {
    rf::clear_diagnostics();  // the same places would not be told again
    Race race;
    race.run();
    rf::capture([] {});
    return std::this_thread::get_id();
  };
  const std::thread::id other = rf::test::on_another_thread(cause);
  const std::thread::id own = cause();
  BOOST_TEST((told == std::vector<std::thread::id>{other, other, own, own}));
}

BOOST_AUTO_TEST_CASE(a_thread_that_only_issues_work_is_not_told_of_others) {
  const HazardsScope mode(Hazards::add);
  std::vector<std::thread::id> told;
  std::mutex mutex;
  const SinkScope sink([&](const rf::Diagnostic&) {
    const std::lock_guard lock(mutex);
    told.push_back(std::this_thread::get_id());
  });
  std::atomic<bool> over{false};
  std::thread bystander([&over] {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    rf::Array own = rf::test::filled(1);
    while (!over) own += 1;
  });
  constexpr int rounds = 2000;
  const rf::Stream first;
  const rf::Stream second;
  rf::Array array = rf::test::filled(1);
  for (int i = 0; i < rounds; ++i) {
    rf::clear_diagnostics();
    increment_on(first, array);
    increment_on(second, array);
    if (i % 100 == 0) rf::synchronize();
  }
  over = true;
  bystander.join();
  BOOST_TEST(!told.empty());
  BOOST_TEST(std::count(told.begin(), told.end(), std::this_thread::get_id()) == std::ssize(told));
}

BOOST_AUTO_TEST_CASE(it_may_issue_work_and_wait_for_it) {
  const HazardsScope mode(Hazards::add);
  int calls = 0;
  const SinkScope sink([&](const rf::Diagnostic&) {
    ++calls;
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    BOOST_TEST(rf::test::holds(rf::test::filled(3) + 1, 4));
    rf::synchronize();
    BOOST_TEST(rf::diagnostics().size() == 1U);
    BOOST_TEST(rf::memory_stats(rf::current_device()).live > 0);
    rf::set_hazards(Hazards::add);
  });
  Race race;
  race.run();
  BOOST_TEST(calls == 1);
  BOOST_TEST(rf::test::holds(race.array(), 3));
}

BOOST_AUTO_TEST_CASE(it_may_use_the_array_that_the_warning_is_about) {
  const HazardsScope mode(Hazards::add);
  Race race;
  bool after_the_op = false;
  const SinkScope sink([&](const rf::Diagnostic&) { after_the_op = rf::test::holds(race.array(), 3); });
  race.run();
  BOOST_TEST(after_the_op);
}

BOOST_AUTO_TEST_CASE(it_may_capture_when_a_capture_has_ended) {
  for (const bool live : live_modes) {
    int nodes = 0;
    const SinkScope sink([&](const rf::Diagnostic&) {
      BOOST_TEST(!rf::is_capturing());
      nodes = rf::capture([] { rf::bench::empty(rf::current_stream()); }, {.live = live}).node_count();
    });
    rf::capture([] {}, {.live = live});
    BOOST_TEST(nodes == 1);
  }
}

// Setting it

BOOST_AUTO_TEST_CASE(an_empty_function_takes_it_away) {
  Kinds told;
  const SinkScope sink(into(told));
  rf::capture([] {});
  rf::set_log_sink({});
  rf::capture([] {});
  BOOST_TEST(told.size() == 1U);
}

BOOST_AUTO_TEST_CASE(another_function_replaces_it) {
  Kinds first;
  Kinds second;
  const SinkScope sink(into(first));
  rf::set_log_sink(into(second));
  rf::capture([] {});
  BOOST_TEST(first.empty());
  BOOST_TEST(second.size() == 1U);
}

BOOST_AUTO_TEST_CASE(it_may_take_itself_away) {
  auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = alive;
  const SinkScope sink([count = std::move(alive)](const rf::Diagnostic&) {
    rf::set_log_sink({});
    ++*count;  // what the function holds outlives the call
  });
  rf::capture([] {});
  BOOST_TEST(watch.expired());
  rf::capture([] {});
}

BOOST_AUTO_TEST_SUITE_END()
