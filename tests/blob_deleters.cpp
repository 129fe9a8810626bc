// Memory that other code gives up with a deleter.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"
#include "support_scopes.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

namespace refrain::test {

namespace {

/// Memory that counts how often it was given back.
struct Tracked {
  explicit Tracked(std::int64_t size = 4) : memory(std::make_shared<Memory>(size)) {}

  /// An array of all of it, with a deleter.
  Array array(BlobOptions options = {}) const {
    options.deleter = [memory = memory, given = given](void* address) { *given += address == memory->at() ? 1 : 1000; };
    return from_blob(memory->at(), {size}, std::move(options));
  }
  bool is_given_once() const {
    synchronize();
    synchronize();
    return *given == 1;
  }

  static constexpr std::int64_t size = 4;
  std::shared_ptr<Memory> memory;
  std::shared_ptr<std::atomic<int>> given = std::make_shared<std::atomic<int>>(0);
};

/// Lets go of what is done, without waiting for streams that are held.
void let_go() {
  const Stream stream;
  bench::empty(stream);
  stream.synchronize();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blob_deleters, *boost::unit_test::label("sanitize") * boost::unit_test::label("pending"))

BOOST_AUTO_TEST_CASE(a_deleter_is_called_once_when_no_array_names_the_memory) {
  const Tracked tracked;
  {
    Array x = tracked.array();
    Array copy = x;
    Array part = x.slice(1, 3);
    x += 1;
    synchronize();
    x = Array();
    let_go();
    BOOST_TEST(*tracked.given == 0);
    copy = Array();
    let_go();
    BOOST_TEST(*tracked.given == 0);
    part += 1;
    BOOST_TEST(holds(part, 2));
    BOOST_TEST(*tracked.given == 0);
  }
  BOOST_TEST(tracked.is_given_once());
}

BOOST_AUTO_TEST_CASE(memory_that_was_never_used_is_given_back_at_once) {
  const Tracked tracked;
  { const Array unused = tracked.array(); }
  BOOST_TEST(*tracked.given == 1);
}

BOOST_AUTO_TEST_CASE(a_deleter_is_not_called_before_the_work_is_done) {
  for (const bool reads : {false, true}) {
    const Tracked tracked;
    const Stream stream;
    Gate gate(stream);
    Array made;
    {
      Array x = tracked.array();
      const StreamGuard on(stream);
      if (reads) {
        made = x + 1;
      } else {
        x += 1;
      }
    }
    let_go();
    BOOST_TEST(*tracked.given == 0);
    BOOST_TEST(gate.open());
    stream.synchronize();
    BOOST_TEST(tracked.is_given_once());
    if (reads) BOOST_TEST(holds(made, 1));
  }
}

BOOST_AUTO_TEST_CASE(a_deleter_waits_for_work_through_other_arrays_of_the_bytes) {
  const Tracked tracked;
  const std::shared_ptr<Memory> memory = tracked.memory;
  const Stream stream;
  Gate gate(stream);
  {
    const Array x = tracked.array();
    const StreamGuard on(stream);
    from_blob(memory->at(1), {2}) += 1;  // without a deleter
  }
  let_go();
  BOOST_TEST(*tracked.given == 0);
  BOOST_TEST(gate.open());
  BOOST_TEST(tracked.is_given_once());
}

BOOST_AUTO_TEST_CASE(a_deleter_waits_for_the_stream_that_is_given) {
  const Tracked tracked;
  const Stream theirs;
  Gate gate(theirs);
  { const Array never_used = tracked.array({.stream = theirs}); }
  let_go();
  BOOST_TEST(*tracked.given == 0);
  BOOST_TEST(gate.open());
  theirs.synchronize();
  BOOST_TEST(tracked.is_given_once());
}

BOOST_AUTO_TEST_CASE(a_deleter_is_called_after_the_graphs_that_name_the_memory_are_gone) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Tracked tracked;
      const Stream origin;
      Array x = tracked.array();
      std::optional<Graph> graph = record(scope, origin, [&] { x += 1; });
      std::optional<GraphExec> exec = graph->instantiate();
      x = Array();
      let_go();
      BOOST_TEST(*tracked.given == 0);
      exec->replay();
      synchronize();
      BOOST_TEST(tracked.memory->values()[0] == 1);
      graph.reset();
      let_go();
      BOOST_TEST(*tracked.given == 0);
      exec->replay();
      exec.reset();
      BOOST_TEST(eventually([&] { return *tracked.given > 0; }));
      BOOST_TEST(tracked.is_given_once());
      BOOST_TEST(tracked.memory->values()[0] == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_deleter_is_not_called_before_a_replay_is_done) {
  for (const bool live : live_modes) {
    const Tracked tracked;
    const Stream stream;
    std::optional<GraphExec> exec = capture([&] { tracked.array() += 1; }, {.live = live}).instantiate();
    {
      Gate gate(stream);
      exec->replay(stream);
      exec.reset();
      let_go();
      BOOST_TEST(*tracked.given == 0);
      BOOST_TEST(gate.open());
    }
    BOOST_TEST(eventually([&] { return *tracked.given > 0; }));
    BOOST_TEST(tracked.is_given_once());
    BOOST_TEST(tracked.memory->values()[0] == 1);
  }
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_capture_that_is_discarded_is_given_back) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Tracked tracked;
      const Stream origin;
      const auto leave = [&] {
        record(scope, origin, [&] {
          tracked.array() += 1;
          throw std::runtime_error("out");
        });
      };
      BOOST_CHECK_THROW(leave(), std::runtime_error);
      BOOST_TEST(tracked.is_given_once());
      BOOST_TEST(tracked.memory->values()[0] == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_memory_that_is_dropped_in_a_capture_is_no_part_of_it) {
  for (const Scope scope : scopes) {
    BOOST_TEST_CONTEXT(scope) {
      const Tracked tracked;
      const Stream origin;
      Array x = tracked.array();
      Array y = zeros({4});
      x += 1;
      synchronize();
      const Graph graph = record(scope, origin, [&] {
        y += 1;
        x = Array();
        y += 1;
      });
      BOOST_TEST(graph.node_count() == 2);
      BOOST_TEST(tracked.is_given_once());
      graph.instantiate().replay();
      BOOST_TEST(holds(y, 2));
    }
  }
}

BOOST_AUTO_TEST_CASE(many_deleters_are_each_called_once) {
  constexpr std::size_t count = 200;  // each op looks at all that wait
  const Memory memory(count);
  std::vector<std::atomic<int>> given(count);
  const Stream streams[4];
  {
    std::vector<std::unique_ptr<Gate>> gates;
    for (const Stream& stream : streams) gates.push_back(std::make_unique<Gate>(stream));
    for (std::size_t i = 0; i < count; ++i) {
      const StreamGuard on(streams[i % 4]);
      from_blob(memory.at(static_cast<std::int64_t>(i)), {1}, {.deleter = [&, i](void* address) {
                  if (address == memory.at(static_cast<std::int64_t>(i))) ++given[i];
                }}) += 1;
    }
    let_go();
    BOOST_TEST(std::count(given.begin(), given.end(), 0) == static_cast<std::ptrdiff_t>(count));
    for (const auto& gate : gates) BOOST_TEST(gate->open());
  }
  BOOST_TEST(eventually([&] { return std::count(given.begin(), given.end(), 0) == 0; }));
  synchronize();
  BOOST_TEST(std::count(given.begin(), given.end(), 1) == static_cast<std::ptrdiff_t>(count));
  const std::vector<float> values = memory.values();
  BOOST_TEST(std::count(values.begin(), values.end(), 1.0F) == static_cast<std::ptrdiff_t>(count));
}

BOOST_AUTO_TEST_CASE(two_arrays_of_the_same_memory_each_have_their_deleter) {
  const Memory memory(4);
  int given = 0;
  const auto deleter = [&](void*) { ++given; };
  Array x = from_blob(memory.at(), {4}, {.deleter = deleter});
  Array y = from_blob(memory.at(), {4}, {.deleter = deleter});
  x += 1;
  y += 1;
  synchronize();
  x = Array();
  BOOST_TEST(given == 1);
  BOOST_TEST(holds(y, 2));
  y = Array();
  synchronize();
  BOOST_TEST(given == 2);
}

BOOST_AUTO_TEST_CASE(a_deleter_that_throws_harms_nobody) {
  const Memory memory(8);
  const Tracked after;
  int thrown = 0;
  const auto throws = [&](void*) {
    ++thrown;
    throw std::runtime_error("the deleter gives up");
  };
  const Stream stream;
  for (const bool is_pending : {false, true}) {
    Gate gate(stream);
    Array x = from_blob(memory.at(), {4}, {.deleter = throws});
    const StreamGuard on(stream);
    if (is_pending) x += 1;
    if (!is_pending) BOOST_TEST(gate.open());
    x = Array();
    { Array y = after.array(); }
    BOOST_TEST(gate.open());
    synchronize();
    synchronize();
  }
  BOOST_TEST(thrown == 2);
  BOOST_TEST(*after.given == 2);
  BOOST_TEST(holds(filled(1) + 1, 2));
}

BOOST_AUTO_TEST_CASE(a_deleter_may_drop_arrays_events_and_graphs) {
  const Tracked inner;
  const Memory memory(4);
  const Stream stream;
  {
    Array held = inner.array();
    held += 1;
    auto graph = std::make_shared<GraphExec>(capture([&] { held += 1; }).instantiate());
    graph->replay();
    const Array plain = filled(3) + 1;
    Gate gate(stream);
    const StreamGuard on(stream);
    const Event event = stream.record_event();
    Array x = from_blob(
        memory.at(), {4},
        {.deleter = [held, graph, plain = Array(plain), event = Event(event), mine = Stream(stream)](void*) mutable {
          held = Array();
          graph.reset();
          plain = Array();
          event = Event();
          mine = Stream();
        }});
    x += 1;
    held = Array();
    graph.reset();
    x = Array();
    let_go();
    BOOST_TEST(*inner.given == 0);
    BOOST_TEST(gate.open());
  }
  BOOST_TEST(eventually([&] { return *inner.given > 0; }));
  BOOST_TEST(inner.is_given_once());
}

BOOST_AUTO_TEST_CASE(a_chain_of_deleters_is_let_go_to_its_end) {
  constexpr int length = 200;
  const Memory memory(length);
  std::atomic<int> given{0};
  Array last;
  for (int i = 0; i < length; ++i) {
    last = from_blob(memory.at(i), {1}, {.deleter = [before = last, &given](void*) mutable {
                       ++given;
                       before = Array();
                     }});
    last += 1;
  }
  last = Array();
  BOOST_TEST(eventually([&] { return given == length; }));
}

BOOST_AUTO_TEST_CASE(memory_may_be_dropped_in_a_host_function_and_on_another_thread) {
  const Tracked in_function;
  const Tracked in_thread;
  const Stream stream;
  stream.launch_host_func([x = std::make_shared<Array>(in_function.array())]() mutable { *x = Array(); });
  stream.synchronize();
  BOOST_TEST(eventually([&] { return *in_function.given == 1; }));
  std::thread([x = in_thread.array()]() mutable {
    x += 1;
    x = Array();
  }).join();
  BOOST_TEST(eventually([&] { return *in_thread.given == 1; }));
}

BOOST_AUTO_TEST_CASE(the_deleter_of_a_refused_array_is_not_called) {
  const Memory memory(4);
  int given = 0;
  const auto deleter = [&](void*) { ++given; };
  require_error(Errc::invalid_value, [&] { from_blob(memory.at(), {2, 2}, {.strides = {1}, .deleter = deleter}); });
  require_error(Errc::invalid_value, [&] { from_blob(static_cast<float*>(nullptr), {2}, {.deleter = deleter}); });
  synchronize();
  BOOST_TEST(given == 0);
}

BOOST_AUTO_TEST_CASE(an_array_without_elements_has_its_deleter_called_too) {
  const Memory memory(4);
  std::vector<void*> given;
  const auto deleter = [&](void* address) { given.push_back(address); };
  {
    Array x = from_blob(memory.at(), {0}, {.deleter = deleter});
    x += 1;
    const Array y = from_blob(static_cast<float*>(nullptr), {0, 2}, {.deleter = deleter});
  }
  synchronize();
  BOOST_TEST((given == std::vector<void*>{nullptr, memory.at()}));
}

BOOST_AUTO_TEST_CASE(memory_that_was_given_back_is_other_memory_when_it_is_named_again) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(4);
  std::atomic<int> given{0};
  const Stream first;
  const Stream second;
  {
    const StreamGuard on(first);
    from_blob(memory.at(), {4}, {.deleter = [&](void*) { ++given; }}) += 1;
  }
  while (given == 0) let_go();  // the host never asks for the first stream
  const StreamGuard on(second);
  Array x = from_blob(memory.at(), {4});
  x += 1;  // nothing to be ordered after
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_CASE(memory_that_is_used_through_another_array_is_not_forgotten_when_it_is_given_back) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(4);
  int given = 0;
  const Stream stream;
  const Stream other;
  Array x = from_blob(memory.at(), {4});
  {
    const Array gone = from_blob(memory.at(), {4}, {.deleter = [&](void*) { ++given; }});
  }
  BOOST_TEST(given == 1);
  Gate gate(stream);
  {
    const StreamGuard on(stream);
    x += 1;
  }
  {
    const Array gone = from_blob(memory.at(2), {1}, {.deleter = [&](void*) { ++given; }});
  }
  let_go();
  BOOST_TEST(given == 1);
  {
    const StreamGuard on(other);
    x *= 3;
  }
  BOOST_TEST(!other.query());
  BOOST_TEST(gate.open());
  BOOST_TEST(holds(x, 3));
  synchronize();
  BOOST_TEST(given == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
