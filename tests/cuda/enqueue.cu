// Functions that put work of the program's own on a stream: eager, held back and live.

#include "native_graph.hpp"
#include "support.hpp"
#include "support_reference.hpp"
#include "support_runtime.hpp"
#include "support_scopes.hpp"

#include <refrain/cuda.hpp>

#include <thread>

namespace rf = refrain;
using rf::test::Mode;
using rf::test::require_error;
using Numbers = std::vector<float>;

namespace {

constexpr int size = 1000;
constexpr int blocks = 4;
constexpr int threads = 256;
constexpr std::size_t bytes = size * sizeof(float);

__global__ void add(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

__global__ void multiply(const float* from, float factor, float* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = from[i] * factor;
}

/// Adds to an array on a stream that a function is given.
struct Adds {
  float value;
  void operator()(cudaStream_t stream, float* x) const { add<<<blocks, threads, 0, stream>>>(x, value, size); }
};

struct Way {
  bool live;
  rf::Optimize optimize;
};
constexpr Way ways[] = {{false, rf::Optimize::none}, {false, rf::Optimize::all}, {true, rf::Optimize::all}};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_enqueue, *boost::unit_test::label("sanitize"))

// What it does

BOOST_AUTO_TEST_CASE(a_functions_kernels_run_between_the_ops_around_them_in_every_mode) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::full({size}, 2);
      rf::Array y = rf::zeros({size});
      const rf::Array sum = rf::test::run_as(mode, [&] {
        x *= 3;  // 6
        rf::current_stream().enqueue("mine", rf::read(x), rf::write(y),
                                     [](cudaStream_t stream, const float* from, float* to) {
                                       multiply<<<blocks, threads, 0, stream>>>(from, 2, to, size);  // 12
                                       add<<<blocks, threads, 0, stream>>>(to, 1, size);             // 13
                                     });
        return y + 1;
      });
      BOOST_TEST(rf::test::holds(sum, 14));
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_repeat_what_a_function_put_there_in_every_kind_of_capture) {
  for (const rf::test::Scope scope : rf::test::scopes) {
    for (const rf::Optimize optimize : {rf::Optimize::none, rf::Optimize::all}) {
      BOOST_TEST_CONTEXT(scope) {
        const rf::Stream origin;
        rf::Array x = rf::zeros({size});
        origin.wait_stream(rf::current_stream());
        const rf::Graph graph = rf::test::record(scope, origin, [&] {
          rf::current_stream().enqueue("mine", rf::readwrite(x), Adds{1});
          x *= 2;
          rf::current_stream().enqueue("mine", rf::readwrite(x), Adds{3});
        });
        const rf::GraphExec exec = graph.instantiate({.optimize = optimize});
        BOOST_TEST(rf::test::holds(x, 0));
        for (int i = 0; i < 3; ++i) exec.replay();
        BOOST_TEST(rf::test::holds(x, 35));  // 5, 15, 35
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_function_is_called_once_in_this_thread_before_the_call_returns) {
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::zeros({size});
      int calls = 0;
      int calls_at_return = 0;
      std::thread::id caller;
      rf::test::run_as(mode, [&] {
        rf::current_stream().enqueue("mine", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
          ++calls;
          caller = std::this_thread::get_id();
          Adds{1}(stream, to);
        });
        calls_at_return = calls;
        return x + 1;
      });
      BOOST_TEST(calls_at_return == 1);
      BOOST_TEST(calls == 1);
      BOOST_TEST((caller == std::this_thread::get_id()));
      BOOST_TEST(rf::test::holds(x, 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_function_may_refer_to_locals_that_are_gone_when_its_work_runs) {
  for (const Way& way : ways) {
    rf::Array x = rf::zeros({size});
    const auto issue = [&] {
      std::vector<float> values{1, 2, 4};
      rf::current_stream().enqueue("mine", rf::readwrite(x), [&](cudaStream_t stream, float* to) {
        for (const float& value : values) add<<<blocks, threads, 0, stream>>>(to, value, size);
      });
      values.assign(3, 1000);
    };
    issue();
    const rf::GraphExec exec = rf::capture(issue, {.live = way.live}).instantiate({.optimize = way.optimize});
    exec.replay();
    exec.replay();
    BOOST_TEST(rf::test::holds(x, 21));
  }
}

BOOST_AUTO_TEST_CASE(a_function_may_fork_to_its_own_streams_copy_and_fill) {
  const runtime::Fork fork;
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::Array x = rf::full({2, size}, 7);
      rf::Array y = rf::full({2, size}, 5);
      const rf::Array sum = rf::test::run_as(mode, [&] {
        x += 1;
        const auto work = [&](cudaStream_t stream, float* left, float* right) {
          CUDA_REQUIRE(cudaMemcpyAsync(right, left, 2 * bytes, cudaMemcpyDeviceToDevice, stream));  // 8, 8
          fork.begin(stream);
          CUDA_REQUIRE(cudaMemsetAsync(right, 0, bytes, fork.side));
          add<<<blocks, threads, 0, fork.side>>>(right, 1, size);      // 1, 8
          add<<<blocks, threads, 0, stream>>>(right + size, 2, size);  // 1, 10
          fork.join(stream);
          add<<<2 * blocks, threads, 0, stream>>>(right, 100, 2 * size);  // 101, 110
        };
        rf::current_stream().enqueue("mine", rf::read(x), rf::write(y), work);
        return x + y;
      });
      BOOST_TEST(rf::test::holds(sum.slice(0, 1), 109));
      BOOST_TEST(rf::test::holds(sum.slice(1, 2), 118));
    }
  }
}

// Arrays

BOOST_AUTO_TEST_CASE(an_array_made_in_the_capture_keeps_a_block_of_its_own) {
  for (const Way& way : ways) {
    auto [graph, kept] = rf::capture(
        [] {
          rf::Array made = rf::empty({size});
          const rf::Array filled = rf::full({size}, 3);
          rf::current_stream().enqueue("mine", rf::read(filled), rf::write(made),
                                       [](cudaStream_t stream, const float* from, float* to) {
                                         multiply<<<blocks, threads, 0, stream>>>(from, 2, to, size);
                                       });
          return std::pair(made, made + 1);
        },
        {.live = way.live});
    const rf::GraphExec exec = graph.instantiate({.optimize = way.optimize});
    const rf::GraphExec again = graph.instantiate({.optimize = way.optimize});
    for (int i = 0; i < 20; ++i) rf::full({size}, 100);  // would take the place of memory that is let go
    exec.replay();
    BOOST_TEST(rf::test::holds(kept.first, 6));
    BOOST_TEST(rf::test::holds(kept.second, 7));
    kept.first.assign(0);
    again.replay();
    BOOST_TEST(rf::test::holds(kept.first, 6));
    BOOST_TEST(rf::test::of_kind(exec.diagnostics(), rf::DiagnosticKind::output_kept).size() >= 3U);
  }
}

BOOST_AUTO_TEST_CASE(arrays_that_only_the_graph_holds_keep_their_blocks_for_its_functions) {
  for (const Way& way : ways) {
    rf::Array result = rf::zeros({size});
    rf::GraphExec exec;
    {
      const rf::Array outside = rf::full({size}, 2);
      const rf::Graph graph = rf::capture(
          [&] {
            rf::Array made = rf::zeros({size});
            rf::current_stream().enqueue("mine", rf::read(outside), rf::write(made),
                                         [](cudaStream_t stream, const float* from, float* to) {
                                           multiply<<<blocks, threads, 0, stream>>>(from, 5, to, size);
                                         });
            result += made;
          },
          {.live = way.live});
      exec = graph.instantiate({.optimize = way.optimize});
    }
    std::vector<rf::Array> others;
    for (int i = 0; i < 20; ++i) others.push_back(rf::full({size}, 100));
    exec.replay();
    exec.replay();
    BOOST_TEST(rf::test::holds(result, 20));
    for (const rf::Array& other : others) BOOST_TEST(rf::test::holds(other, 100));
  }
}

BOOST_AUTO_TEST_CASE(a_function_is_given_a_pointer_for_each_access_in_order) {
  std::vector<rf::Array> all;
  for (int i = 0; i < 10; ++i) all.push_back(rf::zeros({size}));  // more than are kept in place
  const rf::Array nothing = rf::zeros({0});
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      bool is_null = false;
      rf::test::run_as(mode, [&] {
        rf::current_stream().enqueue("many", rf::readwrite(all[0]), rf::readwrite(all[1]), rf::readwrite(all[2]),
                                     rf::readwrite(all[3]), rf::readwrite(all[4]), rf::readwrite(all[5]),
                                     rf::readwrite(all[6]), rf::readwrite(all[7]), rf::readwrite(all[8]),
                                     rf::readwrite(all[9].slice(1, 3)), rf::read(nothing),
                                     [&](cudaStream_t stream, float* a, float* b, float* c, float* d, float* e,
                                         float* f, float* g, float* h, float* i, float* rows, const void* none) {
                                       float value = 0;
                                       for (float* each : {a, b, c, d, e, f, g, h, i}) {
                                         add<<<blocks, threads, 0, stream>>>(each, ++value, size);
                                       }
                                       add<<<1, threads, 0, stream>>>(rows, ++value, 2);
                                       is_null = none == nullptr;
                                     });
        return rf::Array();
      });
      BOOST_TEST(is_null);
      for (int i = 0; i < 9; ++i) BOOST_TEST(rf::test::holds(all[static_cast<std::size_t>(i)], i + 1));
      const Numbers last = all[9].slice(0, 4).to_vector<float>();
      BOOST_TEST(last == (Numbers{0, 10, 10, 0}), boost::test_tools::per_element());
      for (rf::Array& each : all) each.assign(0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pointer_of_another_type_than_the_arrays_is_refused) {
  const rf::Array doubles = rf::zeros({4}, {.dtype = rf::DType::float64});
  rf::Array x = rf::zeros({size});
  const rf::Stream stream = rf::current_stream();
  const auto wrong = [&] {
    stream.enqueue("mine", rf::read(x), rf::read(doubles), [](cudaStream_t, const float*, const float*) {});
  };
  const auto wrong_by_name = [&] {
    stream.enqueue("mine", rf::read(doubles), [](cudaStream_t, auto pointer) { pointer.template as<long long>(); });
  };
  for (const auto& call : {std::function<void()>(wrong), std::function<void()>(wrong_by_name)}) {
    require_error(rf::Errc::invalid_value, call, {"[mine] argument", "an array of float64", "enqueue.cu:"});
    const rf::Graph graph = rf::capture([&] {
      require_error(rf::Errc::invalid_value, call, {"[mine] argument", "an array of float64", "enqueue.cu:"});
      x += 1;
    });
    BOOST_TEST(graph.node_count() == 1);
    graph.instantiate().replay();
  }
  BOOST_TEST(rf::test::holds(x, 2));
}

BOOST_AUTO_TEST_CASE(bytes_at_an_address_are_given_as_any_pointer) {
  const runtime::DeviceInt number;
  for (const Mode mode : rf::test::all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      rf::test::run_as(mode, [&] {
        rf::current_stream().enqueue("mine", rf::readwrite(static_cast<int*>(number), sizeof(int)),
                                     [](cudaStream_t stream, int* same) {
                                       CUDA_REQUIRE(cudaMemsetAsync(same, 0, sizeof(int), stream));
                                       CUDA_REQUIRE(runtime::try_add_one(same, stream));
                                     });
        return rf::Array();
      });
      int value = 0;
      rf::synchronize();
      CUDA_REQUIRE(cudaMemcpy(&value, number, sizeof(int), cudaMemcpyDeviceToHost));
      BOOST_TEST(value == 1);
    }
  }
}

// Functions by device

BOOST_AUTO_TEST_CASE(each_device_calls_the_function_that_is_given_for_it) {
  for (const rf::Device device : {rf::current_device(), rf::Device{rf::DeviceKind::host, 0}}) {
    for (const Mode mode : rf::test::all_modes) {
      BOOST_TEST_CONTEXT(device << ", " << mode) {
        const rf::DeviceGuard on(device);
        rf::Array x = rf::ones({size});
        const rf::Array result = rf::test::run_as(mode, [&] {
          rf::current_stream().enqueue("mine", rf::readwrite(x), rf::on_cuda(Adds{2}), rf::on_host([](float* to) {
                                         for (int i = 0; i < size; ++i) to[i] += 2;
                                       }));
          return x * 2;
        });
        BOOST_TEST(rf::test::holds(result, 6));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
