// Views whose elements lie far apart: nothing between them is touched.

#include <refrain/refrain.hpp>

#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

namespace rf = refrain;

namespace {

/// Addresses of which no access is allowed but to the pages that are opened.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes) {
    void* const memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    BOOST_TEST_REQUIRE(memory != MAP_FAILED);
    begin_ = static_cast<std::byte*>(memory);
  }
  ~Guarded() { munmap(begin_, bytes_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// The page at this place, which may be used from now on.
  float* open(std::size_t place) const {
    BOOST_TEST_REQUIRE(mprotect(begin_ + place, page(), PROT_READ | PROT_WRITE) == 0);
    return reinterpret_cast<float*>(begin_ + place);
  }
  static std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

 private:
  std::byte* begin_;
  std::size_t bytes_;
};

std::string text(const rf::Array& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

/// Elements of a row, of which there are so many in a page's distance.
constexpr std::int64_t row = 4;

}  // namespace

BOOST_AUTO_TEST_SUITE(host_sparse_views)

BOOST_AUTO_TEST_CASE(rows_far_apart_are_read_and_written_alone) {
  const rf::DeviceGuard on(rf::Device{rf::DeviceKind::host, 0});
  constexpr std::size_t rows = 5;
  const std::size_t apart = 64 * Guarded::page();
  const Guarded memory(rows * apart);
  float* first = nullptr;
  for (std::size_t i = 0; i < rows; ++i) {
    float* const at = memory.open(i * apart);
    for (std::int64_t k = 0; k < row; ++k) at[k] = static_cast<float>(10 * i) + static_cast<float>(k);
    if (i == 0) first = at;
  }
  const auto stride = static_cast<std::int64_t>(apart / sizeof(float));
  rf::Array x = rf::from_blob(first, {rows, row}, {.strides = {stride, 1}});
  BOOST_TEST(x.transpose(0, 1).to_vector<float>() ==
                 (std::vector<float>{0, 10, 20, 30, 40, 1, 11, 21, 31, 41, 2, 12, 22, 32, 42, 3, 13, 23, 33, 43}),
             boost::test_tools::per_element());
  BOOST_TEST(text(x.flip(0)).find("[40., 41., 42., 43.]") != std::string::npos);
  x.transpose(0, 1) += 1;
  BOOST_TEST(rf::to_device(x.select(1, 1), x.device()).to_vector<float>() == (std::vector<float>{2, 12, 22, 32, 42}),
             boost::test_tools::per_element());
  rf::synchronize();
}

BOOST_AUTO_TEST_CASE(of_a_large_array_the_edges_alone_are_read, *boost::unit_test::label("report-76")) {
  const rf::DeviceGuard on(rf::Device{rf::DeviceKind::host, 0});
  // 10^8 elements as columns of 2^24: the first and last ones of six columns lie in twelve places.
  constexpr std::int64_t length = std::int64_t{1} << 24;
  const Guarded memory(6 * length * sizeof(float));
  float* first = nullptr;
  for (std::size_t column = 0; column < 6; ++column) {
    float* const begin = memory.open(column * length * sizeof(float));
    if (column == 0) first = begin;
    float* const end = memory.open((column + 1) * length * sizeof(float) - Guarded::page());
    const std::size_t last = Guarded::page() / sizeof(float);
    for (std::size_t i = 0; i < 3; ++i) {
      begin[i] = static_cast<float>(100 * column + i);
      end[last - 1 - i] = static_cast<float>(100 * column + 50 + i);
    }
  }
  const rf::Array x = rf::from_blob(first, {6, length});
  const std::string rows = text(x);
  BOOST_TEST(rows.find("[500., 501., 502., ..., 552., 551., 550.]") != std::string::npos, rows);
  const std::string columns = text(x.transpose(0, 1));
  BOOST_TEST(columns.find("[2., 102., 202., 302., 402., 502.]") != std::string::npos, columns);
  BOOST_TEST(columns.find("[50., 150., 250., 350., 450., 550.]") != std::string::npos, columns);
  const std::string backwards = text(x.flip(1).slice({.step = 2}, 0));
  BOOST_TEST(backwards.find("[450., 451., 452., ..., 402., 401., 400.]") != std::string::npos, backwards);
}

BOOST_AUTO_TEST_SUITE_END()
