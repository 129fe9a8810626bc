#pragma once

#include <refrain/array.hpp>

#include <cstddef>
#include <functional>
#include <vector>

// What tests of random programs share.

namespace refrain::test {

/// Seeds of random programs.
struct FuzzRange {
  unsigned first = 0;
  unsigned count = 0;
  bool is_asked_for = false;  ///< by the variable: everything is compared, whatever it takes

  unsigned end() const { return first + count; }
};

/// REFRAIN_FUZZ=N: N programs from REFRAIN_FUZZ_SEED on (0); else the usual number, from 0 on, and an eighth of it
/// under the thread sanitizer, which takes 15 times as long.
FuzzRange fuzz_range(unsigned usual);

/// Calls `fn(i)` for 0 to count - 1 on as many threads as run at once; the first exception is handed back.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& fn);

/// All elements of float32 arrays behind one another, as they are in the current stream's order.
Array packed(const std::vector<Array>& arrays);

}  // namespace refrain::test
