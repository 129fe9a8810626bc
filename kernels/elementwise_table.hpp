// The one table of elementwise ops: kernels, launchers, code generator, host engine and docs are made from it.
//   REFRAIN_BINARY(name, expression of a and b)      T x T -> T, for int32, int64, float32, float64
//   REFRAIN_UNARY(name, expression of a)             T -> T
// Integers wrap around; integer `/` is not reached (true division promotes first). No include guard: included with
// the macros defined to what each user makes of a row.

#ifndef REFRAIN_BINARY
#define REFRAIN_BINARY(name, expression)
#endif
#ifndef REFRAIN_UNARY
#define REFRAIN_UNARY(name, expression)
#endif

REFRAIN_BINARY(add, a + b)
REFRAIN_BINARY(sub, a - b)
REFRAIN_BINARY(mul, a* b)
REFRAIN_BINARY(div, a / b)
REFRAIN_UNARY(neg, -a)

#undef REFRAIN_BINARY
#undef REFRAIN_UNARY
