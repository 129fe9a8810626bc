// Random programs of ops that are exact, or rounded correctly, in a published order: on two devices, eager and
// replayed, bit for bit the same numbers. The devices are the host and, where there is one, a GPU, whichever is under
// test.

#include "support.hpp"
#include "support_draws.hpp"
#include "support_reference.hpp"

#include <refrain/movement.hpp>
#include <refrain/ops.hpp>
#include <refrain/reduce.hpp>

namespace refrain::test {

namespace {

constexpr Device host{DeviceKind::host, 0};

/// The GPU; another ordinal of the host where there is none.
Device other_device() {
  if (device_count(DeviceKind::cuda) > 0) return {DeviceKind::cuda, 0};
  BOOST_TEST_MESSAGE("there is no GPU: two ordinals of the host are compared");
  return {DeviceKind::host, 1};
}

using Unary = Array (*)(const Array&, SourceLocation);

Array random_unary(Draw& draw, const Array& x) {
  const SourceLocation where = SourceLocation::current();
  if (x.dtype() == DType::bool_) return logical_not(x);
  if (!is_floating(x.dtype())) {
    return draw.one_of(3) ? ~x : draw.one_of(3) ? -x : draw.from<Unary>({abs, sign, relu, floor, sqrt})(x, where);
  }
  if (draw.one_of(8)) return -x;
  return draw.from<Unary>({abs, sign, relu, floor, ceil, round, trunc, sqrt, rsqrt, isnan, isfinite})(x, where);
}

/// Over some axes, which stay with extent 1.
Array random_reduction(Draw& draw, const Array& x) {
  Axes axes;
  if (x.ndim() > 0 && !draw.one_of(3)) axes = {static_cast<int>(draw.below(x.ndim()))};
  if (x.ndim() > 1 && draw.one_of(4)) axes = {x.ndim() - 1, 0};
  const bool is_one = !axes.is_all() && std::distance(axes.begin(), axes.end()) == 1;
  const std::optional<int> axis = is_one ? std::optional(*axes.begin()) : std::nullopt;
  switch (x.size() == 0 ? draw.below(5) : draw.below(11)) {
    case 0: return sum(x, axes, true);
    case 1: return prod(x, axes, true);
    case 2: return any(x, axes, true);
    case 3: return all(x, axes, true);
    case 4: return mean(x, axes, true);
    case 5: return var(x, axes, 1, true);
    case 6: return norm(x, axes, true);
    case 7: return min(x, axes, true);
    case 8: return max(x, axes, true);
    case 9: return argmin(x, axis, true);
    default: return argmax(x, axis, true);
  }
}

Array random_indices(Draw& draw, std::int64_t size) {
  std::vector<std::int64_t> names(static_cast<std::size_t>(size == 0 ? 0 : draw.below(40)));
  for (std::int64_t& name : names) name = draw.below(2 * size + 2) - size - 1;  // one too far at either end
  return from_host(names, {std::ssize(names)});
}

Array random_movement(Draw& draw, const Array& x, const Array& like) {
  const bool has_axes = x.ndim() > 0;
  const auto axis = has_axes ? static_cast<int>(draw.below(x.ndim())) : 0;
  switch (draw.below(has_axes ? 6 : 3)) {
    case 0: return roll(x, draw.below(7) - 3);
    case 1: return take(x, random_indices(draw, x.size()));
    case 2: return stack({x, like}, axis);
    case 3: return roll(x, draw.below(2000) - 1000, axis);
    case 4: return take(x, random_indices(draw, x.shape()[axis]), axis);
    default: return concatenate({x, like, x}, axis);
  }
}

Array random_count(Draw& draw) {
  const DType dtype = draw.from<DType>({DType::float16, DType::bfloat16, DType::float32, DType::float64});
  const double start = static_cast<double>(draw.below(1000)) / 7 - 50;
  if (draw.one_of(3)) return arange(draw.below(100) - 50, draw.below(3000), 1 + draw.below(3), {.dtype = dtype});
  if (draw.one_of(2)) return linspace(start, start / 3 + 1, draw.below(1100), {.dtype = dtype});
  return arange(start, start + 60, 0.1 + start / 1000, {.dtype = dtype});
}

/// One seed's program; its choices depend on dtypes and shapes alone.
struct Program {
  unsigned seed;
  Extents shape;
  std::vector<View> views;
  std::vector<DType> dtypes;
  std::vector<std::vector<Real>> numbers;

  explicit Program(unsigned seed_) : seed(seed_) {
    Draw draw(seed);
    shape = random_extents(draw);
    for (int i = 0; i < 3; ++i) {
      views.push_back(random_views(draw, shape, /*may_repeat=*/i < 2).first);
      if (i < 2) views.back().is_expanded = true;
      dtypes.push_back(i > 0 && draw.one_of(2) ? dtypes.back() : random_dtype(draw));
      const auto size = static_cast<std::size_t>(count(views.back().base));
      numbers.push_back(random_numbers(dtypes.back(), size, seed * 3 + static_cast<unsigned>(i)));
    }
  }

  std::vector<Array> run(const std::vector<Array>& bases) const {
    Draw draw(seed + 1'000'000);
    const Array x = view_of(bases[0], views[0], shape);
    const Array y = view_of(bases[1], views[1], shape);
    Array target = view_of(bases[2], views[2], shape);
    const Array a = apply(random_op(draw, promote(x.dtype(), y.dtype())), x, y);
    const Array b = random_unary(draw, a);
    const Array reduced = random_reduction(draw, draw.one_of(2) ? x : b);
    const Array moved = random_movement(draw, draw.one_of(2) ? y : b, a);
    const Array c = apply(random_op(draw, promote(b.dtype(), reduced.dtype())), b, reduced);
    target.assign(where(x == y, c, target).cast(target.dtype()));
    return {a, b, reduced, moved, c, bases[2], random_reduction(draw, moved), random_count(draw)};
  }

  std::vector<Array> run_on(Device device, Mode mode) const {
    const DeviceGuard on(device);
    std::vector<Array> bases;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bases.push_back(array_of(dtypes[i], shape_of(views[i].base), numbers[i]));
    }
    return run_as(mode, [&] { return run(bases); });
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(device_programs)

BOOST_AUTO_TEST_CASE(random_programs_give_the_same_bits_on_two_devices_and_in_graphs) {
  const Device other = other_device();
  for (unsigned seed = 1; seed <= 250; ++seed) {
    const Program program(seed);
    const std::vector<Array> expected = program.run_on(host, Mode::eager);
    for (const auto& [device, mode] :
         {std::pair{host, Mode::graph}, std::pair{other, Mode::eager}, std::pair{other, Mode::graph}}) {
      const std::vector<Array> got = program.run_on(device, mode);
      for (std::size_t i = 0; i < got.size(); ++i) {
        BOOST_TEST(same_bits(got[i], expected[i]), "seed " << seed << ", result " << i << " of " << expected[i].dtype()
                                                           << expected[i].shape() << " on " << device << ' ' << mode);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
