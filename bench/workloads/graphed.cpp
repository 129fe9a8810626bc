// Small steps as calls of a graphed function: what the call costs beside the launch.

#include "graphed_steps.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/graphed.hpp>
#include <refrain/param.hpp>

#include <array>
#include <cmath>
#include <memory>

namespace refrain::bench {
namespace {

constexpr double tolerance = 1e-6;
constexpr const char* why_no_graphs = "a replay has the arrays of the capture, where each step has others";

Array halved(const Array& x) { return x * 0.5F + 1; }

std::string check_elements(const Array& result, const std::function<double(std::size_t)>& expected) {
  std::vector<double> all(graphed_elements);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = expected(i);
  return difference(all, result, tolerance);
}

Step holder(const std::shared_ptr<Array>& array) {
  return [array]() -> std::vector<Array> { return {*array}; };
}

Program y_step() {
  const Array x = from_host(graphed_input(), {graphed_elements});
  const auto graphed_step = graphed(halved);
  Program program([x]() -> std::vector<Array> { return {halved(x)}; }, {},
                  [](const std::vector<Array>& results, int) {
                    return check_elements(results.front(), [](std::size_t i) { return graphed_input()[i] * 0.5 + 1; });
                  });
  const auto y = std::make_shared<Array>();
  program.call = [x, y, graphed_step] { *y = graphed_step(x); };
  program.called = holder(y);
  return program;
}

Program x_step() {
  const Array start = from_host(graphed_input(), {graphed_elements});
  const auto x = std::make_shared<Array>(start);
  const auto graphed_step = graphed(halved);
  Program program(
      [x]() -> std::vector<Array> {
        *x = halved(*x);
        return {*x};
      },
      {},
      [](const std::vector<Array>& results, int number) {
        return check_elements(results.front(), [&](std::size_t i) {
          double value = graphed_input()[i];
          for (int step = 0; step <= number; ++step) value = value * 0.5 + 1;
          return value;
        });
      },
      [x, start] { *x = start; });
  program.call = [x, graphed_step] { *x = graphed_step(*x); };
  program.called = holder(x);
  return program;
}

Program scalar() {
  const Array x = from_host(graphed_input(), {graphed_elements});
  Param<float> rate(rate_of(0), "rate");
  const auto scaled = [](const Array& of, const Param<float>& by) { return of * by; };
  const auto graphed_step = graphed(scaled);
  const auto set = [rate](const GraphExec* exec, int number) mutable {
    if (exec == nullptr) {
      rate = rate_of(number);
    } else {
      exec->set(rate, rate_of(number));
    }
  };
  const auto check = [](const std::vector<Array>& results, int number) {
    return check_elements(results.front(),
                          [&](std::size_t i) { return double{graphed_input()[i]} * double{rate_of(number)}; });
  };
  Program program([x, rate, scaled]() -> std::vector<Array> { return {scaled(x, rate)}; }, set, check);
  const auto y = std::make_shared<Array>();
  program.call = [x, y, rate, graphed_step] { *y = graphed_step(x, rate); };
  program.called = holder(y);
  return program;
}

Program new_buffers() {
  using Inputs = std::array<Array, graphed_inputs>;
  const auto all = std::make_shared<std::vector<Inputs>>();
  for (int turn = 0; turn < graphed_turns; ++turn) {
    Inputs& inputs = all->emplace_back();
    for (int i = 0; i < graphed_inputs; ++i) {
      inputs[static_cast<std::size_t>(i)] = from_host(graphed_input(turn + i), {graphed_elements});
    }
  }
  const auto turn = std::make_shared<int>(0);
  const auto next = [all, turn]() -> const Inputs& {
    return (*all)[static_cast<std::size_t>((*turn)++ % graphed_turns)];
  };
  const auto mixed = [](const Array& a, const Array& b, const Array& c, const Array& d) { return a * b + c * d; };
  const auto graphed_step = graphed(mixed);
  const auto check = [](const std::vector<Array>& results, int number) {
    return check_elements(results.front(), [&](std::size_t i) {
      const auto input = [&](int which) { return double{graphed_input(number + which)[i]}; };
      return input(0) * input(1) + input(2) * input(3);
    });
  };
  Program program(
      [next, mixed]() -> std::vector<Array> {
        const auto& [a, b, c, d] = next();
        return {mixed(a, b, c, d)};
      },
      {}, check, [turn] { *turn = 0; });
  const auto y = std::make_shared<Array>();
  program.call = [next, y, graphed_step] {
    const auto& [a, b, c, d] = next();
    *y = graphed_step(a, b, c, d);
  };
  program.called = holder(y);
  return program;
}

Workload workload(const char* name, const char* summary, int commands, std::function<Program()> prepare) {
  Workload made{name, summary, commands, commands - 1, std::move(prepare)};
  made.tolerance = tolerance;
  return made;
}

}  // namespace

std::vector<Workload> graphed_workloads() {
  std::vector<Workload> all = {
      workload("graphed_y_step", "y = step(x) of x * 0.5f + 1 on 1 000 float32", 2, y_step),
      workload("graphed_x_step", "x = step(x) of the same", 2, x_step),
      workload("graphed_scalar", "step(x, rate) of x * rate, another rate each time", 1, scalar),
      workload("graphed_new_buffers", "step(a, b, c, d) of a * b + c * d, other arrays each time", 3, new_buffers),
  };
  all[1].why_no_graphs = why_no_graphs;
  all[3].why_no_graphs = why_no_graphs;
  all[3].edges = 2;
  return all;
}

}  // namespace refrain::bench
