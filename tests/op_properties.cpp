// Random programs of elementwise ops on random views, in every mode bit for bit what a naive loop gives.

#include "support.hpp"
#include "support_draws.hpp"
#include "support_model.hpp"
#include "support_reference.hpp"

#include <refrain/ops.hpp>

#include <stdexcept>

namespace refrain::test {

namespace {

void apply_in_place(Op op, Array target, const Array& right) {
  switch (op) {
    case Op::add: target += right; return;
    case Op::sub: target -= right; return;
    case Op::mul: target *= right; return;
    case Op::div: target /= right; return;
    case Op::remainder: target %= right; return;
    case Op::bitwise_and: target &= right; return;
    case Op::bitwise_xor: target ^= right; return;
    default: throw std::logic_error("no such op in place");
  }
}
void apply_in_place(Op op, const Model& target, const Model& right) { target.assign(apply(op, target, right)); }

void assign(Array target, const Array& source) { target.assign(source); }
void assign(const Model& target, const Model& source) { target.assign(source); }

/// Of a scalar and the array.
Array three_and(const Array& array) { return array.dtype() == DType::bool_ ? true < array : 3 - array; }
Model three_and(const Model& model) {
  const bool is_bool = model.dtype() == DType::bool_;
  return apply(is_bool ? Op::less : Op::sub, Model(model.dtype(), {}, {is_bool ? Real{1} : Real{3}}), model);
}

Op random_op_in_place(Draw& draw, DType dtype) {
  if (dtype == DType::bool_) return draw.from<Op>({Op::bitwise_and, Op::bitwise_xor});
  if (is_floating(dtype)) return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::div, Op::remainder});
  return draw.from<Op>({Op::add, Op::sub, Op::mul, Op::remainder, Op::bitwise_and, Op::bitwise_xor});
}

/// A program of ops on views of four arrays, the last of which it writes.
struct Program {
  unsigned seed;
  Extents shape;
  std::vector<View> views;  ///< of each array
  View overlapping;         ///< of the last one, too
  std::vector<DType> dtypes;

  explicit Program(unsigned seed_) : seed(seed_) {
    Draw draw(seed);
    shape = random_extents(draw);
    for (int i = 0; i < 4; ++i) {
      const auto [view, other] = random_views(draw, shape, /*may_repeat=*/i < 3);
      views.push_back(view);
      overlapping = other;
      dtypes.push_back(i > 0 && draw.one_of(2) ? dtypes.back() : random_dtype(draw));
    }
  }

  /// Its results. The choices depend on dtypes alone, so they are the same for arrays and models.
  template <class A>
  std::vector<A> run(const std::vector<A>& bases, std::string* text = nullptr) const {
    Draw draw(seed + 1'000'000);
    std::ostringstream out;
    const A x = view_of(bases[0], views[0], shape);
    const A y = view_of(bases[1], views[1], shape);
    const A z = view_of(bases[2], views[2], shape);
    const A target = view_of(bases[3], views[3], shape);
    const Op first = random_op(draw, promote(x.dtype(), y.dtype()));
    const A a = apply(first, x, y);
    const Op in_place = random_op_in_place(draw, target.dtype());
    apply_in_place(in_place, target, view_of(bases[3], overlapping, shape));
    const Op second = random_op(draw, promote(a.dtype(), target.dtype()));
    const A b = apply(second, a, target);
    const A chosen = where(apply(Op::less, z, x), b, z);
    const Op third = random_op_in_place(draw, target.dtype());
    apply_in_place(third, target, chosen.cast(target.dtype()));
    const Op fourth = random_op(draw, promote(target.dtype(), a.dtype()));
    const A c = apply(fourth, target, a);
    if (draw.one_of(2)) assign(view_of(bases[3], overlapping, shape), target);
    if (text != nullptr) {
      out << first << ", " << in_place << "=, " << second << ", where, " << third << "=, " << fourth;
      *text = out.str();
    }
    return {a, b, chosen, c, three_and(y), three_and(target), bases[3]};
  }
};

/// Runs the seed's program as models, and in each mode.
void require_program(unsigned seed) {
  const Program program(seed);
  std::vector<std::vector<Real>> numbers;
  std::vector<Model> models;
  std::ostringstream context;
  context << "seed " << seed << ", " << shape_of(program.shape) << ", operands";
  for (std::size_t i = 0; i < program.views.size(); ++i) {
    const Extents& base = program.views[i].base;
    numbers.push_back(
        random_numbers(program.dtypes[i], static_cast<std::size_t>(count(base)), seed * 4 + static_cast<unsigned>(i)));
    models.emplace_back(program.dtypes[i], shape_of(base), numbers.back());
    context << ' ' << program.dtypes[i] << shape_of(base);
  }
  std::string ops;
  const std::vector<Model> expected = program.run(models, &ops);
  for (const Mode mode : all_modes) {
    std::vector<Array> bases;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      bases.push_back(array_of(program.dtypes[i], models[i].shape(), numbers[i]));
    }
    const std::vector<Array> got = run_as(mode, [&] { return program.run(bases); });
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::string wrong = difference(got[i], expected[i]);
      BOOST_TEST(wrong == "", context.str() << "; " << ops << "; " << mode << ", result " << i << ":\n" << wrong);
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(op_properties, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(random_programs_on_random_views_equal_a_naive_loop_in_every_mode) {
  for (unsigned seed = 1; seed <= 200; ++seed) require_program(seed);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
