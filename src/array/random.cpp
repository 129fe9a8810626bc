#include <refrain/random.hpp>

#include "array/make.hpp"
#include "kernels/random.hpp"
#include "runtime/environment.hpp"
#include "runtime/order.hpp"
#include "runtime/submit.hpp"

#include <limits>

namespace refrain {

namespace {

using kernels::Distribution;

Array draw(const char* label, Distribution distribution, const Shape& shape, DType dtype, std::int64_t low,
           std::uint64_t range, const ArrayOptions& options, SourceLocation where) {
  const Device device = options.device.value_or(current_device());
  runtime::require_device(device, label, where);
  runtime::StreamCore& stream = runtime::thread_stream(device);
  if (runtime::may_refuse_order(stream)) {
    runtime::check_order(stream, {stream.device, runtime::RandomCommand{}, {}, label, where});
  }
  Array array = make_array(stream, shape, dtype, where);
  if (array.size() == 0) return array;
  const DeviceProperties& properties = stream.backend().properties(device.index);
  const auto type = static_cast<kernels::Type>(dtype);
  const kernels::RandomPlan plan = kernels::plan_random(distribution, type, array.size(), properties.multiprocessors,
                                                        properties.max_threads_per_multiprocessor);
  runtime::RandomCommand random{};
  random.args.distribution = distribution;
  random.args.type = type;
  random.args.grid = plan.grid;
  random.args.size = array.size();
  random.args.low = low;
  random.args.range = range;
  random.increment = plan.increment;
  const runtime::Access write = whole(array, runtime::AccessMode::write);
  runtime::Command command{stream.device, random, {&write, 1}, label, where};
  runtime::submit_draw(stream, command);
  return array;
}

Array draw_floats(const char* label, Distribution distribution, const Shape& shape, const ArrayOptions& options,
                  SourceLocation where) {
  const DType dtype = options.dtype.value_or(DType::float32);
  if (!is_floating(dtype)) {
    throw Error(Errc::invalid_value, label, "dtype " + std::string(to_string(dtype)),
                "has no such numbers; use float32 or float64, or randint", where);
  }
  return draw(label, distribution, shape, dtype, 0, 0, options, where);
}

}  // namespace

void manual_seed(std::uint64_t seed, SourceLocation where) {
  runtime::StreamCore& stream = runtime::thread_stream(current_device());
  runtime::notice_capture(stream, "manual_seed", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  if (runtime::Recorder* recorder = runtime::recorder_of(stream)) {
    recorder->manual_seed(seed, where);
    return;
  }
  runtime::seed_generators(seed);
}

GeneratorState generator_state(Device device, SourceLocation where) {
  runtime::require_device(device, "generator_state", where);
  const runtime::OrderLock lock(runtime::order_mutex());
  const runtime::GeneratorPosition& at = runtime::generator(device);
  return {at.seed, at.offset};
}

Array randn(Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_floats("randn", Distribution::normal, shape, options, where);
}

Array rand(Shape shape, ArrayOptions options, SourceLocation where) {
  return draw_floats("rand", Distribution::uniform, shape, options, where);
}

Array randint(std::int64_t low, std::int64_t high, Shape shape, ArrayOptions options, SourceLocation where) {
  const DType dtype = options.dtype.value_or(DType::int64);
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
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  const bool wide = kernels::randint_uses_64_bits(static_cast<kernels::Type>(dtype), range);
  return draw("randint", wide ? Distribution::randint64 : Distribution::randint32, shape, dtype, low, range, options,
              where);
}

}  // namespace refrain
