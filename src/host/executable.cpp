#include "host/backend.hpp"
#include "host/bound_command.hpp"
#include "host/event.hpp"
#include "runtime/host_function.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace refrain::host {

namespace {

/// The plan's commands in their order, bound to their addresses; a run is a loop over them. Runs under way hold it.
struct Schedule {
  struct EventRecord {
    std::size_t command;  ///< its place in the schedule
    std::shared_ptr<runtime::BackendEvent> native;
  };

  explicit Schedule(const runtime::Plan& plan) : keep_alive(plan.keep_alive) {
    commands.reserve(plan.commands.size());
    for (const runtime::PlannedCommand& planned : plan.commands) {
      const runtime::Payload& payload = planned.command->payload;
      if (const auto* wait = std::get_if<runtime::EventWaitCommand>(&payload)) waits.push_back(wait->native);
      if (const auto* record = std::get_if<runtime::EventRecordCommand>(&payload)) {
        records.push_back({commands.size(), record->native});
      }
      commands.emplace_back(*planned.command, planned.addresses.data());
    }
  }
  Schedule(const Schedule& other)
      : keep_alive(other.keep_alive), commands(other.commands), waits(other.waits), records(other.records) {}
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() {
    if (!in_task()) return;  // else what the last run kept alive goes later
    using Rest = std::pair<std::vector<BoundCommand>, std::shared_ptr<const void>>;
    runtime::retire(std::make_shared<Rest>(std::move(commands), std::move(keep_alive)));
  }

  void run(std::size_t first, std::size_t last, std::span<const runtime::GeneratorPosition> draws) const {
    for (std::size_t i = first; i < last; ++i) commands[i](draws);
  }

  std::shared_ptr<const void> keep_alive;
  std::vector<BoundCommand> commands;
  std::vector<std::shared_ptr<runtime::BackendEvent>> waits;
  std::vector<EventRecord> records;
  std::atomic<int> runs{0};  ///< under way
};

/// A run that is under way until it is destroyed.
class ScheduledRun {
 public:
  explicit ScheduledRun(std::shared_ptr<Schedule> schedule) : schedule_(std::move(schedule)) { ++schedule_->runs; }
  ScheduledRun(ScheduledRun&&) = default;
  ScheduledRun& operator=(ScheduledRun&&) = delete;
  ~ScheduledRun() {
    if (schedule_ != nullptr) schedule_->runs.fetch_sub(1, std::memory_order_release);
  }
  const Schedule* operator->() const noexcept { return schedule_.get(); }

 private:
  std::shared_ptr<Schedule> schedule_;
};

class HostExecutable final : public runtime::Executable {
 public:
  explicit HostExecutable(const runtime::Plan& plan) : schedule_(std::make_shared<Schedule>(plan)) {}

  void launch(runtime::StreamCore& stream, std::span<const runtime::GeneratorPosition> draws) override {
    for (const auto& event : schedule_->waits) event->wait(stream);
    ScheduledRun run(schedule_);
    if (draws.size() <= 1 && schedule_->records.empty()) {
      const runtime::GeneratorPosition from = draws.empty() ? runtime::GeneratorPosition{} : draws.front();
      enqueue(stream, [run = std::move(run), from](HostStream&) {
        run->run(0, run->commands.size(), {&from, 1});
        return true;
      });
      return;
    }
    std::vector<std::shared_ptr<HostEvent::Record>> reached;
    for (const Schedule::EventRecord& record : schedule_->records) {
      reached.push_back(static_cast<HostEvent&>(*record.native).record_in_next(stream));
    }
    enqueue(stream, [run = std::move(run), from = std::vector(draws.begin(), draws.end()),
                     reached = std::move(reached)](HostStream&) {
      std::size_t done = 0;
      for (std::size_t i = 0; i < reached.size(); ++i) {
        run->run(done, run->records[i].command, from);
        done = run->records[i].command;
        reached[i]->reach();
      }
      run->run(done, run->commands.size(), from);
      return true;
    });
  }

  void change(std::size_t command, const runtime::PlannedCommand& planned) override {
    BoundCommand& changed = own().commands[command];
    const bool is_enabled = changed.is_enabled();
    changed = BoundCommand(*planned.command, planned.addresses.data(), &changed);
    changed.enable(is_enabled);
  }

  void move(std::size_t command, const runtime::PlannedCommand& planned) override {
    if (!own().commands[command].move(planned.addresses.data())) change(command, planned);
  }

  void enable(std::size_t command, bool is_enabled) override { own().commands[command].enable(is_enabled); }

  std::string update(const std::shared_ptr<runtime::PreparedUpdate>& prepared) override {
    std::swap(schedule_, static_cast<Prepared&>(*prepared).schedule);
    return {};
  }
  std::shared_ptr<runtime::PreparedUpdate> prepare_update(const runtime::Plan& plan) const override {
    return std::make_shared<Prepared>(plan);
  }

  bool events_cover_runs() const noexcept override { return true; }

 private:
  struct Prepared final : runtime::PreparedUpdate {
    explicit Prepared(const runtime::Plan& plan) : schedule(std::make_shared<Schedule>(plan)) {}
    std::shared_ptr<Schedule> schedule;
  };

  /// The schedule to write to: a copy while a run reads it.
  Schedule& own() {
    if (schedule_->runs.load(std::memory_order_acquire) > 0) schedule_ = std::make_shared<Schedule>(*schedule_);
    return *schedule_;
  }

  std::shared_ptr<Schedule> schedule_;
};

}  // namespace

std::shared_ptr<runtime::Executable> lower_to_host(const runtime::Plan& plan) {
  return std::make_shared<HostExecutable>(plan);
}

}  // namespace refrain::host
