// Random programs, eager against replays with any of the passes, bit for bit. REFRAIN_FUZZ=N runs N programs from
// REFRAIN_FUZZ_SEED on (0).

#include "support.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t rows = 6;
constexpr std::int64_t columns = 8;
constexpr std::size_t states = 3;
constexpr std::size_t lanes = 3;
constexpr std::int64_t small_sizes[] = {1, 3, 7, 48, 48, 300, 1025};

/// One step: what it does, on which stream, and to which values.
struct Step {
  unsigned kind;
  std::size_t stream;
  std::size_t target;
  std::size_t left;
  std::size_t right;
  unsigned choice;
};

std::vector<Step> make_program(std::mt19937& random) {
  std::vector<Step> steps(5 + random() % 25);
  for (Step& step : steps) {
    step = {static_cast<unsigned>(random() % 19), random() % lanes, random() % states, random(), random(),
            static_cast<unsigned>(random())};
  }
  return steps;
}

/// Runs programs on arrays that it keeps from run to run.
class Machine {
 public:
  Machine() {
    for (std::size_t i = 0; i < states; ++i) states_.push_back(initial(i));
    for (std::size_t i = 0; i < std::size(small_sizes); ++i) smalls_.push_back(initial_small(i));
  }

  void reset() {
    for (std::size_t i = 0; i < states; ++i) states_[i].assign(initial(i));
    for (std::size_t i = 0; i < smalls_.size(); ++i) smalls_[i].assign(initial_small(i));
    manual_seed(5);
  }

  /// What the programs multiply with; its value is that of the program's run of that number.
  Param<float>& factor() { return factor_; }
  static float factor_at(int run) { return 0.5F + static_cast<float>(run) * 0.25F; }

  /// All that can be read afterwards.
  std::vector<Array> run(const std::vector<Step>& steps) {
    values_ = states_;
    for (const Step& step : steps) {
      const StreamGuard on(streams_[step.stream]);
      execute(step);
    }
    std::vector<Array> results = states_;
    results.insert(results.end(), smalls_.begin(), smalls_.end());
    results.push_back(values_.back());
    if (values_.size() > states + 2) results.push_back(values_[states + 1]);
    values_.clear();
    for (const Stream& stream : streams_) current_stream().wait_stream(stream);
    return results;
  }

 private:
  static Array initial(std::size_t number) {
    std::vector<float> values(rows * columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 13 + number) % 29) * 0.11F - 1.2F;
    return from_host(values, {rows, columns});
  }

  static Array initial_small(std::size_t number) {
    std::vector<float> values(static_cast<std::size_t>(small_sizes[number]));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 7 + number) % 23) * 0.13F - 1.4F;
    return from_host(values, {small_sizes[number]});
  }

  void execute(const Step& step) {
    const Array a = values_[step.left % values_.size()];
    const Array b = values_[step.right % values_.size()];
    Array target = states_[step.target];
    const auto row = static_cast<std::int64_t>(step.choice % rows);
    const auto column = static_cast<std::int64_t>(step.choice % columns);
    switch (step.kind) {
      case 0: add(step.choice % 3 == 0 ? tanh(a) : step.choice % 3 == 1 ? abs(a) + 0.5F : relu(a)); break;
      case 1: add(step.choice % 2 == 0 ? a + b : a * b); break;
      case 2: add(a - b * 0.25F); break;
      case 3: add(a + b.select(row)); break;
      case 4: add(a * b.slice({.begin = column, .end = column + 1}, 1)); break;
      case 5: target += b; break;
      case 6: target.assign(step.choice % 3 == 0 ? a : step.choice % 3 == 1 ? a.flip(1) : moved(a, step.choice)); break;
      case 7: target.slice(0, 3) += a.slice(3, 6); break;
      case 8: target.slice({.begin = 1, .end = 7, .step = 2}, 1) *= 0.5F; break;
      case 9: add(a.transpose(0, 1).contiguous().reshape({rows, columns})); break;
      case 10: add(step.choice % 2 == 0 ? rand({rows, columns}) + a : a * randn({rows, columns})); break;
      case 11: add(a - mean(b, -1, true)); break;
      case 12: add(where(a < b, a.cast(DType::float16).cast(DType::float32), b)); break;
      case 13: add(moved(a, step.choice) + b); break;
      case 14:
        if (step.choice % 4 == 0) current_stream().launch_host_func([] {});
        add(a + 1);
        break;
      case 15: each_small(step, [&](Array& small) { small = small * factor_ + 0.25F; }); break;
      case 16: each_small(step, [&](Array& small) { small *= 0.75F; }); break;
      case 17: {
        const Array one = sum(a) * 0.01F;
        each_small(step, [&](Array& small) { small.assign(small * one - tanh(small)); });
        break;
      }
      default: streams_[step.choice % lanes].wait_stream(streams_[step.stream]); break;
    }
  }
  static Array moved(const Array& a, unsigned choice) {
    const auto shift = static_cast<std::int64_t>(choice / 8 % 19) - 9;
    switch (choice % 8) {
      case 0: return roll(a, shift, 0);
      case 1: return roll(a, {shift, shift / 2}, {1, 0});
      case 2: return roll(a, shift);
      case 3: return roll(a.flip(0).transpose(0, 1), shift, 0).transpose(0, 1);
      case 4: return take(a, (a * 8).cast(DType::int64));
      case 5: return take(a, (a.select(2) * 2).cast(DType::int32), 1);
      default: return roll(a, shift, 1);
    }
  }
  /// The small ones of the choice; what they are assigned is kept in their memory.
  template <class Fn>
  void each_small(const Step& step, Fn change) {
    for (std::size_t i = 0; i < smalls_.size(); ++i) {
      if ((step.choice >> i & 1) == 0) continue;
      const StreamGuard on(streams_[(step.stream + (step.choice >> (i + 8) & 1)) % lanes]);
      Array value = smalls_[i];
      change(value);
      smalls_[i].assign(value);
    }
  }
  void add(const Array& value) { values_.push_back(value); }

  std::vector<Stream> streams_{lanes};
  std::vector<Array> states_;
  std::vector<Array> smalls_;
  std::vector<Array> values_;
  Param<float> factor_{1, "factor"};
};

using Results = std::vector<std::vector<Array>>;

std::vector<Array> snapshots(const std::vector<Array>& arrays) {
  std::vector<Array> all;
  for (const Array& array : arrays) all.push_back(snapshot(array));
  return all;
}

bool are_same(const Results& a, const Results& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (!same_bits(a[i][k], b[i][k])) return false;
    }
  }
  return true;
}

constexpr unsigned all_passes = 255;

Passes passes_of(unsigned bits) {
  return {.dead_work = (bits & 1) != 0,
          .order = (bits & 2) != 0,
          .fusion = (bits & 4) != 0,
          .horizontal = (bits & 128) != 0,
          .lanes = (bits & 8) != 0,
          .memory = (bits & 16) != 0,
          .in_place = (bits & 32) != 0,
          .programmatic = (bits & 64) != 0};
}

/// Whether three replays with these passes give what three eager runs give.
bool holds_with(Machine& machine, const std::vector<Step>& program, unsigned passes) {
  Results eager;
  machine.reset();
  for (int i = 0; i < 3; ++i) {
    machine.factor() = Machine::factor_at(i);
    eager.push_back(snapshots(machine.run(program)));
  }
  machine.reset();
  const bool has_factor = std::any_of(program.begin(), program.end(), [](const Step& step) {
    return step.kind == 15 && (step.choice & ((1U << std::size(small_sizes)) - 1)) != 0;
  });
  auto [graph, outputs] = capture([&] { return machine.run(program); });
  const GraphExec exec = graph.instantiate({.passes = passes_of(passes)});
  Results replayed;
  for (int i = 0; i < 3; ++i) {
    if (has_factor) exec.set(machine.factor(), Machine::factor_at(i));
    exec.replay();
    replayed.push_back(snapshots(outputs));
  }
  return are_same(eager, replayed);
}

/// A program with as few steps as show the same, as text.
std::string shrunk(Machine& machine, std::vector<Step> program, unsigned passes) {
  for (std::size_t i = program.size(); i-- > 0;) {
    std::vector<Step> shorter;
    for (std::size_t k = 0; k < program.size(); ++k) {
      if (k != i) shorter.push_back(program[k]);
    }
    if (!shorter.empty() && !holds_with(machine, shorter, passes)) program = shorter;
  }
  std::string text;
  for (const Step& step : program) {
    text += "\n  kind " + std::to_string(step.kind) + ", stream " + std::to_string(step.stream) + ", target " +
            std::to_string(step.target) + ", left " + std::to_string(step.left) + ", right " +
            std::to_string(step.right) + ", choice " + std::to_string(step.choice);
  }
  machine.reset();
  auto [graph, outputs] = capture([&] { return machine.run(program); });
  return text + "\n" + graph.instantiate({.passes = passes_of(passes)}).explain();
}

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::stoul(text));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_random)

BOOST_AUTO_TEST_CASE(any_passes_leave_every_bit) {
  const HazardsScope hazards(Hazards::ignore);
  // On CUDA each program has kernels of its own, whose making takes a while.
  const bool is_host = current_device().kind == DeviceKind::host;
  const unsigned programs = number_from("REFRAIN_FUZZ", is_host ? 2000 : 8);
  const unsigned first = number_from("REFRAIN_FUZZ_SEED", 0);
  Machine machine;
  for (unsigned seed = first; seed < first + programs; ++seed) {
    std::mt19937 random(seed);
    const std::vector<Step> program = make_program(random);
    for (const unsigned passes : {0U, all_passes, static_cast<unsigned>(random()) & all_passes}) {
      const bool holds = holds_with(machine, program, passes);
      BOOST_REQUIRE_MESSAGE(
          holds, "program " << seed << " with passes " << passes << (holds ? "" : shrunk(machine, program, passes)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
