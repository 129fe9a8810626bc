// Random programs of in-place ops and events on several streams against a model that runs them one after another. The
// programs wait as much as they must: under Hazards::error a wait that Refrain does not honour or see is an error.

#include "support.hpp"

#include <algorithm>
#include <random>

namespace rf = refrain;

namespace {

constexpr std::int64_t elements = 512;  // enough for commands to overlap
constexpr unsigned programs = 200;

struct Step {
  enum class Kind { assign, halve, add, subtract, record, wait };

  Kind kind;
  std::size_t stream;
  std::size_t target = 0;  ///< a value, or an event
  std::size_t source = 0;  ///< a value
  float number = 0;
};

struct Program {
  std::size_t streams = 0;
  std::size_t values = 0;
  std::size_t events = 0;
  std::vector<Step> steps;
};

/// For each stream the number of its steps that are known to come before.
using Known = std::vector<std::size_t>;

void merge(Known& known, const Known& other) {
  for (std::size_t i = 0; i < known.size(); ++i) known[i] = std::max(known[i], other[i]);
}

/// Writes a program, keeping book of what comes before what.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {
    program_.streams = 2 + pick(4);
    program_.values = 2 + pick(4);
    program_.events = 1 + pick(4);
    known_.assign(program_.streams, Known(program_.streams, 0));
    recorded_.assign(program_.events, Known());
    written_.assign(program_.values, Known(program_.streams, 0));
    read_ = written_;
  }

  Program make() {
    for (std::size_t stream = 1; stream < program_.streams; ++stream) come_after(stream, 0);
    const std::size_t length = 20 + pick(60);
    while (program_.steps.size() < length) {
      if (pick(4) == 0) {
        add_event_step();
      } else {
        add_op();
      }
    }
    for (std::size_t stream = 1; stream < program_.streams; ++stream) come_after(0, stream);
    return std::move(program_);
  }

 private:
  std::size_t pick(std::size_t count) { return random_() % count; }

  void record(std::size_t stream, std::size_t event) {
    recorded_[event] = known_[stream];
    program_.steps.push_back({Step::Kind::record, stream, event});
  }
  void wait(std::size_t stream, std::size_t event) {
    merge(known_[stream], recorded_[event]);
    program_.steps.push_back({Step::Kind::wait, stream, event});
  }
  /// Lets the stream come after the other, through an event that may have been used before.
  void come_after(std::size_t stream, std::size_t other) {
    const std::size_t event = pick(program_.events);
    record(other, event);
    wait(stream, event);
  }

  void add_event_step() {
    const std::size_t event = pick(program_.events);
    if (pick(2) == 0 || recorded_[event].empty()) {
      record(pick(program_.streams), event);
    } else {
      wait(pick(program_.streams), event);
    }
  }

  void add_op() {
    const auto kind = static_cast<Step::Kind>(pick(4));
    Step step{kind, pick(program_.streams), pick(program_.values), pick(program_.values),
              static_cast<float>(pick(16)) - 8};
    const bool reads = kind == Step::Kind::add || kind == Step::Kind::subtract;
    Known needed = written_[step.target];
    merge(needed, read_[step.target]);
    if (reads) merge(needed, written_[step.source]);
    for (std::size_t other = 0; other < program_.streams; ++other) {
      if (known_[step.stream][other] < needed[other]) come_after(step.stream, other);
    }
    program_.steps.push_back(step);
    const std::size_t now = ++known_[step.stream][step.stream];
    written_[step.target][step.stream] = now;
    if (reads) read_[step.source][step.stream] = now;
  }

  std::mt19937 random_;
  Program program_;
  std::vector<Known> known_;     // by stream
  std::vector<Known> recorded_;  // by event; empty before the first record
  std::vector<Known> written_;   // by value: the newest write of each stream
  std::vector<Known> read_;
};

/// The model.
void run(const Program& program, std::vector<float>& values) {
  for (const Step& step : program.steps) {
    float& target = values[step.target % values.size()];
    switch (step.kind) {
      case Step::Kind::assign: target = step.number; break;
      case Step::Kind::halve: target *= 0.5F; break;
      case Step::Kind::add: target += values[step.source]; break;
      case Step::Kind::subtract: target -= values[step.source]; break;
      case Step::Kind::record:
      case Step::Kind::wait: break;
    }
  }
}

void run(const Program& program, const std::vector<rf::Stream>& streams, std::vector<rf::Array>& values) {
  std::vector<rf::Event> events(program.events);
  for (const Step& step : program.steps) {
    const rf::Stream& stream = streams[step.stream];
    const rf::StreamGuard on(stream);
    switch (step.kind) {
      case Step::Kind::assign: values[step.target].assign(step.number); break;
      case Step::Kind::halve: values[step.target] *= 0.5F; break;
      case Step::Kind::add: values[step.target] += values[step.source]; break;
      case Step::Kind::subtract: values[step.target] -= values[step.source]; break;
      case Step::Kind::record: events[step.target].record(stream); break;
      case Step::Kind::wait: stream.wait_event(events[step.target]); break;
    }
  }
}

/// A program's streams, values and model, all starting out the same.
class Trial {
 public:
  explicit Trial(unsigned seed) : program_(Generator(seed).make()), streams_(program_.streams) {
    for (std::size_t i = 0; i < program_.values; ++i) {
      model_.push_back(static_cast<float>(i) + 1);
      values_.push_back(rf::test::filled(model_.back(), elements));
    }
    rf::synchronize();
  }

  void run_eagerly() {
    run(program_, streams_, values_);
    run(program_, model_);
  }
  rf::Graph capture(bool by_stream) {
    const auto program = [&] { run(program_, streams_, values_); };
    return by_stream ? rf::capture(streams_.front(), program) : rf::capture(program);
  }
  void replay(const rf::GraphExec& exec) {
    exec.replay(streams_.front());
    run(program_, model_);
  }

  bool agrees() const {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (!rf::test::holds(values_[i], model_[i])) return false;
    }
    return true;
  }

 private:
  Program program_;
  std::vector<rf::Stream> streams_;
  std::vector<rf::Array> values_;
  std::vector<float> model_;
};

/// Runs `check` for each program, naming the one that fails.
void for_each_program(const std::function<void(Trial&)>& check) {
  const rf::test::HazardsScope mode(rf::Hazards::error);
  for (unsigned seed = 0; seed < programs; ++seed) {
    BOOST_TEST_CONTEXT("program " << seed) {
      Trial trial(seed);
      BOOST_REQUIRE_NO_THROW(check(trial));
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_random_programs)

BOOST_AUTO_TEST_CASE(run_eagerly_they_give_what_the_model_gives) {
  for_each_program([](Trial& trial) {
    for (int round = 0; round < 3; ++round) trial.run_eagerly();
    BOOST_TEST(trial.agrees());
  });
}

BOOST_AUTO_TEST_CASE(replayed_they_give_what_the_model_gives) {
  for_each_program([](Trial& trial) {
    for (const bool by_stream : {false, true}) {
      const rf::GraphExec exec = trial.capture(by_stream).instantiate();
      BOOST_TEST(trial.agrees());  // nothing has run
      for (int round = 0; round < 3; ++round) trial.replay(exec);
      BOOST_TEST(trial.agrees());
    }
  });
}

BOOST_AUTO_TEST_CASE(eager_runs_and_replays_in_turn_give_what_the_model_gives) {
  for_each_program([](Trial& trial) {
    const rf::GraphExec exec = trial.capture(true).instantiate({.optimize = rf::Optimize::none});
    for (int round = 0; round < 3; ++round) {
      trial.replay(exec);
      trial.run_eagerly();
    }
    BOOST_TEST(trial.agrees());
  });
}

BOOST_AUTO_TEST_SUITE_END()
