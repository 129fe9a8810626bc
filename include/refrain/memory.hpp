#pragma once

#include <refrain/device.hpp>
#include <refrain/native.hpp>
#include <refrain/source_location.hpp>

#include <cstdint>

namespace refrain {

/// Bytes that Refrain holds on a device. `limit` 0 means none.
struct MemoryStats {
  std::int64_t live = 0;      ///< in arrays and graphs, a free that its stream has not reached counted as done
  std::int64_t peak = 0;      ///< the largest `live` since the start or `reset_peak_memory`
  std::int64_t reserved = 0;  ///< held by the pool: live, plus what `trim` would give back
  std::int64_t limit = 0;
  std::int64_t allocations = 0;  ///< allocations since the start
};

MemoryStats memory_stats(Device device, SourceLocation where = SourceLocation::current());
void reset_peak_memory(Device device, SourceLocation where = SourceLocation::current());

/// Gives unused memory of the pool back to the system, keeping at least `keep_bytes` reserved.
void trim(Device device, std::int64_t keep_bytes = 0, SourceLocation where = SourceLocation::current());

/// Refuses allocations that would take `live` over `bytes`, with Errc::out_of_memory. 0 takes the limit away.
/// @throws Error(Errc::invalid_value) when negative
void set_memory_limit(Device device, std::int64_t bytes, SourceLocation where = SourceLocation::current());

/// Lets arrays made from now on come from the user's pool, which must outlive them. Null: Refrain's own again.
/// @throws Error(Errc::not_supported) on a host device
void set_memory_pool(Device device, cudaMemPool_t pool, SourceLocation where = SourceLocation::current());

/// Missing waits between commands that touch the same memory: what happens when one is found.
enum class Hazards : std::uint8_t {
  add,    ///< the order is added and reported
  error,  ///< the second command throws Errc::illegal_state, naming both
  ignore  ///< the order is added without a report
};

/// One setting for eager work and captures of the whole process; `add` at first.
void set_hazards(Hazards mode);
Hazards hazards();

}  // namespace refrain
