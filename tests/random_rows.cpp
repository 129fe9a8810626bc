// Random numbers are those of PyTorch's CUDA generator: every call of tests/data/torch_cuda_rng.json, eager and
// captured.

#include "support.hpp"
#include "support_reference.hpp"
#include "support_torch.hpp"

#include <refrain/distributions.hpp>

#include <algorithm>
#include <cmath>

namespace refrain::test {

namespace {

std::uint64_t offset() { return generator_state(current_device()).offset; }

/// Moves the generator on, as a call would that is left out: a draw of one number takes 4.
void skip(std::uint64_t increments) {
  for (std::uint64_t i = 0; i < increments; i += 4) rand({1});
}

DType dtype_named(const std::string& name) {
  for (const DType dtype :
       {DType::int32, DType::int64, DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    if (name == to_string(dtype)) return dtype;
  }
  throw std::runtime_error("torch_cuda_rng.json has numbers of another dtype than these tests know");
}

/// False where PyTorch's layout follows its GPU's multiprocessors and this device has another number of them.
bool layout_holds(const TorchCall& call) {
  constexpr std::int64_t block = 256;
  const DeviceProperties device = device_properties(current_device());
  const std::int64_t here = device.multiprocessors * (device.max_threads_per_multiprocessor / block);
  const std::int64_t there = torch_multiprocessors * (torch_threads_per_multiprocessor / block);
  return here == there || (call.size() + block - 1) / block <= std::min(here, there);
}

/// The call, from the device's generator or one that is given last.
template <class... From>
Array make(const TorchCall& call, const From&... from) {
  const Shape shape(std::span<const std::int64_t>(call.shape));
  const ArrayOptions options{.dtype = dtype_named(call.dtype)};
  if (call.op == "rand") return rand(shape, from..., options);
  if (call.op == "randn") return randn(shape, from..., options);
  const double first = call.args.at(0);
  if (call.op == "bernoulli") return bernoulli(first, shape, from..., options);
  if (call.op == "exponential") return exponential(first, shape, from..., options);
  const double second = call.args.at(1);
  if (call.op == "normal") return normal(first, second, shape, from..., options);
  if (call.op == "uniform") return uniform(first, second, shape, from..., options);
  if (call.op == "randint") {
    return randint(static_cast<std::int64_t>(first), static_cast<std::int64_t>(second), shape, from..., options);
  }
  throw std::runtime_error("torch_cuda_rng.json has another call than these tests know, " + call.op);
}

/// From one number of the dtype to the next, about this one.
double spacing(const std::string& dtype, double number) {
  const double size = std::max(std::abs(number), 1e-4);
  if (dtype == "float16") return size * 0x1p-10;
  if (dtype == "bfloat16") return size * 0x1p-7;
  return dtype == "float32" ? size * 0x1p-23 : size * 0x1p-52;
}

/// How far a number may be from PyTorch's. On the host logarithms and sines are not the GPU's.
double bound(const TorchCall& call, double number) {
  if (current_device().kind == DeviceKind::cuda) return 0;
  if (call.op == "randn" && call.dtype == "float32") return 4e-6;
  if (call.op == "randn" && call.dtype == "float64") return 4e-15;
  if (call.op == "randn") return spacing(call.dtype, number);
  if (call.op == "normal") return 5e-6 * call.args.at(1) + spacing(call.dtype, number);
  if (call.op == "exponential") return 1e-6 * std::max(1 / call.args.at(0), number);
  return 0;
}

void require_values(const Array& array, const TorchCall& call) {
  const std::vector<double> got = numbers(array);
  BOOST_TEST(got.size() == static_cast<std::size_t>(call.size()));
  for (const auto& [index, expected] : call.values) {
    const double number = got.at(static_cast<std::size_t>(index));
    BOOST_TEST(std::abs(number - expected) <= bound(call, expected),
               "element " << index << ": " << number << ", not " << expected);
  }
}

/// All rows of one op, each at its place in the sequence of its seed.
void require_rows_of(const std::string& op, int count) {
  int rows = 0;
  int left_out = 0;
  for (const TorchCall& call : torch_calls()) {
    BOOST_TEST_CONTEXT(op << ' ' << call.dtype << " of " << call.size() << ", seed " << call.seed) {
      if (call.offset_before == 0) manual_seed(call.seed);
      if (call.op != op || !layout_holds(call)) {
        skip(call.offset_after - call.offset_before);
        left_out += call.op == op ? 1 : 0;
        continue;
      }
      BOOST_TEST(offset() == call.offset_before);
      require_values(make(call), call);
      BOOST_TEST(offset() == call.offset_after);
      ++rows;
    }
  }
  BOOST_TEST(rows + left_out == count);
  BOOST_TEST(rows > 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_rows, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(rand_gives_pytorchs_numbers_and_offsets) { require_rows_of("rand", 24); }
BOOST_AUTO_TEST_CASE(randn_gives_pytorchs_numbers_and_offsets) { require_rows_of("randn", 44); }
BOOST_AUTO_TEST_CASE(randint_gives_pytorchs_numbers_and_offsets) { require_rows_of("randint", 12); }
BOOST_AUTO_TEST_CASE(uniform_gives_pytorchs_numbers_and_offsets) { require_rows_of("uniform", 4); }
BOOST_AUTO_TEST_CASE(normal_gives_pytorchs_numbers_and_offsets) { require_rows_of("normal", 4); }
BOOST_AUTO_TEST_CASE(bernoulli_gives_pytorchs_numbers_and_offsets) { require_rows_of("bernoulli", 4); }
BOOST_AUTO_TEST_CASE(exponential_gives_pytorchs_numbers_and_offsets) { require_rows_of("exponential", 4); }

BOOST_AUTO_TEST_CASE(a_generator_of_its_own_gives_pytorchs_numbers) {
  manual_seed(99);
  for (const std::uint64_t seed : torch_seeds()) {
    const Generator generator(seed);
    for (const TorchCall& call : torch_calls()) {
      if (call.seed != seed) continue;
      BOOST_TEST_CONTEXT(call.op << ' ' << call.dtype << " of " << call.size() << ", seed " << seed) {
        generator.set_state(GeneratorState{seed, call.offset_before});
        if (!layout_holds(call)) continue;
        require_values(make(call, generator), call);
        BOOST_TEST((generator.get_state().position() == GeneratorState{seed, call.offset_after}));
      }
    }
  }
  BOOST_TEST((generator_state(current_device()) == GeneratorState{99, 0}));
}

BOOST_AUTO_TEST_CASE(a_graph_of_many_draws_gives_pytorchs_numbers) {
  const std::uint64_t seed = torch_seeds().at(2);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      std::vector<std::pair<TorchCall, Array>> made;
      std::uint64_t end = 0;
      const Graph graph = capture(
          [&] {
            for (const TorchCall& call : torch_calls()) {
              if (call.seed != seed) continue;
              end = call.offset_after;
              if (layout_holds(call)) {
                made.emplace_back(call, make(call));
              } else {
                skip(call.offset_after - call.offset_before);
              }
            }
          },
          capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      manual_seed(seed);
      exec.replay();
      for (const auto& [call, array] : made) {
        BOOST_TEST_CONTEXT(call.op << ' ' << call.dtype << " of " << call.size()) { require_values(array, call); }
      }
      BOOST_TEST(offset() == end);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
