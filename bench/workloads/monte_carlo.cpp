// Random numbers by the million.

#include "inputs.hpp"
#include "workload.hpp"

#include <refrain/device.hpp>
#include <refrain/random.hpp>
#include <refrain/reduce.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace refrain::bench {
namespace {

constexpr std::int64_t points = random_points;
constexpr int commands = 11;  // of which 2 are the sum and 1 is its cast to float32

using Words = std::array<std::uint32_t, 4>;

/// Philox4x32-10 with seed 0, from its paper.
Words philox(std::uint64_t subsequence, std::uint64_t draw) {
  constexpr std::uint64_t factors[2] = {0xD2511F53, 0xCD9E8D57};
  constexpr std::uint32_t weyl[2] = {0x9E3779B9, 0xBB67AE85};
  Words counter{static_cast<std::uint32_t>(draw), static_cast<std::uint32_t>(draw >> 32),
                static_cast<std::uint32_t>(subsequence), static_cast<std::uint32_t>(subsequence >> 32)};
  std::uint32_t key[2] = {0, 0};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = factors[0] * counter[0];
    const std::uint64_t second = factors[1] * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    for (int i = 0; i < 2; ++i) key[i] += weyl[i];
  }
  return counter;
}

/// A uniform number as PyTorch makes it: of (0, 1], then 1 becomes 0.
float uniform(std::uint32_t word) {
  const float value = static_cast<float>(word) * 0x1p-32F + 0x1p-33F;
  return value == 1 ? 0 : value;
}

/// How PyTorch lays a draw out on a device: a thread takes four numbers a round, one every `threads` elements.
struct Layout {
  std::int64_t threads;
  std::int64_t rounds;
};

Layout layout_on(Device device) {
  constexpr int block = 256;
  const DeviceProperties properties = device_properties(device);
  const std::int64_t most =
      std::int64_t{properties.multiprocessors} * (properties.max_threads_per_multiprocessor / block);
  const std::int64_t threads = std::min(most, (points + block - 1) / block) * block;
  return {threads, (points + 4 * threads - 1) / (4 * threads)};
}

/// How many points of the step of that number are in the circle: the same numbers drawn again, one by one.
std::int64_t expected_hits(const Layout& layout, int number) {
  const auto rounds = static_cast<std::uint64_t>(layout.rounds);
  const std::uint64_t first_draw = static_cast<std::uint64_t>(number) * 2 * rounds;
  std::int64_t hits = 0;
  for (std::int64_t thread = 0; thread < layout.threads; ++thread) {
    for (std::int64_t round = 0; round < layout.rounds; ++round) {
      const auto subsequence = static_cast<std::uint64_t>(thread);
      const std::uint64_t draw = first_draw + static_cast<std::uint64_t>(round);
      const Words x = philox(subsequence, draw);
      const Words y = philox(subsequence, draw + rounds);
      for (std::int64_t k = 0; k < 4; ++k) {
        if ((round * 4 + k) * layout.threads + thread >= points) break;
        const float along = uniform(x[static_cast<std::size_t>(k)]);
        const float up = uniform(y[static_cast<std::size_t>(k)]);
        const float squares[2] = {along * along, up * up};
        hits += squares[0] + squares[1] < 1 ? 1 : 0;
      }
    }
  }
  return hits;
}

Program pi_by_chance() {
  const auto step = []() -> std::vector<Array> {
    const Array x = rand({points});
    const Array y = rand({points});
    const Array hits = sum(x * x + y * y < 1);
    return {hits * 4.0 / points, hits};
  };
  const auto check = [layout = layout_on(current_device())](const std::vector<Array>& results, int number) {
    const std::int64_t expected = expected_hits(layout, number);
    const auto hits = results[1].item<std::int64_t>();
    if (hits != expected) {
      return std::to_string(hits) + " points are in the circle where there should be " + std::to_string(expected);
    }
    const double pi = 4 * static_cast<double>(expected) / static_cast<double>(points);
    const auto found = results[0].item<double>();
    return std::abs(found - pi) <= 1e-6 ? "" : "pi is " + std::to_string(found) + " and not " + std::to_string(pi);
  };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> monte_carlo_workloads() {
  return {{"monte_carlo_pi_16m", "pi by 2^24 random points of a square", commands, commands - 1, pi_by_chance}};
}

}  // namespace refrain::bench
