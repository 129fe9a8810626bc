#pragma once

#include "support.hpp"
#include "support_reference.hpp"

#include <refrain/cuda.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

// CUDA's libraries in `Stream::enqueue`. Each suite has a type `Work`: what a call of its library needs (handle or
// plan, workspace), made by the constructor without any work on the device, and
//
//   Array run(const Array& x, const Array& workspace) const    y = f(x), on the current stream
//   std::int64_t workspace_bytes() const
//   static std::vector<double> expected(const std::vector<double>& x)    f by a loop of its own, in double
//   static constexpr std::int64_t input_size; static constexpr double tolerance    relative to the largest result
//
// The checks below try it in every way that a program may use a library.

namespace refrain::test {

/// Success is 0 in all of CUDA's libraries.
/// @throws std::runtime_error
template <class Status>
void require(Status status, SourceLocation where = SourceLocation::current()) {
  if (status == Status{}) return;
  throw std::runtime_error("status " + std::to_string(static_cast<int>(status)) + " at " + where.str());
}

/// A library's object, destroyed with its owner.
template <class Handle, auto create, auto destroy>
class Owned {
 public:
  template <class... Args>
  explicit Owned(Args... args) {
    Handle made = nullptr;
    require(create(&made, args...));
    handle_.reset(made);
  }
  Handle get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(Handle handle) const { static_cast<void>(destroy(handle)); }
  };
  std::unique_ptr<std::remove_pointer_t<Handle>, Destroy> handle_;
};

/// Multiples of 1/8 of both signs: sums of a few thousand products of them are exact in float32.
std::vector<float> eighths(std::int64_t size, int seed);
/// An array of these, or new ones in the same array.
Array eighths_array(std::int64_t size, int seed);
void refill(Array& array, int seed);

/// An array for whatever a library keeps there while it works; `enqueue` gives its address to any pointer.
Array workspace_of(std::int64_t bytes);

/// The largest difference, relative to the largest of the expected numbers or to 1; infinite where a number is none.
double error_of(const Array& actual, const std::vector<double>& expected);
void check_close(const Array& actual, const std::vector<double>& expected, double tolerance,
                 SourceLocation where = SourceLocation::current());

/// That an enqueued function which does this in a capture is refused with the label and the place, the recording
/// staying as if it had not been called; that a live capture ends of it with the label. `function` gets memory for four
/// floats.
void check_refused(const char* label, const std::function<void(cudaStream_t, float*)>& function,
                   SourceLocation where = SourceLocation::current());

/// What a library may compute for an array whose elements are `factor` times those of `x`.
template <class Work>
std::vector<double> expected_of(const Array& x, double factor = 1) {
  std::vector<double> values = numbers(x);
  for (double& value : values) value *= factor;
  return Work::expected(values);
}

inline std::vector<double> twice(std::vector<double> values) {
  for (double& value : values) value *= 2;
  return values;
}

/// Nothing of the library has run in the process before: for the first case of a suite, and for one of a test of its
/// own.
template <class Work>
void check_first_use(Mode mode) {
  const Work work;
  const Array x = eighths_array(Work::input_size, 1);
  const Array workspace = workspace_of(work.workspace_bytes());
  const Array y = run_as(mode, [&] { return work.run(x, workspace); });
  check_close(y, expected_of<Work>(x), Work::tolerance);
}

/// Between ops of Refrain's, eagerly and in graphs that are replayed with other numbers.
template <class Work>
void check_every_mode() {
  const Work work;
  Array x = eighths_array(Work::input_size, 1);
  const auto program = [&] {
    const Array workspace = workspace_of(work.workspace_bytes());
    const Array y = work.run(x + x, workspace);
    return y + y;
  };
  const auto check = [&](const Array& y) { check_close(y, twice(expected_of<Work>(x, 2)), Work::tolerance); };
  check(program());
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      auto [graph, y] = capture(program, capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      for (const int seed : {2, 3, 4}) {
        refill(x, seed);
        exec.replay();
        check(y);
      }
    }
  }
}

/// On two parallel branches, each with a handle and a workspace of its own.
template <class Work>
void check_branches() {
  constexpr int calls = 4;
  const Work left;
  const Work right;
  const Stream a;
  const Stream b;
  std::vector<Array> inputs;
  for (int i = 0; i < 2 * calls; ++i) inputs.push_back(eighths_array(Work::input_size, i));
  const auto branch = [&](const Stream& stream, const Work& work, int first) {
    const StreamGuard on(stream);
    const Array workspace = workspace_of(work.workspace_bytes());
    Array sum = work.run(inputs[static_cast<std::size_t>(first)], workspace);
    for (int i = first + 1; i < first + calls; ++i) {
      sum += work.run(inputs[static_cast<std::size_t>(i)], workspace);
    }
    return sum;
  };
  const auto program = [&] {
    const Stream origin = current_stream();
    a.wait_stream(origin);
    b.wait_stream(origin);
    const Array of_a = branch(a, left, 0);
    const Array of_b = branch(b, right, calls);
    origin.wait_stream(a);
    origin.wait_stream(b);
    return of_a + of_b;
  };
  std::vector<double> expected;
  for (const Array& x : inputs) {
    const std::vector<double> each = expected_of<Work>(x);
    expected.resize(each.size());
    for (std::size_t i = 0; i < each.size(); ++i) expected[i] += each[i];
  }
  synchronize();
  check_close(program(), expected, Work::tolerance);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      auto [graph, y] = capture(program, capture_options(mode));
      const GraphExec exec = graph.instantiate(instantiate_options(mode));
      for (int i = 0; i < 5; ++i) exec.replay();
      check_close(y, expected, Work::tolerance);
    }
  }
}

/// The handle goes before the graph, and the graph before the handle, while a replay is in flight.
template <class Work>
void check_destruction() {
  const Array x = eighths_array(Work::input_size, 1);
  const std::vector<double> expected = expected_of<Work>(x);
  for (const Mode mode : graph_modes) {
    for (const bool handle_first : {true, false}) {
      BOOST_TEST_CONTEXT(mode << (handle_first ? ", the handle first" : ", the graph first")) {
        std::optional<Work> work(std::in_place);
        auto [graph, y] = capture([&] { return work->run(x, workspace_of(work->workspace_bytes())); },  //
                                  capture_options(mode));
        std::optional<GraphExec> exec = graph.instantiate(instantiate_options(mode));
        exec->replay();
        if (handle_first) {
          synchronize();
          work.reset();
        }
        graph = {};
        exec.reset();
        check_close(y, expected, Work::tolerance);
        work.reset();
      }
    }
  }
  check_first_use<Work>(Mode::graph);  // all of it once more
}

/// Graphs that share a handle: side by side with a workspace each, one after another with one workspace.
template <class Work>
void check_two_graphs() {
  const Work work;
  const Stream streams[2];
  const Array inputs[2] = {eighths_array(Work::input_size, 1), eighths_array(Work::input_size, 2)};
  synchronize();
  for (const bool is_shared : {false, true}) {
    BOOST_TEST_CONTEXT((is_shared ? "one workspace" : "a workspace each")) {
      const Array shared = workspace_of(work.workspace_bytes());
      std::vector<GraphExec> execs;
      std::vector<Array> results;
      for (const Array& x : inputs) {
        auto [graph, y] = capture([&] {
          const Array workspace = is_shared ? shared : workspace_of(work.workspace_bytes());
          Array sum = work.run(x, workspace);
          for (int i = 1; i < 4; ++i) sum += work.run(x, workspace);
          return sum;
        });
        execs.push_back(graph.instantiate());
        results.push_back(y);
      }
      for (int i = 0; i < 20; ++i) {
        for (std::size_t k = 0; k < 2; ++k) execs[k].replay(streams[k]);
      }
      for (std::size_t k = 0; k < 2; ++k) {
        check_close(results[k], twice(twice(expected_of<Work>(inputs[k]))), Work::tolerance);
      }
    }
  }
}

// Matrices, column by column: y = weights * x.

inline constexpr int gemm_m = 32;
inline constexpr int gemm_n = 32;
inline constexpr int gemm_k = 4096;  // long, so that libraries split it and need a workspace

inline Array gemm_weights() { return eighths_array(std::int64_t{gemm_m} * gemm_k, 9); }
std::vector<double> gemm_expected(const std::vector<double>& x);

}  // namespace refrain::test
