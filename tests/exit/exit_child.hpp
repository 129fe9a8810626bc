#pragma once

#include <refrain/refrain.hpp>

#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

/// What the scenarios share.
namespace exit_child {

namespace rf = refrain;

constexpr int status_of_main = 7;  ///< what main returns in a scenario that lets it
constexpr std::int64_t size = 1 << 16;

/// One of everything, with some milliseconds of replays in flight when it is made. The output is 52.
struct Everything {
  rf::Array input = rf::full({size}, 1);
  rf::Array output;
  rf::Stream stream;
  rf::Event event;
  rf::Graph graph;
  rf::GraphExec exec;

  Everything();
};

/// A static made before Refrain is used for the first time, unless the scenario is that it is used here.
struct Early {
  std::optional<Everything> everything;
  Early();
};
extern Early early;

extern thread_local std::optional<Everything> of_thread;
extern Everything* leaked;

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

void say(const char* text);

/// Blocks for good, for a thread that another one takes the process from.
[[noreturn]] void block();

/// What main does, by the name of the scenario; its result is main's.
using Scenarios = std::map<std::string, std::function<int()>>;

void add_returns(Scenarios& to);   ///< main returns
void add_exits(Scenarios& to);     ///< somebody calls exit or throws
void add_captures(Scenarios& to);  ///< with an open capture
void add_calls(Scenarios& to);     ///< with functions pending and handlers to be called

}  // namespace exit_child
