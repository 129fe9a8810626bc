#include "host/memory.hpp"

#include "host/backend.hpp"
#include "runtime/order.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/stream.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <latch>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace rf = refrain;
using rf::runtime::OrderLock;
using rf::runtime::StreamPoint;

namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;

/// A pool that takes the order lock by itself and leaves nothing behind.
class Pool {
 public:
  ~Pool() { trim(0); }
  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void* allocate(const rf::Stream& stream, std::int64_t bytes) {
    const OrderLock lock(rf::runtime::order_mutex());
    return pool_.allocate(stream.core().slot, bytes);
  }
  void free(void* address, std::int64_t bytes, const std::vector<StreamPoint>& users) {
    const OrderLock lock(rf::runtime::order_mutex());
    pool_.free(address, bytes, users);
  }
  void trim(std::int64_t keep_bytes) {
    const OrderLock lock(rf::runtime::order_mutex());
    pool_.trim(keep_bytes);
  }
  std::int64_t reserved() const { return pool_.reserved(); }
  /// What a request of this size takes.
  std::int64_t taken_for(const rf::Stream& stream, std::int64_t bytes) {
    trim(0);
    const std::int64_t before = reserved();
    free(allocate(stream, bytes), bytes, {});
    return reserved() - before;
  }

 private:
  rf::host::MemoryPool pool_;
};

/// A host stream with a task that is not done before `finish`.
class BusyStream {
 public:
  BusyStream() : stream({rf::DeviceKind::host, 0}) {
    const OrderLock lock(rf::runtime::order_mutex());
    rf::host::enqueue(stream.core(), [gate = gate_](rf::host::HostStream&) {
      gate->wait();
      return true;
    });
  }
  ~BusyStream() { finish(); }
  BusyStream(const BusyStream&) = delete;
  BusyStream& operator=(const BusyStream&) = delete;

  void finish() {
    if (!std::exchange(finished_, true)) gate_->count_down();
    stream.synchronize();
  }
  StreamPoint point() const {
    const OrderLock lock(rf::runtime::order_mutex());
    return {stream.core().slot, stream.core().position};
  }

  const rf::Stream stream;

 private:
  std::shared_ptr<std::latch> gate_ = std::make_shared<std::latch>(1);
  bool finished_ = false;
};

struct Fixture {
  Pool pool;
  BusyStream user;
  const rf::Stream other{rf::Device{rf::DeviceKind::host, 0}};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(host_memory, Fixture)

// Reuse

BOOST_AUTO_TEST_CASE(the_stream_that_used_a_block_gets_it_again_at_once) {
  void* block = pool.allocate(user.stream, kib);
  pool.free(block, kib, {{user.point()}});
  BOOST_TEST(pool.allocate(user.stream, kib) == block);
  pool.free(block, kib, {});
}

BOOST_AUTO_TEST_CASE(another_stream_gets_a_block_when_its_user_is_done) {
  void* block = pool.allocate(user.stream, kib);
  pool.free(block, kib, {{user.point()}});
  void* fresh = pool.allocate(other, kib);
  BOOST_TEST(fresh != block);
  user.finish();
  BOOST_TEST(pool.allocate(other, kib) == block);
  pool.free(block, kib, {});
  pool.free(fresh, kib, {});
}

BOOST_AUTO_TEST_CASE(all_users_of_a_block_must_be_done) {
  const StreamPoint idle{other.core().slot, 0};
  for (const std::size_t users : {2U, 3U, 4U, 5U, 9U}) {  // the pending one last
    std::vector<StreamPoint> points(users, idle);
    points.back() = user.point();
    void* block = pool.allocate(other, kib);
    pool.free(block, kib, points);
    void* fresh = pool.allocate(other, kib);
    BOOST_TEST(fresh != block);
    BOOST_TEST(pool.allocate(user.stream, kib) == block);
    pool.free(fresh, kib, {});
    pool.free(block, kib, {});
    pool.trim(0);
  }
}

BOOST_AUTO_TEST_CASE(a_block_without_users_goes_to_anyone) {
  void* block = pool.allocate(other, kib);
  pool.free(block, kib, {});
  BOOST_TEST(pool.allocate(user.stream, kib) == block);
  pool.free(block, kib, {});
}

BOOST_AUTO_TEST_CASE(a_block_in_use_hides_no_free_one_behind_it) {
  void* free_one = pool.allocate(other, kib);
  void* used = pool.allocate(user.stream, kib);
  pool.free(free_one, kib, {});
  pool.free(used, kib, {{user.point()}});
  BOOST_TEST(pool.allocate(other, kib) == free_one);
  BOOST_TEST(pool.allocate(user.stream, kib) == used);
  pool.free(free_one, kib, {});
  pool.free(used, kib, {});
}

BOOST_AUTO_TEST_CASE(blocks_are_apart_and_aligned) {
  std::vector<std::pair<char*, std::int64_t>> blocks;
  for (std::int64_t bytes = 1; bytes < 100'000; bytes = bytes * 5 / 4 + 1) {
    auto* block = static_cast<char*>(pool.allocate(other, bytes));
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(block) % 64 == 0);
    std::memset(block, static_cast<int>(blocks.size()), static_cast<std::size_t>(bytes));
    blocks.emplace_back(block, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [block, bytes] = blocks[i];
    BOOST_TEST(std::all_of(block, block + bytes, [i](char byte) { return byte == static_cast<char>(i); }));
    pool.free(block, bytes, {});
  }
}

// Size classes

BOOST_AUTO_TEST_CASE(at_most_a_quarter_is_waste) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = 257; bytes < 64 * mib; bytes = bytes * 9 / 8) sizes.push_back(bytes);
  for (std::int64_t power = 256; power <= 64 * mib; power *= 2) {
    for (const std::int64_t bytes : {power - 1, power, power + 1, power * 5 / 4 + 1, power * 7 / 4 + 1}) {
      if (bytes >= 256) sizes.push_back(bytes);
    }
  }
  for (const std::int64_t bytes : sizes) {
    const std::int64_t taken = pool.taken_for(other, bytes);
    BOOST_TEST(taken >= bytes);
    BOOST_TEST((taken - bytes) * 4 <= bytes, bytes << " bytes take " << taken);
  }
}

BOOST_AUTO_TEST_CASE(powers_of_two_take_what_they_ask_for) {
  for (std::int64_t bytes = 256; bytes <= 64 * mib; bytes *= 2) BOOST_TEST(pool.taken_for(other, bytes) == bytes);
}

BOOST_AUTO_TEST_CASE(small_blocks_take_256_bytes) {
  for (const std::int64_t bytes : {1, 4, 100, 255, 256}) BOOST_TEST(pool.taken_for(other, bytes) == 256);
}

BOOST_AUTO_TEST_CASE(sizes_of_one_class_share_blocks_and_others_do_not) {
  void* block = pool.allocate(other, 1025);
  pool.free(block, 1025, {});
  void* larger = pool.allocate(other, 1281);
  BOOST_TEST(larger != block);
  BOOST_TEST(pool.allocate(other, 1280) == block);
  pool.free(block, 1280, {});
  pool.free(larger, 1281, {});
}

// Trimming

BOOST_AUTO_TEST_CASE(reserved_counts_blocks_in_use_and_free_ones) {
  void* block = pool.allocate(other, mib);
  BOOST_TEST(pool.reserved() == mib);
  pool.free(block, mib, {});
  BOOST_TEST(pool.reserved() == mib);
  BOOST_TEST(pool.allocate(other, mib) == block);
  BOOST_TEST(pool.reserved() == mib);
  pool.free(block, mib, {});
}

BOOST_AUTO_TEST_CASE(trim_gives_everything_back_to_the_byte) {
  std::vector<std::pair<void*, std::int64_t>> blocks;
  for (std::int64_t bytes = 1; bytes < 16 * mib; bytes = bytes * 9 / 8 + 1) {
    blocks.emplace_back(pool.allocate(other, bytes), bytes);
  }
  for (const auto& [block, bytes] : blocks) pool.free(block, bytes, {});
  pool.trim(0);
  BOOST_TEST(pool.reserved() == 0);
}

BOOST_AUTO_TEST_CASE(trim_keeps_what_it_is_asked_to) {
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(pool.allocate(other, mib));
  for (void* block : blocks) pool.free(block, mib, {});
  pool.trim(100 * mib);
  BOOST_TEST(pool.reserved() == 8 * mib);
  pool.trim(3 * mib);
  BOOST_TEST(pool.reserved() == 3 * mib);
  std::set<void*> kept;
  for (int i = 0; i < 3; ++i) kept.insert(pool.allocate(other, mib));
  BOOST_TEST(pool.reserved() == 3 * mib);
  BOOST_TEST(kept.size() == 3U);
  for (void* block : kept) pool.free(block, mib, {});
}

BOOST_AUTO_TEST_CASE(trim_never_keeps_less_than_it_is_asked_to) {
  std::vector<void*> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(pool.allocate(other, mib));
  for (void* block : blocks) pool.free(block, mib, {});
  pool.trim(2 * mib + 1);
  BOOST_TEST(pool.reserved() >= 2 * mib + 1);
}

BOOST_AUTO_TEST_CASE(trim_leaves_blocks_in_use_alone) {
  void* pending = pool.allocate(user.stream, mib);
  void* live = pool.allocate(other, mib);
  pool.free(pending, mib, {{user.point()}});
  pool.trim(0);
  BOOST_TEST(pool.reserved() == 2 * mib);
  pool.free(live, mib, {});
  pool.trim(0);
  BOOST_TEST(pool.reserved() == mib);
  user.finish();
  pool.trim(0);
  BOOST_TEST(pool.reserved() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
