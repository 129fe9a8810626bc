// Functions of the program's own as commands, for devices of either kind. What they put on native streams is in
// tests/cuda/enqueue*.cu.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <memory>
#include <stdexcept>

namespace refrain::test {

namespace {

constexpr Device a_host_device{DeviceKind::host, 0};
constexpr int size = 4;

/// A function for either device, with any pointers, that does nothing.
constexpr auto nothing = [](auto...) {};

template <class... Accesses>
void enqueue_nothing(const Stream& stream, Label label, const Accesses&... accesses) {
  stream.enqueue(label, accesses..., on_cuda(nothing), on_host(nothing));
}

/// Adds to an array, on the host.
auto adds(float value) {
  return on_host([value](float* x) {
    for (int i = 0; i < size; ++i) x[i] += value;
  });
}

std::size_t count(const std::vector<Diagnostic>& all, DiagnosticKind kind) { return of_kind(all, kind).size(); }

struct Own : std::runtime_error {
  Own() : std::runtime_error("from the function") {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(enqueue, *boost::unit_test::label("sanitize"))

// On the device under test

BOOST_AUTO_TEST_CASE(it_is_one_node_with_label_place_and_edges) {
  Array x = filled(1);
  for (const bool live : live_modes) {
    const Graph graph = capture(
        [&] {
          x += 1;
          enqueue_nothing(current_stream(), "mine", readwrite(x));
          x += 1;
        },
        {.live = live});
    BOOST_TEST(labels(graph) == (std::vector<std::string>{"add", "mine", "add"}), boost::test_tools::per_element());
    BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}}));
    BOOST_TEST((graph.nodes()[1].where.str().find("enqueue.cpp:") != std::string::npos));
    graph.instantiate().replay();
  }
  BOOST_TEST(holds(x, 5));
}

BOOST_AUTO_TEST_CASE(accesses_order_it_across_streams_and_missing_waits_are_told) {
  const HazardsScope scope(Hazards::add);
  const Stream side;
  Array x = filled(1);
  Array y = filled(1);
  const auto body = [&] {
    x += 1;
    enqueue_nothing(side, "mine", read(x), write(y));
    y += 1;
    x += 1;
  };
  const Graph graph = capture(body);
  BOOST_TEST((edges(graph) == Edges{{0, 1}, {1, 2}, {2, 3}}));
  BOOST_TEST(count(graph.diagnostics(), DiagnosticKind::edge_added) == 2U);
  synchronize();
  body();
  BOOST_TEST(count(diagnostics(), DiagnosticKind::edge_added) == 2U);
}

BOOST_AUTO_TEST_CASE(a_missing_wait_is_refused_where_hazards_are_errors) {
  const HazardsScope scope(Hazards::error);
  const Stream side;
  Array x = filled(1);
  synchronize();
  const auto body = [&] {
    x += 1;
    require_error(Errc::illegal_state, [&] { enqueue_nothing(side, "mine", read(x)); },
                  {"[mine]", "'add'", "enqueue.cpp:"});
    side.wait_stream(current_stream());
    enqueue_nothing(side, "mine", read(x));
    current_stream().wait_stream(side);
  };
  body();
  synchronize();
  for (const bool live : live_modes) BOOST_TEST(capture(body, {.live = live}).node_count() == 2);
}

BOOST_AUTO_TEST_CASE(readers_and_writers_of_other_rows_are_not_ordered) {
  const HazardsScope scope(Hazards::error);
  const Stream side;
  const Array x = filled(1, 8);
  const Graph graph = capture([&] {
    enqueue_nothing(current_stream(), "reads", read(x));
    enqueue_nothing(side, "reads", read(x));
  });
  BOOST_TEST(graph.edge_count() == 0);
  const Graph rows = capture([&] {
    enqueue_nothing(current_stream(), "writes", write(x.slice(0, 4)));
    enqueue_nothing(side, "writes", write(x.slice(4, 8)));
    require_error(Errc::illegal_state, [&] { enqueue_nothing(side, "across", write(x.slice(3, 7))); }, {"'writes'"});
  });
  BOOST_TEST(rows.edge_count() == 0);
}

BOOST_AUTO_TEST_CASE(a_call_without_label_is_refused_and_leaves_a_capture_intact) {
  Array x = filled(1);
  const auto refused = [&] {
    for (const char* label : {"", static_cast<const char*>(nullptr)}) {
      require_error(Errc::invalid_value, [&] { enqueue_nothing(current_stream(), label, read(x)); },
                    {"[enqueue] an empty label"});
    }
    require_error(Errc::invalid_value, [&] { enqueue_nothing(current_stream(), "mine", read(Array())); }, {"[mine]"});
  };
  refused();
  const Graph graph = capture([&] {
    x += 1;
    refused();
  });
  BOOST_TEST(graph.node_count() == 1);
}

BOOST_AUTO_TEST_CASE(an_array_of_another_device_is_refused) {
  const Device other = a_gpu() ? a_host_device : Device{DeviceKind::host, 1};
  const Array there = ones({size}, {.device = other});
  require_error(Errc::wrong_device, [&] { enqueue_nothing(current_stream(), "mine", read(filled(1)), read(there)); },
                {"[mine] argument 1", other.str(), "to_device"});
}

// On the host

BOOST_AUTO_TEST_CASE(a_hosts_function_runs_between_the_ops_around_it_in_every_mode) {
  const DeviceGuard on(a_host_device);
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Array x = filled(2);
      const Array result = run_as(mode, [&] {
        x *= 3;
        Array made = zeros({size});
        current_stream().enqueue("mine", read(x), write(made), on_cuda(nothing),
                                 on_host([](const float* from, float* to) {
                                   for (int i = 0; i < size; ++i) to[i] = from[i] + 4;
                                 }));
        return made * 2;
      });
      BOOST_TEST(holds(x, 6));
      BOOST_TEST(holds(result, 20));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_hosts_function_is_called_anew_by_each_replay_in_stream_order) {
  const DeviceGuard on(a_host_device);
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Array x = zeros({size});
      std::vector<float> seen;
      const auto body = [&] {
        x += 1;
        current_stream().enqueue("sees", read(x), on_host([&seen](const float* first) { seen.push_back(*first); }));
        x *= 2;
        current_stream().enqueue("sees", read(x), on_host([&seen](const float* first) { seen.push_back(*first); }));
      };
      const GraphExec exec = capture(body, capture_options(mode)).instantiate(instantiate_options(mode));
      BOOST_TEST(seen.empty());
      exec.replay();
      exec.replay();
      synchronize();
      BOOST_TEST(seen == (std::vector<float>{1, 2, 3, 6}), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_hosts_function_does_not_hold_up_the_call) {
  const DeviceGuard on(a_host_device);
  Array x = filled(1);
  const Stream stream;
  stream.wait_stream(current_stream());
  {
    Gate gate(stream);
    stream.enqueue("mine", readwrite(x), adds(1));
    BOOST_TEST(!stream.query());
    BOOST_TEST(gate.open());
  }
  BOOST_TEST(holds(x, 2));
}

BOOST_AUTO_TEST_CASE(hosts_functions_are_ordered_by_what_they_touch) {
  const HazardsScope scope(Hazards::add);
  const DeviceGuard on(a_host_device);
  const Stream side;
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      clear_diagnostics();
      Array x = zeros({size});
      synchronize();
      run_as(mode, [&] {
        if (mode == Mode::eager) keep_busy(current_stream(), 20);
        current_stream().enqueue("first", readwrite(x), adds(3));
        side.enqueue("second", readwrite(x), on_host([](float* to) {
                       for (int i = 0; i < size; ++i) to[i] *= 10;
                     }));
        x += 1;
        return Array();
      });
      BOOST_TEST(holds(x, 31));
      if (mode == Mode::eager) BOOST_TEST(count(diagnostics(), DiagnosticKind::edge_added) == 2U);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_at_an_address_order_hosts_functions_too) {
  const HazardsScope scope(Hazards::add);
  const DeviceGuard on(a_host_device);
  const Stream side;
  // Static, since an address that comes again is the same memory to Refrain.
  static float numbers[8];
  const std::int64_t half = 4 * sizeof(float);
  const Graph graph = capture([&] {
    current_stream().enqueue("first", write(numbers, half), adds(1));
    side.enqueue("beside", readwrite(numbers + 4, half), adds(2));
    side.enqueue("across", readwrite(numbers + 2, half), adds(10));
  });
  BOOST_TEST((edges(graph) == Edges{{0, 2}, {1, 2}}));
  BOOST_TEST(count(graph.diagnostics(), DiagnosticKind::edge_added) == 1U);
  graph.instantiate().replay();
  synchronize();
  BOOST_TEST(std::vector<float>(numbers, numbers + 8) == (std::vector<float>{1, 1, 11, 11, 12, 12, 2, 2}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_hosts_function_is_given_a_pointer_for_each_access_in_order) {
  const DeviceGuard on(a_host_device);
  std::vector<Array> all;
  for (int i = 0; i < 10; ++i) all.push_back(filled(static_cast<float>(1 << i), 1));  // more than are kept in place
  for (const Mode mode : all_modes) {
    Array total = zeros({1});
    run_as(mode, [&] {
      current_stream().enqueue(
          "many", read(all[0]), read(all[1]), read(all[2]), read(all[3]), read(all[4]), read(all[5]), read(all[6]),
          read(all[7]), read(all[8]), write(total), read(all[9]),
          on_host([](const float* a, const float* b, const float* c, const float* d, const float* e, const float* f,
                     const float* g, const float* h, const float* i, float* to, const float* last) {
            *to = *last;
            for (const float* each : {a, b, c, d, e, f, g, h, i}) *to += *each;
          }));
      return Array();
    });
    BOOST_TEST(holds(total, 1023), mode);
  }
}

BOOST_AUTO_TEST_CASE(each_executable_calls_a_hosts_function_with_its_own_temporaries) {
  const DeviceGuard on(a_host_device);
  const Array x = filled(3);
  const auto [graph, result] = capture([&] {
    Array temporary = x + 1;
    current_stream().enqueue("mine", readwrite(temporary), adds(2));
    return temporary * 10;
  });
  const GraphExec first = graph.instantiate();
  const GraphExec second = graph.instantiate({.optimize = Optimize::none});
  for (const GraphExec& exec : {first, second, first}) {
    exec.replay();
    BOOST_TEST(holds(result, 60));
  }
  const auto [outer, sum] = capture([&, &result = result] {
    first.replay();
    const Array copy = result + 0;
    second.replay();
    return copy + result;
  });
  outer.instantiate().replay();
  BOOST_TEST(holds(sum, 120));
}

BOOST_AUTO_TEST_CASE(a_command_owns_its_hosts_function) {
  const DeviceGuard on(a_host_device);
  const auto witness = std::make_shared<int>(0);
  Array x = zeros({size});
  const auto issue = [&] {
    const std::vector<float> value(1, 2.0F);
    current_stream().enqueue("mine", readwrite(x), on_host([value, held = witness](float* to) {
                               for (int i = 0; i < size; ++i) to[i] += value[0];
                               ++*held;
                             }));
  };
  issue();
  for (const Mode mode : graph_modes) {
    const GraphExec exec = capture(issue, capture_options(mode)).instantiate(instantiate_options(mode));
    exec.replay();
    exec.replay();
  }
  BOOST_TEST(holds(x, 14));
  BOOST_TEST(*witness == 7);
  BOOST_TEST(eventually([&] { return witness.use_count() == 1; }));
}

BOOST_AUTO_TEST_CASE(a_host_without_a_function_for_it_says_so) {
  const DeviceGuard on(a_host_device);
  Array x = zeros({size});
  const auto refused = [&] {
    require_error(Errc::not_supported, [&] { current_stream().enqueue("mine", readwrite(x), nothing); },
                  {"[mine]", "on_host", "enqueue.cpp:"});
    require_error(Errc::not_supported, [&] { current_stream().enqueue("mine", on_cuda(nothing)); },
                  {"[mine]", "on_host", "enqueue.cpp:"});
  };
  refused();
  for (const bool live : live_modes) {
    const Graph graph = capture(
        [&] {
          x += 1;
          refused();
          x *= 2;
        },
        {.live = live});
    BOOST_TEST(graph.node_count() == 2);
    graph.instantiate().replay();
  }
  BOOST_TEST(holds(x, 6));
}

BOOST_AUTO_TEST_CASE(what_a_hosts_function_throws_is_thrown_once_by_the_next_synchronisation) {
  const DeviceGuard on(a_host_device);
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      Array x = zeros({size});
      run_as(mode, [&] {
        current_stream().enqueue("mine", readwrite(x), on_host([](float* to) {
                                   to[0] = 1;
                                   throw Own();
                                 }));
        x += 1;
        return Array();
      });
      BOOST_CHECK_THROW(synchronize(), Own);
      synchronize();
      BOOST_TEST(x.slice(0, 1).item<float>() == 2);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_pointer_of_another_type_is_found_when_the_hosts_function_is_called) {
  const DeviceGuard on(a_host_device);
  const Array x = zeros({size});
  for (const Mode mode : all_modes) {
    BOOST_TEST_CONTEXT(mode) {
      int calls = 0;
      run_as(mode, [&] {
        const Array numbers = x + 1;
        current_stream().enqueue("mine", read(x), read(numbers),
                                 on_host([&calls](const float*, const std::int32_t*) { ++calls; }));
        return Array();
      });
      require_error(Errc::invalid_value, [] { synchronize(); },
                    {"[mine] argument 1", "float32", "int32", "enqueue.cpp:"});
      BOOST_TEST(calls == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(calls_that_reach_a_device_are_refused_in_a_hosts_function) {
  const DeviceGuard on(a_host_device);
  const Stream other;
  Array x = zeros({size});
  std::vector<std::string> codes;
  const auto code_of = [&](const std::function<void()>& call) {
    codes.emplace_back("nothing thrown");
    try {
      call();
    } catch (const Error& error) {
      codes.back() = to_string(error.code());
    }
  };
  current_stream().enqueue("mine", read(x), on_host([&](const float*) {
                             code_of([&] { x + 1; });
                             code_of([&] { other.synchronize(); });
                             code_of([&] { enqueue_nothing(other, "inner"); });
                             code_of([] { capture([] {}); });
                           }));
  synchronize();
  BOOST_TEST(codes == std::vector<std::string>(4, "not_permitted"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
