// NCCL: communicators from before the capture, which may set up their connections in it.

#include "support_concurrency.hpp"
#include "support_libraries.hpp"

#include <boost/test/unit_test.hpp>

#include <nccl.h>

#include <barrier>
#include <chrono>
#include <future>
#include <utility>

namespace rf = refrain;
using rf::test::require;

namespace {

/// What one rank does. Calls of one communicator run one after another, on whatever streams: each of them writes
/// `turn_`.
class Rank {
 public:
  Rank(ncclComm_t communicator, int peer) : communicator_(communicator), peer_(peer) {}
  /// NCCL waits until no graph uses the communicator; what dropped graphs held is let go of with the next calls.
  ~Rank() {
    using std::chrono::milliseconds;
    auto destroyed = std::async(std::launch::async, [&] { static_cast<void>(ncclCommDestroy(communicator_)); });
    while (destroyed.wait_for(milliseconds(1)) != std::future_status::ready) rf::synchronize();
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  rf::Array all_reduce(const rf::Array& x) const {
    return enqueue("all reduce", x, [&](cudaStream_t stream, const float* in, float* out, std::size_t size) {
      require(ncclAllReduce(in, out, size, ncclFloat, ncclSum, communicator_, stream));
    });
  }

  /// Sends it to the peer and gives what the peer sends.
  rf::Array exchange(const rf::Array& x) const {
    return enqueue("exchange", x, [&](cudaStream_t stream, const float* in, float* out, std::size_t size) {
      require(ncclGroupStart());
      require(ncclSend(in, size, ncclFloat, peer_, communicator_, stream));
      require(ncclRecv(out, size, ncclFloat, peer_, communicator_, stream));
      require(ncclGroupEnd());
    });
  }

 private:
  template <class Call>
  rf::Array enqueue(const char* label, const rf::Array& x, Call call) const {
    rf::Array y = rf::empty(x.shape());
    const auto size = static_cast<std::size_t>(x.size());
    rf::current_stream().enqueue(
        label, rf::read(x), rf::write(y), rf::write(turn_),
        [&](cudaStream_t stream, const float* in, float* out, void*) { call(stream, in, out, size); });
    return y;
  }

  ncclComm_t communicator_;
  int peer_;
  rf::Array turn_ = rf::zeros({1});
};

ncclComm_t new_communicator() {
  const int device = 0;
  ncclComm_t made = nullptr;
  require(ncclCommInitAll(&made, 1, &device));
  return made;
}

/// A rank that is alone.
class Alone {
 public:
  static constexpr std::int64_t input_size = 100'000;
  static constexpr double tolerance = 0;

  std::int64_t workspace_bytes() const { return 0; }
  rf::Array run(const rf::Array& x, const rf::Array&) const { return rank_.exchange(rank_.all_reduce(x)); }
  static std::vector<double> expected(const std::vector<double>& x) { return x; }

 private:
  Rank rank_{new_communicator(), 0};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(library_nccl)

BOOST_AUTO_TEST_CASE(a_first_use_may_be_held_back) { rf::test::check_first_use<Alone>(rf::test::Mode::graph); }
BOOST_AUTO_TEST_CASE(a_first_use_may_be_live) { rf::test::check_first_use<Alone>(rf::test::Mode::live); }
BOOST_AUTO_TEST_CASE(one_rank_gives_its_own_numbers_in_every_mode) { rf::test::check_every_mode<Alone>(); }
BOOST_AUTO_TEST_CASE(branches_with_a_communicator_each_run_side_by_side) { rf::test::check_branches<Alone>(); }

BOOST_AUTO_TEST_CASE(graphs_that_share_a_communicator_run_one_after_another) { rf::test::check_two_graphs<Alone>(); }

// ncclCommDestroy waits until no graph uses the communicator any more.
BOOST_AUTO_TEST_CASE(a_communicator_is_destroyed_once_its_graphs_are) {
  const rf::Array x = rf::test::eighths_array(Alone::input_size, 1);
  for (const rf::test::Mode mode : rf::test::graph_modes) {
    BOOST_TEST_CONTEXT(mode) {
      auto alone = std::make_unique<Alone>();
      auto [graph, y] = rf::capture([&] { return alone->run(x, {}); }, rf::test::capture_options(mode));
      std::optional<rf::GraphExec> exec = graph.instantiate(rf::test::instantiate_options(mode));
      exec->replay();
      rf::test::check_close(y, rf::test::numbers(x), 0);
      std::future<void> destroyed = std::async(std::launch::async, [&] { alone.reset(); });
      exec.reset();
      graph = {};
      rf::test::require_in_time(destroyed.wait_for(std::chrono::seconds(20)) == std::future_status::ready,
                                rf::SourceLocation::current());
      rf::test::check_close(y, rf::test::numbers(x), 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(graphs_go_before_their_communicator) {
  const rf::Array x = rf::test::eighths_array(Alone::input_size, 1);
  for (const rf::test::Mode mode : rf::test::graph_modes) {
    const Alone alone;
    const rf::Array y = rf::test::run_as(mode, [&] { return alone.run(x, {}); });
    rf::test::check_close(y, rf::test::numbers(x), 0);
  }
}

BOOST_AUTO_TEST_CASE(two_ranks_in_two_threads_reduce_and_exchange_in_every_mode) {
  const auto devices = rf::test::two_devices();
  if (!devices) return;
  const int ordinals[2] = {devices->first.index, devices->second.index};
  ncclComm_t communicators[2] = {};
  require(ncclCommInitAll(communicators, 2, ordinals));
  constexpr std::int64_t size = 100'000;
  std::barrier both(2);
  const auto run_rank = [&](int number) {
    const auto own = static_cast<std::size_t>(number);
    const rf::DeviceGuard on(rf::Device{rf::DeviceKind::cuda, ordinals[own]});
    const Rank rank(communicators[own], 1 - number);
    rf::Array x = rf::zeros({size});
    const auto program = [&] { return rank.exchange(rank.all_reduce(x) + x); };
    bool is_right = true;
    const auto check = [&](const rf::Array& y, int seed) {
      const std::vector<double> mine = rf::test::numbers(rf::test::eighths_array(size, 2 * seed + number));
      const std::vector<double> others = rf::test::numbers(rf::test::eighths_array(size, 2 * seed + 1 - number));
      std::vector<double> expected(mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) expected[i] = mine[i] + 2 * others[i];
      is_right = is_right && rf::test::error_of(y, expected) == 0;
      both.arrive_and_wait();
    };
    // Ranks on two GPUs make their connections at the first use, for which NCCL enables access to the peer: CUDA
    // permits that in no capture.
    rf::test::refill(x, 8 + number);
    check(program(), 4);
    for (const rf::test::Mode mode : rf::test::graph_modes) {
      auto [graph, y] = rf::capture(program, rf::test::capture_options(mode));
      const rf::GraphExec exec = graph.instantiate(rf::test::instantiate_options(mode));
      for (const int seed : {1, 2, 3}) {
        rf::test::refill(x, 2 * seed + number);
        both.arrive_and_wait();
        exec.replay();
        check(y, seed);
      }
    }
    return is_right;
  };
  BOOST_TEST(rf::test::on_threads(2, run_rank));
}

BOOST_AUTO_TEST_SUITE_END()
