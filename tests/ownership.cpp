// What a graph keeps, what each replay reads anew, and what stays when the graph goes.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <string>

using boost::unit_test::label;

namespace refrain::test {

namespace {

constexpr std::int64_t size = 4096;

/// Takes the memory that is free, and writes to it.
std::vector<Array> flood() {
  std::vector<Array> all;
  for (int i = 0; i < 20; ++i) all.push_back(filled(static_cast<float>(-1 - i), size));
  return all;
}

bool is_whole(const std::vector<Array>& flood) {
  for (std::size_t i = 0; i < flood.size(); ++i) {
    if (!holds(flood[i], -1 - static_cast<double>(i))) return false;
  }
  return true;
}

/// Replays in memory that others have written to since the capture, and compares.
void require_replays(const Graph& graph, Mode mode, const Array& output, double value) {
  trim(current_device());
  const std::vector<Array> before = flood();
  const GraphExec exec = graph.instantiate(instantiate_options(mode));
  const std::vector<Array> after = flood();
  for (int i = 0; i < 3; ++i) {
    exec.replay();
    BOOST_TEST(holds(output, value));
  }
  BOOST_TEST(is_whole(before));
  BOOST_TEST(is_whole(after));
}

struct Captured {
  Graph graph;
  Array sum;
  Array drawn;
};

/// A program whose input, host values, function, stream and event live no longer than this call.
Captured capture_and_let_go(Mode mode, const std::shared_ptr<std::atomic<int>>& calls) {
  const Array input = filled(2, size);
  const std::vector<float> values(static_cast<std::size_t>(size), 3);
  const Stream side;
  Captured captured;
  captured.graph = capture(
      [&] {
        const Event forked = current_stream().record_event();
        side.wait_event(forked);
        {
          const StreamGuard on(side);
          captured.drawn = rand({1000});
        }
        current_stream().launch_host_func([calls] { ++*calls; });
        captured.sum = input * from_host(values, {size}) + 1;
        current_stream().wait_stream(side);
      },
      capture_options(mode));
  return captured;
}

/// Parameters of a program, in containers of containers.
struct Layer {
  std::map<std::string, Array> weights;
  std::vector<std::pair<int, Array>> scales;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(ownership, *boost::unit_test::label("sanitize"))

// What a graph keeps

BOOST_AUTO_TEST_CASE(a_graph_keeps_all_that_its_replays_need) {
  for (const Mode mode : graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      const auto calls = std::make_shared<std::atomic<int>>(0);
      manual_seed(5);
      std::vector<Array> expected;
      for (int i = 0; i < 3; ++i) expected.push_back(rand({1000}));
      manual_seed(5);
      Captured captured = capture_and_let_go(mode, calls);
      trim(current_device());
      const std::vector<Array> others = flood();
      const GraphExec exec = captured.graph.instantiate(instantiate_options(mode));
      captured.graph = {};
      for (const Array& numbers : expected) {
        exec.replay();
        BOOST_TEST(holds(captured.sum, 7));
        BOOST_TEST(same_bits(captured.drawn, numbers));
      }
      synchronize();
      BOOST_TEST(*calls == 3);
      BOOST_TEST(is_whole(others));
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_that_live_on_are_read, *label("conformance-104")) {
  for (const Mode mode : graph_modes) {
    const Array a = filled(2, size);
    const Array b = filled(5, size);
    const auto [graph, output] = capture([&] { return a * b; }, capture_options(mode));
    require_replays(graph, mode, output, 10);
    BOOST_TEST(holds(a, 2));
    BOOST_TEST(holds(b, 5));
  }
}

BOOST_AUTO_TEST_CASE(inputs_whose_handles_are_gone_are_read, *label("conformance-105")) {
  for (const Mode mode : graph_modes) {
    Array a = filled(2, size);
    Array b = filled(5, size);
    Array alias = b;
    const auto [graph, output] = capture([&] { return a * b; }, capture_options(mode));
    a = Array();
    b = filled(-1, size);
    alias = Array();
    require_replays(graph, mode, output, 10);
  }
}

BOOST_AUTO_TEST_CASE(arrays_made_on_the_way_may_go_in_the_capture_or_after_it, *label("conformance-106")) {
  for (const Mode mode : graph_modes) {
    const Array x = filled(2, size);
    Array outlives;
    const auto [graph, output] = capture(
        [&] {
          outlives = x + 1;
          Array inside = outlives * 2;
          Array result = inside - x;
          inside = Array();
          return result;
        },
        capture_options(mode));
    outlives = Array();
    require_replays(graph, mode, output, 4);
  }
}

BOOST_AUTO_TEST_CASE(inputs_in_nested_containers_may_go, *label("conformance-110")) {
  for (const Mode mode : graph_modes) {
    std::vector<Layer> model(3);
    for (Layer& layer : model) {
      layer.weights = {{"first", filled(2, size)}, {"second", filled(3, size)}};
      layer.scales = {{1, filled(1, size)}, {2, filled(4, size)}};
    }
    const auto [graph, output] = capture(
        [&] {
          Array x = zeros({size});
          for (const Layer& layer : model) {
            x = x + layer.weights.at("first") * layer.weights.at("second");
            for (const auto& [factor, scale] : layer.scales) x += scale * factor;
          }
          return x;
        },
        capture_options(mode));
    model[0].weights.erase("first");
    model[1].scales.pop_back();
    model.pop_back();
    require_replays(graph, mode, output, 3 * (6 + 1 + 8));
    model.clear();
    require_replays(graph, mode, output, 3 * (6 + 1 + 8));
  }
}

BOOST_AUTO_TEST_CASE(an_input_without_elements_may_go, *label("conformance-111")) {
  for (const Mode mode : graph_modes) {
    const Array x = filled(2, size);
    Array nothing = empty({0});
    const auto [graph, outputs] = capture([&] { return std::pair(nothing + 1, x + 1); }, capture_options(mode));
    nothing = Array();
    require_replays(graph, mode, outputs.second, 3);
    BOOST_TEST(outputs.first.to_vector<float>().empty());
  }
}

BOOST_AUTO_TEST_CASE(what_a_function_holds_lives_until_graph_and_executables_are_reset, *label("conformance-99")) {
  for (const Mode mode : graph_modes) {
    for (const bool graph_first : {true, false}) {
      BOOST_TEST_CONTEXT(mode << ", graph first: " << graph_first) {
        const auto witness = std::make_shared<int>(0);
        Graph graph =
            capture([&] { current_stream().launch_host_func([held = witness] { ++*held; }); }, capture_options(mode));
        GraphExec exec = graph.instantiate(instantiate_options(mode));
        const auto drop = [&](bool the_graph) {
          if (the_graph) {
            graph = {};
          } else {
            exec = {};
          }
        };
        const Stream stream;
        Gate gate(stream);
        exec.replay(stream);
        drop(graph_first);
        BOOST_TEST(witness.use_count() > 1);
        drop(!graph_first);
        BOOST_TEST(witness.use_count() > 1);  // the replay has not run
        BOOST_TEST(gate.open());
        BOOST_TEST(eventually([&] { return witness.use_count() == 1; }));
        BOOST_TEST(*witness == 1);
      }
    }
  }
}

// What each replay reads anew

BOOST_AUTO_TEST_CASE(every_change_of_an_input_in_place_is_seen_by_the_next_replay) {
  const HazardsScope hazards(Hazards::ignore);
  using Change = std::function<void(Array&, float)>;
  const std::vector<std::pair<const char*, Change>> changes = {
      {"an op", [](Array& x, float) { x += 1; }},
      {"a number", [](Array& x, float next) { x.assign(next); }},
      {"an array", [](Array& x, float) { x.assign(x + 1); }},
      {"host values",
       [](Array& x, float next) {
         x.assign(from_host(std::vector<float>(static_cast<std::size_t>(size), next), {size}));
       }},
      {"another handle",
       [](Array& x, float) {
         Array alias = x;
         alias += 1;
       }},
      {"another stream",
       [](Array& x, float) {
         const StreamGuard on{Stream()};
         x += 1;
       }},
      {"another thread", [](Array& x, float) { on_another_thread([&] { x += 1; }); }},
      {"another graph", [](Array& x, float) { capture([&] { x += 1; }).instantiate().replay(); }},
  };
  for (const Mode mode : graph_modes) {
    float value = 1;
    Array input = filled(value, size);
    const auto [graph, output] = capture([&] { return input * 2; }, capture_options(mode));
    const GraphExec exec = graph.instantiate(instantiate_options(mode));
    for (const auto& [name, change] : changes) {
      BOOST_TEST_CONTEXT(mode << ", " << name) {
        change(input, ++value);
        exec.replay();
        BOOST_TEST(holds(output, 2 * value));
      }
    }
  }
}

// What stays

BOOST_AUTO_TEST_CASE(an_output_outlives_its_graph_as_input_of_another) {
  for (const Mode mode : graph_modes) {
    Array x = filled(3, size);
    auto first = capture([&] { return x + 1; }, capture_options(mode));
    first.first.instantiate(instantiate_options(mode)).replay();
    const auto [second, output] = capture([&] { return first.second * 2; }, capture_options(mode));
    first = {};
    x = Array();
    require_replays(second, mode, output, 8);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
