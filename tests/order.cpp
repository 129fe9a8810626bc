#include "support.hpp"

#include <algorithm>

namespace rf = refrain;
using rf::DiagnosticKind;
using rf::Hazards;
using rf::test::HazardsScope;
using rf::test::live_modes;
using rf::test::of_kind;
using rf::test::require_error;

namespace {

constexpr float start = 1;
constexpr float old_value = 5;
constexpr float new_value = 9;
constexpr std::int64_t size = 4;

/// Two commands that touch `shared`, and what they leave when the second comes second.
struct Conflict {
  const char* name;
  void (*first)(rf::Array& shared, rf::Array& copy);
  void (*second)(rf::Array& shared, rf::Array& copy);
  double shared_after;
  double copy_after;
};

void write_old(rf::Array& shared, rf::Array&) { shared.assign(old_value); }
void write_new(rf::Array& shared, rf::Array&) { shared.assign(new_value); }
void read(rf::Array& shared, rf::Array& copy) { copy.assign(shared); }
void update(rf::Array& shared, rf::Array&) { shared += 1; }

constexpr std::initializer_list<Conflict> conflicts = {
    {"read after write", write_old, read, old_value, old_value},
    {"write after read", read, write_new, new_value, start},
    {"write after write", write_old, write_new, new_value, start},
    {"update after write", write_old, update, old_value + 1, start},
    {"update after update", update, update, start + 2, start},
};

/// Runs a conflict on two streams, the first behind other work; `ordered`: with a wait between the two.
class Race {
 public:
  explicit Race(const Conflict& conflict, bool ordered = false) : conflict_(conflict), ordered_(ordered) {
    rf::synchronize();
  }

  void run() {
    {
      const rf::StreamGuard on(first_);
      rf::test::keep_busy(first_, 10);
      conflict_.first(shared_, copy_);
    }
    if (ordered_) second_.wait_stream(first_);
    const rf::StreamGuard on(second_);
    conflict_.second(shared_, copy_);
  }

  void check() const {
    BOOST_TEST(rf::test::holds(shared_, conflict_.shared_after), conflict_.name);
    BOOST_TEST(rf::test::holds(copy_, conflict_.copy_after), conflict_.name);
  }

 private:
  const Conflict& conflict_;
  const bool ordered_;
  const rf::Stream first_;
  const rf::Stream second_;
  rf::Array shared_ = rf::test::filled(start, size);
  rf::Array copy_ = rf::test::filled(start, size);
};

bool names_both_places(const std::string& text) {
  const std::size_t first = text.find("order.cpp:");
  return first != std::string::npos && text.find("order.cpp:", first + 1) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(order, *boost::unit_test::label("sanitize"))

// Rule 1, eager

BOOST_AUTO_TEST_CASE(a_forgotten_wait_gives_right_numbers_and_is_reported) {
  for (const Conflict& conflict : conflicts) {
    const HazardsScope mode(Hazards::add);
    Race race(conflict);
    race.run();
    const auto found = of_kind(rf::diagnostics(), DiagnosticKind::edge_added);
    BOOST_TEST_CONTEXT(conflict.name) {
      BOOST_REQUIRE(found.size() == 1U);
      BOOST_TEST((found[0].severity == rf::Severity::warning));
      BOOST_TEST(names_both_places(found[0].text), found[0].text);
    }
    race.check();
  }
}

BOOST_AUTO_TEST_CASE(a_forgotten_wait_is_reported_once) {
  const HazardsScope mode(Hazards::add);
  Race race(*conflicts.begin());
  for (int i = 0; i < 3; ++i) race.run();
  const auto found = of_kind(rf::diagnostics(), DiagnosticKind::edge_added);
  std::vector<std::string> texts;
  for (const rf::Diagnostic& finding : found) texts.push_back(finding.text);
  std::sort(texts.begin(), texts.end());
  BOOST_TEST((std::adjacent_find(texts.begin(), texts.end()) == texts.end()));
  race.check();
}

BOOST_AUTO_TEST_CASE(ignore_orders_without_a_report) {
  for (const Conflict& conflict : conflicts) {
    const HazardsScope mode(Hazards::ignore);
    Race race(conflict);
    race.run();
    BOOST_TEST(rf::diagnostics().empty());
    race.check();
  }
}

BOOST_AUTO_TEST_CASE(error_throws_at_the_second_command_naming_both) {
  for (const Conflict& conflict : conflicts) {
    const HazardsScope mode(Hazards::error);
    Race race(conflict);
    try {
      race.run();
      BOOST_ERROR("nothing was thrown for " << conflict.name);
    } catch (const rf::Error& error) {
      BOOST_TEST(to_string(error.code()) == "illegal_state");
      BOOST_TEST(names_both_places(error.what()), error.what());
    }
    BOOST_TEST(rf::diagnostics().empty());
  }
}

BOOST_AUTO_TEST_CASE(a_command_refused_for_its_hazard_has_not_run) {
  const HazardsScope mode(Hazards::error);
  const rf::Stream first;
  const rf::Stream second;
  rf::Array array;
  {
    const rf::StreamGuard on(first);
    array = rf::test::filled(1);
  }
  const rf::StreamGuard on(second);
  require_error(rf::Errc::illegal_state, [&] { array += 1; });
  BOOST_TEST(rf::test::holds(array, 1));
  second.wait_stream(first);
  array += 1;
  BOOST_TEST(rf::test::holds(array, 2));
}

BOOST_AUTO_TEST_CASE(a_wait_leaves_nothing_to_add_or_report) {
  for (const Hazards mode : {Hazards::add, Hazards::error, Hazards::ignore}) {
    for (const Conflict& conflict : conflicts) {
      const HazardsScope scope(mode);
      Race race(conflict, true);
      race.run();
      BOOST_TEST(rf::diagnostics().empty());
      race.check();
    }
  }
}

BOOST_AUTO_TEST_CASE(two_readers_do_not_conflict) {
  const HazardsScope mode(Hazards::error);
  const rf::Stream first;
  const rf::Stream second;
  const rf::Array array = rf::test::filled(2);
  rf::synchronize();
  std::vector<rf::Array> results;
  for (const rf::Stream& stream : {first, second, first}) {
    const rf::StreamGuard on(stream);
    results.push_back(array * 3);
  }
  for (const rf::Array& result : results) BOOST_TEST(rf::test::holds(result, 6));
}

BOOST_AUTO_TEST_CASE(a_writer_comes_after_every_reader) {
  const HazardsScope mode(Hazards::ignore);
  rf::Array array = rf::test::filled(1);
  std::vector<rf::Array> results;
  for (int i = 0; i < 4; ++i) {
    const rf::Stream reader;
    const rf::StreamGuard on(reader);
    rf::test::keep_busy(reader, 10);
    results.push_back(array + i);
  }
  const rf::Stream writer;
  const rf::StreamGuard on(writer);
  array.assign(100);
  for (int i = 0; i < 4; ++i) BOOST_TEST(rf::test::holds(results[static_cast<std::size_t>(i)], 1 + i));
  BOOST_TEST(rf::test::holds(array, 100));
}

BOOST_AUTO_TEST_CASE(work_that_the_host_has_waited_for_needs_no_wait) {
  const HazardsScope mode(Hazards::error);
  const rf::Stream first;
  rf::Array array;
  {
    const rf::StreamGuard on(first);
    array = rf::test::slowly(1);
  }
  first.synchronize();
  const rf::Stream second;
  const rf::StreamGuard on(second);
  array += 1;
  BOOST_TEST(rf::test::holds(array, 2));
}

BOOST_AUTO_TEST_CASE(memory_given_back_by_one_stream_is_not_overwritten_early_by_another) {
  const HazardsScope mode(Hazards::error);
  const rf::Stream first;
  const rf::Stream second;
  std::vector<rf::Array> results;
  for (int i = 0; i < 20; ++i) {
    const rf::StreamGuard on(first);
    rf::test::keep_busy(first, 1);
    results.push_back(rf::test::filled(static_cast<float>(i), 1 << 16) + 1);  // the operand is dropped at once
    const rf::StreamGuard other(second);
    const rf::Array scribble = rf::test::filled(-1, 1 << 16);
  }
  for (int i = 0; i < 20; ++i) BOOST_TEST(rf::test::holds(results[static_cast<std::size_t>(i)], i + 1));
}

// Rule 1, captured

BOOST_AUTO_TEST_CASE(a_forgotten_wait_in_a_capture_becomes_an_edge_and_is_reported) {
  for (const bool live : live_modes) {
    for (const Conflict& conflict : conflicts) {
      const HazardsScope mode(Hazards::add);
      Race race(conflict);
      const rf::Graph graph = rf::capture([&] { race.run(); }, {.live = live});
      const auto found = of_kind(graph.diagnostics(), DiagnosticKind::edge_added);
      BOOST_TEST_CONTEXT(conflict.name) {
        BOOST_REQUIRE(found.size() == 1U);
        BOOST_REQUIRE(found[0].commands.size() == 2U);
        BOOST_TEST(rf::test::comes_before(graph, found[0].commands[0], found[0].commands[1]));
        BOOST_TEST(names_both_places(found[0].text), found[0].text);
      }
      BOOST_TEST(rf::diagnostics().empty());  // it is the graph's
      graph.instantiate().replay();
      race.check();
    }
  }
}

BOOST_AUTO_TEST_CASE(ignore_adds_the_edge_to_a_capture_without_a_report) {
  for (const Conflict& conflict : conflicts) {
    const HazardsScope mode(Hazards::ignore);
    Race race(conflict);
    const rf::Graph graph = rf::capture([&] { race.run(); });
    BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::edge_added).empty());
    graph.instantiate().replay();
    race.check();
  }
}

BOOST_AUTO_TEST_CASE(error_throws_in_a_capture_too) {
  for (const bool live : live_modes) {
    for (const Conflict& conflict : conflicts) {
      const HazardsScope mode(Hazards::error);
      Race race(conflict);
      require_error(rf::Errc::illegal_state, [&] { rf::capture([&] { race.run(); }, {.live = live}); },
                    {"order.cpp:", "wait_event"});
      BOOST_TEST(!rf::is_capturing());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_capture_goes_on_after_a_refused_hazard) {
  for (const bool live : live_modes) {
    const HazardsScope mode(Hazards::error);
    const rf::Stream second;
    rf::Array array = rf::test::filled(1);
    rf::synchronize();
    const rf::Graph graph = rf::capture(
        [&] {
          array += 1;
          const rf::Stream first = rf::current_stream();
          const rf::StreamGuard on(second);
          require_error(rf::Errc::illegal_state, [&] { array += 1; });
          second.wait_stream(first);
          array += 1;
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
    BOOST_TEST(rf::test::holds(array, 3));
  }
}

BOOST_AUTO_TEST_CASE(a_captured_wait_leaves_nothing_to_add_or_report) {
  for (const Hazards mode : {Hazards::add, Hazards::error}) {
    for (const Conflict& conflict : conflicts) {
      const HazardsScope scope(mode);
      Race race(conflict, true);
      const rf::Graph graph = rf::capture([&] { race.run(); });
      BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::edge_added).empty());
      graph.instantiate().replay();
      race.check();
    }
  }
}

BOOST_AUTO_TEST_CASE(a_refused_op_leaves_the_capture_as_if_it_had_not_been_made) {
  const HazardsScope mode(Hazards::error);
  rf::Array a = rf::test::filled(1);
  const rf::Array integers = rf::array({1, 2, 3, 4});
  rf::synchronize();
  const rf::Stream first;
  const rf::Stream second;
  const rf::Graph graph = rf::capture([&] {
    {
      const rf::StreamGuard on(first);
      a += 1;
    }
    const rf::StreamGuard on(second);
    // A cast of the integers would come first.
    require_error(rf::Errc::illegal_state, [&] { return integers + a; }, {"add", "wait_event"});
  });
  BOOST_TEST(graph.node_count() == 1);
  BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::forked).size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
