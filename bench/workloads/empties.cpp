// Commands that do nothing, in two shapes: what a node and an edge cost.

#include "workload.hpp"

#include <refrain/bench.hpp>
#include <refrain/event.hpp>
#include <refrain/stream.hpp>

#include <cstddef>

namespace refrain::bench {
namespace {

constexpr int branch_length = 32;

Workload empty_chain(int length) {
  const auto prepare = [length]() -> Step {
    return [length, stream = current_stream()]() -> std::vector<Array> {
      for (int i = 0; i < length; ++i) empty(stream);
      return {};
    };
  };
  const std::string count = std::to_string(length);
  return {"empty_chain_" + count, "a chain of " + count + " empty commands on one stream", length, length - 1, prepare};
}

/// One command, a fork by one event to branches of 32, a join by one event each, one command.
Workload fork_join_empty(int branches) {
  const auto prepare = [branches]() -> Step {
    std::vector<Stream> streams;
    streams.reserve(static_cast<std::size_t>(branches));
    for (int b = 0; b < branches; ++b) streams.emplace_back();
    std::vector<Event> joins(streams.size());
    return [stream = current_stream(), streams, fork = Event(), joins]() mutable -> std::vector<Array> {
      empty(stream);
      fork.record(stream);
      for (std::size_t b = 0; b < streams.size(); ++b) {
        streams[b].wait_event(fork);
        for (int i = 0; i < branch_length; ++i) empty(streams[b]);
        joins[b].record(streams[b]);
      }
      for (const Event& join : joins) stream.wait_event(join);
      empty(stream);
      return {};
    };
  };
  const std::string count = std::to_string(branches);
  return {"fork_join_empty_" + count, count + " streams of 32 empty commands between two on the main stream",
          branch_length * branches + 2, (branch_length + 1) * branches, prepare};
}

}  // namespace

std::vector<Workload> empty_workloads() {
  return {empty_chain(1),     empty_chain(100),   empty_chain(1000),
          fork_join_empty(2), fork_join_empty(8), fork_join_empty(32)};
}

}  // namespace refrain::bench
