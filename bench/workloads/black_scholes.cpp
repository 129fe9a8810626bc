// Prices of European options: elementwise ops with logarithms, exponentials and error functions.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/ops.hpp>

#include <cmath>
#include <cstddef>
#include <numbers>

namespace refrain::bench {
namespace {

constexpr int commands = 35;
constexpr double tolerance = 2e-6;  // of the dearest option
constexpr double half_variance = 0.5 * double{volatility} * double{volatility};

/// The normal distribution's share below x.
Array share_below(const Array& x) { return (erf(x * std::sqrt(0.5)) + 1) * 0.5; }
double share_below(double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); }

/// What is wrong with the prices, each calculated on its own.
std::string check_prices(const std::vector<Array>& results) {
  const Contracts all = make_contracts();
  std::vector<double> calls;
  std::vector<double> puts;
  for (std::size_t i = 0; i < all.spot.size(); ++i) {
    const double spot = all.spot[i];
    const double strike = all.strike[i];
    const double years = all.years[i];
    const double spread = double{volatility} * std::sqrt(years);
    const double d1 = (std::log(spot / strike) + (double{interest_rate} + half_variance) * years) / spread;
    const double d2 = d1 - spread;
    const double discounted = strike * std::exp(-double{interest_rate} * years);
    calls.push_back(spot * share_below(d1) - discounted * share_below(d2));
    puts.push_back(discounted * share_below(-d2) - spot * share_below(-d1));
  }
  std::string failure = difference(calls, results[0], tolerance);
  return failure.empty() ? difference(puts, results[1], tolerance) : failure;
}

Program black_scholes() {
  const Contracts all = make_contracts();
  const auto step = [spot = from_host(all.spot, {contracts}), strike = from_host(all.strike, {contracts}),
                     years = from_host(all.years, {contracts})]() -> std::vector<Array> {
    const Array spread = sqrt(years) * volatility;
    const Array drift = years * (double{interest_rate} + half_variance);
    const Array d1 = (log(spot / strike) + drift) / spread;
    const Array d2 = d1 - spread;
    const Array discounted = strike * exp(years * -interest_rate);
    const Array call = spot * share_below(d1) - discounted * share_below(d2);
    const Array put = discounted * share_below(-d2) - spot * share_below(-d1);
    return {call, put};
  };
  const auto check = [](const std::vector<Array>& results, int) { return check_prices(results); };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> black_scholes_workloads() {
  return {{"blackscholes_1m", "calls and puts of 2^20 European options", commands, commands - 1, black_scholes}};
}

}  // namespace refrain::bench
