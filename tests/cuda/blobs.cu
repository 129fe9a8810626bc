// Memory of other code's on CUDA devices: from_blob, and bytes at an address.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

#include <atomic>
#include <memory>

namespace rf = refrain;
using rf::test::eventually;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;

namespace {

constexpr int size = 1000;
constexpr std::int64_t bytes = size * static_cast<std::int64_t>(sizeof(float));
const rf::Device host_device{rf::DeviceKind::host, 0};

__global__ void triple(float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= 3;
}

constexpr rf::LaunchConfig over_all{.grid = 4, .block = 256, .label = "triple", .where = {}};

/// Memory of cudaMalloc, a raw stream.
struct Foreign : foreign::Case {
  foreign::Stream native;
  rf::Stream stream = rf::Stream::wrap(native);
  foreign::Memory<float> memory{size};

  Foreign() { runtime::load(triple); }

  rf::Array blob(rf::BlobOptions options = {}, rf::SourceLocation where = rf::SourceLocation::current()) {
    return rf::from_blob<float>(memory, {size}, std::move(options), where);
  }
  float first() { return foreign::read_after(native, memory); }
};

/// Counts the calls of deleters that free memory of cudaMalloc.
struct Freed {
  std::shared_ptr<std::atomic<int>> count = std::make_shared<std::atomic<int>>(0);

  std::function<void(void*)> deleter() const {
    return [count = count](void* address) {
      if (cudaFree(address) == cudaSuccess) ++*count;
    };
  }
};

float* take_memory() {
  float* address = nullptr;
  CUDA_REQUIRE(cudaMalloc(&address, bytes));
  CUDA_REQUIRE(cudaMemset(address, 0, bytes));
  CUDA_REQUIRE(cudaDeviceSynchronize());
  return address;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_blobs, *boost::unit_test::label("sanitize"))

// What can be named

BOOST_AUTO_TEST_CASE(memory_of_cuda_is_read_and_written_in_place) {
  Foreign f;
  rf::Array x = f.blob();
  BOOST_TEST(x.device() == rf::current_device());
  BOOST_TEST(holds(x, 0));
  x += 2;
  BOOST_TEST(holds(x * 2, 4));
  rf::synchronize();
  BOOST_TEST(f.first() == 2);
  foreign::add(f.native, f.memory, 5);
  BOOST_TEST(f.first() == 7);
  BOOST_TEST(x.to_vector<float>()[0] == 7);
  x = rf::Array();
  BOOST_TEST(f.first() == 7);  // it is still there
}

BOOST_AUTO_TEST_CASE(page_locked_managed_and_registered_memory_can_be_named) {
  float* pinned = nullptr;
  CUDA_REQUIRE(cudaMallocHost(&pinned, bytes));
  float* managed = nullptr;
  CUDA_REQUIRE(cudaMallocManaged(&managed, bytes));
  std::vector<float> registered(size);
  CUDA_REQUIRE(cudaHostRegister(registered.data(), bytes, cudaHostRegisterDefault));
  for (float* const address : {pinned, managed, registered.data()}) {
    for (int i = 0; i < size; ++i) address[i] = 1;
    rf::Array x = rf::from_blob(address, {size});
    x += 1;
    BOOST_TEST(holds(x, 2));
    rf::synchronize();
    BOOST_TEST(address[0] == 2);
    BOOST_TEST(address[size - 1] == 2);
  }
  CUDA_REQUIRE(cudaHostUnregister(registered.data()));
  CUDA_REQUIRE(cudaFree(managed));
  CUDA_REQUIRE(cudaFreeHost(pinned));
}

BOOST_AUTO_TEST_CASE(page_locked_memory_can_be_named_on_a_host_device_too) {
  float* pinned = nullptr;
  CUDA_REQUIRE(cudaMallocHost(&pinned, bytes));
  for (int i = 0; i < size; ++i) pinned[i] = 3;
  rf::Array x = rf::from_blob(pinned, {size}, {.device = host_device});
  BOOST_TEST(x.device() == host_device);
  {
    const rf::DeviceGuard on(host_device);
    x += 1;
  }
  BOOST_TEST(holds(x, 4));
  CUDA_REQUIRE(cudaFreeHost(pinned));
}

BOOST_AUTO_TEST_CASE(memory_that_the_device_cannot_reach_is_refused) {
  std::vector<float> pageable(size);
  require_error(rf::Errc::invalid_value, [&] { rf::from_blob(pageable.data(), {size}); },
                {"from_blob", rf::current_device().str()});
  const foreign::Memory<float> memory(size);
  require_error(rf::Errc::invalid_value, [&] { rf::from_blob<float>(memory, {size}, {.device = host_device}); },
                {host_device.str()});
  if (const auto devices = rf::test::two_devices()) {
    require_error(rf::Errc::invalid_value, [&] { rf::from_blob<float>(memory, {size}, {.device = devices->second}); },
                  {devices->first.str(), devices->second.str()});
  }
  const rf::Stream host(host_device);
  require_error(rf::Errc::wrong_device,
                [&] { rf::from_blob<float>(memory, {size}, {.device = rf::current_device(), .stream = host}); },
                {host_device.str(), "synchronize"});
}

BOOST_AUTO_TEST_CASE(a_part_of_an_allocation_can_be_named_where_it_is_aligned) {
  const foreign::Memory<float> memory(size);
  rf::Array all = rf::from_blob<float>(memory, {size});
  rf::Array inner = rf::from_blob<float>(memory + 3, {5});
  inner += 1;
  const std::vector<float> values = all.to_vector<float>();
  BOOST_TEST(values[2] == 0);
  BOOST_TEST(values[3] == 1);
  BOOST_TEST(values[7] == 1);
  BOOST_TEST(values[8] == 0);
  void* const odd = static_cast<char*>(static_cast<void*>(memory)) + 2;
  require_error(rf::Errc::invalid_value, [&] { rf::from_blob(odd, {4}, rf::DType::float32); }, {"aligned", "4"});
}

// Order

BOOST_AUTO_TEST_CASE(the_first_use_waits_for_what_other_code_put_on_the_stream) {
  const rf::test::HazardsScope hazards(rf::Hazards::error);  // the option is an order, not a fault
  const std::function<void(rf::Array&)> uses[] = {
      [](rf::Array& x) { x *= 3; },
      [](rf::Array& x) { x = x * 3; },
      [](rf::Array& x) { rf::current_stream().launch(over_all, triple, x, size); },
      [](rf::Array& x) {
        rf::current_stream().enqueue("triple", rf::readwrite(x),
                                     [](cudaStream_t s, float* p) { triple<<<4, 256, 0, s>>>(p, size); });
      },
      [](rf::Array& x) {
        x.slice(500, 1000) += 1;  // another part of it
        x *= 3;
      },
      [](rf::Array& x) { rf::capture([&] { x *= 3; }).instantiate().replay(); },
  };
  for (const auto& use : uses) {
    Foreign f;
    const rf::Stream plain;
    f.hold(f.native);
    foreign::add(f.native, f.memory);
    rf::Array x = f.blob({.stream = f.stream});
    {
      const rf::StreamGuard on(plain);
      use(x);
    }
    BOOST_TEST(!plain.query());
    f.open_gate();
    BOOST_TEST(x.to_vector<float>()[0] == 3);
  }
}

BOOST_AUTO_TEST_CASE(each_stream_that_reads_first_waits_for_what_other_code_put_on_the_stream) {
  Foreign f;
  f.hold(f.native);
  foreign::add(f.native, f.memory);
  const rf::Array x = f.blob({.stream = f.stream});
  std::vector<rf::Array> sums;
  for (int i = 0; i < 3; ++i) {
    const rf::Stream reader;
    const rf::StreamGuard on(reader);
    sums.push_back(x + i);
    BOOST_TEST(!reader.query());
  }
  f.open_gate();
  for (int i = 0; i < 3; ++i) BOOST_TEST(sums[static_cast<std::size_t>(i)].to_vector<float>()[0] == 1 + i);
}

BOOST_AUTO_TEST_CASE(a_host_read_waits_for_what_other_code_put_on_the_stream) {
  Foreign f;
  foreign::keep_busy(f.native, 100);
  foreign::add(f.native, f.memory);
  BOOST_TEST(f.blob({.stream = f.stream}).to_vector<float>()[0] == 1);
}

BOOST_AUTO_TEST_CASE(without_a_stream_nothing_is_waited_for, *boost::unit_test::label("pending")) {
  Foreign f;
  const rf::Stream plain;
  f.hold(f.native);
  rf::Array x = f.blob();
  {
    const rf::StreamGuard on(plain);
    x += 1;
  }
  plain.synchronize();
  BOOST_TEST(cudaStreamQuery(f.native) == cudaErrorNotReady);
  f.open_gate();
}

BOOST_AUTO_TEST_CASE(the_device_of_the_stream_is_that_of_the_memory) {
  Foreign f;
  const rf::DeviceGuard on(host_device);
  BOOST_TEST(f.blob({.stream = f.stream}).device() == f.stream.device());
}

BOOST_AUTO_TEST_CASE(bytes_at_an_address_are_the_same_as_in_arrays_that_name_them) {
  const rf::test::HazardsScope hazards(rf::Hazards::add);
  Foreign f;
  const rf::Stream plain;
  rf::Array x = f.blob();
  float* const address = f.memory;
  const std::function<void()> uses[] = {
      [&] { plain.launch(over_all, triple, rf::readwrite(address, bytes), size); },
      [&] {
        plain.enqueue("triple", rf::readwrite(address, bytes),
                      [](cudaStream_t s, float* p) { triple<<<4, 256, 0, s>>>(p, size); });
      },
      [&] {  // in a struct of other code's, as it were
        plain.launch({.grid = 4, .block = 256}, triple, address, size, rf::readwrite(address, bytes));
      },
  };
  for (const auto& use : uses) {
    x.assign(0);
    rf::synchronize();
    rf::clear_diagnostics();
    f.close_gate();
    f.hold(f.native);
    {
      const rf::StreamGuard on(f.stream);
      x += 1;
    }
    use();
    BOOST_TEST(!plain.query());
    BOOST_TEST(rf::test::of_kind(rf::diagnostics(), rf::DiagnosticKind::edge_added).size() == 1U);
    {
      const rf::StreamGuard on(f.stream);
      x += 1;  // and back
    }
    f.open_gate();
    BOOST_TEST(holds(x, 4));
  }
}

BOOST_AUTO_TEST_CASE(other_bytes_are_free_of_one_another, *boost::unit_test::label("pending")) {
  Foreign f;
  const rf::Stream plain;
  rf::Array left = rf::from_blob<float>(f.memory, {500});
  float* const right = f.memory + 500;
  f.hold(f.native);
  {
    const rf::StreamGuard on(f.stream);
    left += 1;
  }
  plain.launch(over_all, triple, rf::readwrite(right, 500 * 4), 500);
  plain.synchronize();
  BOOST_TEST(!f.stream.query());
  f.open_gate();
  BOOST_TEST(holds(left, 1));
}

// Graphs

BOOST_AUTO_TEST_CASE(graphs_read_and_write_memory_of_other_code) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Foreign f;
      const foreign::Memory<float> target(size);
      const rf::GraphExec exec = record(scope, f.stream, [&] {
                                   const rf::Array in = f.blob();
                                   rf::Array out = rf::from_blob<float>(target, {size});
                                   out.assign(in * 2);
                                   f.blob() += 1;
                                 }).instantiate();
      foreign::add(f.native, f.memory, 10);  // 10
      exec.replay(f.stream);                 // 20; 11
      foreign::add(f.native, target, 1);     // 21
      BOOST_TEST(foreign::read_after(f.native, target) == 21);
      BOOST_TEST(f.first() == 11);
      foreign::add(f.native, f.memory, 10);
      exec.replay(f.stream);
      BOOST_TEST(foreign::read_after(f.native, target) == 42);
      BOOST_TEST(f.first() == 22);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_replay_waits_for_what_other_code_put_on_the_stream) {
  Foreign f;
  f.hold(f.native);
  foreign::add(f.native, f.memory);
  rf::Array x = f.blob({.stream = f.stream});
  const rf::GraphExec exec = rf::capture([&] { x *= 3; }).instantiate();
  const rf::Stream plain;
  exec.replay(plain);
  BOOST_TEST(!plain.query());
  f.open_gate();
  exec.replay(plain);
  BOOST_TEST(x.to_vector<float>()[0] == 9);
}

// Deleters

BOOST_AUTO_TEST_CASE(memory_is_freed_once_when_the_work_on_it_is_done, *boost::unit_test::label("pending")) {
  const Freed freed;
  Foreign f;
  {
    rf::Array x = rf::from_blob(take_memory(), {size}, {.deleter = freed.deleter()});
    f.hold(f.native);
    const rf::StreamGuard on(f.stream);
    x += 1;
  }
  const rf::Stream another;
  rf::bench::empty(another);
  another.synchronize();  // lets go of what is done
  BOOST_TEST(*freed.count == 0);
  f.open_gate();
  BOOST_TEST(eventually([&] { return *freed.count > 0; }));
  rf::synchronize();
  BOOST_TEST(*freed.count == 1);
}

BOOST_AUTO_TEST_CASE(memory_is_freed_after_the_work_on_the_stream_that_is_given_with_it,
                     *boost::unit_test::label("pending")) {
  const Freed freed;
  Foreign f;
  float* const address = take_memory();
  f.hold(f.native);
  foreign::add(f.native, address);
  { const rf::Array never_used = rf::from_blob(address, {size}, {.deleter = freed.deleter(), .stream = f.stream}); }
  const rf::Stream another;
  rf::bench::empty(another);
  another.synchronize();
  BOOST_TEST(*freed.count == 0);
  f.open_gate();
  BOOST_TEST(eventually([&] { return *freed.count == 1; }));
}

BOOST_AUTO_TEST_CASE(memory_is_freed_after_the_native_stream_that_used_it_is_gone,
                     *boost::unit_test::label("pending")) {
  const Freed freed;
  foreign::Case c;
  foreign::Stream native;
  {
    const rf::Stream stream = rf::Stream::wrap(native);
    rf::Array x = rf::from_blob(take_memory(), {size}, {.deleter = freed.deleter()});
    c.hold(native);
    const rf::StreamGuard on(stream);
    x += 1;
  }
  BOOST_TEST(native.reset() == cudaSuccess);
  const rf::Stream another;
  rf::bench::empty(another);
  another.synchronize();
  BOOST_TEST(*freed.count == 0);
  c.open_gate();
  BOOST_TEST(eventually([&] { return *freed.count == 1; }));
}

BOOST_AUTO_TEST_CASE(memory_that_is_dropped_in_a_capture_is_freed_and_leaves_the_capture_intact) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Freed freed;
      Foreign f;
      rf::Array x = rf::zeros({size});
      rf::Array dropped = rf::from_blob(take_memory(), {size}, {.deleter = freed.deleter()});
      dropped += 1;
      rf::synchronize();
      const rf::Graph graph = record(scope, f.stream, [&] {
        x += 1;
        dropped = rf::Array();  // no part of the capture
        x += 1;
      });
      graph.instantiate().replay();
      BOOST_TEST(holds(x, 2));
      BOOST_TEST(eventually([&] { return *freed.count == 1; }));
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_a_graph_is_freed_after_its_last_replay, *boost::unit_test::label("pending")) {
  for (const Scope scope : rf::test::scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Freed freed;
      Foreign f;
      float* const address = take_memory();
      {
        rf::GraphExec exec = record(scope, f.stream, [&] {
                               rf::Array x = rf::from_blob(address, {size}, {.deleter = freed.deleter()});
                               x += 1;
                             }).instantiate();
        rf::synchronize();
        BOOST_TEST(*freed.count == 0);
        f.hold(f.native);
        exec.replay(f.stream);
      }
      const rf::Stream another;
      rf::bench::empty(another);
      another.synchronize();
      BOOST_TEST(*freed.count == 0);
      f.open_gate();
      BOOST_TEST(eventually([&] { return *freed.count == 1; }));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
