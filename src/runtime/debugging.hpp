#pragma once

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <string>

// What finds the command that lost a device: which were submitted last, and two ways to run that name it.

namespace refrain::runtime {

/// REFRAIN_SYNC=1: the host waits for every command and replay before the call that issued it returns.
/// @throws Error(Errc::invalid_value) when the variable is neither 0 nor 1
bool synchronises_each();

/// REFRAIN_EXECUTION=eager: a replay runs its commands one by one, as eager work.
/// @throws Error(Errc::invalid_value) when the variable is neither eager nor graph
bool replays_eagerly();

/// A command, or with `graph` a replay of the graph of that number, was handed to the device. With the order lock held.
void note_submission(Device device, const char* label, SourceLocation where, std::uint64_t graph = 0) noexcept;

/// The newest submissions to devices of the kind, at most so many, the newest first, as text. From any thread, without
/// a lock.
std::string last_submissions(DeviceKind kind, int most = 4);

}  // namespace refrain::runtime
