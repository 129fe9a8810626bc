#include "graph/stepwise.hpp"

#include "runtime/debugging.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <iterator>
#include <mutex>
#include <utility>

namespace refrain::graph {

namespace {

using runtime::GeneratorPosition;
using runtime::StreamCore;

class Stepwise final : public runtime::Executable {
 public:
  explicit Stepwise(runtime::Plan plan) : plan_(std::move(plan)) {}

  void launch(StreamCore& stream, std::span<const GeneratorPosition> draws) override {
    for (const runtime::PlannedCommand& planned : plan_.commands) {
      const Device device = planned.command->device;
      StreamCore& on = device == stream.device ? stream : runtime::service_stream(device);
      if (&on != &stream) on.backend().wait(on, stream, stream.position);
      step(on, planned, draws);
      if (&on != &stream) stream.backend().wait(stream, on, on.position);
    }
  }

 private:
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
    if (auto* draw = std::get_if<runtime::RandomCommand>(&command.payload); draw != nullptr && !draw->absolute) {
      const GeneratorPosition& from = draws[static_cast<std::size_t>(command.device.index)];
      draw->args.seed = from.seed;
      draw->args.offset += from.offset;
    } else if (auto* upload = std::get_if<runtime::UploadCommand>(&command.payload)) {
      upload->bytes = *upload->owned;
    }
  }

  runtime::Plan plan_;
};

}  // namespace

std::shared_ptr<runtime::Executable> make_stepwise(runtime::Plan plan) {
  return std::make_shared<Stepwise>(std::move(plan));
}

}  // namespace refrain::graph
