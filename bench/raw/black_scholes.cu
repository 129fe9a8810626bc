// The ops of workloads/black_scholes.cpp, a kernel each, with CUDA's functions.

#include "inputs.hpp"
#include "raw/maps.cuh"
#include "raw/program.hpp"

#include <cmath>

namespace refrain::bench {
namespace {

constexpr std::size_t bytes = contracts * sizeof(float);

std::shared_ptr<float> make_values() { return make_device_array<float>(contracts); }

struct Buffers {
  std::shared_ptr<float> spot;
  std::shared_ptr<float> strike;
  std::shared_ptr<float> years;
  std::shared_ptr<float> spread = make_values();
  std::shared_ptr<float> d1 = make_values();
  std::shared_ptr<float> d2 = make_values();
  std::shared_ptr<float> discounted = make_values();
  std::shared_ptr<float> first = make_values();
  std::shared_ptr<float> second = make_values();
  std::shared_ptr<float> call = make_values();
  std::shared_ptr<float> put = make_values();
};

/// Ops on the elements of all contracts, in the order of their calls.
class Ops {
 public:
  explicit Ops(cudaStream_t stream) : stream_(stream) {}

  template <class Op>
  void one(Op op, const std::shared_ptr<float>& in, const std::shared_ptr<float>& out) const {
    map(stream_, op, in.get(), out.get(), contracts);
  }
  template <class Op>
  void two(Op op, const std::shared_ptr<float>& left, const std::shared_ptr<float>& right,
           const std::shared_ptr<float>& out) const {
    map(stream_, op, left.get(), right.get(), out.get(), contracts);
  }
  /// The normal distribution's share below each.
  void share_below(const std::shared_ptr<float>& in, const std::shared_ptr<float>& out) const {
    one(Scale{static_cast<float>(std::sqrt(0.5))}, in, out);
    one(Erf{}, out, out);
    one(Shift{1}, out, out);
    one(Scale{0.5F}, out, out);
  }

 private:
  cudaStream_t stream_;
};

void price(const Buffers& all, cudaStream_t stream) {
  const Ops ops(stream);
  constexpr double half_variance = 0.5 * double{volatility} * double{volatility};
  ops.one(Sqrt{}, all.years, all.spread);
  ops.one(Scale{volatility}, all.spread, all.spread);
  ops.one(Scale{static_cast<float>(double{interest_rate} + half_variance)}, all.years, all.d2);
  ops.two(Divide{}, all.spot, all.strike, all.d1);
  ops.one(Log{}, all.d1, all.d1);
  ops.two(Add{}, all.d1, all.d2, all.d1);
  ops.two(Divide{}, all.d1, all.spread, all.d1);
  ops.two(Subtract{}, all.d1, all.spread, all.d2);
  ops.one(Scale{-interest_rate}, all.years, all.discounted);
  ops.one(Exp{}, all.discounted, all.discounted);
  ops.two(Multiply{}, all.strike, all.discounted, all.discounted);

  ops.share_below(all.d1, all.first);
  ops.two(Multiply{}, all.spot, all.first, all.first);
  ops.share_below(all.d2, all.second);
  ops.two(Multiply{}, all.discounted, all.second, all.second);
  ops.two(Subtract{}, all.first, all.second, all.call);

  ops.one(Negate{}, all.d2, all.d2);
  ops.share_below(all.d2, all.second);
  ops.two(Multiply{}, all.discounted, all.second, all.second);
  ops.one(Negate{}, all.d1, all.d1);
  ops.share_below(all.d1, all.first);
  ops.two(Multiply{}, all.spot, all.first, all.first);
  ops.two(Subtract{}, all.second, all.first, all.put);
}

RawProgram black_scholes(int) {
  const Contracts made = make_contracts();
  const Buffers all{make_device_copy(made.spot), make_device_copy(made.strike), make_device_copy(made.years)};
  return {.step = [all](cudaStream_t stream) { price(all, stream); },
          .results = {{all.call.get(), bytes}, {all.put.get(), bytes}},
          .is_stateless = true,
          .tolerance = 1e-5};
}

}  // namespace

std::vector<Baseline> raw_black_scholes() { return {raw_graph("blackscholes_1m", black_scholes)}; }

}  // namespace refrain::bench
