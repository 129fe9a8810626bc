// Arrays and addresses in the place of those that a graph's own kernels were recorded with, and clones of such graphs.

#include "support.hpp"
#include "support_foreign.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/cuda.hpp>

namespace rf = refrain;
using rf::test::filled;
using rf::test::holds;
using rf::test::require_error;

namespace {

constexpr int size = 1000;
constexpr int blocks = 4;
constexpr int threads = 256;
constexpr rf::LaunchConfig over_all{.grid = blocks, .block = threads, .label = "add", .where = {}};

__global__ void add_to(const float* x, float* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += x[i];
}

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

/// Puts an addition on a stream that a function is given.
struct Adds {
  float value = 1;
  int n = size;
  void operator()(cudaStream_t stream, float* x) const {
    add<<<(n + threads - 1) / threads, threads, 0, stream>>>(x, value, n);
  }
};

/// Memory of the program's own, with a number in each of its elements.
struct Numbers : foreign::Memory<float> {
  explicit Numbers(float value) : foreign::Memory<float>(size) {
    add<<<blocks, threads>>>(*this, value, size);
    CUDA_REQUIRE(cudaDeviceSynchronize());
  }
  float* address() const { return *this; }
  /// The first number, once all work is done.
  float first() const {
    CUDA_REQUIRE(cudaDeviceSynchronize());
    return foreign::read_after(nullptr, *this);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_exec_bindings, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(an_array_is_replaced_in_launches_and_ops_alike) {
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    const rf::Array x = filled(1, size);
    rf::Array y = filled(0, size);
    rf::Array doubled;
    const rf::GraphExec exec = rf::capture([&] {
                                 rf::current_stream().launch(over_all, add_to, x, y, size);
                                 doubled = x * 2;
                                 y += doubled;
                               }).instantiate({.optimize = optimize});
    exec.replay();
    BOOST_TEST(holds(y, 3));
    const rf::Array mine = filled(100, size);
    exec.bind(x, filled(10, size));
    exec.bind(y, mine);
    exec.replay();
    BOOST_TEST(holds(mine, 130));
    BOOST_TEST(holds(doubled, 20));
    BOOST_TEST(holds(y, 3));
    exec.bind(x, x);
    exec.replay();
    BOOST_TEST(holds(mine, 133));
    exec.bind(y, y);
    exec.replay();
    BOOST_TEST(holds(y, 6));
  }
}

BOOST_AUTO_TEST_CASE(an_output_of_a_launch_is_written_elsewhere) {
  const rf::Array x = filled(1, size);
  auto [graph, out] = rf::capture([&] {
    rf::Array made = rf::zeros({size});
    rf::current_stream().launch(over_all, add_to, x, made, size);
    return made;
  });
  const rf::GraphExec exec = graph.instantiate();
  exec.replay();
  const rf::Array mine = rf::zeros({4 * size});
  exec.bind(x, filled(7, size));
  for (int row = 0; row < 4; ++row) {
    exec.bind(out, mine.slice(row * size, (row + 1) * size));
    exec.replay();
  }
  BOOST_TEST(holds(mine, 7));
  BOOST_TEST(holds(out, 1));
}

BOOST_AUTO_TEST_CASE(buffers_of_kernels_change_places_while_replays_are_under_way) {
  const rf::Stream stream;
  const rf::StreamGuard on(stream);
  const rf::Array from = filled(1, size);
  const rf::Array to = rf::zeros({size});
  rf::Array now = from;
  rf::Array next = to;
  const rf::GraphExec exec = rf::capture([&] { stream.launch(over_all, add_to, from, to, size); }).instantiate();
  rf::test::keep_busy(stream, 20);
  for (int i = 0; i < 10; ++i) {
    exec.bind(from, now);
    exec.bind(to, next);
    exec.replay();
    std::swap(now, next);
  }
  BOOST_TEST(holds(now, 89));  // Fibonacci's
  BOOST_TEST(holds(next, 55));
}

BOOST_AUTO_TEST_CASE(an_address_is_replaced_wherever_the_program_named_it) {
  const Numbers one(1);
  const Numbers ten(10);
  const Numbers hundred(100);
  for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
    rf::Array bare = rf::zeros({size});
    rf::Array declared = rf::zeros({size});
    rf::Array blob = rf::zeros({size});
    const rf::Array lent = rf::from_blob(one.address(), {size});
    const rf::GraphExec exec =
        rf::capture([&] {
          const rf::Stream stream = rf::current_stream();
          stream.launch(over_all, add_to, one.address(), bare, size);
          stream.launch(over_all, add_to, rf::read(one.address(), size * sizeof(float)), declared, size);
          blob += lent;
        }).instantiate({.optimize = optimize});
    float sum = 0;
    const auto replay_with = [&](const Numbers& numbers, float value) {
      exec.bind(one.address(), numbers.address());
      for (int i = 0; i < 3; ++i) exec.replay();
      sum += 3 * value;
      for (const rf::Array& array : {bare, declared, blob}) BOOST_TEST(holds(array, sum));
    };
    replay_with(ten, 10);
    replay_with(hundred, 100);
    replay_with(hundred, 100);
    replay_with(one, 1);
    replay_with(ten, 10);
    require_error(rf::Errc::invalid_value, [&] { exec.bind(hundred.address(), one.address()); }, {"[bind]", "address"});
    require_error(rf::Errc::invalid_value, [&] { exec.bind(one.address(), nullptr); }, {"null pointer"});
    exec.bind(lent, filled(1000, size));  // that array alone
    exec.replay();
    BOOST_TEST(holds(blob, sum + 1000));
    BOOST_TEST(holds(bare, sum + 10));
  }
}

BOOST_AUTO_TEST_CASE(an_address_that_is_written_is_ordered_with_eager_work_where_it_is_bound) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  const Numbers one(0);
  const Numbers other(0);
  const rf::Stream side;
  const rf::GraphExec exec =
      rf::capture([&] {
        rf::current_stream().launch(over_all, add, rf::readwrite(one.address(), size * sizeof(float)), 1.0F, size);
      }).instantiate();
  exec.replay();
  exec.bind(one.address(), other.address());
  rf::Array seen = rf::from_blob(other.address(), {size});
  rf::test::keep_busy(rf::current_stream(), 20);
  exec.replay();
  {
    const rf::StreamGuard on(side);  // waits for nothing
    seen *= 10;
  }
  exec.replay();
  BOOST_TEST(holds(seen, 11));
  BOOST_TEST(one.first() == 1);
}

BOOST_AUTO_TEST_CASE(what_an_enqueued_function_uses_cannot_be_bound) {
  const Numbers one(1);
  const Numbers ten(10);
  rf::Array x = filled(1, size);
  rf::Array y = rf::zeros({size});
  const rf::GraphExec exec =
      rf::capture([&] {
        const rf::Stream stream = rf::current_stream();
        stream.launch(over_all, add_to, x, y, size);
        stream.enqueue("baked in", rf::readwrite(x), Adds{});
        stream.launch(over_all, add_to, one.address(), y, size);
        stream.launch(over_all, add_to, rf::read(one.address(), size * sizeof(float)), y, size);
        stream.enqueue("reads", rf::read(one.address(), size * sizeof(float)), [](cudaStream_t, const float*) {});
      }).instantiate();
  require_error(rf::Errc::not_supported, [&] { exec.bind(x, filled(5, size)); },
                {"[bind] 'baked in' at", "exec_bindings.cu:", "copy into that array"});
  require_error(rf::Errc::not_supported, [&] { exec.bind(one.address(), ten.address()); }, {"[bind] 'reads' at"});
  exec.replay();  // as it was, in all its parts
  BOOST_TEST(holds(y, 3));
  exec.bind(y, filled(10, size));  // which no function uses
  exec.replay();
  BOOST_TEST(holds(exec.output(y), 14));
}

// Clones

BOOST_AUTO_TEST_CASE(a_clone_of_kernels_has_outputs_and_settings_of_its_own) {
  const rf::Param<float> step(1);
  const rf::Array x = filled(1, size);
  auto [graph, out] = rf::capture([&] {
    rf::Array made = x + 0;
    rf::current_stream().launch(over_all, add, made, step, size);
    rf::Array result = made * 1;
    rf::current_stream().launch({.grid = blocks, .block = threads, .label = "twice"}, add_to, result, result, size);
    return result;
  });
  const rf::GraphExec exec = graph.instantiate();
  exec.set(step, 4);
  exec.set("add", {.grid = 1, .block = threads});
  exec.enable("twice", false);
  const rf::GraphExec copy = exec.clone();
  exec.set(step, 9);
  exec.set("add", over_all);
  exec.enable("twice", true);
  const rf::Stream left;
  const rf::Stream right;
  for (int i = 0; i < 10; ++i) {
    exec.replay(left);
    copy.replay(right);
  }
  BOOST_TEST(holds(out, 20));
  const rf::Array own = copy.output(out);
  BOOST_TEST(own.buffer() != out.buffer());
  BOOST_TEST(holds(own.slice(0, threads), 5));
  BOOST_TEST(holds(own.slice(threads, size), 1));
}

BOOST_AUTO_TEST_CASE(what_a_function_writes_stays_the_graphs_own_and_clones_are_ordered_for_it) {
  constexpr int many = 1 << 20;
  const rf::Array x = filled(1, many);
  rf::Array scratch;
  rf::Array doubled;
  auto [graph, sum] = rf::capture([&] {
    scratch = x * 0;
    for (int i = 0; i < 10; ++i) rf::current_stream().enqueue("mine", rf::readwrite(scratch), Adds{1, many});
    doubled = scratch * 2;
    return scratch + doubled;
  });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec two = one.clone();
  two.bind(x, filled(2, many));
  BOOST_TEST(two.output(scratch).buffer() == scratch.buffer());
  BOOST_TEST(two.output(doubled).buffer() != doubled.buffer());
  const rf::Stream left;
  const rf::Stream right;
  for (int i = 0; i < 20; ++i) {
    one.replay(left);
    two.replay(right);
    BOOST_REQUIRE(holds(sum, 30));  // halfway through the other it would be another number
    BOOST_REQUIRE(holds(two.output(sum), 30));
  }
  for (int i = 0; i < 20; ++i) {
    one.replay(left);
    two.replay(right);
  }
  BOOST_TEST(holds(sum, 30));
  BOOST_TEST(holds(two.output(doubled), 20));
}

BOOST_AUTO_TEST_CASE(a_functions_temporary_is_shared_by_clones_and_they_are_ordered_for_it) {
  constexpr int many = 1 << 20;
  rf::Array total = rf::zeros({many});
  const rf::Graph graph = rf::capture([&] {
    rf::Array temporary = rf::zeros({many});
    for (int i = 0; i < 10; ++i) rf::current_stream().enqueue("mine", rf::readwrite(temporary), Adds{1, many});
    total += temporary;
  });
  const rf::GraphExec one = graph.instantiate();
  const rf::GraphExec two = one.clone();
  rf::Array other = rf::zeros({many});
  two.bind(total, other);
  const rf::Stream left;
  const rf::Stream right;
  for (int i = 0; i < 20; ++i) {
    one.replay(left);
    two.replay(right);
  }
  BOOST_TEST(holds(total, 200));
  BOOST_TEST(holds(other, 200));
}

BOOST_AUTO_TEST_SUITE_END()
