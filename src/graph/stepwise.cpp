#include "graph/stepwise.hpp"

#include "jit/expression.hpp"
#include "runtime/debugging.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace refrain::graph {

namespace {

using runtime::GeneratorPosition;
using runtime::StreamCore;

class Stepwise final : public runtime::Executable {
 public:
  explicit Stepwise(runtime::Plan plan) : plan_(std::move(plan)), is_enabled_(plan_.commands.size(), true) {}

  void launch(StreamCore& stream, std::span<const GeneratorPosition> draws) override {
    for (std::size_t i = 0; i < plan_.commands.size(); ++i) {
      if (!is_enabled_[i]) continue;
      const runtime::PlannedCommand& planned = plan_.commands[i];
      const Device device = planned.command->device;
      StreamCore& on = device == stream.device ? stream : runtime::service_stream(device);
      if (&on != &stream) on.backend().wait(on, stream, stream.position);
      step(on, planned, draws);
      if (&on != &stream) stream.backend().wait(stream, on, on.position);
    }
  }

  void change(std::size_t command, const runtime::PlannedCommand& planned) override {
    plan_.commands[command] = planned;
  }
  void enable(std::size_t command, bool is_enabled) override { is_enabled_[command] = is_enabled; }
  std::string update(const std::shared_ptr<runtime::PreparedUpdate>& prepared) override {
    std::swap(plan_, static_cast<Prepared&>(*prepared).plan);
    is_enabled_.assign(plan_.commands.size(), true);
    return {};
  }
  std::shared_ptr<runtime::PreparedUpdate> prepare_update(const runtime::Plan& plan) const override {
    return std::make_shared<Prepared>(plan);
  }

 private:
  struct Prepared final : runtime::PreparedUpdate {
    explicit Prepared(runtime::Plan of) : plan(std::move(of)) {}
    runtime::Plan plan;
  };

  static void step(StreamCore& stream, const runtime::PlannedCommand& planned,
                   std::span<const GeneratorPosition> draws) {
    runtime::Command command = *planned.command;
    runtime::note_submission(stream.device, command.label, command.where);
    if (const auto* record = std::get_if<runtime::EventRecordCommand>(&command.payload)) {
      record->native->record(stream);
    } else if (const auto* wait = std::get_if<runtime::EventWaitCommand>(&command.payload)) {
      wait->native->wait(stream);
    } else {
      as_eager(command, draws);
      const auto* upload = std::get_if<runtime::UploadCommand>(&command.payload);
      // The host would wait for the stream in it.
      if (upload != nullptr && std::ssize(upload->bytes) > runtime::small_upload) wait_without_lock(stream);
      stream.backend().run(stream, command, planned.addresses.data());
    }
    if (runtime::synchronises_each()) wait_without_lock(stream);
  }

  /// Functions of the user's may need the lock before the stream is done. Other threads may issue meanwhile, which is
  /// the price of this way to run.
  static void wait_without_lock(StreamCore& stream) {
    runtime::OrderLock lock(runtime::order_mutex(), std::adopt_lock);
    lock.unlock();
    try {
      stream.backend().synchronize(stream, stream.position);
    } catch (...) {
      lock.lock();
      lock.release();
      throw;
    }
    lock.lock();
    lock.release();
  }

  /// What a graph's command leaves to its executable, as an eager one has it.
  static void as_eager(runtime::Command& command, std::span<const GeneratorPosition> draws) {
    const auto place = [&](runtime::RandomCommand& random) {
      if (random.absolute) return;
      const GeneratorPosition& from = draws[static_cast<std::size_t>(random.number)];
      random.args.seed = from.seed;
      random.args.offset += from.offset;
    };
    if (auto* draw = std::get_if<runtime::RandomCommand>(&command.payload)) {
      place(*draw);
    } else if (auto* fused = std::get_if<runtime::FusedCommand>(&command.payload)) {
      for (runtime::RandomCommand& each : fused->draws) place(each);
      auto expression = std::make_shared<jit::Expression>(*fused->expression);
      for (jit::Draw& each : expression->draws) {
        each.is_counted = false;
        each.same_as = -1;
      }
      fused->expression = std::move(expression);
    } else if (auto* upload = std::get_if<runtime::UploadCommand>(&command.payload)) {
      upload->bytes = *upload->owned;
    }
  }

  runtime::Plan plan_;
  std::vector<bool> is_enabled_;
};

}  // namespace

std::shared_ptr<runtime::Executable> make_stepwise(runtime::Plan plan) {
  return std::make_shared<Stepwise>(std::move(plan));
}

}  // namespace refrain::graph
