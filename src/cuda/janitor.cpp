#include "cuda/janitor.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace refrain::cuda {

namespace {

class Janitor {
 public:
  static Janitor& get() {
    static Janitor& janitor = *new Janitor;
    return janitor;
  }

  void take(std::shared_ptr<const void> work) {
    {
      const std::lock_guard lock(mutex_);
      left_.push_back(std::move(work));
    }
    some_left_.notify_one();
  }

 private:
  Janitor() {
    std::thread([this] {
      for (;;) work();
    }).detach();
  }

  void work() {
    std::vector<std::shared_ptr<const void>> left;  // destroyed after the lock is given back
    std::unique_lock lock(mutex_);
    some_left_.wait(lock, [this] { return !left_.empty(); });
    left.swap(left_);
  }

  std::mutex mutex_;
  std::condition_variable some_left_;
  std::vector<std::shared_ptr<const void>> left_;
};

}  // namespace

void let_go_soon(std::shared_ptr<const void> work) { Janitor::get().take(std::move(work)); }

}  // namespace refrain::cuda
