// refrain_exit_child <scenario> host|cuda: ends its process in the way that the scenario names. What it is to print and
// the status it ends with stand in tests/exits.cpp.

#include "exit/exit_child.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace exit_child {

namespace {

/// The scenario, known to static constructors too: main hands it on through the environment and starts anew.
constexpr const char* scenario_variable = "REFRAIN_EXIT_CHILD_SCENARIO";

std::string scenario() {
  const char* text = std::getenv(scenario_variable);
  return text == nullptr ? std::string() : text;
}

}  // namespace

Everything::Everything() {
  graph = rf::capture([this] {
    output = input + 1;
    for (int i = 0; i < 50; ++i) output += input;
  });
  exec = graph.instantiate();
  for (int i = 0; i < 10; ++i) exec.replay(stream);
  event.record(stream);
}

Early::Early() {
  if (scenario() == "static_constructor") everything.emplace();
}

Early early;
thread_local std::optional<Everything> of_thread;
Everything* leaked = nullptr;

void say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

void block() {
  for (;;) pause();
}

}  // namespace exit_child

int main(int argc, char** argv) {
  using namespace exit_child;
  if (argc != 3) {
    std::fputs("usage: refrain_exit_child <scenario> host|cuda\n", stderr);
    return EXIT_FAILURE;
  }
  if (scenario() != argv[1]) {
    setenv(scenario_variable, argv[1], 1);
    setenv("REFRAIN_DEVICE", argv[2], 1);
    execv("/proc/self/exe", argv);
    return EXIT_FAILURE;
  }
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  Scenarios scenarios;
  for (const auto add : {add_returns, add_exits, add_captures, add_calls}) add(scenarios);
  const auto chosen = scenarios.find(argv[1]);
  if (chosen == scenarios.end()) {
    std::fprintf(stderr, "there is no scenario %s\n", argv[1]);
    return EXIT_FAILURE;
  }
  if (chosen->first == "throws_uncaught") return chosen->second();
  try {
    return chosen->second();
  } catch (const Failure&) {
    return 3;
  }
}
