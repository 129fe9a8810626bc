#pragma once

#include "runtime/command.hpp"
#include "runtime/plan.hpp"

#include <span>
#include <vector>

namespace refrain::host {

/// A command with its addresses filled in, ready to run on any thread.
class BoundCommand {
 public:
  BoundCommand(const runtime::Command& command, void* const* addresses);

  /// `draws`: a replay's generator positions by ordinal; empty for eager work, whose draws know their own.
  void operator()(std::span<const runtime::GeneratorPosition> draws = {}) const { run_(*this, draws); }

 private:
  using Run = void (*)(const BoundCommand&, std::span<const runtime::GeneratorPosition>);

  Run run_;
  runtime::Payload payload_;
  void* target_ = nullptr;
  std::vector<void*> addresses_;  ///< for functions of the user's
  int ordinal_;                   ///< the host device that a draw of a graph takes its numbers from

  friend struct Binder;
};

}  // namespace refrain::host
