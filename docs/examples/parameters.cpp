// y' = -y in steps of any length: one graph, whose dt changes between replays and whose buffers change places.

#include <refrain/refrain.hpp>

#include <cmath>
#include <iostream>
#include <utility>

namespace rf = refrain;

namespace {

constexpr int n = 1000;
constexpr int steps = 100;

float length_of(int step) { return 0.001F * static_cast<float>(1 + step % 7); }

void step(const rf::Array& from, rf::Array& to, const rf::Param<float>& dt) { to.assign(from - from * dt); }

/// Two steps a replay: the buffers are where they began after each.
rf::Array in_pairs() {
  const rf::Param<float> first(0, "first dt");
  const rf::Param<float> second(0, "second dt");
  rf::Array y = rf::ones({n});
  rf::Array other = rf::zeros({n});
  const rf::GraphExec pair = rf::capture([&] {
                               step(y, other, first);
                               step(other, y, second);
                             }).instantiate();
  for (int i = 0; i < steps; i += 2) {
    pair.set(first, length_of(i));
    pair.set(second, length_of(i + 1));
    pair.replay();
  }
  return y;
}

/// One step a replay: the executable is told which buffer is which.
rf::Array one_by_one() {
  const rf::Param<float> dt(0, "dt");
  const rf::Array from = rf::ones({n});
  rf::Array to = rf::zeros({n});
  const rf::GraphExec single = rf::capture([&] { step(from, to, dt); }).instantiate();
  rf::Array now = from;
  rf::Array next = to;
  for (int i = 0; i < steps; ++i) {
    single.bind(from, now);
    single.bind(to, next);
    single.set(dt, length_of(i));
    single.replay();
    std::swap(now, next);
  }
  return now;
}

}  // namespace

int main() {
  double expected = 1;
  for (int i = 0; i < steps; ++i) expected *= 1 - static_cast<double>(length_of(i));
  bool is_right = true;
  for (const rf::Array& y : {in_pairs(), one_by_one()}) {
    const float reached = y.slice(0, 1).item<float>();
    std::cout << reached << ", exactly " << expected << '\n';
    is_right = is_right && std::abs(reached - expected) < 1e-5;
  }
  return is_right ? 0 : 1;
}
