#pragma once

#include "kernels/split.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace refrain::host {

class SharedWork;

/// What a thread that helps asks before each part: whether it has to go. Refers to the callable.
class Leave {
 public:
  template <class Fn>
  explicit Leave(const Fn& fn)
      : callable_(std::addressof(fn)),
        call_([](const void* callable) { return (*static_cast<const Fn*>(callable))(); }) {}
  bool operator()() const { return call_(callable_); }

 private:
  const void* callable_;
  bool (*call_)(const void*);
};

/// Commands whose work is cut into parts, and the threads that help with them. The thread that runs a command takes
/// part in it and never waits for one that has not begun to help, so that nothing depends on idle threads.
class Crew {
 public:
  static Crew& get();

  /// Threads that may work at once: the cores that the process may use, or REFRAIN_HOST_THREADS.
  /// @throws Error(Errc::invalid_value) from `get`, when that is no number
  int size() const noexcept { return size_; }

  /// Runs part(context, 0), ..., part(context, parts - 1), each once: on this thread, and on those that are idle. What
  /// a part throws is thrown from here, when no other part runs any more; those that had not begun are left out.
  void run(std::int64_t parts, kernels::Split::Part part, void* context);

  /// Whether a thread could take part somewhere.
  bool has_room() const noexcept { return open_.load() > 0; }
  /// Takes part until nothing is left to begin or `leave` says so; false if there was nothing.
  bool help(const Leave& leave);

 private:
  Crew();
  /// With the mutex held: how many more threads may take part.
  void set_room(SharedWork& work, int room);
  void add(SharedWork& work);
  void remove(SharedWork& work) noexcept;
  void await_helpers(SharedWork& work);

  const int size_;
  std::atomic<int> open_{0};                 ///< works with room
  std::atomic<std::int64_t> done_alone_{0};  ///< parts of short work lately, about: threads may overwrite each other's
  std::mutex mutex_;                         ///< a leaf
  std::condition_variable left_;
  SharedWork* first_ = nullptr;  ///< of those under way, the newest
};

/// kernels::Split::Run
inline void run_parts(kernels::i64 parts, kernels::Split::Part part, void* context) {
  Crew::get().run(parts, part, context);
}

}  // namespace refrain::host
