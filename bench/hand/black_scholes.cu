// blackscholes_1m: a thread prices a few options. Half of the program's error functions are the others' of the opposite
// sign, exactly, and are not calculated again.

#include "hand/hand.hpp"
#include "inputs.hpp"

namespace refrain::bench::REFRAIN_HAND_BUILD {
namespace {

// Two options a thread: more of them would share few instructions more, and these are what a launch has to issue.
constexpr int block = 256;
constexpr int grid = contracts / (2 * block);
static_assert(contracts % (2 * block) == 0);
constexpr std::size_t bytes = contracts * sizeof(float);

constexpr float drift = static_cast<float>(double{interest_rate} + 0.5 * double{volatility} * double{volatility});
constexpr float root_half = 0.70710678118654752F;

struct Prices {
  float call;
  float put;
};

__device__ Prices price(float spot, float strike, float years) {
  const float spread = sqrtf(years) * volatility;
  const float d1 = (logf(spot / strike) + years * drift) / spread;
  const float d2 = d1 - spread;
  const float discounted = strike * expf(years * -interest_rate);
  const float error1 = erff(d1 * root_half);
  const float error2 = erff(d2 * root_half);
  return {spot * ((error1 + 1) * 0.5F) - discounted * ((error2 + 1) * 0.5F),
          discounted * ((1 - error2) * 0.5F) - spot * ((1 - error1) * 0.5F)};
}

__global__ void __launch_bounds__(block)
    price_all(const float2* spot, const float2* strike, const float2* years, float2* call, float2* put) {
  const int i = static_cast<int>(blockIdx.x) * block + static_cast<int>(threadIdx.x);
  const float2 s = spot[i];
  const float2 k = strike[i];
  const float2 t = years[i];
  const Prices first = price(s.x, k.x, t.x);
  const Prices second = price(s.y, k.y, t.y);
  call[i] = {first.call, second.call};
  put[i] = {first.put, second.put};
}

std::shared_ptr<float2> make_pairs(const std::vector<float>& values) {
  return std::reinterpret_pointer_cast<float2>(make_device_copy(values));
}

RawProgram black_scholes(int) {
  const Contracts made = make_contracts();
  const auto call = make_device_array<float2>(contracts / 2);
  const auto put = make_device_array<float2>(contracts / 2);
  return {.step =
              [spot = make_pairs(made.spot), strike = make_pairs(made.strike), years = make_pairs(made.years), call,
               put](cudaStream_t stream) {
                launch(price_all, grid, block, stream, static_cast<const float2*>(spot.get()),
                       static_cast<const float2*>(strike.get()), static_cast<const float2*>(years.get()), call.get(),
                       put.get());
              },
          .results = {{call.get(), bytes}, {put.get(), bytes}},
          .is_stateless = true,
          .tolerance = rounding};
}

}  // namespace

std::vector<Baseline> hand_black_scholes() { return {hand_row("blackscholes_1m", black_scholes)}; }

}  // namespace refrain::bench::REFRAIN_HAND_BUILD
