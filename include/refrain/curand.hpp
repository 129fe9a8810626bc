#pragma once

// What needs cuRAND's header: its generators, for eager programs. Programs that include this link cuRAND themselves.

#include <refrain/refrain.hpp>

#include <curand.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace refrain {

/// How a CurandGenerator begins. Unset: as cuRAND begins.
struct CurandOptions {
  std::optional<std::uint64_t> seed = std::nullopt;         ///< of pseudorandom engines
  std::optional<std::uint64_t> offset = std::nullopt;       ///< numbers left out at first; not of Mersenne Twisters
  std::optional<curandOrdering_t> ordering = std::nullopt;  ///< host devices have no CURAND_ORDERING_PSEUDO_DYNAMIC
  std::optional<unsigned> dimensions = std::nullopt;        ///< of quasirandom engines; 1 at first
  std::optional<Device> device = std::nullopt;              ///< unset: the current device
};

namespace detail {

/// The one place where a cuRAND status becomes an Error.
inline void check_curand(curandStatus_t status, const char* call, SourceLocation where) {
  if (status == CURAND_STATUS_SUCCESS) return;
  Errc code = Errc::backend;
  const char* name = "an internal error";
  switch (status) {
    case CURAND_STATUS_ALLOCATION_FAILED:
      code = Errc::out_of_memory;
      name = "allocation failed";
      break;
    case CURAND_STATUS_TYPE_ERROR:
      code = Errc::invalid_value;
      name = "type error";
      break;
    case CURAND_STATUS_OUT_OF_RANGE:
      code = Errc::invalid_value;
      name = "out of range";
      break;
    case CURAND_STATUS_LENGTH_NOT_MULTIPLE:
      code = Errc::invalid_value;
      name = "length not multiple";
      break;
    case CURAND_STATUS_LAUNCH_FAILURE: name = "launch failure"; break;
    case CURAND_STATUS_PREEXISTING_FAILURE: name = "pre-existing failure"; break;
    case CURAND_STATUS_INITIALIZATION_FAILED: name = "initialization failed"; break;
    case CURAND_STATUS_ARCH_MISMATCH: name = "architecture mismatch"; break;
    default: break;
  }
  throw Error(code, call, "cuRAND",
              std::string("answers ") + name + " (" + std::to_string(static_cast<int>(status)) +
                  "); curand.h tells when it does",
              where);
}

/// cuRAND's object. The commands of a host device hold it until they have run.
class CurandHandle {
 public:
  CurandHandle() = default;
  ~CurandHandle() {
    if (generator_ == nullptr) return;
    // It frees memory, which a live capture of this thread would not survive.
    const auto destroy = [this] { static_cast<void>(curandDestroyGenerator(generator_)); };
    if (!is_capturing()) {
      destroy();
      return;
    }
    try {
      std::thread(destroy).join();
    } catch (...) {
    }
  }
  CurandHandle(const CurandHandle&) = delete;
  CurandHandle& operator=(const CurandHandle&) = delete;

  curandGenerator_t get() const noexcept { return generator_; }
  curandGenerator_t* out() noexcept { return &generator_; }

 private:
  curandGenerator_t generator_ = nullptr;
};

}  // namespace detail

/// One of cuRAND's engines, which fills arrays with the numbers that cuRAND's own calls give: on a CUDA device those of
/// `curandCreateGenerator`, on a host device those of `curandCreateGeneratorHost`. A handle: copies draw from the same
/// sequence. Draws are stream-ordered writes of the array, on the current stream of the generator's device or a given
/// one, one after another in issue order, whatever their streams. For eager programs: a replay would not go on with the
/// sequence, so a capture refuses draws, with Errc::capture_unsupported; use `rand` and `randn` there. May be used from
/// any thread.
class CurandGenerator {
 public:
  /// @throws Error(Errc::invalid_value) for options that the engine does not have; capture_unsupported while recording
  explicit CurandGenerator(curandRngType_t engine = CURAND_RNG_PSEUDO_DEFAULT, CurandOptions options = {},
                           SourceLocation where = SourceLocation::current())
      : engine_(engine),
        dimensions_(options.dimensions.value_or(1)),
        device_(options.device ? *options.device : current_device()),
        handle_(std::make_shared<detail::CurandHandle>()) {
    constexpr const char* call = "CurandGenerator";
    const Stream on = stream_for(call, std::nullopt, where);
    turn_ = empty({1}, {.device = device_}, where);
    const auto make = [&](auto create) {
      detail::check_curand(create(handle_->out(), engine_), call, where);
      const curandGenerator_t made = handle_->get();
      if (options.ordering) detail::check_curand(curandSetGeneratorOrdering(made, *options.ordering), call, where);
      if (options.seed) detail::check_curand(curandSetPseudoRandomGeneratorSeed(made, *options.seed), call, where);
      if (options.offset) detail::check_curand(curandSetGeneratorOffset(made, *options.offset), call, where);
      if (options.dimensions) {
        detail::check_curand(curandSetQuasiRandomGeneratorDimensions(made, *options.dimensions), call, where);
      }
    };
    if (device_.kind == DeviceKind::host) {
      make(curandCreateGeneratorHost);
    } else {
      on.enqueue(Label(call, where), write(turn_), [&](cudaStream_t, void*) { make(curandCreateGenerator); });
    }
  }

  Device device() const noexcept { return device_; }
  curandRngType_t engine() const noexcept { return engine_; }

  /// Begins a pseudorandom sequence anew, for draws after this.
  /// @throws Error(Errc::invalid_value) on quasirandom engines; capture_unsupported while recording; as all below
  void set_seed(std::uint64_t seed, SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::set_seed";
    if (is_quasi()) refuse_setting(call, "is quasirandom and has no seed; set an offset", where);
    set(call, where, [seed, where](curandGenerator_t generator) {
      detail::check_curand(curandSetPseudoRandomGeneratorSeed(generator, seed), call, where);
    });
  }

  /// Lets the next draw begin so many numbers after the first of the sequence.
  /// @throws Error(Errc::invalid_value) on Mersenne Twisters
  void set_offset(std::uint64_t offset, SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::set_offset";
    if (engine_ == CURAND_RNG_PSEUDO_MTGP32 || engine_ == CURAND_RNG_PSEUDO_MT19937) {
      refuse_setting(call, "is a Mersenne Twister and cannot skip numbers; draw and drop them", where);
    }
    set(call, where, [offset, where](curandGenerator_t generator) {
      detail::check_curand(curandSetGeneratorOffset(generator, offset), call, where);
    });
  }

  /// Numbers above 0 up to 1, into float32 or float64.
  /// @throws Error(Errc::invalid_value) for another dtype, and where the elements are no multiple of the dimensions
  void uniform(const Array& x, std::optional<Stream> stream = std::nullopt,
               SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::uniform";
    require_length(call, x, false, where);
    const std::size_t size = size_of(x, where);
    draw_floats(
        call, x, stream, where,
        [size](curandGenerator_t generator, float* numbers) { return curandGenerateUniform(generator, numbers, size); },
        [size](curandGenerator_t generator, double* numbers) {
          return curandGenerateUniformDouble(generator, numbers, size);
        });
  }

  /// Normal numbers, into float32 or float64. XORWOW and MRG32K3A make them in pairs.
  /// @throws as uniform; Error(Errc::invalid_value) for an odd number of elements, of those engines
  void normal(const Array& x, double mean = 0, double deviation = 1, std::optional<Stream> stream = std::nullopt,
              SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::normal";
    require_length(call, x, true, where);
    const std::size_t size = size_of(x, where);
    draw_floats(
        call, x, stream, where,
        [=](curandGenerator_t generator, float* numbers) {
          return curandGenerateNormal(generator, numbers, size, static_cast<float>(mean),
                                      static_cast<float>(deviation));
        },
        [=](curandGenerator_t generator, double* numbers) {
          return curandGenerateNormalDouble(generator, numbers, size, mean, deviation);
        });
  }

  /// Numbers whose logarithm is normal with this mean and deviation, into float32 or float64.
  /// @throws as normal
  void log_normal(const Array& x, double mean = 0, double deviation = 1, std::optional<Stream> stream = std::nullopt,
                  SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::log_normal";
    require_length(call, x, true, where);
    const std::size_t size = size_of(x, where);
    draw_floats(
        call, x, stream, where,
        [=](curandGenerator_t generator, float* numbers) {
          return curandGenerateLogNormal(generator, numbers, size, static_cast<float>(mean),
                                         static_cast<float>(deviation));
        },
        [=](curandGenerator_t generator, double* numbers) {
          return curandGenerateLogNormalDouble(generator, numbers, size, mean, deviation);
        });
  }

  /// Counts with the mean `lambda`, into int32.
  /// @throws as uniform; Error(Errc::invalid_value) when lambda is not above 0 and up to 400 000
  void poisson(const Array& x, double lambda, std::optional<Stream> stream = std::nullopt,
               SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::poisson";
    constexpr double most = 400'000;
    if (!(lambda > 0 && lambda <= most)) {
      throw Error(Errc::invalid_value, call, "lambda " + std::to_string(lambda),
                  "is no mean of cuRAND's; give one above 0, up to 400000", where);
    }
    require_dtype(call, x, DType::int32, where);
    require_length(call, x, false, where);
    draw<unsigned>(call, x, stream, where,
                   [size = size_of(x, where), lambda](curandGenerator_t generator, unsigned* numbers) {
                     return curandGeneratePoisson(generator, numbers, size, lambda);
                   });
  }

  /// What the engine itself gives: 64 bits into int64 of the 64-bit Sobol engines, 32 bits into int32 of all others.
  /// @throws as uniform
  void bits(const Array& x, std::optional<Stream> stream = std::nullopt,
            SourceLocation where = SourceLocation::current()) {
    constexpr const char* call = "CurandGenerator::bits";
    require_dtype(call, x, is_64_bit() ? DType::int64 : DType::int32, where);
    require_length(call, x, false, where);
    const std::size_t size = size_of(x, where);
    if (is_64_bit()) {
      draw<unsigned long long>(call, x, stream, where,
                               [size](curandGenerator_t generator, unsigned long long* numbers) {
                                 return curandGenerateLongLong(generator, numbers, size);
                               });
    } else {
      draw<unsigned>(call, x, stream, where, [size](curandGenerator_t generator, unsigned* numbers) {
        return curandGenerate(generator, numbers, size);
      });
    }
  }

 private:
  bool is_quasi() const noexcept { return engine_ >= CURAND_RNG_QUASI_DEFAULT; }
  bool is_64_bit() const noexcept {
    return engine_ == CURAND_RNG_QUASI_SOBOL64 || engine_ == CURAND_RNG_QUASI_SCRAMBLED_SOBOL64;
  }
  bool makes_pairs() const noexcept {
    return engine_ == CURAND_RNG_PSEUDO_DEFAULT || engine_ == CURAND_RNG_PSEUDO_XORWOW ||
           engine_ == CURAND_RNG_PSEUDO_MRG32K3A;
  }
  static std::size_t size_of(const Array& x, SourceLocation where) { return static_cast<std::size_t>(x.size(where)); }

  Stream stream_for(const char* call, const std::optional<Stream>& stream, SourceLocation where) const {
    const Stream on = stream ? *stream : current_stream(device_, where);
    if (on.device(where) != device_) {
      throw Error(Errc::wrong_device, call, "a stream of " + on.device(where).str(),
                  "cannot draw from a generator on " + device_.str() + "; give a stream of that device", where);
    }
    if (on.is_capturing()) {
      throw Error(Errc::capture_unsupported, call, "a generator on " + device_.str(),
                  "cannot be captured, as replays would leave its sequence; draw before the capture, or use rand and "
                  "randn in it",
                  where);
    }
    return on;
  }

  [[noreturn]] void refuse_setting(const char* call, const char* reason, SourceLocation where) const {
    throw Error(Errc::invalid_value, call, "the engine", reason, where);
  }

  /// A refusal at the call, on every device: on a host device cuRAND is asked later.
  void require_length(const char* call, const Array& x, bool is_normal, SourceLocation where) const {
    const std::int64_t unit = is_quasi() ? dimensions_ : is_normal && makes_pairs() ? 2 : 1;
    if (x.size(where) % unit == 0) return;
    throw Error(Errc::invalid_value, call, "an array of " + std::to_string(x.size(where)) + " elements",
                (is_quasi() ? "is not filled by points of " : "is not filled by groups of ") + std::to_string(unit) +
                    " numbers, which the engine makes; give a multiple of that",
                where);
  }

  static void require_dtype(const char* call, const Array& x, DType wanted, SourceLocation where) {
    if (x.dtype(where) == wanted) return;
    throw Error(Errc::invalid_value, call, "an array of " + std::string(to_string(x.dtype(where))),
                "cannot take these numbers; give one of " + std::string(to_string(wanted)), where);
  }

  template <class Float32, class Float64>
  void draw_floats(const char* call, const Array& x, const std::optional<Stream>& stream, SourceLocation where,
                   Float32 float32, Float64 float64) {
    if (x.dtype(where) == DType::float64) {
      draw<double>(call, x, stream, where, float64);
    } else {
      require_dtype(call, x, DType::float32, where);
      draw<float>(call, x, stream, where, float32);
    }
  }

  template <class T, class Generate>
  void draw(const char* call, const Array& x, const std::optional<Stream>& stream, SourceLocation where,
            Generate generate) {
    const Stream on = stream_for(call, stream, where);
    if (x.size(where) == 0) return;
    on.enqueue(Label(call, where), write(x), write(turn_), on_cuda([&](cudaStream_t native, T* numbers, void*) {
                 detail::check_curand(curandSetStream(handle_->get(), native), call, where);
                 detail::check_curand(generate(handle_->get(), numbers), call, where);
               }),
               on_host([handle = handle_, call, where, generate](T* numbers, void*) {
                 detail::check_curand(generate(handle->get(), numbers), call, where);
               }));
  }

  template <class Apply>
  void set(const char* call, SourceLocation where, Apply apply) {
    stream_for(call, std::nullopt, where)
        .enqueue(Label(call, where), write(turn_), on_cuda([&](cudaStream_t, void*) { apply(handle_->get()); }),
                 on_host([handle = handle_, apply](void*) { apply(handle->get()); }));
  }

  curandRngType_t engine_;
  unsigned dimensions_;
  Device device_;
  std::shared_ptr<detail::CurandHandle> handle_;
  Array turn_;  ///< written by every draw and setting, so that they follow one another
};

}  // namespace refrain
