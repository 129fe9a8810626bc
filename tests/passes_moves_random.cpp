// Random moves of random views among elementwise ops and reductions, fused and not, bit for bit. REFRAIN_FUZZ=N runs N
// programs from REFRAIN_FUZZ_SEED on (0).

#include "support.hpp"
#include "support_draws.hpp"
#include "support_fuzz.hpp"
#include "support_passes.hpp"

#include <refrain/movement.hpp>
#include <refrain/reduce.hpp>

#include <memory>
#include <vector>

using boost::unit_test::label;

namespace refrain::test {

namespace {

/// Arrays of one seed and a program of theirs, the same whenever it is run.
class Program {
 public:
  explicit Program(unsigned seed) : seed_(seed) {
    Draw draw(seed);
    extents_ = random_extents(draw);
    dtype_ = random_dtype(draw);
    for (unsigned i = 0; i < 3; ++i) {
      const View how = random_views(draw, extents_, true).first;
      const Array base = array_of(dtype_, shape_of(how.base),
                                  random_numbers(dtype_, static_cast<std::size_t>(count(how.base)), seed * 3 + i));
      views_.push_back(view_of(base, how, extents_).expand(shape_of(extents_)));
    }
    condition_ = array_of(DType::bool_, shape_of(extents_),
                          random_numbers(DType::bool_, static_cast<std::size_t>(count(extents_)), seed));
    target_ =
        array_of(dtype_, shape_of(extents_), random_numbers(dtype_, static_cast<std::size_t>(count(extents_)), 1));
  }

  std::vector<Array> run() {
    Draw draw(seed_);
    std::vector<Array> values = views_;
    values.push_back(target_);
    const auto any = [&] { return draw.from(values); };
    for (int step = 0; step < 6; ++step) {
      switch (draw.below(10)) {
        case 0: values.push_back(where(condition_, any(), rolled(draw, any()))); break;
        case 1: values.push_back(where(condition_, taken(draw, any()), any())); break;
        case 5:
        case 6: values.push_back(updated(draw, where(condition_, any(), any()), any())); break;
        case 7: values.push_back(where(condition_, any(), reduced(draw, any()))); break;
        case 8:
          values.push_back(where(condition_, rolled(draw, any()),
                                 reduced(draw, updated(draw, where(condition_, any(), any()), any()))));
          break;
        case 2: target_.assign(draw.one_of(3) ? any() : rolled(draw, any())); break;
        default: values.push_back(rolled(draw, any())); break;
      }
    }
    return {values.back(), target_};
  }

 private:
  Array rolled(Draw& draw, const Array& array) const {
    const auto shift = [&] { return draw.below(200) - 100; };
    const int ndim = array.ndim();
    if (ndim == 0 || draw.one_of(4)) return roll(array, shift());
    const auto axis = [&] { return static_cast<int>(draw.below(ndim)); };
    return draw.one_of(3) ? roll(array, {shift(), shift()}, {axis(), axis()}) : roll(array, shift(), axis());
  }
  /// With a part of it updated by as large a part of the other one.
  Array updated(Draw& draw, Array array, const Array& other) const {
    Array part = array;
    Array from = other;
    for (int axis = 0; axis < array.ndim(); ++axis) {
      const std::int64_t extent = array.shape()[axis];
      if (extent < 2 || draw.one_of(2)) continue;
      const std::int64_t step = 1 + draw.below(2);
      const std::int64_t size = 1 + draw.below((extent + step - 1) / step);
      const auto piece = [&] {
        const std::int64_t begin = draw.below(extent - (size - 1) * step);
        return Slice{.begin = begin, .end = begin + (size - 1) * step + 1, .step = step};
      };
      part = part.slice(piece(), axis);
      from = from.slice(piece(), axis);
    }
    if (dtype_ == DType::bool_ || draw.one_of(2)) {
      part.assign(from);
    } else {
      part += from;
    }
    return array;
  }
  /// What rows, or all elements, are reduced to, maybe moved and updated, for each element.
  Array reduced(Draw& draw, const Array& array) const {
    if (array.size() == 0 || array.ndim() == 0) return array;
    Axes axes;
    if (array.ndim() > 1) {
      const int last = array.ndim() - 1;
      axes = draw.one_of(2) ? Axes{} : draw.one_of(2) ? Axes{last} : Axes{last - 1, last};
    }
    const auto reduce = [&](const Array& from) {
      switch (draw.below(3)) {
        case 0: return max(from, axes, true);
        case 1: return min(from, axes, true);
        default: return (dtype_ == DType::bool_ ? any(from, axes, true) : sum(from, axes, true)).cast(dtype_);
      }
    };
    Array result = reduce(array);
    if (draw.one_of(3)) result = updated(draw, result, reduce(draw.one_of(2) ? array : rolled(draw, array)));
    if (draw.one_of(3)) result = rolled(draw, result);
    return result.expand(array.shape());
  }
  Array taken(Draw& draw, const Array& array) const {
    if (array.size() == 0) return array;
    const DType type = draw.one_of(2) ? DType::int32 : DType::int64;
    const Array indices = views_[0].cast(type);
    if (array.ndim() == 0 || draw.one_of(2)) return take(array, indices);
    const int axis = static_cast<int>(draw.below(array.ndim()));
    Array line = indices;
    for (int k = array.ndim() - 1; k >= 0; --k) {
      if (k != axis) line = line.select(0, k);
    }
    return take(array, line, axis);
  }

  unsigned seed_;
  Extents extents_;
  DType dtype_ = DType::float32;
  std::vector<Array> views_;
  Array condition_;
  Array target_;
};

/// A program of a seed twice, one of which is recorded.
struct Pair {
  explicit Pair(unsigned of) : seed(of), eager(of), recorded(of) {
    std::tie(graph, outputs) = capture([&] { return recorded.run(); });
  }

  unsigned seed;
  Program eager;
  Program recorded;
  Graph graph;
  std::vector<Array> outputs;
  GraphExec exec;
};

void require_same(Pair& pair) {
  for (int i = 0; i < 3; ++i) {
    const std::vector<Array> expected = pair.eager.run();
    pair.exec.replay();
    for (std::size_t k = 0; k < pair.outputs.size(); ++k) {
      BOOST_REQUIRE_MESSAGE(same_bits(pair.outputs[k], expected[k]), "seed " << pair.seed << ", output " << k
                                                                             << ", run " << i << "\n"
                                                                             << pair.exec.explain());
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(passes_moves_random, *label("sanitize"))

BOOST_AUTO_TEST_CASE(fused_moves_give_what_eager_ones_do) {
  const bool is_host = current_device().kind == DeviceKind::host;
  FuzzRange range = fuzz_range(is_host ? 1000 : 32);
  if (!is_host) range.count = (range.count + 3) / 4;  // no kernels take longer to make
  const unsigned at_once = is_host ? 8 : 64;
  for (unsigned first = range.first; first < range.end(); first += at_once) {
    std::vector<std::unique_ptr<Pair>> pairs;
    for (unsigned seed = first; seed < std::min(first + at_once, range.end()); ++seed) {
      pairs.push_back(std::make_unique<Pair>(seed));
    }
    // The making of kernels is most of the time on CUDA.
    for_each_in_parallel(pairs.size(), [&](std::size_t i) { pairs[i]->exec = pairs[i]->graph.instantiate(); });
    for (const auto& pair : pairs) require_same(*pair);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
