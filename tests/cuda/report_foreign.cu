// Calls of other code's that no capture can record.

#include "support.hpp"
#include "support_foreign.hpp"
#include "support_scopes.hpp"

#include <refrain/enqueue.hpp>

#include <stdexcept>
#include <string_view>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;

namespace {

constexpr Scope held_back_scopes[] = {{false, false}, {true, false}};
constexpr Scope live_scopes[] = {{false, true}, {true, true}};

/// What a solver does inside that looks at its own numbers.
struct Misdeed {
  const char* name;
  void (*commit)(cudaStream_t, float*);
  bool is_unsafe = false;  ///< forbidden in captures of guarding modes alone
};
std::ostream& operator<<(std::ostream& out, const Misdeed& misdeed) { return out << misdeed.name; }

constexpr Misdeed misdeeds[] = {
    {"synchronises the stream", [](cudaStream_t s, float*) { static_cast<void>(cudaStreamSynchronize(s)); }},
    {"asks the stream", [](cudaStream_t s, float*) { static_cast<void>(cudaStreamQuery(s)); }},
    {"synchronises the device", [](cudaStream_t, float*) { static_cast<void>(cudaDeviceSynchronize()); }},
    {"allocates",
     [](cudaStream_t, float*) {
       void* memory = nullptr;
       if (cudaMalloc(&memory, 16) == cudaSuccess) static_cast<void>(cudaFree(memory));
     },
     true},
    {"copies synchronously",
     [](cudaStream_t, float* p) {
       float number = 0;
       static_cast<void>(cudaMemcpy(&number, p, sizeof(number), cudaMemcpyDefault));
     },
     true},
};

/// A fork whose branch calls a solver.
struct Program {
  const foreign::Case loaded;
  const rf::Stream origin;
  const rf::Stream branch;
  rf::Array x = rf::zeros({4});
  rf::Array y = rf::zeros({4});
  int enqueued_at = 0;

  Program() { rf::synchronize(); }

  void fork() {
    const rf::StreamGuard on(origin);
    x += 1;
    branch.wait_stream(origin);
    const rf::StreamGuard on_branch(branch);
    y.assign(x);
  }
  template <class Solve>
  void solve(Solve solve) {
    enqueued_at = __LINE__ + 1;
    branch.enqueue("solve", rf::readwrite(y), [&](cudaStream_t s, float* p) {
      foreign::add(s, p);
      solve(s, p);
    });
  }
  void join() {
    {
      const rf::StreamGuard on(branch);
      y *= 2;
    }
    origin.wait_stream(branch);
    const rf::StreamGuard on(origin);
    x += y;
  }
  /// The error's place is the call, not the join.
  void require_place(const rf::Error& error) const {
    const std::string text = error.what();
    BOOST_TEST((text.find("solve") != std::string::npos), text);
    BOOST_TEST((std::string(error.where().file).find("report_foreign.cu") != std::string::npos), text);
    BOOST_TEST(error.where().line == enqueued_at);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_report_foreign)

BOOST_AUTO_TEST_CASE(a_call_that_synchronises_in_a_forked_branch_is_named_and_the_rest_goes_on, *label("report-52")) {
  for (const Misdeed& misdeed : misdeeds) {
    for (const Scope scope : held_back_scopes) {
      BOOST_TEST_CONTEXT(misdeed << ", " << scope) {
        Program p;
        const rf::Graph graph = record(scope, p.origin, [&] {
          p.fork();
          BOOST_CHECK_EXCEPTION(p.solve(misdeed.commit), rf::Error, [&](const rf::Error& error) {
            p.require_place(error);
            return error.code() == rf::Errc::capture_unsupported;
          });
          p.solve([](cudaStream_t, float*) {});  // the branch is what it was
          p.join();
        });
        BOOST_TEST(rf::test::labels(graph) == (std::vector<std::string>{"add", "assign", "solve", "mul", "add"}),
                   boost::test_tools::per_element());
        const rf::GraphExec exec = graph.instantiate();
        exec.replay();
        BOOST_TEST(p.y.to_vector<float>() == (std::vector<float>{4, 2, 2, 2}), boost::test_tools::per_element());
        BOOST_TEST(p.x.to_vector<float>() == (std::vector<float>{5, 3, 3, 3}), boost::test_tools::per_element());
        BOOST_TEST(cudaGetLastError() == cudaSuccess);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_synchronises_in_a_live_capture_is_named_and_everything_else_is_usable,
                     *label("report-52")) {
  for (const Misdeed& misdeed : misdeeds) {
    for (const Scope scope : live_scopes) {
      const bool is_stray = std::string_view(misdeed.name) == "copies synchronously";
      if (scope.by_stream && misdeed.is_unsafe && !is_stray) continue;  // captured in relaxed mode
      BOOST_TEST_CONTEXT(misdeed << ", " << scope) {
        Program p;
        const auto run = [&] {
          record(scope, p.origin,
                 [&] {
                   p.fork();
                   p.solve(misdeed.commit);
                   p.join();
                 },
                 {.guard_legacy_stream = is_stray});
        };
        BOOST_CHECK_EXCEPTION(run(), rf::Error, [&](const rf::Error& error) {
          p.require_place(error);
          return true;
        });
        BOOST_TEST(!p.origin.is_capturing());
        BOOST_TEST(!p.branch.is_capturing());
        p.fork();
        p.solve(misdeed.commit);  // eager it may do what it likes
        p.join();
        BOOST_TEST(p.y.to_vector<float>() == (std::vector<float>{4, 2, 2, 2}), boost::test_tools::per_element());
        const rf::Graph graph = record(scope, p.origin, [&] {
          p.fork();
          p.solve([](cudaStream_t, float*) {});
          p.join();
        });
        p.x.assign(0);
        graph.instantiate().replay();
        BOOST_TEST(p.x.to_vector<float>() == (std::vector<float>{5, 3, 3, 3}), boost::test_tools::per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_fails_by_itself_in_a_forked_branch_leaves_the_rest, *label("report-52")) {
  for (const Scope scope : held_back_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Program p;
      const rf::Graph graph = record(scope, p.origin, [&] {
        p.fork();
        // A solver that looks at what its calls return gives up by an exception of its own.
        const auto check = [](cudaStream_t s, float*) {
          if (cudaStreamSynchronize(s) != cudaSuccess) throw std::runtime_error("the solver gives up");
        };
        BOOST_CHECK_THROW(p.solve(check), std::runtime_error);
        p.join();
      });
      BOOST_TEST(graph.node_count() == 4);
      graph.instantiate().replay();
      BOOST_TEST(holds(p.x, 3));
      BOOST_TEST(cudaGetLastError() == cudaSuccess);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_synchronises_on_a_wrapped_branch_leaves_the_native_stream, *label("report-52")) {
  for (const Scope scope : held_back_scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const foreign::Stream native;
      const rf::Stream branch = rf::Stream::wrap(native);
      const rf::Stream origin;
      rf::Array x = rf::zeros({4});
      const rf::Graph graph = record(scope, origin, [&] {
        branch.wait_stream(origin);
        require_error(rf::Errc::capture_unsupported,
                      [&] {
                        branch.enqueue("solve", [&](cudaStream_t s) {
                          BOOST_TEST((s != native));
                          static_cast<void>(cudaStreamSynchronize(s));
                        });
                      },
                      {"solve", "report_foreign.cu:"});
        x += 1;
      });
      BOOST_TEST(runtime::status(native) == cudaStreamCaptureStatusNone);
      graph.instantiate().replay(branch);
      BOOST_TEST(holds(x, 1));
      CUDA_REQUIRE(cudaStreamSynchronize(native));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
