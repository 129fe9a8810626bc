// Random programs, eager against replays as written and with any of the passes, bit for bit. REFRAIN_FUZZ=N runs N
// programs from REFRAIN_FUZZ_SEED on (0), with each pass alone too.

#include "support.hpp"
#include "support_fuzz.hpp"
#include "support_programs.hpp"
#include "support_reference.hpp"

#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace refrain::test {

namespace {

constexpr int replays = 3;

constexpr bool Passes::*every_pass[] = {&Passes::dead_work, &Passes::order,      &Passes::fusion,
                                        &Passes::scalars,   &Passes::horizontal, &Passes::lanes,
                                        &Passes::memory,    &Passes::in_place,   &Passes::programmatic};
static_assert(std::size(every_pass) * sizeof(bool) == sizeof(Passes));
constexpr unsigned pass_count = std::size(every_pass);
constexpr unsigned all_passes = (1U << pass_count) - 1;

/// A bit a pass; as_written is no pass at all.
constexpr unsigned as_written = 0;

InstantiateOptions options_of(unsigned bits) {
  if (bits == as_written) return {.optimize = Optimize::none};
  InstantiateOptions options;
  for (unsigned i = 0; i < pass_count; ++i) options.passes.*every_pass[i] = (bits >> i & 1) != 0;
  return options;
}

/// One program, and executables of it that are to do what it does.
struct Trial {
  struct Way {
    unsigned passes;
    GraphExec exec;
  };

  unsigned seed = 0;
  ProgramMachine* machine = nullptr;
  std::vector<Step> program;
  std::vector<Array> expected;  ///< by run, packed
  Graph graph;
  std::vector<Array> outputs;
  std::vector<Way> ways;
};

void run_and_record(Trial& trial) {
  ProgramMachine& machine = *trial.machine;
  machine.reset();
  for (int i = 0; i < replays; ++i) {
    machine.factor() = ProgramMachine::factor_at(i);
    trial.expected.push_back(packed(machine.run(trial.program)));
  }
  std::tie(trial.graph, trial.outputs) = capture([&] { return machine.run(trial.program); });
}

bool holds(const Trial& trial, const GraphExec& exec) {
  ProgramMachine& machine = *trial.machine;
  machine.reset();
  std::vector<Array> replayed;
  for (int i = 0; i < replays; ++i) {
    if (has_factor(trial.program)) exec.set(machine.factor(), ProgramMachine::factor_at(i));
    exec.replay();
    replayed.push_back(packed(trial.outputs));
  }
  for (std::size_t i = 0; i < replayed.size(); ++i) {
    if (!same_bits(replayed[i], trial.expected[i])) return false;
  }
  return true;
}

bool holds_with(ProgramMachine& machine, const std::vector<Step>& program, unsigned passes) {
  Trial trial;
  trial.machine = &machine;
  trial.program = program;
  run_and_record(trial);
  return holds(trial, trial.graph.instantiate(options_of(passes)));
}

/// A program with as few steps as show the same, as text.
std::string shrunk(ProgramMachine& machine, std::vector<Step> program, unsigned passes) {
  for (std::size_t i = program.size(); i-- > 0;) {
    std::vector<Step> shorter = program;
    shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    if (!shorter.empty() && !holds_with(machine, shorter, passes)) program = shorter;
  }
  std::ostringstream text;
  for (const Step& step : program) text << "\n  " << step;
  const auto [graph, outputs] = capture([&] { return machine.run(program); });
  text << "\n" << graph.instantiate(options_of(passes)).explain();
  return text.str();
}

/// Two machines: rows of a few elements, and now and then rows that no block has at once.
class Machines {
 public:
  ProgramMachine& of(unsigned seed) { return seed % 16 == 5 ? large_ : small_; }

 private:
  ProgramMachine small_{6, 8};
  ProgramMachine large_{6, 1100};
};

Trial make_trial(Machines& machines, unsigned seed, bool with_each_alone) {
  std::mt19937 random(seed);
  Trial trial;
  trial.seed = seed;
  trial.machine = &machines.of(seed);
  trial.program = make_program(random);
  for (const unsigned passes : {as_written, all_passes, static_cast<unsigned>(random()) & all_passes}) {
    trial.ways.push_back({passes, {}});
  }
  for (unsigned i = 0; with_each_alone && i < pass_count; ++i) trial.ways.push_back({1U << i, {}});
  run_and_record(trial);
  return trial;
}

/// The kernels of many programs are made at once, which is most of the time on CUDA. Those of one program, which may be
/// the same ones, one after another.
void instantiate(std::vector<Trial>& trials) {
  std::vector<std::pair<const Graph*, Trial::Way*>> wanted;
  for (std::size_t i = 0; i < trials.front().ways.size(); ++i) {
    for (Trial& trial : trials) wanted.emplace_back(&trial.graph, &trial.ways[i]);
  }
  for_each_in_parallel(wanted.size(), [&](std::size_t i) {
    const auto [graph, way] = wanted[i];
    way->exec = graph->instantiate(options_of(way->passes));
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_random)

BOOST_AUTO_TEST_CASE(any_passes_leave_every_bit) {
  const HazardsScope hazards(Hazards::ignore);
  const bool is_host = current_device().kind == DeviceKind::host;
  const FuzzRange range = fuzz_range(is_host ? 2000 : 64);
  const unsigned at_once = is_host ? 8 : 64;
  Machines machines;
  for (unsigned first = range.first; first < range.end(); first += at_once) {
    std::vector<Trial> trials;
    for (unsigned seed = first; seed < std::min(first + at_once, range.end()); ++seed) {
      trials.push_back(make_trial(machines, seed, range.is_asked_for));
    }
    instantiate(trials);
    for (const Trial& trial : trials) {
      for (const Trial::Way& way : trial.ways) {
        const bool is_right = holds(trial, way.exec);
        BOOST_REQUIRE_MESSAGE(is_right, "program "
                                            << trial.seed << " with passes " << way.passes
                                            << (is_right ? "" : shrunk(*trial.machine, trial.program, way.passes)));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
