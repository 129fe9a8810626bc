// Processes that end with functions pending, and handlers that run at the end.

#include "exit/exit_child.hpp"

#include <cstdlib>

namespace exit_child {

namespace {

rf::Array kept;

/// Work that is pending when main returns: on the host it is done before the process ends.
int function_pending() {
  const rf::Stream stream;
  const Everything everything;
  stream.wait_stream(everything.stream);
  stream.launch_host_func([] { say("ran"); });
  return status_of_main;
}

/// Work that never ends: the host waits for it, but not for ever.
int function_that_never_returns() {
  rf::Stream().launch_host_func([] { block(); });
  return status_of_main;
}

int exit_in_a_function() {
  rf::Stream().launch_host_func([] { std::exit(5); });
  block();
}

void drop_at_exit() {
  delete leaked;
  leaked = nullptr;
  kept = rf::Array();
  early.everything.reset();
  say("handled");
}

int handler_registered_before_refrain() {
  std::atexit(drop_at_exit);
  leaked = new Everything;
  early.everything.emplace();
  kept = leaked->output;
  return status_of_main;
}

int handler_registered_after_refrain() {
  leaked = new Everything;
  early.everything.emplace();
  kept = leaked->output;
  std::atexit(drop_at_exit);
  return status_of_main;
}

/// The host device works in a handler that was registered after its first use.
int handler_that_works() {
  leaked = new Everything;
  std::atexit([] {
    const rf::Stream stream;
    const rf::StreamGuard on(stream);
    leaked->exec.replay();
    const auto [graph, output] = rf::capture([] { return leaked->output + 1; });
    graph.instantiate().replay();
    if (output.to_vector<float>().back() == 53) say("result");
    drop_at_exit();
  });
  return status_of_main;
}

}  // namespace

void add_calls(Scenarios& to) {
  to.merge(Scenarios{
      {"function_pending", function_pending},
      {"function_that_never_returns", function_that_never_returns},
      {"exit_in_a_function", exit_in_a_function},
      {"handler_before", handler_registered_before_refrain},
      {"handler_after", handler_registered_after_refrain},
      {"handler_that_works", handler_that_works},
  });
}

}  // namespace exit_child
