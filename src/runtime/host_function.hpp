#pragma once

#include <refrain/device.hpp>
#include <refrain/source_location.hpp>

#include <functional>
#include <memory>

namespace refrain::runtime {

/// A callable of the user's that runs in stream order on the host. What it throws is kept and thrown by the next
/// synchronisation of its device.
class HostFunction {
 public:
  HostFunction(std::function<void()> fn, Device device) : fn_(std::move(fn)), device_(device) {}

  /// Runs it. No lock may be held.
  void operator()() const noexcept;

 private:
  std::function<void()> fn_;
  Device device_;
};

/// Whether this thread runs a host function.
bool in_host_function() noexcept;

/// @throws Error(Errc::not_permitted) in a host function, where calls that reach a device would wait for themselves
void refuse_in_host_function(const char* call, SourceLocation where);

/// Throws the oldest exception of the device's host functions, once. After a synchronisation, without any lock.
void throw_host_failure(Device device);

/// Lets go of something later, in a thread that may run the user's destructors and reach a device: not one of the
/// backend's, and not in the middle of a stream's work.
void retire(std::shared_ptr<const void> what);
/// Lets go of what was retired. Without any lock, since it runs the user's destructors.
void destroy_retired();

/// Shared ownership of what the user may drop anywhere: in a host function it is retired, for its destructor reaches
/// the device.
template <class T>
std::shared_ptr<T> own(T* object) {
  return std::shared_ptr<T>(object, [](T* last) {
    if (in_host_function()) {
      retire(std::shared_ptr<T>(last));
    } else {
      delete last;
    }
  });
}

}  // namespace refrain::runtime
