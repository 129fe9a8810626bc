// A line is fitted to batches of points: a step is recorded at its first call and replayed with other batches, another
// learning rate and the arrays that the step before has made.

#include <refrain/refrain.hpp>

#include <iostream>
#include <tuple>
#include <vector>

namespace rf = refrain;

namespace {

constexpr int batch = 100;
constexpr int steps = 200;

struct Line {
  rf::Array slope = rf::zeros({1});
  rf::Array offset = rf::zeros({1});
};

/// Moves the line towards the points; the loss before that.
rf::Array advance(Line& line, const rf::Array& x, const rf::Array& y, const rf::Param<float>& rate) {
  const rf::Array error = line.slope * x + line.offset - y;
  line.slope = line.slope - rate * rf::mean(error * x);  // other arrays, not in place
  line.offset = line.offset - rate * rf::mean(error);
  return rf::mean(error * error);
}

/// Calls the step with a new batch each time and keeps all losses; these and the line as numbers.
template <class Step>
std::vector<float> train(const Line& line, rf::Param<float>& rate, const Step& step) {
  rf::manual_seed(1);
  std::vector<rf::Array> losses;
  for (int i = 0; i < steps; ++i) {
    rate = 0.5F / (1 + 0.1F * static_cast<float>(i));
    const rf::Array x = rf::randn({batch});
    losses.push_back(step(x, 3 * x + 1));
  }
  std::vector<float> numbers;
  for (const rf::Array& loss : losses) numbers.push_back(loss.item<float>());
  numbers.push_back(line.slope.item<float>());
  numbers.push_back(line.offset.item<float>());
  return numbers;
}

}  // namespace

template <>
struct refrain::Fields<Line> {
  static auto of(auto& line) { return std::tie(line.slope, line.offset); }
};

int main() {
  rf::Param<float> rate(0, "rate");
  Line called;
  const std::vector<float> expected =
      train(called, rate, [&](const rf::Array& x, const rf::Array& y) { return advance(called, x, y, rate); });

  Line line;
  const auto step =
      rf::graphed([&](const rf::Array& x, const rf::Array& y) { return advance(line, x, y, rate); }, {.label = "step"})
          .state(line);
  const std::vector<float> reached = train(line, rate, step);

  std::cout << "y = " << line.slope.item<float>() << " x + " << line.offset.item<float>() << '\n' << step.explain();
  const rf::GraphedStatistics done = step.statistics();
  const bool is_replayed = done.recordings == 1 && done.hits == steps - 1 && done.eager == 0;
  return reached == expected && is_replayed && done.instantiations <= 4 ? 0 : 1;
}
