#include "allocations.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

// The whole process allocates through these. Where nothing is counted they cost one relaxed load.

namespace {

std::atomic<bool> counting{false};
std::atomic<std::int64_t> counted{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (counting.load(std::memory_order_relaxed)) counted.fetch_add(1, std::memory_order_relaxed);
  if (size == 0) size = 1;
  void* const block = alignment <= alignof(std::max_align_t)
                          ? std::malloc(size)
                          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

namespace refrain::bench {

std::int64_t count_allocations(const std::function<void()>& run) {
  counted = 0;
  counting = true;
  run();
  counting = false;
  return counted;
}

}  // namespace refrain::bench
