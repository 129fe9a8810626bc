#include <refrain/distributions.hpp>
#include <refrain/random.hpp>

#include "array/make.hpp"
#include "kernels/random_plan.hpp"
#include "runtime/environment.hpp"
#include "runtime/generator.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <string>

namespace refrain {

namespace {

using kernels::Distribution;

/// What is drawn, and from which generator; null: the default one of the options' device.
struct Drawn {
  const char* label;
  const Generator* generator;
  ArrayOptions options;
  SourceLocation where;
};

/// Arguments of a draw without its size.
kernels::RandomArgs args_of(Distribution distribution, double first, double second) {
  kernels::RandomArgs args{};
  args.distribution = distribution;
  args.first = first;
  args.second = second;
  return args;
}

Device device_of(const Drawn& drawn) {
  const auto& asked = drawn.options.device;
  if (drawn.generator == nullptr) {
    const Device device = asked.value_or(current_device());
    runtime::require_device(device, drawn.label, drawn.where);
    return device;
  }
  const Device device = drawn.generator->device();
  if (asked && *asked != device) {
    throw Error(Errc::wrong_device, drawn.label, "a generator on " + device.str(),
                "cannot make an array on " + asked->str() + "; leave the device out, or take a generator of that one",
                drawn.where);
  }
  return device;
}

Array draw(const Drawn& drawn, const kernels::RandomArgs& args, const Shape& shape, DType dtype) {
  const auto [label, generator, options, where] = drawn;
  const Device device = device_of(drawn);
  runtime::StreamCore& stream = runtime::thread_stream(device);
  if (runtime::may_refuse_order(stream)) {
    runtime::check_order(stream, {stream.device, runtime::RandomCommand{}, {}, label, where});
  }
  Array array = make_array(stream, shape, dtype, where);
  if (array.size() == 0) return array;
  const DeviceProperties& properties = stream.backend().properties(device.index);
  const auto type = static_cast<kernels::Type>(dtype);
  const kernels::RandomPlan plan = kernels::plan_random(
      args.distribution, type, array.size(), properties.multiprocessors, properties.max_threads_per_multiprocessor);
  runtime::RandomCommand random{};
  random.args = args;
  random.args.type = type;
  random.args.grid = plan.grid;
  random.args.size = array.size();
  random.generator = generator != nullptr ? generator->core().get() : runtime::default_generator_core(device).get();
  random.increment = plan.increment;
  const runtime::Access write = whole(array, runtime::AccessMode::write);
  runtime::Command command{stream.device, random, {&write, 1}, label, where};
  runtime::submit_draw(stream, command);
  return array;
}

DType floating_dtype(const Drawn& drawn, const char* remedy) {
  const DType dtype = drawn.options.dtype.value_or(DType::float32);
  if (!is_floating(dtype)) {
    throw Error(Errc::invalid_value, drawn.label, "dtype " + std::string(to_string(dtype)),
                std::string("has no such numbers; use float32 or another floating type") + remedy, drawn.where);
  }
  return dtype;
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

/// The largest finite number of a floating type.
double largest(DType dtype) {
  switch (dtype) {
    case DType::float16: return 65504;
    case DType::bfloat16: return 0x1.fep127;
    case DType::float32: return std::numeric_limits<float>::max();
    default: return std::numeric_limits<double>::max();
  }
}

Array draw_uniform(double low, double high, const Shape& shape, const Drawn& drawn, const char* remedy = "") {
  const DType dtype = floating_dtype(drawn, remedy);
  const std::string range = "range [" + text_of(low) + ", " + text_of(high) + ")";
  const double most = largest(dtype);
  if (!(std::abs(low) <= most && std::abs(high) <= most && std::abs(high - low) <= most)) {
    throw Error(Errc::invalid_value, drawn.label, range,
                "does not fit " + std::string(to_string(dtype)) +
                    "; give bounds that are finite there, and not too far "
                    "apart",
                drawn.where);
  }
  if (high < low) {
    throw Error(Errc::invalid_value, drawn.label, range, "ends before it begins; give the lower bound first",
                drawn.where);
  }
  return draw(drawn, args_of(Distribution::uniform, low, high), shape, dtype);
}

Array draw_normal(double mean, double deviation, const Shape& shape, const Drawn& drawn, const char* remedy = "") {
  const DType dtype = floating_dtype(drawn, remedy);
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation < 0) {
    throw Error(Errc::invalid_value, drawn.label, "mean " + text_of(mean) + ", deviation " + text_of(deviation),
                "are not those of a normal distribution; give finite numbers, the deviation not below 0", drawn.where);
  }
  return draw(drawn, args_of(Distribution::normal, mean, deviation), shape, dtype);
}

Array draw_integers(std::int64_t low, std::int64_t high, const Shape& shape, const Drawn& drawn) {
  const SourceLocation where = drawn.where;
  const DType dtype = drawn.options.dtype.value_or(DType::int64);
  const std::string range_text = "[" + std::to_string(low) + ", " + std::to_string(high) + ")";
  if (high <= low) {
    throw Error(Errc::invalid_value, "randint", "range " + range_text, "is empty; high must be greater than low",
                where);
  }
  if (dtype != DType::int32 && dtype != DType::int64) {
    throw Error(Errc::invalid_value, "randint", "dtype " + std::string(to_string(dtype)),
                "is not an integer type; use int32 or int64", where);
  }
  if (dtype == DType::int32 &&
      (low < std::numeric_limits<std::int32_t>::min() || high - 1 > std::numeric_limits<std::int32_t>::max())) {
    throw Error(Errc::invalid_value, "randint", "range " + range_text, "does not fit int32; use int64", where);
  }
  kernels::RandomArgs args{};
  args.low = low;
  args.range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const bool wide = kernels::randint_uses_64_bits(static_cast<kernels::Type>(dtype), args.range);
  args.distribution = wide ? Distribution::randint64 : Distribution::randint32;
  return draw(drawn, args, shape, dtype);
}

Array draw_bernoulli(double p, const Shape& shape, const Drawn& drawn) {
  const bool is_bool = drawn.options.dtype == DType::bool_;
  const DType dtype = is_bool ? DType::bool_ : floating_dtype(drawn, " or bool");
  if (!(p >= 0 && p <= 1)) {
    throw Error(Errc::invalid_value, drawn.label, "p " + text_of(p), "is no probability; give one of [0, 1]",
                drawn.where);
  }
  return draw(drawn, args_of(Distribution::bernoulli, p, 0), shape, dtype);
}

Array draw_exponential(double rate, const Shape& shape, const Drawn& drawn) {
  const DType dtype = floating_dtype(drawn, "");
  if (!(rate > 0 && std::isfinite(rate))) {
    throw Error(Errc::invalid_value, drawn.label, "rate " + text_of(rate), "is no rate; give a finite one above 0",
                drawn.where);
  }
  return draw(drawn, args_of(Distribution::exponential, rate, 0), shape, dtype);
}

constexpr const char* or_randint = ", or randint";

}  // namespace

Array randn(Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_normal(0, 1, shape, {"randn", nullptr, options, where}, or_randint);
}
Array randn(Shape shape, const Generator& generator, ArrayOptions options, SourceLocation where) {
  return draw_normal(0, 1, shape, {"randn", &generator, options, where}, or_randint);
}

Array rand(Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_uniform(0, 1, shape, {"rand", nullptr, options, where}, or_randint);
}
Array rand(Shape shape, const Generator& generator, ArrayOptions options, SourceLocation where) {
  return draw_uniform(0, 1, shape, {"rand", &generator, options, where}, or_randint);
}

Array randint(std::int64_t low, std::int64_t high, Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_integers(low, high, shape, {"randint", nullptr, options, where});
}
Array randint(std::int64_t low, std::int64_t high, Shape shape, const Generator& generator, ArrayOptions options,
              SourceLocation where) {
  return draw_integers(low, high, shape, {"randint", &generator, options, where});
}

Array uniform(double low, double high, Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_uniform(low, high, shape, {"uniform", nullptr, options, where});
}
Array uniform(double low, double high, Shape shape, const Generator& generator, ArrayOptions options,
              SourceLocation where) {
  return draw_uniform(low, high, shape, {"uniform", &generator, options, where});
}

Array normal(double mean, double deviation, Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_normal(mean, deviation, shape, {"normal", nullptr, options, where});
}
Array normal(double mean, double deviation, Shape shape, const Generator& generator, ArrayOptions options,
             SourceLocation where) {
  return draw_normal(mean, deviation, shape, {"normal", &generator, options, where});
}

Array bernoulli(double p, Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_bernoulli(p, shape, {"bernoulli", nullptr, options, where});
}
Array bernoulli(double p, Shape shape, const Generator& generator, ArrayOptions options, SourceLocation where) {
  return draw_bernoulli(p, shape, {"bernoulli", &generator, options, where});
}

Array exponential(double rate, Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_exponential(rate, shape, {"exponential", nullptr, options, where});
}
Array exponential(double rate, Shape shape, const Generator& generator, ArrayOptions options, SourceLocation where) {
  return draw_exponential(rate, shape, {"exponential", &generator, options, where});
}

}  // namespace refrain
