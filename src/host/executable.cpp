#include "host/backend.hpp"
#include "host/bound_command.hpp"
#include "host/event.hpp"
#include "runtime/host_function.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace refrain::host {

namespace {

/// A flat schedule: the plan's commands in their order, bound to their addresses; a run is a loop over them.
class HostExecutable final : public runtime::Executable, public std::enable_shared_from_this<HostExecutable> {
 public:
  explicit HostExecutable(const runtime::Plan& plan) : keep_alive_(plan.keep_alive) {
    commands_.reserve(plan.commands.size());
    for (const runtime::PlannedCommand& planned : plan.commands) {
      const runtime::Payload& payload = planned.command->payload;
      if (const auto* wait = std::get_if<runtime::EventWaitCommand>(&payload)) waits_.push_back(wait->native);
      if (const auto* record = std::get_if<runtime::EventRecordCommand>(&payload)) {
        records_.push_back({commands_.size(), record->native});
      }
      commands_.emplace_back(*planned.command, planned.addresses.data());
    }
  }

  ~HostExecutable() override {
    if (!in_task()) return;  // else what the last run kept alive goes later
    using Rest = std::pair<std::vector<BoundCommand>, std::shared_ptr<const void>>;
    runtime::retire(std::make_shared<Rest>(std::move(commands_), std::move(keep_alive_)));
  }

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override {
    for (const auto& event : waits_) event->wait(stream);
    if (draws.size() <= 1 && records_.empty()) {
      const runtime::GeneratorPosition from = draws.empty() ? runtime::GeneratorPosition{} : draws.front();
      enqueue(stream, [self = shared_from_this(), from](HostStream&) {
        self->run(0, self->commands_.size(), {&from, 1});
        return true;
      });
      return;
    }
    std::vector<std::shared_ptr<HostEvent::Record>> reached;
    for (const EventRecord& record : records_) {
      reached.push_back(static_cast<HostEvent&>(*record.native).record_in_next(stream));
    }
    enqueue(stream, [self = shared_from_this(), from = std::vector(draws.begin(), draws.end()),
                     reached = std::move(reached)](HostStream&) {
      std::size_t done = 0;
      for (std::size_t i = 0; i < reached.size(); ++i) {
        self->run(done, self->records_[i].command, from);
        done = self->records_[i].command;
        reached[i]->reach();
      }
      self->run(done, self->commands_.size(), from);
      return true;
    });
  }

  bool events_cover_runs() const noexcept override { return true; }

 private:
  struct EventRecord {
    std::size_t command;  ///< its place in the schedule
    std::shared_ptr<runtime::BackendEvent> native;
  };

  void run(std::size_t first, std::size_t last, std::span<const runtime::GeneratorPosition> draws) const {
    for (std::size_t i = first; i < last; ++i) commands_[i](draws);
  }

  std::shared_ptr<const void> keep_alive_;
  std::vector<BoundCommand> commands_;
  std::vector<std::shared_ptr<runtime::BackendEvent>> waits_;
  std::vector<EventRecord> records_;
};

}  // namespace

std::shared_ptr<runtime::Executable> lower_to_host(const runtime::Plan& plan) {
  return std::make_shared<HostExecutable>(plan);
}

}  // namespace refrain::host
