#include "host/crew.hpp"

#include "host/scheduler.hpp"
#include "host/spin.hpp"
#include "runtime/environment.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <exception>
#include <thread>

namespace refrain::host {

namespace {

/// More threads than this do not take part in one command: memory has had enough of them.
constexpr int most_members = 64;
/// Sleeping threads are woken for work of this many parts (0.1 ms: `host/cost.cpp`): a wake-up costs a few microseconds
/// and takes up to 0.06 ms. What is shorter is for threads that look for work anyway, and counts until so much was done
/// alone: who is woken then finds the next of many.
constexpr std::int64_t long_work = 20;

/// The cores that the process may use, or 1 where the system does not say.
int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // More than 1024 CPUs do not fit the set; then those that there are.
  const int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                                : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, count);
}

}  // namespace

/// Parts of one command, on the stack of the thread that runs it. Each member begins with a share of its own, of parts
/// side by side, and goes on with what others have left.
class SharedWork {
 public:
  SharedWork(std::int64_t parts, kernels::Split::Part part, void* context, int members)
      : parts_(parts), members_(members), part_(part), context_(context) {
    for (int i = 0; i < members; ++i) {
      shares_[static_cast<std::size_t>(i)].next.store(parts * i / members, std::memory_order_relaxed);
      shares_[static_cast<std::size_t>(i)].end = parts * (i + 1) / members;
    }
  }

  std::int64_t parts() const noexcept { return parts_; }
  int members() const noexcept { return members_; }

  /// Whether nothing is left to begin; else `leave` said so.
  bool take_part(int member, const Leave& leave) {
    for (int i = 0; i < members_; ++i) {
      Share& share = shares_[static_cast<std::size_t>((member + i) % members_)];
      // A look first: members that come late do not disturb the others' shares.
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        if (leave()) return false;
        const std::int64_t part = share.next.fetch_add(1, std::memory_order_relaxed);
        if (part < share.end) part_(context_, part);
      }
    }
    return true;
  }

  /// No further part begins.
  void leave_out_the_rest() noexcept {
    for (int i = 0; i < members_; ++i) {
      Share& share = shares_[static_cast<std::size_t>(i)];
      share.next.store(share.end, std::memory_order_relaxed);
    }
  }

  // With the crew's mutex held.
  int room = 0;  ///< for more helpers
  bool had_help = false;
  bool is_removed = false;  ///< from the crew's list
  bool is_awaited = false;  ///< the command's thread sleeps until the helpers have left
  SharedWork* next = nullptr;
  std::exception_ptr error;
  /// That have begun and not left. The command's thread looks at it without the mutex: after the last one has left,
  /// nobody touches the work.
  std::atomic<int> helpers{0};

 private:
  struct alignas(64) Share {
    std::atomic<std::int64_t> next;
    std::int64_t end;
  };

  const std::int64_t parts_;
  const int members_;
  const kernels::Split::Part part_;
  void* const context_;
  std::array<Share, most_members> shares_;
};

Crew::Crew() : size_(runtime::environment_int("REFRAIN_HOST_THREADS", usable_cores(), 1, 4096)) {}

Crew& Crew::get() {
  static Crew& crew = *new Crew;
  return crew;
}

void Crew::set_room(SharedWork& work, int room) {
  open_.fetch_add((room > 0) - (work.room > 0));
  work.room = room;
}

void Crew::add(SharedWork& work) {
  const std::lock_guard lock(mutex_);
  work.next = first_;
  first_ = &work;
  set_room(work, work.members() - 1);
}

void Crew::remove(SharedWork& work) noexcept {
  const std::lock_guard lock(mutex_);
  set_room(work, 0);
  work.is_removed = true;
  SharedWork** at = &first_;
  while (*at != &work) at = &(*at)->next;
  *at = work.next;
}

void Crew::await_helpers(SharedWork& work) {
  const auto have_left = [&] { return work.helpers.load(std::memory_order_acquire) == 0; };
  if (have_left() || spin_until(have_left, patience)) return;
  std::unique_lock lock(mutex_);
  work.is_awaited = true;
  left_.wait(lock, have_left);
}

void Crew::run(std::int64_t parts, kernels::Split::Part part, void* context) {
  const int members = static_cast<int>(std::min<std::int64_t>({parts, size_, most_members}));
  SharedWork work(parts, part, context, members);
  if (members > 1) {
    add(work);
    if (parts + done_alone_.load(std::memory_order_relaxed) >= long_work) Scheduler::get().call_helpers(members - 1);
  }
  std::exception_ptr error;
  try {
    work.take_part(0, Leave([] { return false; }));
  } catch (...) {
    error = std::current_exception();
    work.leave_out_the_rest();
  }
  if (members > 1) {
    remove(work);
    await_helpers(work);
    const std::int64_t alone = done_alone_.load(std::memory_order_relaxed);
    done_alone_.store(work.had_help || alone >= long_work ? 0 : alone + parts, std::memory_order_relaxed);
  }
  if (error == nullptr) error = std::move(work.error);
  if (error != nullptr) std::rethrow_exception(error);
}

bool Crew::help(const Leave& leave) {
  SharedWork* work = nullptr;
  int member = 0;
  {
    const std::lock_guard lock(mutex_);
    for (work = first_; work != nullptr && work->room == 0; work = work->next) {
    }
    if (work == nullptr) return false;
    member = work->members() - work->room;
    set_room(*work, work->room - 1);
    work->helpers.fetch_add(1, std::memory_order_relaxed);
    work->had_help = true;
  }
  if (work->parts() >= long_work) Scheduler::get().call_helpers(work->members() - 1 - member);
  std::exception_ptr error;
  bool is_over = true;
  try {
    is_over = work->take_part(member, leave);
  } catch (...) {
    error = std::current_exception();
    work->leave_out_the_rest();
  }
  bool is_awaited = false;
  {
    const std::lock_guard lock(mutex_);
    // What is over needs nobody; who goes before leaves the place to another. Removed work has none.
    if (is_over) {
      set_room(*work, 0);
    } else if (!work->is_removed) {
      set_room(*work, work->room + 1);
    }
    if (error != nullptr && work->error == nullptr) work->error = std::move(error);
    is_awaited = work->is_awaited;
    work->helpers.fetch_sub(1, std::memory_order_release);
  }
  if (is_awaited) left_.notify_all();
  return true;
}

}  // namespace refrain::host
