// Memory that other code made, as arrays: what can be named, and who uses it in what order.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_memory.hpp"

#include <cstdint>
#include <numeric>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;

std::size_t added_orders() { return of_kind(diagnostics(), DiagnosticKind::edge_added).size(); }

template <class Fn>
void on(const Stream& stream, Fn fn) {
  const StreamGuard guard(stream);
  fn();
}

/// True when nothing makes work on `second` wait for work on `first`.
template <class First, class Second>
bool are_free(First on_first, Second on_second) {
  const Stream first;
  const Stream second;
  Gate gate(first);
  on(first, on_first);
  on(second, on_second);
  second.synchronize();
  const bool held = gate.open();
  first.synchronize();
  return held;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(blobs, *boost::unit_test::label("sanitize"))

// What can be named

BOOST_AUTO_TEST_CASE(elements_are_read_and_written_where_they_lie) {
  const Memory memory(6);
  Array x = from_blob(memory.at(), {2, 3});
  BOOST_TEST(x.device() == current_device());
  BOOST_TEST((x.dtype() == DType::float32));
  BOOST_TEST((x.shape() == Shape{2, 3}));
  BOOST_TEST(holds(x, 0));
  x += 2;
  x.slice(1, 2) *= 10;
  BOOST_TEST(memory.values() == (Numbers{2, 2, 2, 20, 20, 20}), per_element());
  BOOST_TEST(holds(x.slice(1, 2) + 1, 21));
  const Array copy = x;
  x = Array();
  BOOST_TEST(holds(copy.slice(0, 1), 2));
}

BOOST_AUTO_TEST_CASE(memory_of_the_program_can_be_named_on_the_host) {
  const Device host{DeviceKind::host, 0};
  std::vector<std::int64_t> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 0);
  Array x = from_blob(numbers.data(), {10}, {.device = host});
  BOOST_TEST((x.dtype() == DType::int64));
  {
    const DeviceGuard guard(host);
    x *= 2;
  }
  BOOST_TEST(x.to_vector<std::int64_t>()[9] == 18);
  BOOST_TEST(numbers[9] == 18);
  numbers[9] = 7;
  BOOST_TEST(x.to_vector<std::int64_t>()[9] == 7);
}

BOOST_AUTO_TEST_CASE(an_array_of_any_dtype_and_rank_can_be_made) {
  const Memory memory(64);
  memory.values();
  void* const address = memory.at();
  for (const DType dtype : {DType::bool_, DType::int32, DType::int64, DType::float32, DType::float64}) {
    const Array x = from_blob(address, {2, 3, 1}, dtype);
    BOOST_TEST((x.dtype() == dtype));
    BOOST_TEST(holds(x, 0));
    BOOST_TEST(holds(from_blob(address, {}, dtype), 0));
  }
}

BOOST_AUTO_TEST_CASE(a_part_of_memory_is_named_by_the_address_of_its_first_element) {
  const Memory memory(10);
  Array inner = from_blob(memory.at(3), {4});
  inner += 1;
  BOOST_TEST(memory.values() == (Numbers{0, 0, 0, 1, 1, 1, 1, 0, 0, 0}), per_element());
}

BOOST_AUTO_TEST_CASE(arrays_on_another_ordinal_are_of_that_one) {
  const auto devices = two_devices();
  if (!devices) return;
  const DeviceGuard far(devices->second);
  const Memory memory(4);
  const DeviceGuard near(devices->first);
  Array x = from_blob(memory.at(), {4}, {.device = devices->second});
  BOOST_TEST(x.device() == devices->second);
  {
    const DeviceGuard back(devices->second);
    x += 1;
  }
  BOOST_TEST(holds(x, 1));
  const Stream stream(devices->second);
  BOOST_TEST(from_blob(memory.at(), {4}, {.stream = stream}).device() == devices->second);
}

BOOST_AUTO_TEST_CASE(row_major_strides_are_accepted) {
  const Memory memory(12);
  using Strides = std::vector<std::int64_t>;
  const std::pair<Shape, Strides> forms[] = {
      {{12}, {1}},
      {{3, 4}, {4, 1}},
      {{3, 1, 4}, {4, 4, 1}},
      {{3, 1, 4}, {4, 77, 1}},  // nothing is ever at another position of an axis of extent 1
      {{1, 12}, {0, 1}},
      {{12, 1}, {1, -5}},
      {{1, 1, 1}, {9, 9, 9}},
      {{2, 3, 2}, {6, 2, 1}},
      {{0, 4}, {9, 3}},  // there is nothing at all
      {{}, {}},
  };
  for (const auto& [shape, strides] : forms) {
    BOOST_TEST_CONTEXT(shape.str()) { BOOST_TEST(holds(from_blob(memory.at(), shape, {.strides = strides}), 0)); }
  }
}

BOOST_AUTO_TEST_CASE(other_strides_name_the_elements_that_they_say) {
  const Memory memory(24);
  Array all = from_blob(memory.at(), {24});
  for (std::int64_t i = 0; i < 24; ++i) all.select(i).assign(static_cast<float>(i));
  struct Form {
    Shape shape;
    std::vector<std::int64_t> strides;
    std::int64_t first;
  };
  const Form forms[] = {
      {{12}, {2}, 0},
      {{12}, {0}, 3},
      {{12}, {-1}, 11},
      {{3, 4}, {1, 3}, 0},
      {{3, 4}, {8, 1}, 1},
      {{3, 4}, {0, 1}, 0},
      {{2, 2}, {2, 2}, 0},
      {{3, 1, 4}, {4, 1, -2}, 9},
      {{2, 3, 2}, {6, 1, 3}, 2},
  };
  for (const auto& [shape, strides, first] : forms) {
    BOOST_TEST_CONTEXT(shape.str()) {
      const Array x = from_blob(memory.at() + first, shape, {.strides = strides});
      std::vector<float> expected;
      for (std::int64_t i = 0; i < shape.size(); ++i) {
        std::int64_t rest = i;
        std::int64_t at = first;
        for (int axis = shape.ndim() - 1; axis >= 0; --axis) {
          at += rest % shape[axis] * strides[static_cast<std::size_t>(axis)];
          rest /= shape[axis];
        }
        expected.push_back(static_cast<float>(at));
      }
      BOOST_TEST(x.to_vector<float>() == expected, boost::test_tools::per_element());
      BOOST_TEST((x + 0).to_vector<float>() == expected, boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(strides_that_are_not_one_an_axis_or_reach_too_far_are_refused) {
  const Memory memory(24);
  const std::vector<std::int64_t> all[] = {{4}, {4, 1, 1}, {std::int64_t{1} << 60, 1}, {-(std::int64_t{1} << 60), 1}};
  for (const auto& strides : all) {
    require_error(Errc::invalid_value,
                  [&] {
                    from_blob(memory.at(), {3, 4}, {.strides = strides});
                  },
                  {"strides {" + std::to_string(strides[0]), "[3, 4]", "blobs.cpp:"});
  }
}

BOOST_AUTO_TEST_CASE(an_address_of_nothing_or_off_its_alignment_is_refused) {
  const Memory memory(8);
  require_error(Errc::invalid_value, [] { from_blob(static_cast<float*>(nullptr), {4}); }, {"null", "4 elements"});
  require_error(Errc::invalid_value, [] { from_blob(nullptr, {}, DType::float64); }, {"null"});
  auto* const bytes = reinterpret_cast<std::byte*>(memory.at());
  for (const DType dtype : {DType::int32, DType::int64, DType::float32, DType::float64}) {
    for (std::int64_t off = 1; off < size_of(dtype); ++off) {
      require_error(Errc::invalid_value, [&] { from_blob(bytes + off, {2}, dtype); },
                    {"aligned", std::to_string(size_of(dtype)), to_string(dtype)});
    }
    from_blob(bytes + size_of(dtype), {2}, dtype);
  }
  from_blob(bytes + 1, {2}, DType::bool_);
}

BOOST_AUTO_TEST_CASE(what_else_cannot_be_named_is_refused) {
  const Memory memory(4);
  const Device absent{current_device().kind, 63};
  require_error(Errc::no_device, [&] { from_blob(memory.at(), {4}, {.device = absent}); }, {absent.str()});
  Stream gone;
  const Stream moved = std::move(gone);
  require_error(Errc::invalid_value, [&] { from_blob(memory.at(), {4}, {.stream = gone}); },  // NOLINT
                {"moved from"});
  moved.launch_host_func([&] { from_blob(memory.at(), {4}); });
  require_error(Errc::not_permitted, [&] { moved.synchronize(); }, {"from_blob"});
  require_error(Errc::invalid_value, [&] { from_blob(memory.at(), {-4}); });
}

BOOST_AUTO_TEST_CASE(arrays_without_elements_need_no_memory) {
  Array x = from_blob(static_cast<float*>(nullptr), {0, 3});
  x += 1;
  x.assign(2);
  BOOST_TEST(x.to_vector<float>().empty());
  BOOST_TEST((x * 2).size() == 0);
  const GraphExec exec = capture([&] { x += 1; }).instantiate();
  exec.replay();
  exec.replay();
  synchronize();
}

// Order

BOOST_AUTO_TEST_CASE(arrays_that_name_the_same_bytes_are_ordered_across_streams) {
  const Memory memory(8);
  // The same bytes, one within the other, and two that overlap.
  for (const auto& [first, second] : {std::pair{0, 0}, std::pair{0, 2}, std::pair{2, 0}}) {
    BOOST_TEST_CONTEXT(first << " and " << second) {
      const HazardsScope hazards(Hazards::add);
      synchronize();
      const Stream a;
      const Stream b;
      Array x = from_blob(memory.at(first), {4});
      Array y = from_blob(memory.at(second), {4});
      x.assign(0);
      y.assign(0);
      synchronize();
      clear_diagnostics();
      Gate gate(a);
      on(a, [&] { x += 1; });
      on(b, [&] { y *= 3; });
      BOOST_TEST(!b.query());
      BOOST_TEST(added_orders() == 1U);
      BOOST_TEST((diagnostics()[0].text.find("blobs.cpp:") != std::string::npos), diagnostics()[0].text);
      BOOST_TEST(gate.open());
      BOOST_TEST(from_blob(memory.at(2), {2}).to_vector<float>() == (Numbers{3, 3}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(arrays_of_different_dtypes_that_name_the_same_bytes_are_ordered) {
  const HazardsScope hazards(Hazards::add);
  const Memory memory(8);
  const Stream a;
  const Stream b;
  Array x = from_blob(memory.at(), {8});
  Array y = from_blob(reinterpret_cast<std::int32_t*>(memory.at(4)), {2});
  synchronize();
  Gate gate(a);
  on(a, [&] { x.assign(1); });
  on(b, [&] { y.assign(0); });
  BOOST_TEST(added_orders() == 1U);
  BOOST_TEST(gate.open());
  BOOST_TEST(memory.values() == (Numbers{1, 1, 1, 1, 0, 0, 1, 1}), per_element());
}

BOOST_AUTO_TEST_CASE(a_missing_order_is_an_error_where_hazards_are) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(4);
  const Stream a;
  const Stream b;
  Array x = from_blob(memory.at(), {4});
  Array y = from_blob(memory.at(1), {2});
  on(a, [&] { x += 1; });
  require_error(Errc::illegal_state, [&] { on(b, [&] { y *= 3; }); }, {"mul", "add", "blobs.cpp:"});
  b.wait_stream(a);
  on(b, [&] { y *= 3; });
  BOOST_TEST(memory.values() == (Numbers{1, 3, 3, 1}), per_element());
  on(a, [&] { x += 1; });  // the host has seen the work on the other stream done
  BOOST_TEST(holds(y, 4));
}

BOOST_AUTO_TEST_CASE(an_added_order_is_not_reported_where_hazards_are_ignored) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(4);
  const Stream a;
  const Stream b;
  Gate gate(a);
  on(a, [&] { from_blob(memory.at(), {4}) += 1; });
  on(b, [&] { from_blob(memory.at(), {4}) *= 3; });
  BOOST_TEST(!b.query());
  BOOST_TEST(added_orders() == 0U);
  BOOST_TEST(gate.open());
  BOOST_TEST(memory.values() == (Numbers{3, 3, 3, 3}), per_element());
}

BOOST_AUTO_TEST_CASE(arrays_of_other_bytes_are_free_of_one_another, *boost::unit_test::label("pending")) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(8);
  Array left = from_blob(memory.at(), {4});
  Array right = from_blob(memory.at(4), {4});  // begins where the other ends
  BOOST_TEST(are_free([&] { left += 1; }, [&] { right += 2; }));
  BOOST_TEST(are_free([&] { right += 1; }, [&] { left += 2; }));
  BOOST_TEST(memory.values() == (Numbers{3, 3, 3, 3, 3, 3, 3, 3}), per_element());
}

BOOST_AUTO_TEST_CASE(readers_are_free_of_one_another, *boost::unit_test::label("pending")) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(8);
  const Array x = from_blob(memory.at(), {8});
  const Array y = from_blob(memory.at(2), {4});
  Array sum;
  Array other;
  BOOST_TEST(are_free([&] { sum = x + 1; }, [&] { other = y + 2; }));
  BOOST_TEST(holds(sum, 1));
  BOOST_TEST(holds(other, 2));
}

BOOST_AUTO_TEST_CASE(a_writer_waits_for_all_readers_of_its_bytes) {
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(4);
  const Stream readers[3];
  const Stream writer;
  std::vector<Array> sums;
  std::vector<std::unique_ptr<Gate>> gates;
  for (const Stream& reader : readers) {
    gates.push_back(std::make_unique<Gate>(reader));
    on(reader, [&] { sums.push_back(from_blob(memory.at(), {4}) + 1); });
  }
  on(writer, [&] { from_blob(memory.at(), {4}).assign(9); });
  for (const auto& gate : gates) {
    BOOST_TEST(!writer.query());
    BOOST_TEST(gate->open());
  }
  for (const Array& sum : sums) BOOST_TEST(holds(sum, 1));
  BOOST_TEST(memory.values()[0] == 9);
}

BOOST_AUTO_TEST_CASE(host_reads_wait_for_writers_through_another_array) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(4);
  const Stream stream;
  Array x = from_blob(memory.at(), {4});
  const Array y = from_blob(memory.at(2), {1});
  keep_busy(stream, 20);
  on(stream, [&] { x.assign(5); });
  BOOST_TEST(y.item<float>() == 5);
}

BOOST_AUTO_TEST_CASE(the_first_use_waits_for_the_stream_that_is_given) {
  const HazardsScope hazards(Hazards::error);  // it is an order of the program's
  const Memory memory(4);
  const Stream theirs;
  const Stream mine;
  Array* named = nullptr;
  const std::function<void()> uses[] = {
      [&] { *named += 1; },
      [&] { *named = *named + 1; },
      [&] { named->slice(1, 2).assign(3); },
      [&] { capture([&] { *named += 1; }).instantiate().replay(); },
  };
  for (const auto& use : uses) {
    Gate gate(theirs);
    Array x = from_blob(memory.at(), {4}, {.stream = theirs});
    named = &x;
    on(mine, use);
    BOOST_TEST(!mine.query());
    BOOST_TEST(gate.open());
    mine.synchronize();
    BOOST_TEST(theirs.query());
  }
}

BOOST_AUTO_TEST_CASE(an_op_in_place_reads_what_was_there_before_however_its_operands_overlap) {
  const Memory memory(6);
  Array whole = from_blob(memory.at(), {2, 3});
  const Numbers counted{1, 2, 3, 4, 5, 6};
  const auto count = [&] {
    copy_from(whole, borrowed(std::span<const float>(counted)));
    synchronize();
  };
  const auto values_after = [&](int target, int source, int size) {
    count();
    from_blob(memory.at(target), {size}) += from_blob(memory.at(source), {size});
    return memory.values();
  };
  BOOST_TEST(values_after(1, 0, 5) == (Numbers{1, 3, 5, 7, 9, 11}), per_element());
  BOOST_TEST(values_after(0, 1, 5) == (Numbers{3, 5, 7, 9, 11, 6}), per_element());
  BOOST_TEST(values_after(2, 2, 4) == (Numbers{1, 2, 6, 8, 10, 12}), per_element());
  count();
  whole += from_blob(memory.at(2), {1, 3});  // broadcast over what it is read from
  BOOST_TEST(memory.values() == (Numbers{4, 6, 8, 7, 9, 11}), per_element());
  count();
  from_blob(memory.at(1), {5}).assign(from_blob(memory.at(), {5}));
  BOOST_TEST(memory.values() == (Numbers{1, 1, 2, 3, 4, 5}), per_element());
  // Elements of another size at the same place: the second one of the target lies on the third of the source.
  const Memory numbers(4);
  Array wide = from_blob(reinterpret_cast<double*>(numbers.at()), {2});
  Array narrow = from_blob(reinterpret_cast<std::int32_t*>(numbers.at()), {2});
  wide.assign(0);
  narrow.slice(0, 1).assign(1);
  narrow.slice(1, 2).assign(2);
  wide.assign(narrow);
  BOOST_TEST(wide.to_vector<double>() == (std::vector<double>{1, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(copies_read_and_write_memory_of_other_code_in_order) {
  const HazardsScope hazards(Hazards::error);
  const Memory memory(4);
  Array x = from_blob(memory.at(), {4});
  Numbers numbers{1, 2, 3, 4};
  copy_from(x, borrowed(std::span<const float>(numbers)));
  x += 1;
  copy_to(x, borrowed(std::span<float>(numbers)));
  synchronize();
  BOOST_TEST(numbers == (Numbers{2, 3, 4, 5}), per_element());
  const auto devices = two_devices();
  if (!devices) return;
  const Array there = to_device(x, devices->second);
  x.assign(0);
  BOOST_TEST(there.to_vector<float>() == (Numbers{2, 3, 4, 5}), per_element());
}

BOOST_AUTO_TEST_CASE(threads_that_name_the_same_bytes_lose_nothing) {
  constexpr int threads = 4;
  constexpr int rounds = 100;
  const HazardsScope hazards(Hazards::ignore);
  const Memory memory(4);
  BOOST_TEST(on_threads(threads, [&, device = current_device()](int) {
    const Stream stream(device);
    const StreamGuard guard(stream);
    for (int i = 0; i < rounds; ++i) from_blob(memory.at(), {4}) += 1;
    return true;
  }));
  BOOST_TEST(memory.values()[3] == threads * rounds);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
