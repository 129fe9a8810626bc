#include "host/backend.hpp"
#include "host/bound_command.hpp"

#include <array>
#include <memory>
#include <vector>

namespace refrain::host {

namespace {

/// A flat schedule: the plan's commands in their order, bound to their addresses; a run is a loop over them.
class HostExecutable final : public runtime::Executable, public std::enable_shared_from_this<HostExecutable> {
 public:
  explicit HostExecutable(const runtime::Plan& plan) : keep_alive_(plan.keep_alive), edges_(0) {
    commands_.reserve(plan.commands.size());
    for (const runtime::PlannedCommand& planned : plan.commands) {
      const Device device = plan.lanes[static_cast<std::size_t>(planned.lane)].device;
      commands_.emplace_back(*planned.command, planned.addresses.data(), device.index);
      edges_ += static_cast<int>(planned.dependencies.size());
    }
  }

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override {
    if (draws.size() <= 1) {
      const runtime::GeneratorPosition from = draws.empty() ? runtime::GeneratorPosition{} : draws.front();
      enqueue(stream, [self = shared_from_this(), from](HostStream&) {
        self->run({&from, 1});
        return true;
      });
    } else {
      enqueue(stream, [self = shared_from_this(), from = std::vector(draws.begin(), draws.end())](HostStream&) {
        self->run(from);
        return true;
      });
    }
  }

  int node_count() const noexcept override { return static_cast<int>(commands_.size()); }
  int edge_count() const noexcept override { return edges_; }

 private:
  void run(std::span<const runtime::GeneratorPosition> draws) const {
    for (const BoundCommand& command : commands_) command(draws);
  }

  std::shared_ptr<const void> keep_alive_;
  std::vector<BoundCommand> commands_;
  int edges_;
};

}  // namespace

std::shared_ptr<runtime::Executable> lower_to_host(const runtime::Plan& plan) {
  return std::make_shared<HostExecutable>(plan);
}

}  // namespace refrain::host
