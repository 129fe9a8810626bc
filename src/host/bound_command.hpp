#pragma once

#include "kernels/split.hpp"
#include "runtime/command.hpp"
#include "runtime/plan.hpp"

#include <memory>
#include <span>
#include <vector>

namespace refrain::jit {
class HostEngine;
}  // namespace refrain::jit

namespace refrain::host {

/// A command with its addresses filled in, ready to run on any thread.
class BoundCommand {
 public:
  /// `before`: what it takes the place of, whose preparations serve again where they can.
  BoundCommand(const runtime::Command& command, void* const* addresses, const BoundCommand* before = nullptr);

  /// Takes other addresses, if they are all that the command keeps of them.
  bool move(void* const* addresses) {
    if (!std::holds_alternative<runtime::FusedCommand>(payload_)) return false;
    addresses_.assign(addresses, addresses + addresses_.size());
    return true;
  }

  bool is_enabled() const noexcept { return is_enabled_; }
  void enable(bool is_enabled) noexcept { is_enabled_ = is_enabled; }

  /// `draws`: a replay's positions by the program's generators; empty for eager work, whose draws know their own.
  void operator()(std::span<const runtime::GeneratorPosition> draws = {}) const {
    if (is_enabled_) run_(*this, draws);
  }

 private:
  using Run = void (*)(const BoundCommand&, std::span<const runtime::GeneratorPosition>);

  Run run_;
  runtime::Payload payload_;
  void* target_ = nullptr;
  kernels::Split split_;
  std::shared_ptr<const jit::HostEngine> engine_;  ///< of fused commands
  std::shared_ptr<const jit::HostEngine> last_engine_;
  std::vector<void*> addresses_;  ///< for functions of the user's, and products
  bool is_enabled_ = true;

  friend struct Binder;
};

}  // namespace refrain::host
