// cuRAND's host API by hand: for eager work. CurandGenerator is the same with the rules built in.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cuda_runtime_api.h>
#include <curand.h>

#include <algorithm>

namespace rf = refrain;
using rf::test::require;

namespace {

constexpr std::int64_t count = 10'000;
constexpr unsigned long long seed = 1234;

using Generator = rf::test::Owned<curandGenerator_t, curandCreateGenerator, curandDestroyGenerator>;
using HostGenerator = rf::test::Owned<curandGenerator_t, curandCreateGeneratorHost, curandDestroyGenerator>;

void set_seed(curandGenerator_t generator) { require(curandSetPseudoRandomGeneratorSeed(generator, seed)); }

rf::Array draw(const Generator& generator) {
  rf::Array x = rf::empty({count});
  rf::current_stream().enqueue("draw", rf::write(x), [&](cudaStream_t stream, float* numbers) {
    require(curandSetStream(generator.get(), stream));
    require(curandGenerateUniform(generator.get(), numbers, count));
  });
  return x;
}

/// What these draws give, by cuRAND's generator for the CPU.
std::vector<std::vector<double>> drawn_on_host(curandRngType type, int draws) {
  const HostGenerator generator(type);
  set_seed(generator.get());
  std::vector<std::vector<double>> all;
  for (int i = 0; i < draws; ++i) {
    std::vector<float> numbers(count);
    require(curandGenerateUniform(generator.get(), numbers.data(), count));
    all.emplace_back(numbers.begin(), numbers.end());
  }
  return all;
}

/// Room for four numbers on the device.
class DeviceFloat {
 public:
  DeviceFloat() {
    BOOST_REQUIRE_EQUAL(cudaMalloc(reinterpret_cast<void**>(&numbers_), 4 * sizeof(float)), cudaSuccess);
  }
  ~DeviceFloat() { cudaFree(numbers_); }
  DeviceFloat(const DeviceFloat&) = delete;
  DeviceFloat& operator=(const DeviceFloat&) = delete;
  float* get() const { return numbers_; }

 private:
  float* numbers_ = nullptr;
};

bool are_uniform(const rf::Array& x) {
  const std::vector<double> values = rf::test::numbers(x);
  double sum = 0;
  for (const double value : values) sum += value;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least >= 0 && *most <= 1 && sum > 0.45 * count && sum < 0.55 * count;
}

constexpr double tolerance = 1e-6;

}  // namespace

BOOST_AUTO_TEST_SUITE(library_curand)

BOOST_AUTO_TEST_CASE(a_first_use_in_a_capture_is_refused_with_the_label) {
  rf::test::check_refused("late generator", [](cudaStream_t stream, float* x) {
    curandGenerator_t generator = nullptr;
    if (curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW) != CURAND_STATUS_SUCCESS) return;
    static_cast<void>(curandSetStream(generator, stream));
    static_cast<void>(curandGenerateUniform(generator, x, 4));
    static_cast<void>(curandDestroyGenerator(generator));
  });
  // cuRAND goes on saying that until it has been asked once more.
  for (int i = 0; i < 3; ++i) {
    curandGenerator_t generator = nullptr;
    const DeviceFloat numbers;
    const bool is_created = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_XORWOW) == CURAND_STATUS_SUCCESS;
    if (is_created && curandGenerateUniform(generator, numbers.get(), 4) == CURAND_STATUS_SUCCESS) i = 3;
    if (is_created) static_cast<void>(curandDestroyGenerator(generator));
  }
}

BOOST_AUTO_TEST_CASE(eager_draws_are_those_of_the_generator_for_the_cpu) {
  for (const curandRngType type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    BOOST_TEST_CONTEXT("engine " << type) {
      const Generator generator(type);
      set_seed(generator.get());
      for (const std::vector<double>& expected : drawn_on_host(type, 3)) {
        rf::test::check_close(draw(generator), expected, tolerance);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(branches_with_a_generator_each_run_side_by_side) {
  const Generator generators[2] = {Generator(CURAND_RNG_PSEUDO_XORWOW), Generator(CURAND_RNG_PSEUDO_PHILOX4_32_10)};
  const rf::Stream streams[2];
  rf::Array drawn[2];
  for (const Generator& generator : generators) set_seed(generator.get());
  for (int i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      const rf::StreamGuard on(streams[k]);
      drawn[k] = draw(generators[k]);
    }
  }
  rf::test::check_close(drawn[0], drawn_on_host(CURAND_RNG_PSEUDO_XORWOW, 3)[2], tolerance);
  rf::test::check_close(drawn[1], drawn_on_host(CURAND_RNG_PSEUDO_PHILOX4_32_10, 3)[2], tolerance);
}

// Why CurandGenerator refuses captures.
BOOST_AUTO_TEST_CASE(a_generator_that_was_used_before_is_captured_but_replays_leave_its_sequence) {
  for (const curandRngType type : {CURAND_RNG_PSEUDO_XORWOW, CURAND_RNG_PSEUDO_PHILOX4_32_10}) {
    const std::vector<std::vector<double>> expected = drawn_on_host(type, 4);
    for (const bool live : rf::test::live_modes) {
      BOOST_TEST_CONTEXT("engine " << type << (live ? ", live" : "")) {
        const Generator generator(type);
        set_seed(generator.get());
        draw(generator);
        auto [graph, x] = rf::capture([&] { return draw(generator); }, {.live = live});
        const rf::GraphExec exec = graph.instantiate();
        bool is_in_sequence = true;
        for (const std::size_t place : {1, 2}) {
          exec.replay();
          BOOST_TEST(are_uniform(x));
          is_in_sequence = is_in_sequence && rf::test::error_of(x, expected[place]) <= tolerance;
        }
        is_in_sequence = is_in_sequence && rf::test::error_of(draw(generator), expected[3]) <= tolerance;
        BOOST_TEST(!is_in_sequence);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(generator_and_graph_may_be_destroyed_in_either_order) {
  for (const bool generator_first : {true, false}) {
    for (const bool live : rf::test::live_modes) {
      std::optional<Generator> generator(CURAND_RNG_PSEUDO_PHILOX4_32_10);
      draw(*generator);
      auto [graph, x] = rf::capture([&] { return draw(*generator); }, {.live = live});
      std::optional<rf::GraphExec> exec = graph.instantiate();
      exec->replay();
      if (generator_first) {
        rf::synchronize();
        generator.reset();
      }
      exec.reset();
      graph = {};
      BOOST_TEST(are_uniform(x));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
