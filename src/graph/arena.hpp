#pragma once

#include "graph/draft.hpp"
#include "graph/program.hpp"

#include <refrain/device.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace refrain::graph {

/// The memory of one executable's temporaries: a block per device.
class Arena {
 public:
  /// `mark`: of the program whose replays use it.
  explicit Arena(std::shared_ptr<const runtime::ReplayMark> mark) : mark_(std::move(mark)) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Reserves room; the offset in the device's block. `at`: where a plan has put it; -1: behind all others.
  std::int64_t reserve(Device device, std::int64_t bytes, std::int64_t at);
  /// Takes the blocks.
  /// @throws Error(Errc::out_of_memory)
  void allocate(SourceLocation where);
  void* address(Device device, std::int64_t offset) const;

 private:
  struct Block {
    Device device;
    std::int64_t size_bytes = 0;
    void* address = nullptr;
    runtime::StreamPoint allocated;
  };
  std::shared_ptr<const runtime::ReplayMark> mark_;
  std::vector<Block> blocks_;
};

}  // namespace refrain::graph
