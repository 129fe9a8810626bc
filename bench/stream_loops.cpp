// copy_64m and add_64m on the host as plain loops on all threads, as STREAM has them: what its memory gives.

#include "inputs.hpp"
#include "modes.hpp"

#include <algorithm>
#include <barrier>
#include <cstring>
#include <memory>
#include <thread>

namespace refrain::bench {
namespace {

/// As many threads as the host device has, the calling one among them, each with its part of every array.
class Threads {
 public:
  /// Positions of arrays of `large` elements.
  struct Part {
    std::int64_t begin;
    std::int64_t end;
  };
  using Loop = std::function<void(Part part)>;

  Threads() {
    for (int i = 1; i < count_; ++i) helpers_.emplace_back([this, i] { work(i); });
  }
  ~Threads() {
    loop_ = nullptr;
    turns_.arrive_and_wait();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Returns when all parts are done.
  void run(const Loop& loop) {
    loop_ = &loop;
    turns_.arrive_and_wait();
    loop(part_of(0));
    turns_.arrive_and_wait();
  }

 private:
  Part part_of(int thread) const { return {large * thread / count_, large * (thread + 1) / count_}; }

  void work(int thread) {
    for (;;) {
      turns_.arrive_and_wait();
      if (loop_ == nullptr) return;
      (*loop_)(part_of(thread));
      turns_.arrive_and_wait();
    }
  }

  int count_ = static_cast<int>(std::max(2U, std::thread::hardware_concurrency()));
  const Loop* loop_ = nullptr;
  std::barrier<> turns_{count_};
  std::vector<std::jthread> helpers_;  // the last member: joined before the barrier goes
};

/// Memory that the threads which work on it touch first, so that it lies near them.
using Values = std::unique_ptr<float[]>;
Values make_values() { return Values(new float[static_cast<std::size_t>(large)]); }

struct Arrays {
  Threads threads;
  Values x = make_values();
  Values y = make_values();
  Values result = make_values();

  Arrays() {
    threads.run([this](Threads::Part part) {
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        x[static_cast<std::size_t>(i)] = number_at(i);
        y[static_cast<std::size_t>(i)] = number_at(large - 1 - i);
        result[static_cast<std::size_t>(i)] = 0;
      }
    });
  }
};

using Kernel = void (*)(const float* x, const float* y, float* result, std::int64_t count);

void copy(const float* x, const float*, float* result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = x[i];
}

void add(const float* x, const float* y, float* result, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) result[i] = x[i] + y[i];
}

Prepared prepare_loops(const Workload& workload, Kernel kernel) {
  const auto arrays = std::make_shared<Arrays>();
  const auto step = [arrays, kernel] {
    arrays->threads.run([&](Threads::Part part) {
      kernel(arrays->x.get() + part.begin, arrays->y.get() + part.begin, arrays->result.get() + part.begin,
             part.end - part.begin);
    });
  };
  Prepared prepared;
  prepared.work = {step, [] {}};
  step();
  Bytes found(static_cast<std::size_t>(large) * sizeof(float));
  std::memcpy(found.data(), arrays->result.get(), found.size());
  note(prepared, difference(eager_reference(workload.prepare(), 1).front(), {found}));
  return prepared;
}

Baseline loops_of(const char* workload, Kernel kernel) {
  return {workload,
          DeviceKind::host,
          {loop_mode, "the same arithmetic in plain loops",
           [kernel](const Workload& of, Device, const Effort&) { return prepare_loops(of, kernel); }}};
}

}  // namespace

std::vector<Baseline> stream_loops() { return {loops_of("copy_64m", copy), loops_of("add_64m", add)}; }

}  // namespace refrain::bench
