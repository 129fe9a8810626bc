#pragma once

#include "kernels/args.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>

namespace refrain::graph {

/// A number for each axis: a vector whose few numbers lie in it, since passes make many of them.
class PerAxis {
 public:
  /// One more than kernels have: where a step lies in an array, before it is known whether that can be.
  static constexpr std::size_t most = kernels::max_ndim + 1;

  PerAxis() = default;
  explicit PerAxis(std::size_t size, std::int64_t number = 0) : size_(size) { std::fill(begin(), end(), number); }
  PerAxis(std::initializer_list<std::int64_t> numbers) : PerAxis(numbers.begin(), numbers.end()) {}
  template <std::input_iterator Iterator>
  PerAxis(Iterator first, Iterator last) {
    insert(end(), first, last);
  }

  std::int64_t* begin() noexcept { return at_.data(); }
  std::int64_t* end() noexcept { return at_.data() + size_; }
  const std::int64_t* begin() const noexcept { return at_.data(); }
  const std::int64_t* end() const noexcept { return at_.data() + size_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t& operator[](std::size_t axis) noexcept { return at_[axis]; }
  std::int64_t operator[](std::size_t axis) const noexcept { return at_[axis]; }
  std::int64_t& back() noexcept { return at_[size_ - 1]; }
  std::int64_t back() const noexcept { return at_[size_ - 1]; }

  void push_back(std::int64_t number) noexcept { at_[size_++] = number; }
  template <std::input_iterator Iterator>
  void insert(const std::int64_t* before, Iterator first, Iterator last) noexcept {
    auto* const place = begin() + (before - begin());
    std::move_backward(place, end(), end() + std::distance(first, last));
    std::copy(first, last, place);
    size_ += static_cast<std::size_t>(std::distance(first, last));
  }

  friend bool operator==(const PerAxis& a, const PerAxis& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::size_t size_ = 0;
  std::array<std::int64_t, most> at_{};
};

}  // namespace refrain::graph
