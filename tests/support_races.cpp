#include "support_races.hpp"

#include <algorithm>

namespace refrain::test {

Trial::Trial() { synchronize(); }

SourceLocation Trial::reads(const Stream& stream, Shared& shared, SourceLocation where) {
  const StreamGuard on(stream);
  Shared& copy = copies_.at(used_);
  copy.array.assign(Operand(shared.array, where));
  copy.value = shared.value;
  ++used_;
  return where;
}

SourceLocation Trial::writes(const Stream& stream, Shared& shared, SourceLocation where) {
  const StreamGuard on(stream);
  shared.array.assign(Operand(next_, where));
  shared.value = next_++;
  return where;
}

void Trial::finds(SourceLocation earlier, const std::function<void()>& command) {
  const std::string place = earlier.str();
  if (hazards() == Hazards::error) {
    require_error(Errc::illegal_state, command, {place, "wait_event"});
    return;
  }
  command();
  expected_.push_back(place);
}

void Trial::check_findings(const std::vector<Diagnostic>& all) const {
  const auto found = of_kind(all, DiagnosticKind::edge_added);
  BOOST_TEST(found.size() == expected_.size());
  for (const std::string& place : expected_) {
    const bool is_named = std::any_of(found.begin(), found.end(), [&](const Diagnostic& finding) {
      return finding.text.find(place) != std::string::npos;
    });
    BOOST_TEST(is_named, place << " is not named");
  }
}

void Trial::check_values() const {
  for (std::size_t i = 0; i < used_; ++i) BOOST_TEST(holds(copies_[i].array, copies_[i].value));
  BOOST_TEST(holds(a.array, a.value));
  BOOST_TEST(holds(b.array, b.value));
}

void Trial::reset() {
  for (Shared& copy : copies_) copy.array.assign(-1);
  a.array.assign(0);
  b.array.assign(0);
  synchronize();
}

Graph record_on(const std::vector<Stream>& streams, Scope scope, const std::function<void()>& body) {
  const Stream& origin = streams.front();
  return record(scope, origin,
                [&] {
                  for (const Stream& stream : streams) stream.wait_stream(origin);
                  body();
                },
                {.join_all = true});
}

namespace {

using Rule = std::function<void(Trial&)>;

void issue(Trial& trial, const Rule& rule) {
  if (hazards() == Hazards::add) keep_busy(trial.first, 1);  // would let the others overtake
  rule(trial);
}

void try_eagerly(const Rule& rule) {
  Trial trial;
  issue(trial, rule);
  trial.check_findings(diagnostics());
  trial.check_values();
}

void try_recorded(Scope scope, const Rule& rule) {
  Trial trial;
  const Graph graph = record_on(trial.streams, scope, [&] { issue(trial, rule); });
  trial.check_findings(graph.diagnostics());
  BOOST_TEST(diagnostics().empty());
  const GraphExec exec = graph.instantiate();
  for (int i = 0; i < 3; ++i) {
    trial.reset();
    exec.replay();
    trial.check_values();
  }
}

}  // namespace

void hold(const Rule& rule) {
  for (const Hazards hazards : {Hazards::error, Hazards::add}) {
    BOOST_TEST_CONTEXT((hazards == Hazards::error ? "Hazards::error" : "Hazards::add")) {
      BOOST_TEST_CONTEXT("eager") {
        const HazardsScope mode(hazards);
        try_eagerly(rule);
      }
      for (const Scope scope : scopes) {
        BOOST_TEST_CONTEXT(scope) {
          const HazardsScope mode(hazards);
          try_recorded(scope, rule);
        }
      }
    }
  }
}

}  // namespace refrain::test
