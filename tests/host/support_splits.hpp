#pragma once

#include "host/crew.hpp"
#include "kernels/split.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace refrain::test {

using kernels::i64;
using kernels::Split;

/// The last part first, on this thread.
inline void run_backwards(i64 parts, Split::Part part, void* context) {
  while (parts > 0) part(context, --parts);
}

/// Bytes that look like numbers of any type; as float16 and float32 some are NaN, infinite or tiny.
inline std::vector<std::byte> noise(std::size_t bytes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> all(bytes);
  for (std::byte& each : all) each = static_cast<std::byte>(random());
  return all;
}

inline std::vector<float> numbers(i64 count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> all(static_cast<std::size_t>(count));
  for (float& each : all) each = normal(random);
  return all;
}

/// run(out, split) writes the same bytes however it is split. `out` holds `bytes` that are set before.
template <class Run>
void require_same_bits(const std::string& what, std::size_t bytes, Run run) {
  const std::vector<std::byte> before = noise(bytes, 1);
  std::vector<std::byte> whole = before;
  run(whole.data(), Split());
  BOOST_TEST((whole != before), what << " writes nothing");
  for (const i64 parts : {2, 3, 7, 64, 1000}) {
    for (const Split::Run by : {Split::Run{run_backwards}, Split::Run{host::run_parts}}) {
      std::vector<std::byte> split = before;
      run(split.data(), Split(parts, by));
      BOOST_TEST(std::memcmp(split.data(), whole.data(), bytes) == 0, what << " in " << parts << " parts");
    }
  }
}

}  // namespace refrain::test
