// The one history of all memory of other code's stays short, whatever a program names for how long.

#include "runtime/buffer.hpp"
#include "runtime/order.hpp"
#include "support.hpp"
#include "support_memory.hpp"

namespace refrain::test {

namespace {

constexpr int size = 1000;
constexpr int between = 100;  ///< ops from one synchronisation to the next

/// How many accesses are remembered, and how many of them a graph's.
struct Length {
  int all = 0;
  int of_graphs = 0;
};

Length length_of_history(const Memory& memory) {
  const Array any = from_blob(memory.at(), {1});
  const runtime::OrderLock lock(runtime::order_mutex());
  runtime::AccessHistory& history = any.buffer()->history();
  Length length{history.size(), 0};
  for (int i = 0; i < history.size(); ++i) length.of_graphs += history[i].mark != nullptr ? 1 : 0;
  return length;
}

/// The longest that the history is while `use(i)` is called for i = 0, 1, 2, ...
template <class Use>
int longest(const Memory& memory, const Use& use) {
  int most = 0;
  for (int i = 0; i < 20 * between; ++i) {
    use(i);
    if (i % between == between - 1) synchronize();
    most = std::max(most, length_of_history(memory).all);
  }
  return most;
}

/// What may be there at once: two accesses an op since the last synchronisation, and what is too little to look at.
constexpr int limit = 2 * between + 64 + 2;

Array element(const Memory& memory, int i) { return from_blob(memory.at(i % size), {1}); }

}  // namespace

BOOST_AUTO_TEST_SUITE(internal_foreign_history)

BOOST_AUTO_TEST_CASE(writes_of_many_places_are_forgotten_once_they_are_seen_done) {
  const Memory memory(size);
  BOOST_TEST(longest(memory, [&](int i) { element(memory, i) += 1; }) <= limit);
  BOOST_TEST(memory.values()[0] == 2);
}

BOOST_AUTO_TEST_CASE(reads_on_many_streams_are_forgotten_once_they_are_seen_done) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(size);
  const std::vector<Stream> streams{Stream(), Stream(), Stream(), Stream()};
  BOOST_TEST(longest(memory, [&](int i) {
               const StreamGuard on(streams[static_cast<std::size_t>(i) % 4]);
               element(memory, i) + 1;
             }) <= limit);
}

BOOST_AUTO_TEST_CASE(accesses_of_streams_that_are_gone_are_forgotten) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(size);
  BOOST_TEST(longest(memory, [&](int i) {
               const Stream stream;
               const StreamGuard on(stream);
               element(memory, i) += 1;
             }) <= limit);
}

BOOST_AUTO_TEST_CASE(the_streams_that_are_given_are_forgotten_once_they_are_seen_done) {
  const Memory memory(size);
  const Stream theirs;
  BOOST_TEST(longest(memory, [&](int i) {
               bench::empty(theirs);
               from_blob(memory.at(i % size), {1}, {.stream = theirs}) += 1;
             }) <= limit);
}

BOOST_AUTO_TEST_CASE(memory_that_is_given_back_is_forgotten) {
  const Memory memory(size);
  int given = 0;
  BOOST_TEST(longest(memory, [&](int i) {
               from_blob(memory.at(i % size), {1}, {.deleter = [&](void*) { ++given; }}) += 1;
             }) <= limit);
  BOOST_TEST(given == 20 * between);
  BOOST_TEST(length_of_history(memory).all <= 64);
}

BOOST_AUTO_TEST_CASE(graphs_that_are_gone_are_forgotten) {
  const Memory memory(size);
  const int before = length_of_history(memory).of_graphs;
  BOOST_TEST(longest(memory, [&](int i) {
               if (i % 10 != 0) return;
               capture([&] { element(memory, i) += 1; }).instantiate().replay();
             }) <= limit);
  BOOST_TEST(length_of_history(memory).of_graphs == before);
  BOOST_TEST(memory.values()[10] == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
