// cuBLAS: a handle and a workspace from before the capture.

#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <cublas_v2.h>

#include <cstddef>
#include <stdexcept>
#include <vector>

namespace rf = refrain;
using rf::test::require;

namespace {

using Handle = rf::test::Owned<cublasHandle_t, cublasCreate, cublasDestroy>;

void gemm(cublasHandle_t handle, const float* weights, const float* x, float* y) {
  using namespace rf::test;
  const float one = 1;
  const float zero = 0;
  require(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, gemm_m, gemm_n, gemm_k, &one, weights, gemm_m, x, gemm_k, &zero,
                      y, gemm_m));
}

class Gemm {
 public:
  static constexpr std::int64_t input_size = std::int64_t{rf::test::gemm_k} * rf::test::gemm_n;
  static constexpr double tolerance = 1e-6;

  std::int64_t workspace_bytes() const { return std::int64_t{32} << 20; }  // what cuBLAS recommends for Hopper

  rf::Array run(const rf::Array& x, const rf::Array& workspace) const {
    rf::Array y = rf::empty({std::int64_t{rf::test::gemm_m} * rf::test::gemm_n});
    rf::current_stream().enqueue(
        "gemm", rf::read(weights_), rf::read(x), rf::write(y), rf::write(workspace),
        [&](cudaStream_t stream, const float* a, const float* b, float* c, void* scratch) {
          require(cublasSetStream(handle_.get(), stream));
          // After the stream, which brings the handle's own workspace back.
          require(cublasSetWorkspace(handle_.get(), scratch, static_cast<std::size_t>(workspace_bytes())));
          gemm(handle_.get(), a, b, c);
        });
    return y;
  }

  static std::vector<double> expected(const std::vector<double>& x) { return rf::test::gemm_expected(x); }

 private:
  Handle handle_;
  rf::Array weights_ = rf::test::gemm_weights();
};

/// With the workspace that cuBLAS takes for itself.
rf::Array gemm_without_workspace(cublasHandle_t handle, const rf::Array& weights, const rf::Array& x) {
  rf::Array y = rf::empty({std::int64_t{rf::test::gemm_m} * rf::test::gemm_n});
  rf::current_stream().enqueue("bare gemm", rf::read(weights), rf::read(x), rf::write(y),
                               [&](cudaStream_t stream, const float* a, const float* b, float* c) {
                                 require(cublasSetStream(handle, stream));
                                 gemm(handle, a, b, c);
                               });
  return y;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(library_cublas)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Gemm>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Gemm>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(it_gives_the_numbers_of_a_plain_loop_in_every_mode) { rf::test::check_every_mode<Gemm>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_handle_each_run_side_by_side) { rf::test::check_branches<Gemm>(); }
BOOST_AUTO_TEST_CASE(graphs_that_share_a_handle_do_not_share_its_workspace) { rf::test::check_two_graphs<Gemm>(); }
BOOST_AUTO_TEST_CASE(handle_and_graph_may_be_destroyed_in_either_order) { rf::test::check_destruction<Gemm>(); }

BOOST_AUTO_TEST_CASE(a_handle_that_is_made_in_a_capture_is_refused_with_the_label) {
  rf::test::check_refused("late handle", [](cudaStream_t, float*) {
    cublasHandle_t handle = nullptr;
    if (cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS) static_cast<void>(cublasDestroy(handle));
  });
  rf::test::check_first_use<Gemm>(rf::test::Mode::graph);
}

BOOST_AUTO_TEST_CASE(what_a_function_throws_about_a_status_leaves_the_capture_intact) {
  const Gemm work;
  const rf::Array x = rf::test::eighths_array(Gemm::input_size, 1);
  const rf::Array weights = rf::test::gemm_weights();
  auto [graph, y] = rf::capture([&] {
    const rf::Array first = work.run(x, rf::test::workspace_of(work.workspace_bytes()));
    BOOST_CHECK_THROW(
        rf::current_stream().enqueue("late handle", rf::read(x), [](cudaStream_t, const float*) { const Handle late; }),
        std::runtime_error);
    return first + first;
  });
  BOOST_TEST(graph.node_count() == 2);
  graph.instantiate().replay();
  rf::test::check_close(y, rf::test::twice(rf::test::expected_of<Gemm>(x)), Gemm::tolerance);
}

// Ten graphs captured one after another on one stream, of which some go.
BOOST_AUTO_TEST_CASE(graphs_that_are_destroyed_leave_the_others_right, *boost::unit_test::label("report-49")) {
  const Gemm work;
  const rf::Array x = rf::test::eighths_array(Gemm::input_size, 1);
  const std::vector<double> expected = rf::test::expected_of<Gemm>(x);
  struct Captured {
    rf::GraphExec exec;
    rf::Array y;
  };
  std::vector<Captured> all;
  for (int i = 0; i < 10; ++i) {
    auto [graph, y] = rf::capture([&] { return work.run(x, rf::test::workspace_of(work.workspace_bytes())); });
    all.push_back({graph.instantiate(), y});
    all.back().exec.replay();
  }
  for (const std::size_t gone : {std::size_t{9}, std::size_t{4}, std::size_t{0}}) {
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(gone));
    rf::synchronize();
    rf::trim(rf::current_device());
    std::vector<rf::Array> garbage;
    for (int i = 0; i < 8; ++i) garbage.push_back(rf::full({work.workspace_bytes() / 4}, 1e30));
    for (const Captured& left : all) {
      rf::Array y = left.y;
      y.assign(0);
      left.exec.replay();
      rf::test::check_close(y, expected, Gemm::tolerance);
    }
  }
}

// One handle on eight streams: each call has the workspace of its stream.
BOOST_AUTO_TEST_CASE(one_handle_on_many_streams_gives_the_bits_of_one_after_another,
                     *boost::unit_test::label("report-50")) {
  constexpr std::size_t streams = 8;
  constexpr int rounds = 100;
  const Gemm work;
  std::vector<rf::Stream> branches(streams);
  std::vector<rf::Array> inputs;
  std::vector<rf::Array> workspaces;
  std::vector<std::vector<float>> serial;
  for (std::size_t i = 0; i < streams; ++i) {
    inputs.push_back(rf::test::eighths_array(Gemm::input_size, static_cast<int>(i) + 1));
    workspaces.push_back(rf::test::workspace_of(work.workspace_bytes()));
    serial.push_back(work.run(inputs[i], workspaces[i]).to_vector<float>());
  }
  const auto side_by_side = [&](int times) {
    const rf::Stream origin = rf::current_stream();
    std::vector<rf::Array> results(streams);
    for (std::size_t i = 0; i < streams; ++i) branches[i].wait_stream(origin);
    for (int round = 0; round < times; ++round) {
      for (std::size_t i = 0; i < streams; ++i) {
        const rf::StreamGuard on(branches[i]);
        results[i] = work.run(inputs[i], workspaces[i]);
      }
    }
    for (const rf::Stream& branch : branches) origin.wait_stream(branch);
    return results;
  };
  const auto check = [&](const std::vector<rf::Array>& results) {
    for (std::size_t i = 0; i < streams; ++i) BOOST_TEST((results[i].to_vector<float>() == serial[i]), "stream " << i);
  };
  check(side_by_side(rounds));
  auto [graph, results] = rf::capture([&] { return side_by_side(1); });
  const rf::GraphExec exec = graph.instantiate();
  for (int round = 0; round < rounds; ++round) exec.replay();
  check(results);
}

// cuBLAS 13 takes its own workspace in stream order: nodes that CUDA can put into one executable only.
BOOST_AUTO_TEST_CASE(without_a_workspace_a_second_executable_is_refused_with_the_label_or_right) {
  const Handle handle;
  const rf::Array x = rf::test::eighths_array(Gemm::input_size, 1);
  const rf::Array weights = rf::test::gemm_weights();
  const std::vector<double> expected = rf::test::expected_of<Gemm>(x);
  auto [graph, y] = rf::capture([&] { return gemm_without_workspace(handle.get(), weights, x); });
  const rf::GraphExec first = graph.instantiate();
  for (int i = 0; i < 3; ++i) first.replay();
  rf::test::check_close(y, expected, Gemm::tolerance);
  try {
    graph.instantiate().replay();
  } catch (const rf::Error& error) {
    const std::string text = error.what();
    BOOST_TEST((error.code() == rf::Errc::not_supported), text);
    BOOST_TEST((text.find("bare gemm") != std::string::npos && text.find("workspace") != std::string::npos), text);
  }
  first.replay();
  rf::test::check_close(y, expected, Gemm::tolerance);
}

BOOST_AUTO_TEST_SUITE_END()
