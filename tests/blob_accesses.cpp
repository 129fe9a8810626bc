// Bytes at an address, in `read`, `write` and `readwrite`, against arrays that name them.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"
#include "support_scopes.hpp"

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;
constexpr std::int64_t item = sizeof(float);

std::size_t added_orders() { return of_kind(diagnostics(), DiagnosticKind::edge_added).size(); }

/// Work of other code's that touches bytes, and does something to them on the host.
template <class Access>
void touch(
    const Stream& stream, const Access& access, std::function<void(float*)> fn = [](float*) {}) {
  stream.enqueue("touch", access, on_cuda([](cudaStream_t, void*) {}), on_host([fn](float* p) { fn(p); }));
}

bool is_host() { return current_device().kind == DeviceKind::host; }

}  // namespace

BOOST_AUTO_TEST_SUITE(blob_accesses, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(enqueued_work_is_given_the_address_and_ordered_with_arrays_that_name_the_bytes) {
  const HazardsScope hazards(Hazards::add);
  const Memory memory(8);
  const Stream a;
  const Stream b;
  Array x = from_blob(memory.at(), {8});
  float* given = nullptr;
  Array first_use = zeros({8});
  first_use += 1;  // loads the kernel, for which CUDA would wait until the gate is open
  synchronize();
  Gate gate(a);
  {
    const StreamGuard on(a);
    x += 1;
  }
  b.enqueue("touch", readwrite(memory.at(2), 4 * item), on_cuda([&](cudaStream_t, float* p) { given = p; }),
            on_host([&](float* p) {
              given = p;
              for (int i = 0; i < 4; ++i) p[i] *= 3;
            }));
  BOOST_TEST(added_orders() == 1U);
  BOOST_TEST(!b.query());
  {
    const StreamGuard on(a);
    x += 1;  // and back
  }
  BOOST_TEST(added_orders() == 2U);
  BOOST_TEST(gate.open());
  const float inner = is_host() ? 4 : 2;
  BOOST_TEST(memory.values() == (Numbers{2, 2, inner, inner, inner, inner, 2, 2}), per_element());
  BOOST_TEST(given == memory.at(2));
}

BOOST_AUTO_TEST_CASE(a_missing_order_with_bytes_is_an_error_where_hazards_are) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(8);
  const Stream a;
  const Stream b;
  Array x = from_blob(memory.at(), {4});
  touch(a, read(memory.at(3), item));
  require_error(Errc::illegal_state,
                [&] {
                  const StreamGuard on(b);
                  x += 1;
                },
                {"add", "touch", "blob_accesses.cpp:"});
  touch(b, read(memory.at(), 4 * item));  // two readers
  b.wait_stream(a);
  {
    const StreamGuard on(b);
    x += 1;
  }
  require_error(Errc::illegal_state, [&] { touch(a, write(memory.at(), item)); }, {"touch", "add"});
  touch(a, write(memory.at(4), item));
  a.wait_stream(b);
  touch(a, write(memory.at(), item));
  synchronize();
}

BOOST_AUTO_TEST_CASE(bytes_that_nobody_names_are_free) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(8);
  const Stream a;
  const Stream b;
  Array x = from_blob(memory.at(), {4});
  Gate gate(a);
  {
    const StreamGuard on(a);
    x += 1;
  }
  touch(b, readwrite(memory.at(4), 4 * item));
  touch(b, write(memory.at(1), 0));  // no bytes
  touch(b, write(nullptr, 0));
  b.synchronize();
  BOOST_TEST(gate.open());
}

BOOST_AUTO_TEST_CASE(enqueued_work_comes_after_the_stream_that_is_given_with_the_array) {
  const Memory memory(4);
  const Stream theirs;
  const Stream mine;
  Gate gate(theirs);
  const Array x = from_blob(memory.at(), {4}, {.stream = theirs});
  touch(mine, read(memory.at(1), item));
  BOOST_TEST(!mine.query());
  BOOST_TEST(gate.open());
  mine.synchronize();
}

BOOST_AUTO_TEST_CASE(in_a_graph_bytes_and_arrays_that_name_them_are_ordered_by_edges) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Memory memory(8);
      const Stream origin;
      const Stream side;
      const Graph graph = record(scope, origin, [&] {
        Array x = from_blob(memory.at(), {4});
        bench::empty(origin);
        side.wait_stream(origin);
        x += 1;
        touch(side, readwrite(memory.at(2), 4 * item), [](float* p) { p[0] *= 3; });  // half of it is that array's
        touch(side, read(memory.at(6), item));
        origin.wait_stream(side);
      });
      BOOST_TEST(comes_before(graph, 1, 2));
      BOOST_TEST(of_kind(graph.diagnostics(), DiagnosticKind::edge_added).size() == 1U);
      const GraphExec exec = graph.instantiate();
      exec.replay();
      exec.replay();
      const float third = is_host() ? 12 : 2;  // ((0 + 1) * 3 + 1) * 3
      BOOST_TEST(memory.values() == (Numbers{2, 2, third, 2, 0, 0, 0, 0}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(replays_that_touch_bytes_are_ordered_with_eager_work_on_arrays) {
  const HazardsScope hazards(Hazards::add);
  const Memory memory(4);
  const Stream a;
  const Stream b;
  const GraphExec exec = capture([&] {
                           touch(current_stream(), readwrite(memory.at(), 4 * item), [](float* p) { p[0] *= 3; });
                         }).instantiate();
  Array x = from_blob(memory.at(), {4});
  for (int i = 0; i < 3; ++i) {
    x.assign(0);
    synchronize();
    clear_diagnostics();
    Gate gate(a);
    {
      const StreamGuard on(a);
      x += 1;
    }
    exec.replay(b);
    BOOST_TEST(!b.query());
    BOOST_TEST(added_orders() == 1U);
    BOOST_TEST(gate.open());
    BOOST_TEST(x.to_vector<float>()[0] == (is_host() ? 3 : 1));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
