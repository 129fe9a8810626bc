#include "support_fuzz.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace refrain::test {

FuzzRange fuzz_range(unsigned usual) {
#ifdef __SANITIZE_THREAD__
  usual /= 8;
#endif
  const auto number = [](const char* variable, unsigned otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<unsigned>(std::stoul(text));
  };
  return {number("REFRAIN_FUZZ_SEED", 0), number("REFRAIN_FUZZ", usual), std::getenv("REFRAIN_FUZZ") != nullptr};
}

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& fn) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failed;
  std::mutex failing;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        fn(i);
      } catch (...) {
        const std::lock_guard lock(failing);
        if (failed == nullptr) failed = std::current_exception();
      }
    }
  };
  const std::size_t threads = std::min<std::size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (failed != nullptr) std::rethrow_exception(failed);
}

Array packed(const std::vector<Array>& arrays) {
  std::int64_t size = 0;
  for (const Array& array : arrays) size += array.size();
  Array all = empty({size});
  std::int64_t begin = 0;
  for (const Array& array : arrays) {
    all.slice(begin, begin + array.size()).assign(array.reshape({array.size()}));
    begin += array.size();
  }
  return all;
}

}  // namespace refrain::test
