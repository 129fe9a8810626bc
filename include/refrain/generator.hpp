#pragma once

#include <refrain/random.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace refrain {

namespace runtime {
class GeneratorCore;
struct CapturedState;
}  // namespace runtime

/// A sequence of random numbers on one device: Philox4x32-10, laid out as PyTorch's CUDA generator. A handle: copies
/// name the same sequence, and graphs that draw from it keep it. Draws take their numbers in the order of the calls;
/// replays go on with the sequence as eager calls would. Thread-safe.
class Generator {
 public:
  class State;

  /// A sequence of its own, at (seed, offset 0). Unset: on the current device.
  /// @throws Error(Errc::wrong_device) when there is no such device
  explicit Generator(std::uint64_t seed, std::optional<Device> device = std::nullopt,
                     SourceLocation where = SourceLocation::current());

  Device device() const noexcept;
  /// The seed that its next eager draw would have.
  std::uint64_t seed() const;

  /// Restarts the sequence at (seed, offset 0).
  /// @throws Error(Errc::capture_unsupported) while recording, unless it is the present seed; then draws after it start
  ///         at offset 0 in every replay, as they would in every eager call
  void manual_seed(std::uint64_t seed, SourceLocation where = SourceLocation::current()) const;

  /// Where the sequence stands. While recording: where it will stand at this point of each replay.
  State get_state(SourceLocation where = SourceLocation::current()) const;
  /// Goes on from there. A state that was taken outside of captures may be another generator's and has seed and offset
  /// of that.
  /// @throws Error(Errc::invalid_value) when the offset is no multiple of 4; capture_unsupported while recording,
  ///         unless the state was taken of this generator in the same capture; illegal_state, outside of captures, when
  ///         it was taken in one
  void set_state(const State& state, SourceLocation where = SourceLocation::current()) const;

  const std::shared_ptr<runtime::GeneratorCore>& core() const noexcept { return core_; }

 private:
  explicit Generator(std::shared_ptr<runtime::GeneratorCore> core) noexcept : core_(std::move(core)) {}
  friend Generator default_generator(Device device, SourceLocation where);

  std::shared_ptr<runtime::GeneratorCore> core_;
};

/// Where a generator stands.
class Generator::State {
 public:
  State(GeneratorState position) noexcept : position_(position) {}  // NOLINT(google-explicit-constructor)

  /// Seed and offset, which can be written down: a State can be made of them again.
  /// @throws Error(Errc::illegal_state) when it was taken in a capture, where they differ from replay to replay
  GeneratorState position(SourceLocation where = SourceLocation::current()) const;

 private:
  explicit State(std::shared_ptr<const runtime::CapturedState> captured) noexcept : captured_(std::move(captured)) {}
  friend class Generator;
  GeneratorState position_for(const char* call, SourceLocation where) const;

  GeneratorState position_;
  std::shared_ptr<const runtime::CapturedState> captured_;  ///< null: taken outside of captures
};

/// What draws without a generator of their own take their numbers from, and `manual_seed` restarts on all devices.
/// @throws Error(Errc::wrong_device) when there is no such device
Generator default_generator(Device device, SourceLocation where = SourceLocation::current());

// The draws of random.hpp from a generator, on its device.
// All throw Error(Errc::wrong_device) when the options name another device.

Array randn(Shape shape, const Generator& generator, ArrayOptions options = {},
            SourceLocation where = SourceLocation::current());
Array rand(Shape shape, const Generator& generator, ArrayOptions options = {},
           SourceLocation where = SourceLocation::current());
Array randint(std::int64_t low, std::int64_t high, Shape shape, const Generator& generator, ArrayOptions options = {},
              SourceLocation where = SourceLocation::current());

}  // namespace refrain
