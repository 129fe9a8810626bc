// Random numbers of a recording: where each draw begins, seeds and states.

#include "graph/recording.hpp"
#include "runtime/generator.hpp"

#include <refrain/error.hpp>

#include <algorithm>

namespace refrain::graph {

int Recording::number_of(runtime::GeneratorCore& generator) {
  auto& all = program_->generators;
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const GeneratorUse& use) { return use.generator.get() == &generator; });
  if (known != all.end()) return static_cast<int>(known - all.begin());
  DrawPosition at;
  if (generator.is_default) at.seed = program_->reseeded;
  all.push_back({generator.shared_from_this(), at});
  return static_cast<int>(all.size()) - 1;
}

void Recording::place_draw(runtime::RandomCommand& draw) {
  draw.number = number_of(*draw.generator);
  DrawPosition& at = program_->generators[static_cast<std::size_t>(draw.number)].at;
  draw.args.offset = at.offset;
  draw.args.seed = at.seed.value_or(0);
  draw.absolute = at.seed.has_value();
  at.offset += draw.increment;
}

void Recording::place_child_draws(Node& node, const Program& child) {
  for (const GeneratorUse& use : child.generators) {
    const int number = number_of(*use.generator);
    node.child_draws.push_back({number, program_->generators[static_cast<std::size_t>(number)].at});
  }
  if (child.reseeded) seed_defaults(*child.reseeded);
  for (std::size_t i = 0; i < child.generators.size(); ++i) {
    const DrawPosition& end = child.generators[i].at;
    const DrawStart& start = node.child_draws[i];
    // From where the child began, unless a seed was recorded in it.
    program_->generators[static_cast<std::size_t>(start.number)].at =
        end.seed ? end : DrawPosition{start.at.offset + end.offset, start.at.seed};
  }
}

void Recording::seed_defaults(std::uint64_t seed) {
  program_->reseeded = seed;
  for (GeneratorUse& use : program_->generators) {
    if (use.generator->is_default) use.at = {0, seed};
  }
}

void Recording::refuse_seed(std::uint64_t present, std::uint64_t seed, SourceLocation where) const {
  if (seed == present || stands_for_a_run_) return;  // as eager calls would have it
  throw Error(Errc::capture_unsupported, "manual_seed", str(),
              "a capture may only repeat the generator's present seed, " + std::to_string(present) + ", not " +
                  std::to_string(seed) + "; seed before the capture",
              where);
}

void Recording::manual_seed(std::uint64_t seed, SourceLocation where) {
  require_open("manual_seed", where);
  refuse_seed(runtime::generator_seed(), seed, where);
  seed_defaults(seed);
}

void Recording::manual_seed(runtime::GeneratorCore& generator, std::uint64_t seed, SourceLocation where) {
  require_open("manual_seed", where);
  refuse_draws(true, "manual_seed", *origin_, where);
  std::uint64_t present = generator.at.seed;
  for (const GeneratorUse& use : program_->generators) {
    if (use.generator.get() == &generator) present = use.at.seed.value_or(present);
  }
  refuse_seed(present, seed, where);
  program_->generators[static_cast<std::size_t>(number_of(generator))].at = {0, seed};
}

runtime::CapturedState Recording::state_of(runtime::GeneratorCore& generator, SourceLocation where) {
  require_open("get_state", where);
  refuse_draws(true, "get_state", *origin_, where);
  const DrawPosition& at = program_->generators[static_cast<std::size_t>(number_of(generator))].at;
  return {&generator, program_->id, at.offset, at.seed};
}

void Recording::set_state(runtime::GeneratorCore& generator, const runtime::CapturedState* state,
                          SourceLocation where) {
  require_open("set_state", where);
  refuse_draws(true, "set_state", *origin_, where);
  if (state == nullptr || state->capture != program_->id) {
    throw Error(Errc::capture_unsupported, "set_state", str(),
                std::string("a state taken ") + (state == nullptr ? "outside" : "in another capture") +
                    " is not where its replays will stand; set it before the capture, or take the state in this one",
                where);
  }
  if (state->generator != &generator) {
    throw Error(Errc::capture_unsupported, "set_state", str(),
                "a state taken in it can be set on the generator it was taken from only; set it on that one", where);
  }
  program_->generators[static_cast<std::size_t>(number_of(generator))].at = {state->offset, state->seed};
}

}  // namespace refrain::graph
