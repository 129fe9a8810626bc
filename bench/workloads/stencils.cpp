// The 5-point stencil on a grid of 256 x 256: Jacobi's method and conjugate gradients.

#include "inputs.hpp"
#include "prepared.hpp"
#include "workload.hpp"

#include <refrain/movement.hpp>
#include <refrain/reduce.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace refrain::bench {
namespace {

constexpr std::int64_t extent = grid_extent;

std::size_t at(int row, int column) { return static_cast<std::size_t>(row * grid_extent + column); }

// Jacobi, periodic. -----------------------------------------------------------------------------------

constexpr double jacobi_tolerance = 1e-7;
constexpr int jacobi_commands = sweeps * (4 + 5);

std::vector<double> expected_sweeps() {
  const std::vector<float> source = grid_source();
  std::vector<double> u(grid_points);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    std::vector<double> next(grid_points);
    for (int row = 0; row < grid_extent; ++row) {
      for (int column = 0; column < grid_extent; ++column) {
        const double neighbours =
            u[at((row + 1) % grid_extent, column)] + u[at((row + grid_extent - 1) % grid_extent, column)] +
            u[at(row, (column + 1) % grid_extent)] + u[at(row, (column + grid_extent - 1) % grid_extent)];
        next[at(row, column)] = (neighbours + source[at(row, column)]) / 4;
      }
    }
    u = next;
  }
  return u;
}

Program jacobi() {
  const auto step = [start = zeros({extent, extent}),
                     source = from_host(grid_source(), {extent, extent})]() -> std::vector<Array> {
    Array u = start;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      u = (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) + source) * 0.25F;
    }
    return {u};
  };
  const auto check = [](const std::vector<Array>& results, int) {
    return difference(expected_sweeps(), results[0], jacobi_tolerance);
  };
  return {step, {}, check};
}

// Conjugate gradients, 0 outside of the grid. -----------------------------------------------------------

constexpr int dot_commands = 1;
constexpr int cg_commands = 1 + dot_commands + cg_iterations * (5 + 2 * dot_commands + 8);
/// Of the solution to its largest element, and of the residual to the one in double.
constexpr double cg_tolerance = 1e-4;
/// Of the solution where sums are of float32 or contracted.
constexpr double cg_other_tolerance = 2e-3;

/// 4 p less its four neighbours.
Array poisson(const Array& p) {
  Array product = p * 4;
  for (const int axis : {0, 1}) {
    product.slice({.begin = 1}, axis) -= p.slice({.end = extent - 1}, axis);
    product.slice({.end = extent - 1}, axis) -= p.slice({.begin = 1}, axis);
  }
  return product;
}

std::vector<double> poisson(const std::vector<double>& p) {
  std::vector<double> product(p.size());
  for (int row = 0; row < grid_extent; ++row) {
    for (int column = 0; column < grid_extent; ++column) {
      double sum = 4 * p[at(row, column)];
      if (row > 0) sum -= p[at(row - 1, column)];
      if (row + 1 < grid_extent) sum -= p[at(row + 1, column)];
      if (column > 0) sum -= p[at(row, column - 1)];
      if (column + 1 < grid_extent) sum -= p[at(row, column + 1)];
      product[at(row, column)] = sum;
    }
  }
  return product;
}

Array product_of(const Array& left, const Array& right) { return dot(left.flatten(), right.flatten()); }

double product_of(const std::vector<double>& left, const std::vector<double>& right) {
  double sum = 0;
  for (std::size_t i = 0; i < left.size(); ++i) sum += left[i] * right[i];
  return sum;
}

std::vector<double> right_hand_side() {
  const std::vector<float> values = numbers(grid_points);
  return {values.begin(), values.end()};
}

double residual(const std::vector<double>& x) {
  std::vector<double> r = right_hand_side();
  const std::vector<double> product = poisson(x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] -= product[i];
  return std::sqrt(product_of(r, r));
}

std::vector<double> expected_solution() {
  std::vector<double> x(grid_points);
  std::vector<double> r = right_hand_side();
  std::vector<double> p = r;
  double rr = product_of(r, r);
  for (int k = 0; k < cg_iterations; ++k) {
    const std::vector<double> q = poisson(p);
    const double alpha = rr / product_of(p, q);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += alpha * p[i];
    for (std::size_t i = 0; i < x.size(); ++i) r[i] -= alpha * q[i];
    const double next = product_of(r, r);
    for (std::size_t i = 0; i < x.size(); ++i) p[i] = r[i] + next / rr * p[i];
    rr = next;
  }
  return x;
}

std::string check_solution(const Array& x) {
  const std::vector<double> expected = expected_solution();
  if (std::string failure = difference(expected, x, cg_tolerance); !failure.empty()) return failure;
  const std::vector<float> values = x.to_vector<float>();
  const double found = residual({values.begin(), values.end()});
  const double wanted = residual(expected);
  if (std::abs(found - wanted) <= cg_tolerance * wanted) return {};
  return "the residual is " + std::to_string(found) + " where iterations in double give " + std::to_string(wanted);
}

Program conjugate_gradients() {
  const auto step = [b = number_array({extent, extent})]() -> std::vector<Array> {
    Array x = zeros({extent, extent});
    Array r = b;
    Array p = b;
    Array rr = product_of(r, r);
    for (int k = 0; k < cg_iterations; ++k) {
      const Array q = poisson(p);
      const Array alpha = rr / product_of(p, q);
      x += alpha * p;
      r = r - alpha * q;
      const Array next = product_of(r, r);
      p = r + next / rr * p;
      rr = next;
    }
    return {x};
  };
  const auto check = [](const std::vector<Array>& results, int) { return check_solution(results[0]); };
  return {step, {}, check};
}

}  // namespace

std::vector<Workload> stencil_workloads() {
  return {{"jacobi_256x50", "50 sweeps of Jacobi's method on a periodic grid of 256 x 256", jacobi_commands,
           jacobi_commands - 1, jacobi},
          {"cg_poisson_256", "50 conjugate gradient iterations on a grid of 256 x 256, 0 outside", cg_commands,
           cg_commands - 1, conjugate_gradients, "", "", cg_other_tolerance}};
}

}  // namespace refrain::bench
