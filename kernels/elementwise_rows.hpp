#pragma once

#include "kernels/elementwise_find.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/host_loops.hpp"

// The host's inner loops. A row is elements along one axis.

namespace refrain::kernels {

/// One input of a row: element i lies at data + i * stride elements. A scalar has stride 0.
struct RowInput {
  const void* data;
  i64 stride;
};

struct RowOutput {
  void* data;
  i64 stride;
};

/// n elements. Reads n elements of each input (one where the stride is 0), writes n.
using Row = void (*)(const RowInput* inputs, RowOutput out, i64 n);

template <class F>
REFRAIN_CLONES void unary_row(const RowInput* inputs, RowOutput out, i64 n) {
  const auto* x = static_cast<const typename F::template In<0>*>(inputs[0].data);
  auto* y = static_cast<typename F::Out*>(out.data);
  const i64 stride = inputs[0].stride;
  if (out.stride != 1) {
    for (i64 i = 0; i < n; ++i) y[i * out.stride] = F::apply(x[i * stride]);
  } else if (stride == 1) {
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) y[i] = F::apply(x[i]);
  } else if (stride == 0) {
    const auto value = F::apply(*x);
    for (i64 i = 0; i < n; ++i) y[i] = value;
  } else {
    for (i64 i = 0; i < n; ++i) y[i] = F::apply(x[i * stride]);
  }
}

template <class F>
REFRAIN_CLONES void binary_row(const RowInput* inputs, RowOutput out, i64 n) {
  const auto* x = static_cast<const typename F::template In<0>*>(inputs[0].data);
  const auto* y = static_cast<const typename F::template In<1>*>(inputs[1].data);
  auto* z = static_cast<typename F::Out*>(out.data);
  const i64 a = inputs[0].stride;
  const i64 b = inputs[1].stride;
  if (out.stride != 1) {
    for (i64 i = 0; i < n; ++i) z[i * out.stride] = F::apply(x[i * a], y[i * b]);
  } else if (a == 1 && b == 1) {
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) z[i] = F::apply(x[i], y[i]);
  } else if (a == 1 && b == 0) {
    const auto right = *y;
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) z[i] = F::apply(x[i], right);
  } else if (a == 0 && b == 1) {
    const auto left = *x;
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) z[i] = F::apply(left, y[i]);
  } else if (a == 0 && b == 0) {
    const auto value = F::apply(*x, *y);
    for (i64 i = 0; i < n; ++i) z[i] = value;
  } else {
    for (i64 i = 0; i < n; ++i) z[i] = F::apply(x[i * a], y[i * b]);
  }
}

template <class F>
REFRAIN_CLONES void ternary_row(const RowInput* inputs, RowOutput out, i64 n) {
  const auto* x = static_cast<const typename F::template In<0>*>(inputs[0].data);
  const auto* y = static_cast<const typename F::template In<1>*>(inputs[1].data);
  const auto* z = static_cast<const typename F::template In<2>*>(inputs[2].data);
  auto* w = static_cast<typename F::Out*>(out.data);
  const i64 a = inputs[0].stride;
  const i64 b = inputs[1].stride;
  const i64 c = inputs[2].stride;
  if (out.stride == 1 && a == 1 && b == 1 && c == 1) {
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) w[i] = F::apply(x[i], y[i], z[i]);
  } else if (out.stride == 1 && a == 1 && b == 0 && c == 0) {
    const auto second = *y;
    const auto third = *z;
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < n; ++i) w[i] = F::apply(x[i], second, third);
  } else {
    for (i64 i = 0; i < n; ++i) w[i * out.stride] = F::apply(x[i * a], y[i * b], z[i * c]);
  }
}

/// The table entry of a functor: its row.
template <class F>
struct RowOf {
  static constexpr Row make() {
    if constexpr (F::arity == 1) {
      return unary_row<F>;
    } else if constexpr (F::arity == 2) {
      return binary_row<F>;
    } else {
      return ternary_row<F>;
    }
  }
};

template <class Bits>
struct RowOf<Move<Bits>> {
  static constexpr Row make() {
    return [](const RowInput* inputs, RowOutput out, i64 n) {
      if (inputs[0].stride == 1 && out.stride == 1) {
        std::memmove(out.data, inputs[0].data, static_cast<std::size_t>(n) * sizeof(Bits));
      } else {
        unary_row<Move<Bits>>(inputs, out, n);
      }
    };
  }
};

template <>
Row Finders<RowOf>::unary(ElementwiseOp op, Type type);
template <>
Row Finders<RowOf>::binary(ElementwiseOp op, Type type);
template <>
Row Finders<RowOf>::ternary(ElementwiseOp op, Type type);
template <>
Row Finders<RowOf>::copy(Type to, Type from);

}  // namespace refrain::kernels
