#include <refrain/generator.hpp>

#include "runtime/environment.hpp"
#include "runtime/generator.hpp"
#include "runtime/order.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_core.hpp"

#include <string>

namespace refrain {

using runtime::CapturedState;
using runtime::OrderLock;

namespace {

/// Calls `record` with the recorder of what this thread issues on the device, or else `change`, with the order lock
/// held.
template <class Record, class Change>
auto recorded_or_done(Device device, const char* call, SourceLocation where, Record record, Change change) {
  runtime::StreamCore& stream = runtime::thread_stream(device);
  runtime::notice_capture(stream, call, where);
  const OrderLock lock(runtime::order_mutex());
  runtime::Recorder* const recorder = runtime::recorder_of(stream);
  return recorder != nullptr ? record(*recorder) : change();
}

}  // namespace

void manual_seed(std::uint64_t seed, SourceLocation where) {
  recorded_or_done(
      current_device(), "manual_seed", where, [&](runtime::Recorder& recorder) { recorder.manual_seed(seed, where); },
      [&] { runtime::seed_generators(seed); });
}

GeneratorState generator_state(Device device, SourceLocation where) {
  runtime::require_device(device, "generator_state", where);
  const OrderLock lock(runtime::order_mutex());
  const runtime::GeneratorPosition& at = runtime::default_generator_core(device)->at;
  return {at.seed, at.offset};
}

Generator default_generator(Device device, SourceLocation where) {
  runtime::require_device(device, "default_generator", where);
  return Generator(runtime::default_generator_core(device));
}

Generator::Generator(std::uint64_t seed, std::optional<Device> device, SourceLocation where) {
  const Device on = device.value_or(current_device());
  runtime::require_device(on, "Generator", where);
  core_ = std::make_shared<runtime::GeneratorCore>(on, seed);
}

Device Generator::device() const noexcept { return core_->device; }

std::uint64_t Generator::seed() const {
  const OrderLock lock(runtime::order_mutex());
  return core_->at.seed;
}

void Generator::manual_seed(std::uint64_t seed, SourceLocation where) const {
  recorded_or_done(
      device(), "manual_seed", where, [&](runtime::Recorder& recorder) { recorder.manual_seed(*core_, seed, where); },
      [&] {
        core_->at = {seed, 0};
      });
}

Generator::State Generator::get_state(SourceLocation where) const {
  runtime::run_recorded("get_state", where);
  return recorded_or_done(
      device(), "get_state", where,
      [&](runtime::Recorder& recorder) {
        return State(std::make_shared<const CapturedState>(recorder.state_of(*core_, where)));
      },
      [&] {
        return State(GeneratorState{core_->at.seed, core_->at.offset});
      });
}

void Generator::set_state(const State& state, SourceLocation where) const {
  runtime::run_recorded("set_state", where);
  recorded_or_done(
      device(), "set_state", where,
      [&](runtime::Recorder& recorder) { recorder.set_state(*core_, state.captured_.get(), where); },
      [&] {
        const GeneratorState to = state.position_for("set_state", where);
        if (to.offset % 4 != 0) {
          throw Error(Errc::invalid_value, "set_state", "offset " + std::to_string(to.offset),
                      "is no multiple of 4, as all offsets are; give what get_state gave", where);
        }
        core_->at = {to.seed, to.offset};
      });
}

GeneratorState Generator::State::position(SourceLocation where) const { return position_for("position", where); }

GeneratorState Generator::State::position_for(const char* call, SourceLocation where) const {
  if (captured_ != nullptr) {
    throw Error(Errc::illegal_state, call, "a state of graph " + std::to_string(captured_->capture),
                "was taken in its capture, where seed and offset differ from replay to replay; take it outside", where);
  }
  return position_;
}

}  // namespace refrain
