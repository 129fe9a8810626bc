// A step of an optimiser on many small tensors, in place.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/ops.hpp>

#include <cmath>
#include <cstddef>

namespace refrain::bench {
namespace {

constexpr int commands = 4 + tensors * 14;
constexpr double tolerance = 1e-6;

/// A parameter, its gradient, and the moments of those of all steps.
struct State {
  Array parameter;
  Array gradient;
  Array first;
  Array second;
};

/// The betas to the power of the number of steps, which the device counts.
struct Powers {
  Array beta1 = ones({});
  Array beta2 = ones({});
};

void update(State& state, const Array& correction1, const Array& correction2) {
  const Array& gradient = state.gradient;
  state.first *= beta1;
  state.first += gradient * (1 - beta1);
  state.second *= beta2;
  state.second += gradient * gradient * (1 - beta2);
  const Array deviation = sqrt(state.second / correction2) + epsilon;
  state.parameter -= state.first / correction1 / deviation * learning_rate;
}

std::string check_states(const std::vector<Array>& results, int steps) {
  for (int number = 0; number < tensors; ++number) {
    const auto [start, gradient] = make_tensor(number);
    std::vector<double> parameter(start.begin(), start.end());
    std::vector<double> first(start.size());
    std::vector<double> second(start.size());
    for (int step = 1; step <= steps; ++step) {
      const double correction1 = 1 - std::pow(double{beta1}, step);
      const double correction2 = 1 - std::pow(double{beta2}, step);
      for (std::size_t i = 0; i < start.size(); ++i) {
        const double g = gradient[i];
        first[i] = double{beta1} * first[i] + (1 - double{beta1}) * g;
        second[i] = double{beta2} * second[i] + (1 - double{beta2}) * g * g;
        parameter[i] -=
            double{learning_rate} * (first[i] / correction1) / (std::sqrt(second[i] / correction2) + double{epsilon});
      }
    }
    const std::vector<double>* const expected[] = {&parameter, &first, &second};
    for (std::size_t k = 0; k < 3; ++k) {
      const Array& found = results[static_cast<std::size_t>(number) * 3 + k];
      if (std::string failure = difference(*expected[k], found, tolerance); !failure.empty()) {
        return "tensor " + std::to_string(number) + ": " + failure;
      }
    }
  }
  return {};
}

Program adam() {
  std::vector<State> states;
  std::vector<Array> starts;
  for (int number = 0; number < tensors; ++number) {
    const auto [start, gradient] = make_tensor(number);
    const Shape shape{static_cast<std::int64_t>(start.size())};
    starts.push_back(from_host(start, shape));
    states.push_back({from_host(start, shape), from_host(gradient, shape), zeros(shape), zeros(shape)});
  }
  Powers powers;
  const auto step = [states, powers]() mutable {
    powers.beta1 *= beta1;
    powers.beta2 *= beta2;
    const Array correction1 = 1 - powers.beta1;
    const Array correction2 = 1 - powers.beta2;
    std::vector<Array> results;
    for (State& state : states) {
      update(state, correction1, correction2);
      results.insert(results.end(), {state.parameter, state.first, state.second});
    }
    return results;
  };
  const auto check = [](const std::vector<Array>& results, int number) { return check_states(results, number + 1); };
  const auto reset = [states, starts, powers]() mutable {
    powers.beta1.assign(1);
    powers.beta2.assign(1);
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].parameter.assign(starts[i]);
      states[i].first.assign(0);
      states[i].second.assign(0);
    }
  };
  return {step, {}, check, reset};
}

}  // namespace

std::vector<Workload> adam_workloads() {
  return {{"adam_200", "a step of Adam on 200 tensors of 64 to 4 096 float32, in place", commands, commands - 1, adam}};
}

}  // namespace refrain::bench
