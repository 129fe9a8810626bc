// Calls of other code's that a capture cannot have, in a branch of it: they are named, and the rest is usable.

#include "support.hpp"
#include "support_scopes.hpp"

#include <refrain/enqueue.hpp>

#include <stdexcept>

namespace rf = refrain;
using boost::unit_test::label;
using rf::test::holds;
using rf::test::record;
using rf::test::require_error;
using rf::test::Scope;
using rf::test::scopes;

namespace {

/// A fork whose branch calls a solver on y between two ops.
struct Program {
  const rf::Stream origin;
  const rf::Stream branch;
  rf::Array x = rf::zeros({4});
  rf::Array y = rf::zeros({4});

  Program() { rf::synchronize(); }

  template <class Solve>
  void run(Solve solve) {
    const rf::StreamGuard on(origin);
    x += 1;
    branch.wait_stream(origin);
    {
      const rf::StreamGuard on_branch(branch);
      y.assign(x);
      solve();
      y *= 2;
    }
    origin.wait_stream(branch);
    x += y;
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(report_foreign)

BOOST_AUTO_TEST_CASE(a_call_without_a_function_for_the_device_is_named_and_the_rest_of_the_capture_goes_on,
                     *label("report-52")) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Program p;
      const rf::Graph graph = record(scope, p.origin, [&] {
        p.run([&] {
          require_error(rf::Errc::not_supported,
                        [&] {
                          if (p.branch.device().kind == rf::DeviceKind::host) {
                            p.branch.enqueue("solve", rf::readwrite(p.y), [](cudaStream_t, float*) {});
                          } else {
                            p.branch.enqueue("solve", rf::readwrite(p.y), rf::on_host([](float*) {}));
                          }
                        },
                        {"solve", "stream " + std::to_string(p.branch.id()), "report_foreign.cpp:"});
        });
      });
      BOOST_TEST(graph.node_count() == 4);
      const rf::GraphExec exec = graph.instantiate();
      exec.replay();
      BOOST_TEST(holds(p.x, 3));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_function_that_reaches_for_the_device_is_named_and_the_other_branch_is_right,
                     *label("report-52")) {
  if (rf::current_device().kind != rf::DeviceKind::host) return;  // there it is refused at the call
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      Program p;
      bool is_asked = true;
      const rf::GraphExec exec = record(scope, p.origin, [&] {
                                   p.run([&] {
                                     p.branch.enqueue("solve", rf::readwrite(p.y), rf::on_host([&](float* y) {
                                                        y[0] += 1;
                                                        if (is_asked) p.branch.synchronize();  // the solver's check
                                                        y[1] += 1;
                                                      }));
                                   });
                                 }).instantiate();
      exec.replay();
      require_error(rf::Errc::not_permitted, [] { rf::synchronize(); },
                    {"synchronize", "a host function", "report_foreign.cpp:"});
      rf::synchronize();  // once
      BOOST_TEST(p.y.to_vector<float>() == (std::vector<float>{4, 2, 2, 2}), boost::test_tools::per_element());
      BOOST_TEST(p.x.to_vector<float>() == (std::vector<float>{5, 3, 3, 3}), boost::test_tools::per_element());
      is_asked = false;
      p.x.assign(0);
      exec.replay();
      BOOST_TEST(p.x.to_vector<float>() == (std::vector<float>{5, 5, 3, 3}), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_in_a_branch_is_told_once_and_leaves_the_rest, *label("report-52")) {
  if (rf::current_device().kind != rf::DeviceKind::host) return;
  Program p;
  const rf::GraphExec exec =
      rf::capture([&] {
        p.run([&] {
          p.branch.enqueue("solve", rf::readwrite(p.y),
                           rf::on_host([](float*) { throw std::runtime_error("the solver gives up"); }));
        });
      }).instantiate();
  for (int i = 0; i < 2; ++i) {
    p.x.assign(0);
    exec.replay();
    BOOST_CHECK_EXCEPTION(rf::synchronize(), std::runtime_error, [](const std::runtime_error& error) {
      return std::string(error.what()) == "the solver gives up";
    });
    BOOST_TEST(holds(p.x, 3));
  }
}

BOOST_AUTO_TEST_SUITE_END()
