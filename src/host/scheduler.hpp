#pragma once

#include "host/task_queue.hpp"
#include "runtime/backend.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace refrain::host {

/// An in-order queue that the workers, or a thread that waits for it, run. Positions count its tasks.
class HostStream : public std::enable_shared_from_this<HostStream> {
 public:
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

  explicit HostStream(std::uint64_t position) : issued_(position), completed_(position) {}

  /// One producer at a time (the order lock sees to it).
  template <class Task>
  void push(Task&& task) {
    queue_.push(std::forward<Task>(task));
    issued_.store(issued_.load(std::memory_order_relaxed) + 1);
    State idle = State::idle;
    if (state_.load() == State::idle && state_.compare_exchange_strong(idle, State::queued)) announce();
  }

  bool reached(std::uint64_t position) const noexcept { return completed_.load(std::memory_order_acquire) >= position; }

  /// Blocks until the position is reached, running what is ready meanwhile.
  void wait(std::uint64_t position);
  /// The same without running anything, and no longer than until `end`; whether the position was reached.
  bool wait_until(std::uint64_t position, std::chrono::steady_clock::time_point end);

  /// For a task of `waiter`: true when this stream has reached the position; else parks `waiter` until it has.
  bool reached_or_park(std::uint64_t position, HostStream& waiter);

 private:
  friend class Scheduler;

  enum class State : std::uint8_t {
    idle,     ///< no task
    queued,   ///< has tasks, nobody runs them
    running,  ///< somebody does
    parked    ///< waits for another stream, which will queue it
  };
  struct Waiter {
    std::uint64_t position;
    std::shared_ptr<HostStream> stream;
  };

  bool take() noexcept;
  void run(std::uint64_t limit, bool may_linger);
  void announce() noexcept;
  void wake_waiters();

  TaskQueue queue_;
  alignas(64) std::atomic<std::uint64_t> issued_;
  alignas(64) std::atomic<std::uint64_t> completed_;
  std::atomic<State> state_{State::idle};

  // With `completed_` a store-load pair: who stores one and then reads the other cannot miss both.
  std::atomic<bool> has_waiters_{false};
  std::mutex wait_mutex_;
  std::condition_variable progress_;
  std::vector<Waiter> waiters_;
  int sleepers_ = 0;

  std::mutex park_mutex_;  // a leaf: taken while another stream's wait_mutex_ is held
  std::shared_ptr<HostStream> parked_on_;
  std::uint64_t parked_until_ = 0;
};

/// Whether this thread is in the middle of a stream's task, where nothing of the user's may be destroyed: a destructor
/// that waits for the stream would wait for itself.
bool in_task() noexcept;

class Leave;

/// The workers. At most one of them spins at a time; the others sleep. With nothing of their own to do they help with
/// the commands of others (`Crew`), as waiting threads do.
class Scheduler {
 public:
  static Scheduler& get();

  void enqueue(std::shared_ptr<HostStream> stream);
  /// Wakes or hires a worker if streams are ready that nobody was woken for.
  void kick();
  // `spinning_` and `ready_count_` are a store-load pair: who adds a stream and sees a spinner is seen by it.
  /// Counts the calling thread out of the workers if it is one, and lets another take up what is ready.
  bool lend_worker();
  void return_worker();
  /// Wakes or hires workers for work that so many threads could help with, as far as cores are free.
  void call_helpers(int wanted);
  /// For a waiting thread: helps where a core is free until `leave`; false when for a while there was nothing to do.
  bool watch(const Leave& leave);
  /// How many workers there are at most, those aside that run the user's code.
  int most_workers() const noexcept { return most_workers_; }
  bool has_ready() const noexcept { return ready_count_.load() > 0; }
  bool try_spin() noexcept { return !spinning_.exchange(true); }
  void stop_spinning() noexcept { spinning_.store(false); }

 private:
  Scheduler();
  void work();
  std::shared_ptr<HostStream> next();
  void rouse(std::unique_lock<std::mutex> lock);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<HostStream>> ready_;
  std::atomic<int> ready_count_{0};
  std::atomic<bool> spinning_{false};
  std::atomic<int> watching_{0};  ///< waiting threads that would help
  std::atomic<int> awake_{0};     ///< workers that do not sleep, and waiting threads that help
  int parked_ = 0;
  int workers_ = 0;
  const int threads_;
  const int most_workers_;
};

/// While a worker runs the user's code, which may block for as long as it likes, another may take its place.
class UserCode {
 public:
  UserCode() : counted_(Scheduler::get().lend_worker()) {}
  ~UserCode() {
    if (counted_) Scheduler::get().return_worker();
  }
  UserCode(const UserCode&) = delete;
  UserCode& operator=(const UserCode&) = delete;

 private:
  bool counted_;
};

}  // namespace refrain::host
