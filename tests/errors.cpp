// Bad input is refused with a code, the values and a remedy, at the call, and everything works afterwards.

#include "support.hpp"
#include "support_reference.hpp"

#include <limits>
#include <thread>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

/// The place of this line, as errors name it.
std::string line_of(SourceLocation where) { return std::string(where.file) + ":" + std::to_string(where.line); }

template <class Fn>
std::string text_of_error(Fn fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void require_everything_works() {
  BOOST_TEST(holds(filled(1) + 2, 3));
  auto captured = capture([] { return filled(1) + 2; });
  captured.first.instantiate().replay();
  BOOST_TEST(holds(captured.second, 3));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(an_error_tells_code_call_object_and_place) {
  const Array a = ones({2});
  SourceLocation line;
  try {
    line = SourceLocation::current(), a.item<float>();
    BOOST_FAIL("nothing was thrown");
  } catch (const Error& error) {
    BOOST_TEST((error.code() == Errc::invalid_value));
    BOOST_TEST(error.call() == "item");
    BOOST_TEST(error.object().find("[2]") != std::string::npos);
    BOOST_TEST(error.where().file == line.file);
    BOOST_TEST(error.where().line == line.line);
    BOOST_TEST(std::string(error.what()).find("[item]") == 0u);
  }
}

BOOST_AUTO_TEST_CASE(codes_shared_with_cuda_have_its_numbers_and_names) {
  BOOST_TEST(static_cast<int>(Errc::invalid_value) == 1);
  BOOST_TEST(static_cast<int>(Errc::illegal_state) == 401);
  BOOST_TEST(static_cast<int>(Errc::capture_unsupported) == 900);
  BOOST_TEST(static_cast<int>(Errc::captured_event) == 907);
  BOOST_TEST(to_string(Errc::capture_unjoined) == "capture_unjoined");
  BOOST_TEST(to_string(Errc::out_of_memory) == "out_of_memory");
}

BOOST_AUTO_TEST_CASE(negative_sizes_are_refused) {
  require_error(Errc::invalid_value, [] { zeros({-1, 2}); }, {"[-1, 2]", "-1", "negative"});
  require_error(Errc::invalid_value, [] { full({3, -4}, 1); }, {"[3, -4]", "-4"});
  require_error(Errc::invalid_value, [] { randn({-2}); }, {"[-2]"});
  require_error(Errc::invalid_value, [] { empty({0, -1}); }, {"[0, -1]", "-1"});
}

BOOST_AUTO_TEST_CASE(sizes_that_overflow_are_refused, *label("report-66")) {
  constexpr std::int64_t big = std::int64_t{1} << 40;
  require_error(Errc::invalid_value, [] { zeros({big, big}); }, {"[1099511627776, 1099511627776]"});
  require_error(Errc::invalid_value, [] { rand({std::int64_t{1} << 62}); }, {"[4611686018427387904]"});
  require_error(Errc::invalid_value,
                [] {
                  empty({3, std::numeric_limits<std::int64_t>::max()});
                },
                {"9223372036854775807"});
  require_error(Errc::invalid_value, [] { full({-1, 2}, 0); }, {"-1"});
  BOOST_TEST(zeros({big, 0, big}).size() == 0);
}

BOOST_AUTO_TEST_CASE(a_broadcast_result_that_overflows_is_refused) {
  // No operand is large: each has one long axis without elements beside the others.
  constexpr std::int64_t big = std::int64_t{1} << 40;
  BOOST_TEST((zeros({0, big, 1}) + zeros({1, 1, 1})).size() == 0);
  require_error(Errc::invalid_value, [] { Shape({big, 1, big}); }, {"1099511627776"});
}

BOOST_AUTO_TEST_CASE(more_than_8_axes_are_refused) {
  BOOST_TEST(zeros({1, 1, 1, 1, 1, 1, 1, 1}).ndim() == 8);
  require_error(Errc::invalid_value, [] { zeros({1, 1, 1, 1, 1, 1, 1, 1, 1}); }, {"9", "8"});
}

BOOST_AUTO_TEST_CASE(mismatched_shapes_name_the_line_of_the_operator) {
  const Array a = ones({2, 3});
  const Array b = ones({4});
  std::string line;
  const std::string added = text_of_error([&] { line = line_of(SourceLocation::current()), a + b; });
  BOOST_TEST(added.find(line) != std::string::npos, line << " is missing in " << added);
  BOOST_TEST(line.find("errors.cpp:") != std::string::npos);
  for (const char* part : {"[add]", "[2, 3]", "[4]", "3 and 4"}) {
    BOOST_TEST(added.find(part) != std::string::npos, part << " is missing in " << added);
  }
  const std::string divided = text_of_error([&] { line = line_of(SourceLocation::current()), a / b; });
  BOOST_TEST(divided.find(line) != std::string::npos, line << " is missing in " << divided);
  Array target = ones({2, 3});
  const std::string in_place = text_of_error([&] { line = line_of(SourceLocation::current()), target *= b; });
  BOOST_TEST(in_place.find(line) != std::string::npos, line << " is missing in " << in_place);
  const std::string assigned = text_of_error([&] { line = line_of(SourceLocation::current()), target.assign(b); });
  BOOST_TEST(assigned.find(line) != std::string::npos, line << " is missing in " << assigned);
  require_everything_works();
}

BOOST_AUTO_TEST_CASE(mismatched_shapes_in_a_capture_leave_it_intact) {
  for (const bool live : live_modes) {
    const Array a = ones({2, 3});
    const Array b = ones({4});
    auto captured = capture(
        [&] {
          const Array before = a + 1;
          require_error(Errc::invalid_value, [&] { a + b; }, {"[2, 3]", "[4]", "errors.cpp:"});
          return before * 2;
        },
        {.live = live});
    BOOST_TEST(captured.first.node_count() == 2);
    captured.first.instantiate().replay();
    BOOST_TEST(holds(captured.second, 4));
  }
}

BOOST_AUTO_TEST_CASE(in_place_ops_keep_the_targets_shape) {
  Array small = ones({3});
  const Array large = ones({2, 3});
  require_error(Errc::invalid_value, [&] { small += large; }, {"[3]", "[2, 3]", "in-place"});
  require_error(Errc::invalid_value, [&] { small.assign(large); }, {"[3]", "[2, 3]"});
  BOOST_TEST(holds(small, 1));
}

BOOST_AUTO_TEST_CASE(arrays_of_two_devices_are_refused) {
  const auto devices = two_devices();
  if (!devices) return;
  const Array a = ones({2}, {.device = devices->first});
  Array b = ones({3}, {.device = devices->second});
  require_error(Errc::wrong_device, [&] { a + b; },
                {devices->first.str(), devices->second.str(), "[2]", "[3]", "to_device", "errors.cpp:"});
  require_error(Errc::wrong_device, [&] { b += a; }, {devices->first.str(), devices->second.str()});
  require_error(Errc::wrong_device, [&] { b.assign(a); }, {devices->first.str(), devices->second.str()});
  BOOST_TEST(holds(b, 1));
}

BOOST_AUTO_TEST_CASE(devices_that_are_not_there_are_refused) {
  const Device absent{current_device().kind, 63};
  require_error(Errc::no_device, [&] { zeros({1}, {.device = absent}); }, {absent.str(), current_device().str()});
  require_error(Errc::no_device, [&] { rand({1}, {.device = absent}); }, {absent.str()});
  require_error(Errc::no_device, [&] { memory_stats(absent); }, {absent.str()});
  require_error(Errc::no_device, [&] { generator_state(absent); }, {absent.str()});
  require_error(Errc::no_device, [&] { zeros({1}, {.device = Device{current_device().kind, -1}}); }, {":-1"});
}

BOOST_AUTO_TEST_CASE(item_wants_exactly_one_element) {
  require_error(Errc::invalid_value, [] { ones({2}).item<float>(); }, {"[2]", "2 elements", "to_vector"});
  require_error(Errc::invalid_value, [] { zeros({0}).item<float>(); }, {"[0]", "0 elements", "to_vector"});
}

BOOST_AUTO_TEST_CASE(to_vector_wants_the_arrays_own_type) {
  require_error(Errc::invalid_value, [] { ones({2}).to_vector<double>(); }, {"float32", "float64", "cast"});
  require_error(Errc::invalid_value, [] { zeros({0}).to_vector<std::int32_t>(); }, {"float32", "int32", "cast"});
}

BOOST_AUTO_TEST_CASE(from_host_wants_as_many_elements_as_the_shape_holds) {
  const std::vector<float> three = {1, 2, 3};
  require_error(Errc::invalid_value, [&] { from_host(three, {2, 2}); }, {"[2, 2]", "4", "3", "errors.cpp:"});
  require_error(Errc::invalid_value, [&] { from_host(three, {0}); }, {"[0]", "3"});
}

BOOST_AUTO_TEST_CASE(an_empty_handle_is_refused_by_every_use) {
  const Array none;
  Array target = ones({2});
  BOOST_TEST(!none.defined());
  const std::initializer_list<std::function<void()>> uses = {
      [&] { none.shape(); },
      [&] { none.size(); },
      [&] { none.dtype(); },
      [&] { none.device(); },
      [&] { none.item<float>(); },
      [&] { none.to_vector<float>(); },
      [&] { none.cast(DType::int32); },
      [&] { none + target; },
      [&] { target* none; },
      [&] { 1 - none; },
      [&] { -none; },
      [&] { target += none; },
      [&] { Array() += 1; },
      [&] { target.assign(none); },
      [&] { Array().assign(1); },
  };
  for (const auto& use : uses) require_error(Errc::invalid_value, use, {"empty array", "assign", "errors.cpp:"});
  BOOST_TEST(holds(target, 1));
}

BOOST_AUTO_TEST_CASE(an_array_moved_from_is_refused) {
  Array a = ones({2});
  const Array constructed = std::move(a);
  require_error(Errc::invalid_value, [&] { a.shape(); }, {"moved from"});  // NOLINT(bugprone-use-after-move)
  Array b = ones({2});
  Array assigned = zeros({3});
  assigned = std::move(b);
  BOOST_TEST(!b.defined());  // NOLINT(bugprone-use-after-move)
  require_error(Errc::invalid_value, [&] { b + 1; }, {"moved from"});
  b = zeros({2});
  BOOST_TEST(holds(b, 0));
  BOOST_TEST(holds(assigned, 1));
}

BOOST_AUTO_TEST_CASE(a_captured_array_read_too_early_names_the_remedy_and_where_it_was_made) {
  std::string line;
  auto captured = capture([&] { return line = line_of(SourceLocation::current()), ones({3}) + 1; });
  const Array& made = captured.second;
  require_error(Errc::illegal_state, [&] { made.to_vector<float>(); }, {"to_vector", line, "replay", "errors.cpp:"});
  require_error(Errc::illegal_state, [&] { made + 1; }, {"add", line, "replay"});
  require_error(Errc::illegal_state, [&] { full({}, 0).assign(made); }, {"replay"});
  const GraphExec exec = captured.first.instantiate();
  require_error(Errc::illegal_state, [&] { made.to_vector<float>(); }, {"replay"});
  BOOST_TEST(made.shape().str() == "[3]");
  exec.replay();
  BOOST_TEST(holds(made, 2));
}

BOOST_AUTO_TEST_CASE(an_array_of_a_discarded_capture_has_no_values_ever) {
  for (const bool live : live_modes) {
    Array made;
    {
      const Capture discarded({.live = live});
      made = ones({3}) + 1;
    }
    require_error(Errc::illegal_state, [&] { made.to_vector<float>(); }, {"discarded", "again"});
    require_error(Errc::illegal_state, [&] { made + 1; }, {"discarded", "again"});
    require_error(Errc::illegal_state, [&] { made += 1; }, {"discarded", "again"});
    auto captured = capture([&] { require_error(Errc::illegal_state, [&] { made + 1; }, {"discarded"}); });
    BOOST_TEST(captured.node_count() == 0);
    made = ones({3});
    BOOST_TEST(holds(made, 1));
  }
}

BOOST_AUTO_TEST_CASE(a_graph_that_reads_an_array_of_a_graph_never_replayed_is_refused) {
  auto first = capture([] { return ones({3}); });
  auto second = capture([&] { return first.second + 1; });
  const GraphExec exec = second.first.instantiate();
  require_error(Errc::illegal_state, [&] { exec.replay(); }, {"replay", "first"});
  first.first.instantiate().replay();
  exec.replay();
  BOOST_TEST(holds(second.second, 2));
}

BOOST_AUTO_TEST_CASE(an_array_of_another_open_capture_is_refused) {
  const Stream a;
  Capture other(a);
  const Array theirs = [&] {
    const StreamGuard on(a);
    return ones({3});
  }();
  const Graph graph = on_another_thread([&] {
    return capture([&] { require_error(Errc::capture_merge, [&] { theirs + 1; }, {"another open capture"}); });
  });
  BOOST_TEST(graph.node_count() == 0);
  BOOST_TEST(other.end().node_count() == 1);
}

BOOST_AUTO_TEST_CASE(device_names_that_are_none_are_refused) {
  for (const char* bad : {"", "gpu", "cuda:", "cuda:x", "host:-1", "host:1 ", "cuda:99999999999", ":0", "HOST"}) {
    require_error(Errc::invalid_value, [&] { Device::parse(bad); }, {'"' + std::string(bad) + '"', "host:N"});
  }
  BOOST_TEST(Device::parse("host") == (Device{DeviceKind::host, 0}));
  BOOST_TEST(Device::parse("cuda:3") == (Device{DeviceKind::cuda, 3}));
  BOOST_TEST(Device::parse("cuda:3").str() == "cuda:3");
}

BOOST_AUTO_TEST_CASE(empty_graph_handles_are_refused) {
  require_error(Errc::illegal_state, [] { Graph().node_count(); }, {"empty Graph"});
  require_error(Errc::illegal_state, [] { Graph().instantiate(); }, {"empty Graph"});
  require_error(Errc::illegal_state, [] { GraphExec().replay(); }, {"empty GraphExec"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
