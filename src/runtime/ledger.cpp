#include "runtime/ledger.hpp"

#include "runtime/environment.hpp"
#include "runtime/host_function.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/error.hpp>
#include <refrain/memory.hpp>

#include <algorithm>
#include <array>

namespace refrain {

namespace {

/// Guarded by the order lock.
MemoryStats& ledger(Device device) {
  static auto& all = *new std::array<std::array<MemoryStats, runtime::most_devices>, 2>{};
  return all[static_cast<std::size_t>(device.kind)][static_cast<std::size_t>(device.index)];
}

}  // namespace

MemoryStats memory_stats(Device device, SourceLocation where) {
  runtime::refuse_in_callback("memory_stats", where);
  runtime::require_device(device, "memory_stats", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  MemoryStats stats = ledger(device);
  stats.reserved = runtime::backend(device.kind).pool_stats(device.index).reserved;
  return stats;
}

void reset_peak_memory(Device device, SourceLocation where) {
  runtime::require_device(device, "reset_peak_memory", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  ledger(device).peak = ledger(device).live;
}

void trim(Device device, std::int64_t keep_bytes, SourceLocation where) {
  runtime::refuse_in_callback("trim", where);
  runtime::require_device(device, "trim", where);
  if (keep_bytes < 0) {
    throw Error(Errc::invalid_value, "trim", device.str(),
                "cannot keep " + std::to_string(keep_bytes) + " bytes; give 0 or more", where);
  }
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::backend(device.kind).trim(device.index, keep_bytes);
}

void set_memory_limit(Device device, std::int64_t bytes, SourceLocation where) {
  runtime::require_device(device, "set_memory_limit", where);
  if (bytes < 0) {
    throw Error(Errc::invalid_value, "set_memory_limit", device.str(),
                "the limit cannot be " + std::to_string(bytes) + " bytes; give 0 for none", where);
  }
  const runtime::OrderLock lock(runtime::order_mutex());
  ledger(device).limit = bytes;
}

void set_memory_pool(Device device, cudaMemPool_t pool, SourceLocation where) {
  runtime::refuse_in_callback("set_memory_pool", where);
  runtime::require_device(device, "set_memory_pool", where);
  if (device.kind == DeviceKind::host) {
    throw Error(Errc::not_supported, "set_memory_pool", device.str(),
                "a host device has no CUDA memory pool; set_memory_limit and trim work on it", where);
  }
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::backend(device.kind).set_pool(device.index, pool);
}

namespace runtime {

namespace {

/// Counts the bytes that `allocate` gives, within the limit.
template <class Allocate>
void* take_counted(Device device, std::int64_t bytes, SourceLocation where, Allocate allocate) {
  MemoryStats& stats = ledger(device);
  if (stats.limit != 0 && bytes > stats.limit - stats.live) {
    throw Error(Errc::out_of_memory, "allocate", device.str(),
                std::to_string(bytes) + " bytes would take the " + std::to_string(stats.live) +
                    " live ones over the limit of " + std::to_string(stats.limit) +
                    "; drop arrays or graphs, or raise set_memory_limit",
                where);
  }
  void* address = nullptr;
  try {
    address = allocate();
  } catch (const Error& error) {
    if (error.code() != Errc::out_of_memory) throw;
    throw Error(Errc::out_of_memory, "allocate", device.str(),
                std::to_string(bytes) + " bytes are not to be had beside the " + std::to_string(stats.live) +
                    " live ones; drop arrays or graphs, or synchronize the device so that dropped ones can be reused",
                where);
  }
  stats.live += bytes;
  stats.peak = std::max(stats.peak, stats.live);
  ++stats.allocations;
  return address;
}

}  // namespace

void* take_memory(StreamCore& stream, std::int64_t bytes, SourceLocation where) {
  return take_counted(stream.device, bytes, where, [&] { return stream.backend().allocate(stream, bytes); });
}

void* take_pinned(Device device, Backend& by, std::int64_t bytes, SourceLocation where) {
  return take_counted(device, bytes, where, [&] { return by.take_staging(bytes); });
}

void give_pinned(Device device, Backend& by, void* address, std::int64_t bytes,
                 const std::shared_ptr<StreamCore>& until) {
  {
    const OrderLock lock(order_mutex());
    ledger(device).live -= bytes;
  }
  by.give_staging(address, until != nullptr ? *until : service_stream({by.kind(), 0}), until != nullptr ? 1 : 0);
}

void give_memory(Device device, void* address, std::int64_t bytes, std::span<const StreamPoint> users) noexcept {
  ledger(device).live -= bytes;
  backend(device.kind).free(device.index, address, bytes, users);
}

}  // namespace runtime
}  // namespace refrain
