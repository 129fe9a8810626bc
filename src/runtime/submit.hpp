#pragma once

#include "runtime/command.hpp"
#include "runtime/generator.hpp"
#include "runtime/order.hpp"

namespace refrain::runtime {

class Buffer;
class StreamCore;

/// @throws Error(Errc::illegal_state) when a buffer has no block, as when another thread ended its capture just now
void require_blocks(const StreamCore& stream, const Command& command);

/// @throws Error(Errc::not_permitted) when the buffer's memory may not be written
void refuse_write(const Buffer& buffer, const char* call, SourceLocation where);

/// The same for all that the command writes.
void refuse_writes(const Command& command);

/// Waits on the host for what such a command must come after and its stream cannot wait for. With the order lock held,
/// which is given up while waiting.
void settle_before(OrderLock& lock, StreamCore& stream, std::span<const Access> accesses);

/// The one path: runs the command on the stream in issue order, or hands it to the capture that records the stream.
/// Returns whether it was run.
/// @throws Error: what the capture rules or the backend refuse
bool submit(StreamCore& stream, const Command& command);

/// Throws what `submit` would throw for an order that is missing (`Hazards::error`, strict captures). What an op asks
/// before it makes arrays or issues the first of several commands, so that a refused op has done nothing.
void check_order(StreamCore& stream, const Command& command);
/// Whether `check_order` can throw at all.
bool may_refuse_order(const StreamCore& stream) noexcept;

/// The same for a draw: reserves its generator's numbers in issue order and fills in seed and offset.
void submit_draw(StreamCore& stream, Command& command);

}  // namespace refrain::runtime
