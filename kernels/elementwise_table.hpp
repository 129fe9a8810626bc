// The one table of elementwise ops: kernels, launchers, host engine and docs are made from it.
//   REFRAIN_UNARY(name, domain, result, expression of a)
//   REFRAIN_BINARY(name, domain, result, expression of a and b)
//   REFRAIN_TERNARY(name, domain, result, expression of a, b and c)
// domain: the types that it computes in (`domains`); result: `same` as its operands, or `truth`, a bool. float16 and
// bfloat16 compute in float, and the result is rounded. Integers wrap around. No include guard: included with the
// macros defined to what each user makes of a row.

#ifndef REFRAIN_UNARY
#define REFRAIN_UNARY(name, domain, result, expression)
#endif
#ifndef REFRAIN_BINARY
#define REFRAIN_BINARY(name, domain, result, expression)
#endif
#ifndef REFRAIN_TERNARY
#define REFRAIN_TERNARY(name, domain, result, expression)
#endif

// clang-format off
REFRAIN_BINARY(add,           numbers, same,  a + b)
REFRAIN_BINARY(sub,           numbers, same,  a - b)
REFRAIN_BINARY(mul,           numbers, same,  a * b)
REFRAIN_BINARY(div,           floats,  same,  a / b)
REFRAIN_BINARY(floor_divide,  numbers, same,  math::floor_divide(a, b))
REFRAIN_BINARY(remainder,     numbers, same,  math::remainder(a, b))
REFRAIN_BINARY(pow,           numbers, same,  math::pow(a, b))
REFRAIN_BINARY(minimum,       numbers, same,  math::minimum(a, b))
REFRAIN_BINARY(maximum,       numbers, same,  math::maximum(a, b))

REFRAIN_BINARY(equal,         all,     truth, a == b)
REFRAIN_BINARY(not_equal,     all,     truth, a != b)
REFRAIN_BINARY(less,          all,     truth, a < b)
REFRAIN_BINARY(less_equal,    all,     truth, a <= b)
REFRAIN_BINARY(greater,       all,     truth, a > b)
REFRAIN_BINARY(greater_equal, all,     truth, a >= b)

REFRAIN_BINARY(logical_and,   logic,   truth, a && b)
REFRAIN_BINARY(logical_or,    logic,   truth, a || b)
REFRAIN_BINARY(logical_xor,   logic,   truth, a != b)
REFRAIN_BINARY(bitwise_and,   bits,    same,  a & b)
REFRAIN_BINARY(bitwise_or,    bits,    same,  a | b)
REFRAIN_BINARY(bitwise_xor,   bits,    same,  a ^ b)

REFRAIN_UNARY(neg,            numbers, same,  -a)
REFRAIN_UNARY(abs,            numbers, same,  math::abs(a))
REFRAIN_UNARY(sign,           numbers, same,  math::sign(a))
REFRAIN_UNARY(floor,          floats,  same,  math::floor(a))
REFRAIN_UNARY(ceil,           floats,  same,  math::ceil(a))
REFRAIN_UNARY(round,          floats,  same,  math::round(a))
REFRAIN_UNARY(trunc,          floats,  same,  math::trunc(a))
REFRAIN_UNARY(exp,            floats,  same,  math::exp(a))
REFRAIN_UNARY(log,            floats,  same,  math::log(a))
REFRAIN_UNARY(log1p,          floats,  same,  math::log1p(a))
REFRAIN_UNARY(expm1,          floats,  same,  math::expm1(a))
REFRAIN_UNARY(sqrt,           floats,  same,  math::sqrt(a))
REFRAIN_UNARY(rsqrt,          floats,  same,  1 / math::sqrt(a))
REFRAIN_UNARY(sin,            floats,  same,  math::sin(a))
REFRAIN_UNARY(cos,            floats,  same,  math::cos(a))
REFRAIN_UNARY(tanh,           floats,  same,  math::tanh(a))
REFRAIN_UNARY(erf,            floats,  same,  math::erf(a))
REFRAIN_UNARY(sigmoid,        floats,  same,  math::sigmoid(a))
REFRAIN_UNARY(relu,           numbers, same,  math::maximum(a, decltype(a)(0)))
REFRAIN_UNARY(gelu,           floats,  same,  math::gelu(a))
REFRAIN_UNARY(silu,           floats,  same,  math::silu(a))
REFRAIN_UNARY(isnan,          floats,  truth, a != a)
REFRAIN_UNARY(isfinite,       floats,  truth, a - a == 0)
REFRAIN_UNARY(logical_not,    logic,   truth, !a)
REFRAIN_UNARY(bitwise_not,    bits,    same,  math::bitwise_not(a))

REFRAIN_TERNARY(clamp,        numbers, same,  math::minimum(math::maximum(a, b), c))
// clang-format on

#undef REFRAIN_UNARY
#undef REFRAIN_BINARY
#undef REFRAIN_TERNARY
