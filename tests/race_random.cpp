// Random commands, records and waits of several streams, against a race checker in its plainest form.

#include "support_races.hpp"

#include <algorithm>
#include <random>
#include <set>

namespace rf = refrain;
using rf::Hazards;
using rf::test::HazardsScope;
using rf::test::record_on;
using rf::test::Scope;
using rf::test::scopes;

namespace {

constexpr std::int64_t size = 64;
constexpr int steps = 150;

/// The rules in their plainest form: for each stream the commands that come before its next one.
class NaiveChecker {
 public:
  NaiveChecker(std::size_t streams, std::size_t arrays, std::size_t events)
      : known_(streams), recorded_(events), touches_(arrays) {}

  bool refuses(std::size_t stream, std::size_t array, bool writes) const {
    return std::any_of(touches_[array].begin(), touches_[array].end(), [&](const Touch& earlier) {
      return (writes || earlier.writes) && !known_[stream].contains(earlier.command);
    });
  }
  void issue(std::size_t stream, std::size_t array, bool writes) {
    known_[stream].insert(++commands_);
    touches_[array].push_back({commands_, writes});
  }
  void record(std::size_t stream, std::size_t event) { recorded_[event] = known_[stream]; }
  void forget(std::size_t event) { recorded_[event].clear(); }
  void wait_event(std::size_t stream, std::size_t event) { merge(known_[stream], recorded_[event]); }
  void wait_stream(std::size_t stream, std::size_t other) { merge(known_[stream], std::set<int>(known_[other])); }

 private:
  struct Touch {
    int command;
    bool writes;
  };
  static void merge(std::set<int>& known, const std::set<int>& more) { known.insert(more.begin(), more.end()); }

  std::vector<std::set<int>> known_;     // by stream
  std::vector<std::set<int>> recorded_;  // by event
  std::vector<std::vector<Touch>> touches_;
  int commands_ = 0;
};

/// Issues random commands, records and waits, and asks before each command what the naive checker says.
class RandomTrial {
 public:
  explicit RandomTrial(unsigned seed) : random_(seed), naive_(streams.size(), arrays_.size(), events_.size()) {
    for (rf::Array* array : all_arrays()) *array = rf::zeros({size});
    rf::synchronize();
  }

  const std::vector<rf::Stream> streams = std::vector<rf::Stream>(4);
  int refused() const noexcept { return refused_; }

  void run() {
    for (int i = 0; i < steps; ++i) {
      const std::size_t at = pick(streams.size());
      const std::size_t event = pick(events_.size());
      switch (pick(8)) {
        case 0:
          events_[event].record(streams[at]);
          naive_.record(at, event);
          break;
        case 1:
        case 2:
          streams[at].wait_event(events_[event]);
          naive_.wait_event(at, event);
          break;
        case 3: {
          const std::size_t other = pick(streams.size());
          streams[at].wait_stream(streams[other]);
          naive_.wait_stream(at, other);
          break;
        }
        case 4:
          events_[event] = rf::Event();
          naive_.forget(event);
          break;
        default: touch(at, pick(arrays_.size()), pick(2) == 0);
      }
    }
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  std::vector<rf::Array*> all_arrays() {
    std::vector<rf::Array*> all;
    for (rf::Array& array : arrays_) all.push_back(&array);
    for (rf::Array& copy : copies_) all.push_back(&copy);
    return all;
  }

  void touch(std::size_t at, std::size_t array, bool writes) {
    const bool expected = naive_.refuses(at, array, writes);
    const rf::StreamGuard on(streams[at]);
    bool is_refused = false;
    try {
      if (writes) {
        arrays_[array] += 1;
      } else {
        copies_[at].assign(arrays_[array]);
      }
      naive_.issue(at, array, writes);
    } catch (const rf::Error& error) {
      BOOST_TEST(to_string(error.code()) == "illegal_state");
      is_refused = true;
      ++refused_;
    }
    BOOST_TEST_REQUIRE(is_refused == expected);
  }

  std::mt19937 random_;
  std::vector<rf::Array> arrays_ = std::vector<rf::Array>(3);
  std::vector<rf::Array> copies_ = std::vector<rf::Array>(4);  // one a stream
  std::vector<rf::Event> events_ = std::vector<rf::Event>(3);
  NaiveChecker naive_;
  int refused_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(race_random)

BOOST_AUTO_TEST_CASE(random_commands_are_refused_where_a_naive_checker_refuses_them) {
  const HazardsScope mode(Hazards::error);
  int refused = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed << ", eager") {
      RandomTrial trial(seed);
      trial.run();
      refused += trial.refused();
    }
    for (const Scope scope : scopes) {
      BOOST_TEST_CONTEXT("seed " << seed << ", " << scope) {
        RandomTrial trial(seed);
        record_on(trial.streams, scope, [&] { trial.run(); }).instantiate().replay();
        refused += trial.refused();
      }
    }
  }
  BOOST_TEST(refused > 1000);
}

BOOST_AUTO_TEST_SUITE_END()
