#pragma once

#include <refrain/scalar.hpp>
#include <refrain/source_location.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

namespace refrain {

namespace detail {

/// A parameter as commands know it: an identity with a name.
class ParameterState : public std::enable_shared_from_this<ParameterState> {
 public:
  explicit ParameterState(const char* name) : name(name) {}
  ParameterState(const ParameterState&) = delete;
  ParameterState& operator=(const ParameterState&) = delete;
  virtual ~ParameterState() = default;

  /// Bytes of a value.
  virtual std::size_t size_bytes() const noexcept = 0;
  /// Copies the present value there.
  virtual void read(void* value) const = 0;
  /// A value as array ops take it; of types that no op takes, nothing.
  /// @throws as Scalar
  virtual Scalar to_scalar(const void* value, SourceLocation where) const = 0;

  const std::string name;
};

/// One place where a command uses a parameter: which of its scalars or kernel parameters.
struct ParameterUse {
  const ParameterState* state = nullptr;
  int slot = 0;
};

/// A plain value that threads may read and give meanwhile.
template <class T, bool fits_an_atomic>
class SharedValue {
 public:
  explicit SharedValue(T value) : value_(value) {}
  T load() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }
  void store(T value) {
    const std::lock_guard lock(mutex_);
    value_ = value;
  }

 private:
  mutable std::mutex mutex_;
  T value_;
};
template <class T>
class SharedValue<T, true> {
 public:
  explicit SharedValue(T value) : value_(value) {}
  T load() const { return value_.load(std::memory_order_acquire); }
  void store(T value) { value_.store(value, std::memory_order_release); }

 private:
  std::atomic<T> value_;
};

/// As much as every machine of 64 bits reads at once.
template <class T>
inline constexpr bool fits_an_atomic = std::has_single_bit(sizeof(T)) && sizeof(T) <= sizeof(void*);

}  // namespace detail

/// A plain value that an executable may be given anew between its replays (`GraphExec::set`), as an argument of kernels
/// and array ops. A handle: copies name the same parameter. Eager work and recordings take the value that it has when
/// they are issued; an executable keeps that until `set`. May be used from any thread.
template <class T>
class Param {
  static_assert(std::is_trivially_copyable_v<T>, "a parameter is a plain value");

 public:
  /// `name`: for errors that list what can be set.
  explicit Param(T value, const char* name = "a parameter") : state_(std::make_shared<State>(value, name)) {}

  T value() const { return state_->value.load(); }
  /// For what is issued from now on; executables stay as they are.
  Param& operator=(T value) {
    state_->value.store(value);
    return *this;
  }

  const std::shared_ptr<const detail::ParameterState> state() const noexcept { return state_; }

 private:
  struct State final : detail::ParameterState {
    State(T value, const char* name) : ParameterState(name), value(value) {}
    std::size_t size_bytes() const noexcept override { return sizeof(T); }
    void read(void* into) const override {
      const T present = value.load();
      std::memcpy(into, &present, sizeof(T));
    }
    Scalar to_scalar(const void* given, SourceLocation where) const override {
      if constexpr (std::is_arithmetic_v<T>) return {*static_cast<const T*>(given), where};
      return {};
    }
    detail::SharedValue<T, detail::fits_an_atomic<T>> value;
  };

  std::shared_ptr<State> state_;
};

}  // namespace refrain
