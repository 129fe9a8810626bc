// Processes that end while captures are open.

#include "exit/exit_child.hpp"

#include <refrain/linalg.hpp>

#include <cstdlib>
#include <thread>

namespace exit_child {

namespace {

thread_local std::optional<rf::Capture> capture_of_thread;
rf::Array array_of_capture;

int exit_in_a_body() {
  const Everything everything;
  rf::capture([&] {
    const rf::Array sum = everything.input + 1;
    std::exit(5);
  });
  return status_of_main;
}

int exit_in_a_live_body() {
  const Everything everything;
  rf::capture(
      [&] {
        const rf::Array sum = everything.input + 1;
        std::exit(5);
      },
      {.live = true});
  return status_of_main;
}

int open_capture_on_the_stack() {
  const Everything everything;
  const rf::Capture capture;
  const rf::Array sum = everything.input + 1;
  return status_of_main;
}

int open_captures_everywhere(bool live) {
  early.everything.emplace();
  static std::optional<rf::Stream> origins[2];
  static std::optional<rf::Capture> by_stream[2];
  for (int i = 0; i < 2; ++i) {
    origins[i].emplace();
    by_stream[i].emplace(*origins[i], rf::CaptureOptions{.live = live});
    const rf::StreamGuard on(*origins[i]);
    const rf::Array made = rf::full({size}, 1) + 1;
  }
  origins[1].reset();
  std::thread([live] {
    capture_of_thread.emplace(rf::CaptureOptions{.live = live});
    array_of_capture = rf::full({size}, 1) + 1;
  }).join();
  capture_of_thread.emplace(rf::CaptureOptions{.live = live});
  early.everything.reset();
  const rf::Array made = rf::full({size}, 1) + 1;
  return status_of_main;
}

/// The first product of the process is made while capturing: its library is loaded and made ready then.
int first_product_in_a_capture(bool live) {
  const rf::Array a = rf::full({32, 32}, 2);
  const auto product = [&] { return rf::matmul(a, a); };
  auto [graph, recorded] = rf::capture(product, {.live = live});
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  if (recorded.to_vector<float>() != product().to_vector<float>()) return 1;
  if (recorded.slice(0, 1).select(0).select(0).item<float>() != 128) return 2;
  return status_of_main;
}

}  // namespace

void add_captures(Scenarios& to) {
  to.merge(Scenarios{
      {"first_product_in_a_capture", [] { return first_product_in_a_capture(false); }},
      {"first_product_in_a_live_capture", [] { return first_product_in_a_capture(true); }},
      {"exit_in_a_body", exit_in_a_body},
      {"exit_in_a_live_body", exit_in_a_live_body},
      {"open_capture", open_capture_on_the_stack},
      {"open_captures", [] { return open_captures_everywhere(false); }},
      {"open_live_captures", [] { return open_captures_everywhere(true); }},
  });
}

}  // namespace exit_child
