#include "host/scheduler.hpp"

#include "host/crew.hpp"
#include "host/spin.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace refrain::host {

namespace {

using Clock = std::chrono::steady_clock;

/// How long a worker without work looks for some before it sleeps: longer than the gaps of a program that issues work
/// steadily, far below what would be noticed as load.
constexpr auto linger = std::chrono::microseconds(50);
/// How long a waiting thread looks at what it waits for alone: a short task has no time for anything else.
constexpr auto glance = std::chrono::microseconds(1);
/// How many tasks of a stream a worker runs before others that are ready get their turn.
constexpr std::uint64_t turn = 256;

thread_local bool is_worker = false;
thread_local int tasks_begun = 0;  ///< a waiting thread may run tasks inside one

}  // namespace

bool HostStream::take() noexcept {
  State state = state_.load();
  return (state == State::queued || state == State::idle) && state_.compare_exchange_strong(state, State::running);
}

void HostStream::announce() noexcept {
  try {
    Scheduler::get().enqueue(shared_from_this());
  } catch (...) {
    // No memory for the list: the stream stays queued, and whoever waits for it runs it.
  }
}

void HostStream::run(std::uint64_t limit, bool may_linger) {
  for (;;) {
    std::uint64_t done = completed_.load(std::memory_order_relaxed);
    const std::uint64_t turn_ends = done + turn;
    while (done < issued_.load(std::memory_order_acquire)) {
      if (done >= limit || (may_linger && done >= turn_ends && Scheduler::get().has_ready())) {
        state_.store(State::queued);
        announce();
        return;
      }
      ++tasks_begun;
      const bool is_finished = queue_.run_front(*this);
      --tasks_begun;
      if (!is_finished) return;  // parked: another thread may be running this stream by now
      completed_.store(++done);
      if (has_waiters_.load()) wake_waiters();
    }
    Scheduler& scheduler = Scheduler::get();
    if (may_linger && scheduler.try_spin()) {
      const auto has_more = [&] { return issued_.load(std::memory_order_acquire) > done; };
      const auto has_work = [&] { return has_more() || scheduler.has_ready(); };
      spin_until([&] { return has_work() || Crew::get().has_room(); }, linger);
      scheduler.stop_spinning();
      if (has_more()) {
        scheduler.kick();
        continue;
      }
      if (!has_work() && Crew::get().help(Leave(has_work))) continue;
    }
    state_.store(State::idle);
    if (issued_.load() == done) return;
    State idle = State::idle;
    if (!state_.compare_exchange_strong(idle, State::running)) return;
    if (may_linger) scheduler.kick();  // a stream may have been left to this thread while it lingered
  }
}

bool HostStream::reached_or_park(std::uint64_t position, HostStream& waiter) {
  if (reached(position)) return true;
  const std::lock_guard lock(wait_mutex_);
  has_waiters_.store(true);
  if (completed_.load() >= position) {
    has_waiters_.store(!waiters_.empty() || sleepers_ > 0);
    return true;
  }
  {
    const std::lock_guard park_lock(waiter.park_mutex_);
    waiter.parked_on_ = shared_from_this();
    waiter.parked_until_ = position;
  }
  waiters_.push_back({position, waiter.shared_from_this()});
  waiter.state_.store(State::parked);
  return false;
}

void HostStream::wake_waiters() {
  std::vector<std::shared_ptr<HostStream>> awake;
  {
    const std::lock_guard lock(wait_mutex_);
    const std::uint64_t done = completed_.load();
    std::erase_if(waiters_, [&](Waiter& waiter) {
      if (waiter.position > done) return false;
      awake.push_back(std::move(waiter.stream));
      return true;
    });
    has_waiters_.store(!waiters_.empty() || sleepers_ > 0);
    if (sleepers_ > 0) progress_.notify_all();
  }
  for (auto& stream : awake) {
    {
      const std::lock_guard lock(stream->park_mutex_);
      stream->parked_on_.reset();
    }
    stream->state_.store(State::queued);
    stream->announce();
  }
}

void HostStream::wait(std::uint64_t position) {
  while (!reached(position)) {
    if (take()) {
      run(position, false);
      continue;
    }
    std::shared_ptr<HostStream> other;
    std::uint64_t until = 0;
    if (state_.load() == State::parked) {
      const std::lock_guard lock(park_mutex_);
      other = parked_on_;
      until = parked_until_;
    }
    if (other != nullptr) {
      other->wait(until);
      continue;
    }
    const auto is_over = [&] { return reached(position) || state_.load() != State::running; };
    if (spin_until(is_over, glance)) continue;
    if (Scheduler::get().watch(Leave(is_over))) continue;
    wait_until(position, Clock::time_point::max());
  }
}

bool HostStream::wait_until(std::uint64_t position, Clock::time_point end) {
  std::unique_lock lock(wait_mutex_);
  ++sleepers_;
  has_waiters_.store(true);
  const auto is_there = [&] { return completed_.load() >= position; };
  if (end == Clock::time_point::max()) {
    progress_.wait(lock, is_there);
  } else {
    progress_.wait_until(lock, end, is_there);
  }
  --sleepers_;
  has_waiters_.store(!waiters_.empty() || sleepers_ > 0);
  return is_there();
}

bool in_task() noexcept { return tasks_begun > 0; }

Scheduler::Scheduler() : threads_(Crew::get().size()), most_workers_(std::max(2, threads_)) {}

Scheduler& Scheduler::get() {
  static Scheduler& scheduler = *new Scheduler;
  return scheduler;
}

void Scheduler::enqueue(std::shared_ptr<HostStream> stream) {
  std::unique_lock lock(mutex_);
  ready_.push_back(std::move(stream));
  ready_count_.store(static_cast<int>(ready_.size()));
  if (spinning_.load() && ready_.size() == 1) return;  // the spinner takes it, or kicks if it finds work of its own
  rouse(std::move(lock));
}

void Scheduler::kick() {
  if (!has_ready()) return;
  std::unique_lock lock(mutex_);
  if (!ready_.empty()) rouse(std::move(lock));
}

void Scheduler::rouse(std::unique_lock<std::mutex> lock) {
  const bool wake = parked_ > 0;
  const bool hire = !wake && workers_ < most_workers_;
  workers_ += hire;
  awake_ += hire;
  lock.unlock();
  if (wake) wake_.notify_one();
  if (!hire) return;
  try {
    std::thread([this] { work(); }).detach();
  } catch (...) {
    // No thread to be had: the workers there are, and the threads that wait, do the work.
    lock.lock();
    --workers_;
    --awake_;
  }
}

void Scheduler::call_helpers(int wanted) {
  const int watching = watching_.load();
  const int missing = wanted - watching - spinning_.load();
  const int in_use = awake_.load() + watching + (is_worker ? 0 : 1);
  // Each of those that come calls others in turn.
  for (int i = 0; i < std::min({missing, threads_ - in_use, 2}); ++i) rouse(std::unique_lock(mutex_));
}

bool Scheduler::watch(const Leave& leave) {
  Crew& crew = Crew::get();
  watching_.fetch_add(1);
  const bool found = spin_until([&] { return leave() || (crew.has_room() && awake_.load() < threads_); }, patience);
  watching_.fetch_sub(1);
  if (!found) return false;
  if (leave()) return true;
  if (awake_.fetch_add(1) < threads_) crew.help(leave);
  awake_.fetch_sub(1);
  return true;
}

bool Scheduler::lend_worker() {
  if (!is_worker) return false;
  std::unique_lock lock(mutex_);
  --workers_;
  --awake_;
  if (!ready_.empty()) rouse(std::move(lock));
  return true;
}

void Scheduler::return_worker() {
  const std::lock_guard lock(mutex_);
  ++awake_;
  ++workers_;  // above the limit for a while, if another was hired: the next without work goes
}

std::shared_ptr<HostStream> Scheduler::next() {
  const std::lock_guard lock(mutex_);
  if (ready_.empty()) return nullptr;
  auto stream = std::move(ready_.front());
  ready_.pop_front();
  ready_count_.store(static_cast<int>(ready_.size()), std::memory_order_release);
  return stream;
}

void Scheduler::work() {
  is_worker = true;
  for (;;) {
    if (auto stream = next()) {
      kick();
      HostStream::State queued = HostStream::State::queued;
      if (stream->state_.compare_exchange_strong(queued, HostStream::State::running)) {
        stream->run(HostStream::no_limit, true);
      }
      continue;
    }
    Crew& crew = Crew::get();
    if (crew.help(Leave([this] { return has_ready(); }))) continue;
    const auto has_work = [&] { return has_ready() || crew.has_room(); };
    if (try_spin()) {
      const bool found = spin_until(has_work, linger);
      stop_spinning();
      if (found) continue;
    }
    std::unique_lock lock(mutex_);
    if (workers_ > most_workers_) {  // hired in place of one that ran the user's code, and back by now
      --workers_;
      --awake_;
      return;
    }
    ++parked_;
    --awake_;
    wake_.wait(lock, has_work);
    --parked_;
    ++awake_;
  }
}

}  // namespace refrain::host
