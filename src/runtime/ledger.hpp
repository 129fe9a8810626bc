#pragma once

#include "runtime/clock.hpp"

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>
#include <memory>
#include <span>

namespace refrain::runtime {

class Backend;
class StreamCore;

/// Memory from the stream's device, counted and held against the limit. With the order lock held.
/// @throws Error(Errc::out_of_memory) naming sizes and remedy
void* take_memory(StreamCore& stream, std::int64_t bytes, SourceLocation where);
/// Page-locked memory of the host device that another backend's copies reach without the host's waiting. With the order
/// lock held.
/// @throws Error(Errc::out_of_memory)
void* take_pinned(Device device, Backend& by, std::int64_t bytes, SourceLocation where);
/// Gives it back, when all that used it is done or, with a stream of that backend, what was issued there so far.
/// Without the order lock.
void give_pinned(Device device, Backend& by, void* address, std::int64_t bytes,
                 const std::shared_ptr<StreamCore>& until);
/// Gives it back once all users have reached their points. With the order lock held.
void give_memory(Device device, void* address, std::int64_t bytes, std::span<const StreamPoint> users) noexcept;

}  // namespace refrain::runtime
