// What leaves a view: values on the host, text, copies to memory and to devices, and arguments of the program's own
// work.

#include "support.hpp"
#include "support_concurrency.hpp"
#include "support_reference.hpp"

#include <refrain/enqueue.hpp>

#include <numeric>
#include <sstream>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;
using View = Array (*)(const Array&);

constexpr DType dtypes[] = {DType::bool_,   DType::uint8,    DType::int32,   DType::int64,
                            DType::float16, DType::bfloat16, DType::float32, DType::float64};

/// 0, 1, 2, ... in this shape.
Array counted(Shape shape, DType dtype = DType::float32) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(shape.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return from_host(numbers, shape).cast(dtype);
}

Numbers values(const Array& array) { return array.to_vector<float>(); }

/// Of a 4 x 6 array, none of them in row-major order.
constexpr View views[] = {
    [](const Array& x) { return x.transpose(0, 1); },
    [](const Array& x) { return x.slice({.begin = 1, .end = 6, .step = 2}, 1); },
    [](const Array& x) { return x.flip(0).flip(1); },
    [](const Array& x) { return x.select(2, 1); },
    [](const Array& x) { return x.slice({.begin = 3, .step = -2}).transpose(0, 1).unsqueeze(1); },
    [](const Array& x) {
      return x.slice({.begin = 2, .end = 3}, 1).expand({4, 3});
    },
    [](const Array& x) {
      return x.reshape({2, 2, 6}).permute({2, 0, 1});
    },
};

/// The same elements, gathered here from those of the 4 x 6 array and the places that the view names.
std::vector<double> gathered(const Array& x, View view) {
  const std::vector<double> all = numbers(x);
  std::vector<double> some;
  for (const double place : numbers(view(counted({4, 6})) + 0)) some.push_back(all[static_cast<std::size_t>(place)]);
  return some;
}

std::string text(const Array& array) {
  std::ostringstream out;
  out << array;
  return out.str();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(view_reads, *label("sanitize"))

BOOST_AUTO_TEST_CASE(elements_are_read_in_row_major_order) {
  for (const DType dtype : dtypes) {
    const Array x = counted({4, 6}, dtype);
    for (const View view : views) {
      BOOST_TEST(!view(x).is_contiguous());
      BOOST_TEST(numbers(view(x)) == gathered(x, view), per_element());
    }
  }
  BOOST_TEST(counted({4, 6}).transpose(0, 1).select(4).select(3).item<int>() == 22);
  BOOST_TEST(counted({4, 6}).slice({.begin = 1, .end = 2}, 1).slice({.step = -9}).item<float>() == 19);
  require_error(Errc::invalid_value, [] { counted({4, 6}).select(0, 1).item<float>(); }, {"4 elements"});
}

BOOST_AUTO_TEST_CASE(a_view_prints_as_an_array_of_its_elements_does) {
  for (const DType dtype : {DType::int64, DType::float32, DType::bool_}) {
    const Array x = counted({4, 6}, dtype);
    for (const View view : views) BOOST_TEST(text(view(x)) == text(view(x).contiguous()));
  }
  BOOST_TEST(text(counted({2, 3}, DType::int32).transpose(0, 1)) ==
             "array([[0, 3],\n       [1, 4],\n       [2, 5]], dtype=int32, device=" + current_device().str() + ")");
}

BOOST_AUTO_TEST_CASE(large_views_print_their_edges, *label("report-76")) {
  const Array x = counted({100, 200}, DType::int32);
  for (const char* row : {"[0, 200, 400, ..., 19400, 19600, 19800]", "[199, 399, 599, ..., 19599, 19799, 19999]"}) {
    BOOST_TEST(text(x.transpose(0, 1)).find(row) != std::string::npos, row);
  }
  BOOST_TEST(text(x.flip(1).slice({.step = 3})).find("[199, 198, 197, ..., 2, 1, 0]") != std::string::npos);
  BOOST_TEST(text(x.flatten().slice({.begin = -1, .step = -2})).find("[19999, 19997, 19995, ..., 5, 3, 1]") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(only_the_edges_of_what_is_printed_are_read, *label("report-76")) {
  // More elements than there is memory for.
  constexpr std::int64_t many = std::int64_t{1} << 25;
  const Array column = counted({7, 1}, DType::int32).expand({7, many});
  const std::string rows = text(column.transpose(0, 1));
  BOOST_TEST(rows.find("[0, 1, 2, ..., 4, 5, 6]") != std::string::npos, rows);
  BOOST_TEST(text(full({}, 3).expand({many, many})).find("[3., 3., 3., ..., 3., 3., 3.]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(views_without_values_are_not_read) {
  auto [graph, x] = capture([] { return counted({4, 6}) + 1; });
  const Array view = x.transpose(0, 1);
  require_error(Errc::illegal_state, [&] { values(view); }, {"[to_vector]"});
  require_error(Errc::illegal_state, [&] { text(view); }, {"[print]"});
  require_error(Errc::illegal_state, [&] { view.contiguous(); }, {"[contiguous]"});
  const Array ready = counted({4, 6}).transpose(0, 1);
  capture([&] {
    require_error(Errc::capture_unsupported, [&] { values(ready); });
    require_error(Errc::capture_unsupported, [&] { text(ready); });
    require_error(Errc::capture_unsupported, [&] { ready.select(0).select(0).item<float>(); });
  });
}

BOOST_AUTO_TEST_CASE(reading_a_view_waits_for_the_last_writer_whatever_is_asked_of_the_program) {
  const HazardsScope hazards(Hazards::error);
  const Stream a;
  Array x = zeros({4, 6});
  synchronize();
  for (int i = 1; i <= 5; ++i) {
    {
      const StreamGuard on(a);
      keep_busy(a, 5);
      x += 1;
    }
    BOOST_TEST(holds(x.transpose(0, 1), i));
    BOOST_TEST(x.flip(0).select(1, 1).select(1).item<float>() == static_cast<float>(i));
    BOOST_TEST(text(x.transpose(0, 1)).find("[" + std::to_string(i) + ".") != std::string::npos);
  }
  BOOST_TEST(diagnostics().empty());
}

BOOST_AUTO_TEST_CASE(reading_a_view_does_not_wait_for_work_that_does_not_write_it,
                     *boost::unit_test::label("pending")) {
  const Array x = counted({4, 6}) + 1;
  synchronize();
  const Stream busy;
  const StreamGuard on(busy);
  BOOST_TEST(seen_pending(busy, [&] {
    BOOST_TEST(x.transpose(0, 1).flip(0).select(5).select(0).item<float>() == 1);
    BOOST_TEST(values(x.transpose(0, 1).select(1)) == (Numbers{2, 8, 14, 20}), per_element());
    BOOST_TEST(text(x.flip(1)).find("[6., 5., 4., 3., 2., 1.]") != std::string::npos);
    return busy.query();
  }));
}

BOOST_AUTO_TEST_CASE(views_are_copied_to_memory_of_the_programs) {
  const Array x = counted({4, 6});
  for (const View view : views) {
    for (const Mode mode : all_modes) {
      Numbers memory(static_cast<std::size_t>(view(x).size()), -1.0F);
      run_as(mode, [&] {
        copy_to(view(x), borrowed(std::span(memory)));
        return x;
      });
      synchronize();
      const std::vector<double> expected = gathered(x, view);
      BOOST_TEST(memory == Numbers(expected.begin(), expected.end()), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(each_replay_copies_the_view_anew) {
  Array x = counted({2, 3});
  Numbers there(3);
  const Numbers here = {7, 8, 9};
  const GraphExec exec = capture([&] {
                           copy_to(x.flip(1).select(0), borrowed(std::span(there)));
                           Array row = x.flip(1).select(1);
                           copy_from(row, borrowed(std::span(here)));
                         }).instantiate();
  for (int i = 0; i < 3; ++i) {
    exec.replay();
    synchronize();
    const auto added = static_cast<float>(10 * i);
    BOOST_TEST(there == (Numbers{2 + added, 1 + added, added}), per_element());
    BOOST_TEST(values(x.select(1)) == (Numbers{9, 8, 7}), per_element());
    x += 10;
  }
}

BOOST_AUTO_TEST_CASE(views_go_to_the_host_and_come_from_there) {
  const Device host{DeviceKind::host, 0};
  const Device here = current_device();
  const Array x = counted({4, 6});
  for (const View view : views) {
    const Array there = to_device(view(x), host);
    BOOST_TEST(there.device() == host);
    BOOST_TEST(there.shape() == view(x).shape());
    BOOST_TEST(numbers(there) == gathered(x, view), per_element());
    const Array back = to_device(view(to_device(x, host)), here);
    BOOST_TEST(back.device() == here);
    BOOST_TEST(numbers(back) == gathered(x, view), per_element());
    for (const Mode mode : graph_modes) {
      const Array replayed = run_as(mode, [&] { return to_device(view(x), host); });
      BOOST_TEST(numbers(replayed) == gathered(x, view), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_view_of_the_host_is_taken_into_a_capture_of_the_device) {
  const Device host{DeviceKind::host, 0};
  const Array x = to_device(counted({4, 6}), host);
  const Array expected = counted({4, 6}).transpose(0, 1) + 1;
  for (const Mode mode : graph_modes) {
    const Array taken = run_as(mode, [&, here = current_device()] { return to_device(x.transpose(0, 1), here) + 1; });
    BOOST_TEST(same_bits(taken, expected));
  }
}

BOOST_AUTO_TEST_CASE(work_of_the_programs_own_takes_dense_views_alone) {
  const Stream stream;
  const Array x = counted({4, 6});
  stream.wait_stream(current_stream());
  for (const View view : views) {
    const auto enqueue = [&](const auto& access) {
      stream.enqueue("own", access, on_cuda([](cudaStream_t, float*) {}), on_host([](float*) {}));
    };
    const Array some = view(x);
    require_error(Errc::invalid_value, [&] { enqueue(read(some)); }, {"[own]", "argument 0", "x.contiguous()"});
    require_error(Errc::invalid_value, [&] { enqueue(write(some)); }, {"[own]"});
    require_error(Errc::invalid_value, [&] { enqueue(readwrite(some)); }, {"[own]"});
    const Graph graph = capture(stream, [&] { require_error(Errc::invalid_value, [&] { enqueue(read(some)); }); });
    BOOST_TEST(graph.node_count() == 0);
  }
}

BOOST_AUTO_TEST_CASE(work_of_the_programs_own_gets_the_address_of_a_dense_views_first_element) {
  const Array x = counted({4, 6});
  const auto address_of = [&](const Array& array) {
    const float* address = nullptr;
    const Stream stream;
    stream.wait_stream(current_stream());
    stream.enqueue("own", read(array), on_cuda([&](cudaStream_t, const float* p) { address = p; }),
                   on_host([&](const float* p) { address = p; }));
    stream.synchronize();
    return address;
  };
  const float* const first = address_of(x);
  BOOST_TEST(address_of(x.select(2)) == first + 12);
  BOOST_TEST(address_of(x.flip(0).flip(0).slice(1, 3)) == first + 6);
  BOOST_TEST(address_of(x.flip(1).select(1).slice({.begin = 2, .end = 3})) == first + 9);
  BOOST_TEST(address_of(x.transpose(0, 1).transpose(0, 1).reshape({3, 8}).unsqueeze(0)) == first);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
