// The ops of workloads/adam.cpp, a kernel each.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

namespace refrain::bench {
namespace {

constexpr std::size_t largest_tensor = 4096;

struct State {
  int size;
  std::shared_ptr<float> parameter;
  std::shared_ptr<float> gradient;
  std::shared_ptr<float> first;
  std::shared_ptr<float> second;
};

/// What all tensors share: the betas to the power of the step's number, one less those, and memory for results between.
struct Shared {
  std::shared_ptr<float> power1 = make_device_copy({1});
  std::shared_ptr<float> power2 = make_device_copy({1});
  std::shared_ptr<float> correction1 = make_device_array<float>(1);
  std::shared_ptr<float> correction2 = make_device_array<float>(1);
  std::shared_ptr<float> t = make_device_array<float>(largest_tensor);
  std::shared_ptr<float> u = make_device_array<float>(largest_tensor);
};

__global__ void scale_one(float* x, float by) { *x *= by; }
__global__ void complement(const float* x, float* out) { *out = 1 - *x; }

void update(const State& state, const Shared& shared, cudaStream_t stream) {
  const int size = state.size;
  const float* const gradient = state.gradient.get();
  float* const first = state.first.get();
  float* const second = state.second.get();
  float* const t = shared.t.get();
  float* const u = shared.u.get();
  map(stream, Scale{beta1}, first, first, size);
  map(stream, Scale{1 - beta1}, gradient, t, size);
  map(stream, Add{}, first, t, first, size);
  map(stream, Scale{beta2}, second, second, size);
  map(stream, Multiply{}, gradient, gradient, t, size);
  map(stream, Scale{1 - beta2}, t, t, size);
  map(stream, Add{}, second, t, second, size);
  map(stream, DivideByElement{shared.correction2.get()}, second, t, size);
  map(stream, Sqrt{}, t, t, size);
  map(stream, Shift{epsilon}, t, t, size);
  map(stream, DivideByElement{shared.correction1.get()}, first, u, size);
  map(stream, Divide{}, u, t, u, size);
  map(stream, Scale{learning_rate}, u, u, size);
  map(stream, Subtract{}, state.parameter.get(), u, state.parameter.get(), size);
}

RawProgram adam(int) {
  std::vector<State> states;
  std::vector<RawResult> results;
  for (int number = 0; number < tensors; ++number) {
    const auto [start, gradient] = make_tensor(number);
    const std::vector<float> nothing(start.size());
    const State& made =
        states.emplace_back(State{static_cast<int>(start.size()), make_device_copy(start), make_device_copy(gradient),
                                  make_device_copy(nothing), make_device_copy(nothing)});
    for (const auto& result : {made.parameter, made.first, made.second}) {
      results.push_back({result.get(), start.size() * sizeof(float)});
    }
  }
  return {
      .step =
          [states, shared = Shared()](cudaStream_t stream) {
            launch(scale_one, 1, 1, stream, shared.power1.get(), float{beta1});
            launch(scale_one, 1, 1, stream, shared.power2.get(), float{beta2});
            launch(complement, 1, 1, stream, static_cast<const float*>(shared.power1.get()), shared.correction1.get());
            launch(complement, 1, 1, stream, static_cast<const float*>(shared.power2.get()), shared.correction2.get());
            for (const State& state : states) update(state, shared, stream);
          },
      .results = results};
}

}  // namespace

std::vector<Baseline> raw_adam() { return {raw_graph("adam_200", adam)}; }

}  // namespace refrain::bench
