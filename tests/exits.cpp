// How processes end that hold graphs, executables, streams, events and arrays, with work in flight.

#include "support.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

extern char** environ;

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr int status_of_main = 7;  ///< what main returns in a scenario that lets it

struct End {
  bool in_time = false;
  int status = 0;  ///< as waitpid gives it
  std::string output;
};

/// Reads until the other end is closed; false when that takes too long.
bool read_all(int from, std::chrono::steady_clock::time_point end, std::string& into) {
  std::array<char, 4096> piece{};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd ready{from, POLLIN, 0};
    const int count = left > 0 ? poll(&ready, 1, static_cast<int>(left)) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    into.append(piece.data(), static_cast<std::size_t>(got));
  }
}

/// Runs the scenario in a process of its own, which is killed if it takes longer than 20 s.
End run(const std::string& scenario) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::array<int, 2> ends{};
  BOOST_REQUIRE(pipe(ends.data()) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  for (const int each : ends) posix_spawn_file_actions_addclose(&actions, each);
  std::array<std::string, 3> words = {REFRAIN_EXIT_CHILD, scenario,
                                      current_device().kind == DeviceKind::host ? "host" : "cuda"};
  std::array<char*, 4> arguments = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  End result;
  if (error == 0) {
    result.in_time = read_all(ends[0], end, result.output);
    if (!result.in_time) kill(child, SIGKILL);
    while (waitpid(child, &result.status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  BOOST_REQUIRE_MESSAGE(error == 0, REFRAIN_EXIT_CHILD << " cannot be started: " << std::strerror(error));
  return result;
}

/// The scenario ends in time, with this status and this output.
void require_exit(const std::string& scenario, int status, const std::string& output = {}) {
  const End end = run(scenario);
  BOOST_TEST_CONTEXT(scenario << " said:\n" << end.output) {
    BOOST_TEST(end.in_time, "killed after 20 s");
    BOOST_TEST(!WIFSIGNALED(end.status), "signal " << WTERMSIG(end.status));
    if (WIFEXITED(end.status)) BOOST_TEST(WEXITSTATUS(end.status) == status);
    BOOST_TEST(end.output == output);
  }
}

bool is_host() { return current_device().kind == DeviceKind::host; }

}  // namespace

BOOST_AUTO_TEST_SUITE(exits)

// main returns with replays in flight

BOOST_AUTO_TEST_CASE(objects_may_be_locals_of_main, *label("report-57")) { require_exit("locals", status_of_main); }

BOOST_AUTO_TEST_CASE(objects_may_be_statics_made_after_the_first_use_of_refrain, *label("report-57")) {
  require_exit("static", status_of_main);
}

BOOST_AUTO_TEST_CASE(objects_may_be_in_statics_made_before_the_first_use_of_refrain, *label("report-57")) {
  require_exit("early_static", status_of_main);
}

// CUDA's runtime may not be used before main.
BOOST_AUTO_TEST_CASE(the_host_device_may_be_used_first_in_a_static_constructor, *label("report-57")) {
  if (is_host()) require_exit("static_constructor", status_of_main);
}

BOOST_AUTO_TEST_CASE(objects_may_be_thread_locals_of_main, *label("report-57")) {
  require_exit("thread_local", status_of_main);
}

BOOST_AUTO_TEST_CASE(objects_may_be_thread_locals_of_a_thread_that_ended, *label("report-57")) {
  require_exit("thread_local_of_a_thread", status_of_main, "result\n");
}

BOOST_AUTO_TEST_CASE(objects_may_be_leaked, *label("report-57")) { require_exit("leak", status_of_main); }

BOOST_AUTO_TEST_CASE(objects_may_be_all_of_these_at_once, *label("report-57")) { require_exit("all", status_of_main); }

BOOST_AUTO_TEST_CASE(work_of_several_threads_may_be_under_way) { require_exit("large_work", status_of_main); }

BOOST_AUTO_TEST_CASE(a_thread_locals_destructor_may_work) {
  require_exit("thread_local_that_works", status_of_main, "result\n");
}

BOOST_AUTO_TEST_CASE(a_statics_destructor_may_work_on_the_host) {
  if (is_host()) require_exit("statics_that_work", status_of_main, "result\nresult\n");
}

BOOST_AUTO_TEST_CASE(main_may_return_beside_other_threads) {
  require_exit("beside_a_thread", status_of_main);
  require_exit("beside_a_working_thread", status_of_main);
}

BOOST_AUTO_TEST_CASE(the_first_product_of_a_process_may_be_in_a_capture, *label("report-2")) {
  require_exit("first_product_in_a_capture", status_of_main);
  require_exit("first_product_in_a_live_capture", status_of_main);
}

// exit, quick_exit and exceptions

BOOST_AUTO_TEST_CASE(exit_may_be_called_with_objects_on_the_stack) { require_exit("exit", 5); }

BOOST_AUTO_TEST_CASE(exit_may_be_called_by_another_thread) {
  for (const char* main : {"blocks", "waits", "works"}) require_exit(std::string("exit_while_main_") + main, 5);
}

BOOST_AUTO_TEST_CASE(exit_may_be_called_in_the_body_of_a_capture) {
  require_exit("exit_in_a_body", 5);
  require_exit("exit_in_a_live_body", 5);
}

BOOST_AUTO_TEST_CASE(quick_exit_may_be_called_in_flight) {
  require_exit("quick_exit", 5);
  require_exit("quick_exit_in_a_thread", 5);
}

BOOST_AUTO_TEST_CASE(an_exception_that_main_catches_ends_the_process_as_main_says, *label("report-57")) {
  require_exit("throws", 3);
}

BOOST_AUTO_TEST_CASE(an_exception_that_nobody_catches_aborts, *label("report-57")) {
  const End end = run("throws_uncaught");
  BOOST_TEST_CONTEXT(end.output) {
    BOOST_TEST(end.in_time);
    BOOST_TEST(WIFSIGNALED(end.status));
    BOOST_TEST(WTERMSIG(end.status) == SIGABRT);
    BOOST_TEST((end.output.find("of main") != std::string::npos));
  }
}

BOOST_AUTO_TEST_CASE(what_a_function_threw_need_not_be_fetched) {
  require_exit("throws_in_a_function", status_of_main);
}

// Captures that are open

BOOST_AUTO_TEST_CASE(a_capture_may_be_open_when_main_returns) { require_exit("open_capture", status_of_main); }

BOOST_AUTO_TEST_CASE(captures_may_be_open_in_statics_and_thread_locals) {
  require_exit("open_captures", status_of_main);
  require_exit("open_live_captures", status_of_main);
}

// Functions and handlers

BOOST_AUTO_TEST_CASE(a_function_that_is_pending_on_the_host_runs_before_the_end) {
  if (is_host()) require_exit("function_pending", status_of_main, "ran\n");
}

BOOST_AUTO_TEST_CASE(the_host_does_not_wait_for_ever_for_a_function) {
  if (is_host()) require_exit("function_that_never_returns", status_of_main);
}

BOOST_AUTO_TEST_CASE(a_function_on_the_host_may_exit) {
  if (is_host()) require_exit("exit_in_a_function", 5);
}

BOOST_AUTO_TEST_CASE(handlers_may_drop_objects) {
  require_exit("handler_before", status_of_main, "handled\n");
  require_exit("handler_after", status_of_main, "handled\n");
}

BOOST_AUTO_TEST_CASE(a_handler_may_use_the_host_device) {
  if (is_host()) require_exit("handler_that_works", status_of_main, "result\nhandled\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
