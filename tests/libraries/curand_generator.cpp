// CurandGenerator gives the numbers of cuRAND's own calls, on host and CUDA devices.

#include "support_concurrency.hpp"
#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/curand.hpp>

#include <cuda_runtime_api.h>

#include <set>

namespace rf = refrain;
using rf::test::require;
using rf::test::require_error;
using rf::test::same_bits;

namespace {

constexpr std::int64_t count = 1000;

constexpr curandRngType engines[] = {
    CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_XORWOW,           CURAND_RNG_PSEUDO_MRG32K3A,
    CURAND_RNG_PSEUDO_MTGP32,  CURAND_RNG_PSEUDO_MT19937,          CURAND_RNG_PSEUDO_PHILOX4_32_10,
    CURAND_RNG_QUASI_DEFAULT,  CURAND_RNG_QUASI_SOBOL32,           CURAND_RNG_QUASI_SCRAMBLED_SOBOL32,
    CURAND_RNG_QUASI_SOBOL64,  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64,
};

bool is_on_host() { return rf::current_device().kind == rf::DeviceKind::host; }

/// cuRAND itself, with the device under test.
class Raw {
 public:
  explicit Raw(curandRngType engine) {
    require(is_on_host() ? curandCreateGeneratorHost(&generator_, engine) : curandCreateGenerator(&generator_, engine));
  }
  ~Raw() { static_cast<void>(curandDestroyGenerator(generator_)); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  curandGenerator_t get() const { return generator_; }

  /// The numbers of `generate(generator, numbers, count, arguments...)`, as an array.
  template <class As, class T, class... Params, class... Args>
  rf::Array draw(curandStatus_t (*generate)(curandGenerator_t, T*, std::size_t, Params...), Args... args) const {
    std::vector<As> numbers(count);
    const std::size_t bytes = count * sizeof(As);
    if (is_on_host()) {
      require(generate(generator_, reinterpret_cast<T*>(numbers.data()), count, args...));
    } else {
      T* memory = nullptr;
      require(cudaMalloc(&memory, bytes));
      require(generate(generator_, memory, count, args...));
      require(cudaMemcpy(numbers.data(), memory, bytes, cudaMemcpyDefault));
      require(cudaFree(memory));
    }
    return rf::from_host(numbers, {count});
  }
  rf::Array uniform() const { return draw<float>(curandGenerateUniform); }

 private:
  curandGenerator_t generator_ = nullptr;
};

rf::Array array_of(rf::DType dtype, std::int64_t size = count) { return rf::empty({size}, {.dtype = dtype}); }

rf::Array uniform(rf::CurandGenerator& generator, std::optional<rf::Stream> stream = std::nullopt) {
  rf::Array x = array_of(rf::DType::float32);
  generator.uniform(x, stream);
  return x;
}

bool is_64_bit(curandRngType engine) {
  return engine == CURAND_RNG_QUASI_SOBOL64 || engine == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library_curand_generator)

BOOST_AUTO_TEST_CASE(every_engine_gives_the_numbers_of_curands_own_calls) {
  const rf::Array floats = array_of(rf::DType::float32);
  const rf::Array doubles = array_of(rf::DType::float64);
  const rf::Array ints = array_of(rf::DType::int32);
  const rf::Array longs = array_of(rf::DType::int64);
  for (const curandRngType engine : engines) {
    BOOST_TEST_CONTEXT("engine " << engine) {
      rf::CurandGenerator generator(engine);
      const Raw raw(engine);
      for (int round = 0; round < 2; ++round) {
        generator.uniform(floats);
        BOOST_TEST(same_bits(floats, raw.uniform()));
        generator.uniform(doubles);
        BOOST_TEST(same_bits(doubles, raw.draw<double>(curandGenerateUniformDouble)));
        generator.normal(floats, 2, 3);
        BOOST_TEST(same_bits(floats, raw.draw<float>(curandGenerateNormal, 2.0F, 3.0F)));
        generator.normal(doubles, 2, 3);
        BOOST_TEST(same_bits(doubles, raw.draw<double>(curandGenerateNormalDouble, 2.0, 3.0)));
        generator.log_normal(floats, 1, 0.5);
        BOOST_TEST(same_bits(floats, raw.draw<float>(curandGenerateLogNormal, 1.0F, 0.5F)));
        generator.log_normal(doubles, 1, 0.5);
        BOOST_TEST(same_bits(doubles, raw.draw<double>(curandGenerateLogNormalDouble, 1.0, 0.5)));
        generator.poisson(ints, 7.5);
        BOOST_TEST(same_bits(ints, raw.draw<std::int32_t>(curandGeneratePoisson, 7.5)));
        if (is_64_bit(engine)) {
          generator.bits(longs);
          BOOST_TEST(same_bits(longs, raw.draw<std::int64_t>(curandGenerateLongLong)));
        } else {
          generator.bits(ints);
          BOOST_TEST(same_bits(ints, raw.draw<std::int32_t>(curandGenerate)));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(options_are_those_of_curand) {
  rf::CurandGenerator pseudo(CURAND_RNG_PSEUDO_XORWOW,
                             {.seed = 42, .offset = 100, .ordering = CURAND_ORDERING_PSEUDO_LEGACY});
  const Raw raw_pseudo(CURAND_RNG_PSEUDO_XORWOW);
  require(curandSetGeneratorOrdering(raw_pseudo.get(), CURAND_ORDERING_PSEUDO_LEGACY));
  require(curandSetPseudoRandomGeneratorSeed(raw_pseudo.get(), 42));
  require(curandSetGeneratorOffset(raw_pseudo.get(), 100));
  const rf::Array first = raw_pseudo.uniform();
  BOOST_TEST(same_bits(uniform(pseudo), first));

  rf::CurandGenerator quasi(CURAND_RNG_QUASI_SOBOL32, {.offset = 10, .dimensions = 20});
  const Raw raw_quasi(CURAND_RNG_QUASI_SOBOL32);
  require(curandSetGeneratorOffset(raw_quasi.get(), 10));
  require(curandSetQuasiRandomGeneratorDimensions(raw_quasi.get(), 20));
  BOOST_TEST(same_bits(uniform(quasi), raw_quasi.uniform()));

  BOOST_TEST(same_bits(uniform(pseudo), raw_pseudo.uniform()));
  pseudo.set_offset(100);
  BOOST_TEST(same_bits(uniform(pseudo), first));
}

BOOST_AUTO_TEST_CASE(seed_and_offset_are_set_in_order_with_draws) {
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_PHILOX4_32_10, {.seed = 1});
  const Raw raw(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  rf::test::keep_busy(rf::current_stream());
  const rf::Array of_first = uniform(generator);
  generator.set_seed(2);
  const rf::Array of_second = uniform(generator);
  generator.set_offset(7);
  const rf::Array later = uniform(generator);
  require(curandSetPseudoRandomGeneratorSeed(raw.get(), 1));
  BOOST_TEST(same_bits(of_first, raw.uniform()));
  require(curandSetPseudoRandomGeneratorSeed(raw.get(), 2));
  BOOST_TEST(same_bits(of_second, raw.uniform()));
  require(curandSetGeneratorOffset(raw.get(), 7));
  BOOST_TEST(same_bits(later, raw.uniform()));
}

BOOST_AUTO_TEST_CASE(draws_of_several_streams_follow_one_another) {
  const rf::test::HazardsScope hazards(rf::Hazards::ignore);
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW);
  rf::CurandGenerator copy = generator;
  const rf::Stream streams[2];
  std::vector<rf::Array> drawn;
  rf::test::keep_busy(streams[0]);
  for (std::size_t i = 0; i < 6; ++i) drawn.push_back(uniform(i < 3 ? generator : copy, streams[i % 2]));
  const Raw raw(CURAND_RNG_PSEUDO_XORWOW);
  for (const rf::Array& x : drawn) BOOST_TEST(same_bits(x, raw.uniform()));
}

BOOST_AUTO_TEST_CASE(threads_share_a_sequence_without_a_number_lost_or_drawn_twice) {
  const rf::test::HazardsScope hazards(rf::Hazards::ignore);
  constexpr std::size_t draws = 10;
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW);
  std::vector<float> drawn[2];
  BOOST_TEST(rf::test::on_threads(2, [&](int number) {
    const rf::Stream own;
    const rf::StreamGuard on(own);
    for (std::size_t i = 0; i < draws; ++i) {
      const std::vector<float> numbers = uniform(generator).to_vector<float>();
      auto& all = drawn[static_cast<std::size_t>(number)];
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    return true;
  }));
  std::multiset<float> expected;
  const Raw raw(CURAND_RNG_PSEUDO_XORWOW);
  for (std::size_t i = 0; i < 2 * draws; ++i) {
    for (const float number : raw.uniform().to_vector<float>()) expected.insert(number);
  }
  std::multiset<float> all(drawn[0].begin(), drawn[0].end());
  all.insert(drawn[1].begin(), drawn[1].end());
  BOOST_TEST((all == expected));
}

BOOST_AUTO_TEST_CASE(a_draw_is_a_write_of_the_array_in_stream_order) {
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW);
  rf::Array x = rf::zeros({3 * count});
  rf::test::keep_busy(rf::current_stream());
  x += 1;
  const rf::Array before = x + 0;
  generator.uniform(x.slice(count, 2 * count));
  x += 1;
  const Raw raw(CURAND_RNG_PSEUDO_XORWOW);
  BOOST_TEST(rf::test::holds(before, 1));
  BOOST_TEST(rf::test::holds(x.slice(0, count), 2));
  BOOST_TEST(same_bits(x.slice(count, 2 * count), raw.uniform() + 1));
  BOOST_TEST(rf::test::holds(x.slice(2 * count, 3 * count), 2));
  generator.uniform(rf::empty({0}));
  BOOST_TEST(same_bits(uniform(generator), raw.uniform()));
}

BOOST_AUTO_TEST_CASE(captures_refuse_it_and_its_sequence_goes_on) {
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW);
  const Raw raw(CURAND_RNG_PSEUDO_XORWOW);
  BOOST_TEST(same_bits(uniform(generator), raw.uniform()));
  for (const bool live : rf::test::live_modes) {
    const rf::Array x = rf::zeros({count});
    rf::Array y = rf::zeros({count});
    const rf::Graph graph = rf::capture(
        [&] {
          y += 1;
          const std::initializer_list<std::string_view> words = {"replays would leave its sequence", "rand and randn",
                                                                 "curand_generator.cpp:"};
          require_error(
              rf::Errc::capture_unsupported, [&] { generator.uniform(x); }, words);
          require_error(
              rf::Errc::capture_unsupported, [&] { generator.normal(x); }, words);
          require_error(
              rf::Errc::capture_unsupported, [&] { generator.log_normal(x); }, words);
          require_error(
              rf::Errc::capture_unsupported, [&] { generator.set_seed(3); }, words);
          require_error(
              rf::Errc::capture_unsupported, [&] { generator.set_offset(3); }, words);
          require_error(
              rf::Errc::capture_unsupported, [] { rf::CurandGenerator(); }, words);
          y += x;
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    const rf::GraphExec exec = graph.instantiate();
    // What is drawn outside is read by each replay.
    rf::Array expected = rf::zeros({count});
    for (int i = 0; i < 2; ++i) {
      generator.uniform(x);
      exec.replay();
      expected += 1;
      expected += raw.uniform();
    }
    BOOST_TEST(same_bits(y, expected));
  }
}

BOOST_AUTO_TEST_CASE(a_generator_may_go_with_draws_in_flight_and_in_captures) {
  rf::Array x = rf::zeros({count});
  const rf::Array expected = Raw(CURAND_RNG_PSEUDO_XORWOW).uniform();
  rf::test::keep_busy(rf::current_stream());
  rf::CurandGenerator(CURAND_RNG_PSEUDO_XORWOW).uniform(x);
  BOOST_TEST(same_bits(x, expected));
  for (const bool live : rf::test::live_modes) {
    std::optional<rf::CurandGenerator> generator(CURAND_RNG_PSEUDO_XORWOW);
    generator->uniform(x);
    rf::Array y = rf::zeros({count});
    const rf::Graph graph = rf::capture(
        [&] {
          y += x;
          generator.reset();
          y += x;
        },
        {.live = live});
    graph.instantiate().replay();
    BOOST_TEST(same_bits(y, expected + expected));
  }
}

BOOST_AUTO_TEST_CASE(what_the_engine_cannot_do_is_refused_at_the_call) {
  using rf::Errc;
  rf::CurandGenerator pseudo(CURAND_RNG_PSEUDO_XORWOW);
  rf::CurandGenerator twister(CURAND_RNG_PSEUDO_MT19937);
  rf::CurandGenerator quasi(CURAND_RNG_QUASI_SOBOL64, {.dimensions = 3});
  const rf::Array floats = array_of(rf::DType::float32);
  const rf::Array odd = array_of(rf::DType::float32, 11);
  const rf::Array ints = array_of(rf::DType::int32);
  require_error(Errc::invalid_value, [&] { pseudo.uniform(ints); }, {"uniform", "int32", "float32"});
  require_error(Errc::invalid_value, [&] { pseudo.poisson(floats, 1); }, {"poisson", "float32", "int32"});
  require_error(Errc::invalid_value, [&] { pseudo.bits(floats); }, {"bits", "int32"});
  require_error(Errc::invalid_value, [&] { quasi.bits(ints); }, {"bits", "int64"});
  require_error(Errc::invalid_value, [&] { pseudo.normal(odd); }, {"11 elements", "groups of 2"});
  require_error(Errc::invalid_value, [&] { quasi.uniform(odd); }, {"11 elements", "points of 3"});
  require_error(Errc::invalid_value, [&] { pseudo.poisson(ints, 0); }, {"lambda 0", "400000"});
  require_error(Errc::invalid_value, [&] { quasi.set_seed(1); }, {"set_seed", "quasirandom"});
  require_error(Errc::invalid_value, [&] { twister.set_offset(1); }, {"set_offset", "Mersenne"});
  require_error(Errc::invalid_value, [] { rf::CurandGenerator(CURAND_RNG_QUASI_SOBOL32, {.seed = 1}); },
                {"type error"});
  require_error(Errc::invalid_value, [] { rf::CurandGenerator(static_cast<curandRngType>(7)); }, {"type error"});
  require_error(Errc::invalid_value, [&] { pseudo.uniform(rf::Array()); });

  // What other engines can do, they do.
  rf::CurandGenerator philox(CURAND_RNG_PSEUDO_PHILOX4_32_10);
  philox.normal(odd);
  const rf::Array expected = Raw(CURAND_RNG_PSEUDO_PHILOX4_32_10).draw<float>(curandGenerateNormal, 0.0F, 1.0F);
  BOOST_TEST(same_bits(odd, expected.slice(0, 11)));
}

BOOST_AUTO_TEST_CASE(array_stream_and_generator_are_on_one_device) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  rf::CurandGenerator generator(CURAND_RNG_PSEUDO_XORWOW, {.device = devices->second});
  BOOST_TEST(generator.device() == devices->second);
  const rf::Array here = rf::empty({count}, {.device = devices->first});
  const rf::Array there = rf::empty({count}, {.device = devices->second});
  require_error(rf::Errc::wrong_device, [&] { generator.uniform(here); }, {"uniform"});
  require_error(rf::Errc::wrong_device, [&] { generator.uniform(there, rf::Stream(devices->first)); },
                {"give a stream of that device"});
  generator.uniform(there);
  BOOST_TEST((there.to_vector<float>() == Raw(CURAND_RNG_PSEUDO_XORWOW).uniform().to_vector<float>()));
}

BOOST_AUTO_TEST_SUITE_END()
