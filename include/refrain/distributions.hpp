#pragma once

#include <refrain/generator.hpp>

// Numbers of other distributions than those of random.hpp, which are PyTorch's too: those of its CUDA generator on a
// CUDA device with the same number of multiprocessors. Numbers of float16 and bfloat16 are made in float32 and rounded.
// Without a generator they are drawn from that of the device.

namespace refrain {

/// Numbers of [low, high); float32 unless told otherwise, or another floating type. Equal on every device.
/// @throws Error(Errc::invalid_value) for other dtypes, when high < low, and when a bound or their distance is not
///         finite in the dtype
Array uniform(double low, double high, Shape shape, ArrayOptions options = {},
              SourceLocation where = SourceLocation::current());
Array uniform(double low, double high, Shape shape, const Generator& generator, ArrayOptions options = {},
              SourceLocation where = SourceLocation::current());

/// Normal numbers; float32 unless told otherwise, or another floating type. On the host float32 differs by at most
/// 5e-6 x deviation, float64 by at most 5e-15 x deviation, before rounding to the dtype.
/// @throws Error(Errc::invalid_value) for other dtypes, a parameter that is not finite, and a deviation below 0
Array normal(double mean, double deviation, Shape shape, ArrayOptions options = {},
             SourceLocation where = SourceLocation::current());
Array normal(double mean, double deviation, Shape shape, const Generator& generator, ArrayOptions options = {},
             SourceLocation where = SourceLocation::current());

/// 1 with probability p, else 0; float32 unless told otherwise, another floating type or bool. Equal on every device.
/// (PyTorch's gives a 0 now and then for p = 1.)
/// @throws Error(Errc::invalid_value) for other dtypes, and when p is not in [0, 1]
Array bernoulli(double p, Shape shape, ArrayOptions options = {}, SourceLocation where = SourceLocation::current());
Array bernoulli(double p, Shape shape, const Generator& generator, ArrayOptions options = {},
                SourceLocation where = SourceLocation::current());

/// Numbers above 0 (which float16 may round to 0) of the density rate * exp(-rate * x); float32 unless told otherwise,
/// or another floating type. On the host float32 differs by at most 1e-6 x max(1 / rate, number), float64 by 4e-15 x
/// that, before rounding to the dtype.
/// @throws Error(Errc::invalid_value) for other dtypes, and when the rate is not finite and above 0
Array exponential(double rate, Shape shape, ArrayOptions options = {},
                  SourceLocation where = SourceLocation::current());
Array exponential(double rate, Shape shape, const Generator& generator, ArrayOptions options = {},
                  SourceLocation where = SourceLocation::current());

}  // namespace refrain
