#pragma once

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <functional>
#include <memory>

namespace refrain::runtime {

/// A callable of the user's that runs in stream order on the host, with the addresses of what its command touches. What
/// it throws is kept and thrown by the next synchronisation of its device.
class HostFunction {
 public:
  using Fn = std::function<void(void* const* addresses)>;
  HostFunction(Fn fn, Device device) : fn_(std::move(fn)), device_(device) {}

  /// Runs it. No lock may be held.
  void operator()(void* const* addresses = nullptr) const noexcept;

 private:
  Fn fn_;
  Device device_;
};

/// This thread is in a function that `Stream::enqueue` calls, until the end of the scope.
class EnqueuedScope {
 public:
  EnqueuedScope() noexcept;
  ~EnqueuedScope();
  EnqueuedScope(const EnqueuedScope&) = delete;
  EnqueuedScope& operator=(const EnqueuedScope&) = delete;

 private:
  int outer_;
};

/// Whether this thread runs a function of the user's that is a part of a stream's work: a host function or one that
/// `Stream::enqueue` calls.
bool in_callback() noexcept;

/// @throws Error(Errc::not_permitted) in such a function, where calls that reach a device would wait for themselves or
///         be work that nobody knows of
void refuse_in_callback(const char* call, SourceLocation where);

/// Throws the oldest exception of the device's host functions, once. After a synchronisation, without any lock.
void throw_host_failure(Device device);

/// Lets go of something later, in a thread that may run the user's destructors and reach a device: not one of the
/// backend's, and not in the middle of a stream's work.
void retire(std::shared_ptr<const void> what);
/// Lets go of what was retired. Without any lock, since it runs the user's destructors.
void destroy_retired();

/// Shared ownership of what the user may drop anywhere: in a callback it is retired, for its destructor reaches
/// the device.
template <class T>
std::shared_ptr<T> own(T* object) {
  return std::shared_ptr<T>(object, [](T* last) {
    if (in_callback()) {
      retire(std::shared_ptr<T>(last));
    } else {
      delete last;
    }
  });
}

}  // namespace refrain::runtime
