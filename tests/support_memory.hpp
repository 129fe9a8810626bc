#pragma once

#include <refrain/refrain.hpp>

#include <cstdint>
#include <vector>

namespace refrain::test {

/// Floats, zeros at first, at an address that Refrain is told by `from_blob` alone, on the device that is current:
/// those of an array that nothing else uses.
class Memory {
 public:
  explicit Memory(std::int64_t size);

  float* at(std::int64_t index = 0) const { return address_ + index; }
  /// What is there once the device is done with everything.
  std::vector<float> values() const;
  void fill(float value) const;

 private:
  Array owner_;
  float* address_ = nullptr;
};

}  // namespace refrain::test
