// The user's memory pool.

#include "native_graph.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <cuda_runtime_api.h>

#include <cstdint>

namespace rf = refrain;

namespace {

std::uint64_t used_bytes(cudaMemPool_t pool) {
  std::uint64_t bytes = 0;
  CUDA_REQUIRE(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes));
  return bytes;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_memory, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(arrays_come_from_the_users_pool_while_one_is_set) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  cudaMemPool_t pool = nullptr;
  CUDA_REQUIRE(cudaMemPoolCreate(&pool, &properties));
  const rf::Device device = rf::current_device();
  rf::set_memory_pool(device, pool);
  {
    const rf::Array mine = rf::ones({1 << 20});
    BOOST_TEST(used_bytes(pool) >= 4U << 20);
    rf::set_memory_pool(device, nullptr);
    const rf::Array other = rf::ones({1 << 20});
    BOOST_TEST(used_bytes(pool) < 8U << 20);
    BOOST_TEST(mine.to_vector<float>().back() == 1.0F);
  }
  rf::synchronize();
  BOOST_TEST(used_bytes(pool) == 0U);
  CUDA_REQUIRE(cudaMemPoolDestroy(pool));
}

BOOST_AUTO_TEST_CASE(what_a_discarded_live_capture_took_is_given_back) {
  const rf::Device device = rf::current_device();
  const rf::Array kept = rf::ones({1000});
  rf::synchronize();
  const std::int64_t before = rf::memory_stats(device).live;
  for (int i = 0; i < 20; ++i) {
    const rf::Stream stream;
    rf::Capture capture(stream, {.live = true});
    const rf::StreamGuard on(stream);
    const rf::Array temporary = kept * 2 + 1;
  }
  rf::synchronize();
  BOOST_TEST(rf::memory_stats(device).live == before);
  BOOST_TEST((kept + 1).to_vector<float>()[0] == 2.0F);
}

BOOST_AUTO_TEST_SUITE_END()
