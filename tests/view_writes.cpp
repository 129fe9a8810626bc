// Writing through views: which elements change, and what is read before it is overwritten.

#include "support.hpp"
#include "support_memory.hpp"
#include "support_reference.hpp"

#include <algorithm>
#include <numeric>
#include <random>

using boost::test_tools::per_element;
using boost::unit_test::label;

namespace refrain::test {

namespace {

using Numbers = std::vector<float>;
using View = std::function<Array(const Array&)>;

Numbers counted_numbers(std::int64_t size) {
  Numbers numbers(static_cast<std::size_t>(size));
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

/// 0, 1, 2, ... in this shape.
Array counted(Shape shape) { return from_host(counted_numbers(shape.size()), shape); }

Numbers values(const Array& array) { return array.to_vector<float>(); }

/// Where the elements of a view of an array of this shape are. What views name is checked in view_shapes.cpp.
std::vector<std::size_t> places(const View& view, const Shape& shape) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(shape.size()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<std::int64_t> some = view(from_host(all, shape)).to_vector<std::int64_t>();
  return {some.begin(), some.end()};
}

/// An op in place, and what it makes of one element.
struct InPlace {
  const char* name;
  void (*run)(Array& target, const Operand& source);
  float (*of)(float target, float source);
};

constexpr InPlace assigns = {"assign", [](Array& x, const Operand& y) { x.assign(y); },
                             [](float, float y) { return y; }};
constexpr InPlace in_place_ops[] = {
    assigns,
    {"+=", [](Array& x, const Operand& y) { x += y; }, [](float x, float y) { return x + y; }},
    {"-=", [](Array& x, const Operand& y) { x -= y; }, [](float x, float y) { return x - y; }},
    {"*=", [](Array& x, const Operand& y) { x *= y; }, [](float x, float y) { return x * y; }},
    {"/=", [](Array& x, const Operand& y) { x /= y; }, [](float x, float y) { return x / y; }},
};

/// Does the op on the elements at these places; the source is read first, and repeated as often as the target needs.
void reference(const InPlace& op, Numbers& numbers, const std::vector<std::size_t>& target,
               const std::vector<std::size_t>& source) {
  Numbers read;
  for (std::size_t i = 0; i < target.size(); ++i) read.push_back(numbers[source[i % source.size()]]);
  for (std::size_t i = 0; i < target.size(); ++i) numbers[target[i]] = op.of(numbers[target[i]], read[i]);
}

/// Runs the program so often: as it is, or as one graph.
void run_times(Mode mode, int times, const std::function<void()>& program) {
  if (mode == Mode::eager) {
    for (int i = 0; i < times; ++i) program();
    return;
  }
  const GraphExec exec = capture(program, capture_options(mode)).instantiate(instantiate_options(mode));
  for (int i = 0; i < times; ++i) exec.replay();
}

bool same(const Numbers& a, const Numbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return x == y || (x != x && y != y); });
}

/// A target and a source in one array.
struct Pair {
  const char* name;
  Shape shape;
  View target;
  View source;
};

/// Every op on the two, several times in a row, in every mode, against the reference.
void check_pair(const Pair& pair) {
  const std::vector<std::size_t> target = places(pair.target, pair.shape);
  const std::vector<std::size_t> source = places(pair.source, pair.shape);
  for (const InPlace& op : in_place_ops) {
    Numbers expected = counted_numbers(pair.shape.size());
    constexpr int times = 3;
    for (int i = 0; i < times; ++i) reference(op, expected, target, source);
    for (const Mode mode : all_modes) {
      Array x = counted(pair.shape);
      run_times(mode, times, [&] {
        Array to = pair.target(x);
        op.run(to, pair.source(x));
      });
      BOOST_TEST(same(values(x), expected), pair.name << " " << op.name << " " << mode);
    }
  }
}

/// Every second position of the axis from `begin` on.
Array every_second(const Array& x, std::int64_t begin = 0, int axis = 0) {
  return x.slice({.begin = begin, .step = 2}, axis);
}

/// A view of a 6 x 6 x 6 array: the axes in any order, of each so many positions with any step that fits.
Array any_view(const Array& x, const std::int64_t (&counts)[3], std::mt19937& random) {
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  constexpr int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  const auto& order = orders[pick(0, 5)];
  Array view = x.permute({order[0], order[1], order[2]});
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t count = counts[axis];
    const std::int64_t step = pick(1, count > 3 ? 1 : 2);
    const std::int64_t reach = (count - 1) * step;
    const std::int64_t begin = pick(0, 5 - reach);
    view = view.slice({.begin = begin, .end = begin + reach + 1, .step = step}, axis);
    if (pick(0, 2) == 0) view = view.flip(axis);
  }
  return view;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(view_writes, *label("sanitize"))

BOOST_AUTO_TEST_CASE(a_view_is_written_and_its_neighbours_keep_what_they_have, *label("report-78")) {
  const std::pair<Shape, View> targets[] = {
      {{40, 30}, [](const Array& x) { return every_second(x, 1, 1); }},
      {{40, 30}, [](const Array& x) { return every_second(x, 1, 1).flip(0); }},
      {{40, 30}, [](const Array& x) { return x.slice({.begin = 3, .end = -3}, 1).transpose(0, 1); }},
      {{40, 30}, [](const Array& x) { return x.select(7, 1); }},
      {{6, 5, 4, 3},
       [](const Array& x) {
         return x.permute({3, 1, 0, 2}).slice({.begin = 2, .step = -2});
       }},
      {{2, 3, 2, 3, 2, 3},
       [](const Array& x) {
         return x.permute({5, 0, 4, 1, 3, 2}).select(1, 2);
       }},
      {{1001}, [](const Array& x) { return x.slice({.begin = 990, .end = 10, .step = -7}); }},
      {{8}, [](const Array& x) { return x.slice({.begin = 3, .end = 3, .step = 5}); }},
  };
  for (const auto& [shape, view] : targets) {
    const std::vector<std::size_t> target = places(view, shape);
    const Shape view_shape = view(zeros(shape)).shape();
    const Array source = counted(view_shape) + 7;
    for (const InPlace& op : in_place_ops) {
      Numbers expected(static_cast<std::size_t>(shape.size()), -3.0F);
      for (std::size_t i = 0; i < target.size(); ++i) expected[target[i]] = op.of(-3, static_cast<float>(i) + 7);
      for (const Mode mode : all_modes) {
        Array out = full(shape, -3);
        run_times(mode, 1, [&] {
          Array to = view(out);
          op.run(to, source);
        });
        BOOST_TEST(same(values(out), expected), view_shape << " " << op.name << " " << mode);
      }
    }
    for (const Mode mode : all_modes) {
      Numbers expected(static_cast<std::size_t>(shape.size()), -3.0F);
      for (const std::size_t place : target) expected[place] = 2.5F;
      Array out = full(shape, -3);
      run_times(mode, 1, [&] { view(out).assign(2.5); });
      BOOST_TEST(same(values(out), expected), view_shape << " scalar " << mode);
    }
  }
}

BOOST_AUTO_TEST_CASE(memory_of_the_programs_is_copied_into_a_view, *label("report-78")) {
  const Numbers numbers = counted_numbers(12);
  for (const Mode mode : all_modes) {
    Array out = full({4, 6}, -3);
    run_times(mode, 2, [&] {
      Array columns = every_second(out, 0, 1);
      copy_from(columns, borrowed(std::span<const float>(numbers)));
    });
    BOOST_TEST(
        values(out) == (Numbers{0, -3, 1, -3, 2, -3, 3, -3, 4, -3, 5, -3, 6, -3, 7, -3, 8, -3, 9, -3, 10, -3, 11, -3}),
        per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_target_that_overlaps_its_source_gets_what_a_temporary_would_give, *label("report-71")) {
  const Pair pairs[] = {
      {"transposed", {512, 512}, [](const Array& x) { return x; }, [](const Array& x) { return x.transpose(0, 1); }},
      {"into the transposed",
       {65, 65},
       [](const Array& x) { return x.transpose(0, 1); },
       [](const Array& x) { return x; }},
      {"rows down",
       {512, 40},
       [](const Array& x) { return x.slice(1, 512); },
       [](const Array& x) { return x.slice(0, 511); }},
      {"rows up",
       {512, 40},
       [](const Array& x) { return x.slice(0, 511); },
       [](const Array& x) { return x.slice(1, 512); }},
      {"columns right",
       {40, 300},
       [](const Array& x) { return x.slice({.begin = 1}, 1); },
       [](const Array& x) { return x.slice({.end = -1}, 1); }},
      {"reversed", {10001}, [](const Array& x) { return x; }, [](const Array& x) { return x.flip(0); }},
      {"rows reversed", {33, 40}, [](const Array& x) { return x.flip(0); }, [](const Array& x) { return x; }},
      {"reversed alike", {10001}, [](const Array& x) { return x.flip(0); }, [](const Array& x) { return x.flip(0); }},
      {"another step",
       {10000},
       [](const Array& x) { return x.slice(0, 5000); },
       [](const Array& x) { return every_second(x); }},
      {"into another step",
       {10000},
       [](const Array& x) { return every_second(x); },
       [](const Array& x) { return x.slice(0, 5000); }},
      {"interleaved",
       {10000},
       [](const Array& x) { return every_second(x); },
       [](const Array& x) { return every_second(x, 1); }},
      {"permuted",
       {20, 20, 20},
       [](const Array& x) { return x; },
       [](const Array& x) {
         return x.permute({2, 0, 1});
       }},
      {"a row into all", {100, 50}, [](const Array& x) { return x; }, [](const Array& x) { return x.select(3); }},
      {"an element into all", {3000}, [](const Array& x) { return x; }, [](const Array& x) { return x.select(1500); }},
      {"the same",
       {64, 64},
       [](const Array& x) { return x.transpose(0, 1); },
       [](const Array& x) { return x.transpose(0, 1); }},
      {"the same in another shape",
       {64, 32},
       [](const Array& x) { return x.flatten(); },
       [](const Array& x) {
         return x.reshape({32, 64}).flatten();
       }},
  };
  for (const Pair& pair : pairs) check_pair(pair);
}

BOOST_AUTO_TEST_CASE(any_two_views_of_an_array_may_overlap, *label("report-71")) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::int64_t counts[3];
    for (std::int64_t& count : counts) count = std::uniform_int_distribution<std::int64_t>(1, 5)(random);
    std::int64_t source_counts[3] = {counts[0], counts[1], counts[2]};
    if (seed % 4 == 0) source_counts[seed / 4 % 3] = 1;  // repeated
    const unsigned views = random();
    const auto target = [&](const Array& x) {
      std::mt19937 again(views);
      return any_view(x, counts, again);
    };
    const auto source = [&](const Array& x) {
      std::mt19937 again(views + seed % 2);  // alike, where it is 0
      return any_view(x, source_counts, again).expand({counts[0], counts[1], counts[2]});
    };
    const InPlace& op = in_place_ops[seed % 3];
    const Shape shape = {6, 6, 6};
    Numbers expected = counted_numbers(shape.size());
    for (int i = 0; i < 2; ++i) reference(op, expected, places(target, shape), places(source, shape));
    for (const Mode mode : seed % 8 < 6 ? std::vector{Mode::eager} : std::vector<Mode>(all_modes)) {
      Array x = counted(shape);
      run_times(mode, 2, [&] {
        Array to = target(x);
        op.run(to, source(x));
      });
      BOOST_TEST(same(values(x), expected), "seed " << seed << " " << op.name << " " << mode);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_transposed_sum_in_place_is_the_same_each_time, *label("report-71")) {
  for (int run = 0; run < 20; ++run) {
    Array x = counted({512, 512});
    const Array apart = x + x.transpose(0, 1);
    x += x.transpose(0, 1);
    BOOST_TEST_REQUIRE(same_bits(x, apart));
  }
}

BOOST_AUTO_TEST_CASE(arrays_of_other_codes_memory_that_overlap_are_seen, *label("report-71")) {
  constexpr std::int64_t size = 4000;
  using Blob = std::function<Array(const Memory&)>;
  const Blob front = [](const Memory& memory) { return from_blob(memory.at(), {size - 1}); };
  const Blob back = [](const Memory& memory) { return from_blob(memory.at(1), {size - 1}); };
  const Blob reversed = [](const Memory& memory) {
    return from_blob(memory.at(size - 2), {size - 1}, {.strides = {-1}});
  };
  const Blob backwards = [](const Memory& memory) { return from_blob(memory.at(), {size - 1}).flip(0); };
  const std::pair<Blob, Blob> pairs[] = {{front, back},     {back, front},         {front, reversed}, {reversed, back},
                                         {reversed, front}, {backwards, reversed}, {front, front}};
  for (const auto& [target, source] : pairs) {
    const auto places_of = [&](const Blob& blob) {
      const Memory memory(size);
      from_blob(memory.at(), {size}).assign(counted({size}));
      const Numbers numbers = values(blob(memory));
      return std::vector<std::size_t>(numbers.begin(), numbers.end());
    };
    const std::vector<std::size_t> to = places_of(target);
    const std::vector<std::size_t> from = places_of(source);
    for (const InPlace& op : in_place_ops) {
      Numbers expected = counted_numbers(size);
      for (int i = 0; i < 2; ++i) reference(op, expected, to, from);
      for (const Mode mode : all_modes) {
        const Memory memory(size);
        from_blob(memory.at(), {size}).assign(counted({size}));
        run_times(mode, 2, [&] {
          Array x = target(memory);
          op.run(x, source(memory));
        });
        BOOST_TEST(same(memory.values(), expected), op.name << " " << mode);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(an_overlap_of_two_dtypes_is_seen) {
  constexpr std::int64_t size = 512;
  const auto as_floats = [](const Memory& memory) { return from_blob(memory.at(), {size}, DType::float32); };
  const auto as_ints = [](const Memory& memory) { return from_blob(memory.at(), {size}, DType::int32); };
  const auto as_bytes = [](const Memory& memory) { return from_blob(memory.at(), {size}, DType::uint8); };
  for (const Mode mode : all_modes) {
    const Memory memory(size);
    as_ints(memory).assign(counted({size}).cast(DType::int32));
    run_times(mode, 1, [&] { as_floats(memory).assign(as_ints(memory)); });  // of one size: in place
    BOOST_TEST(memory.values() == counted_numbers(size), per_element());
    as_bytes(memory).assign(counted({size}).cast(DType::uint8));
    run_times(mode, 1, [&] { as_floats(memory).assign(as_bytes(memory)); });
    const Numbers numbers = memory.values();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      BOOST_TEST_REQUIRE(numbers[i] == std::min(static_cast<float>(i), 255.0F));
  }
}

BOOST_AUTO_TEST_CASE(views_that_have_an_element_twice_are_not_written) {
  const Memory memory(64);
  const Numbers numbers(64, 1.0F);
  Array targets[] = {
      zeros({1, 3}).expand({2, 3}),
      zeros({}).expand({4}),
      zeros({4, 1}).expand({4, 2}).flip(0).transpose(0, 1),
      from_blob(memory.at(), {4, 3}, {.strides = {1, 1}}),
      from_blob(memory.at(), {4, 3}, {.strides = {2, 1}}),
      from_blob(memory.at(8), {4, 3}, {.strides = {-2, 1}}),
      from_blob(memory.at(), {3}, {.strides = {0}}),
  };
  for (Array& target : targets) {
    const auto refused = [&] {
      require_error(Errc::invalid_value, [&] { target += 1; }, {"[add]", "one in memory"});
      require_error(Errc::invalid_value, [&] { target.assign(2); }, {"[assign]"});
      require_error(Errc::invalid_value, [&] { target.assign(target); }, {"[assign]"});
      const std::span<const float> some(numbers.data(), static_cast<std::size_t>(target.size()));
      require_error(Errc::invalid_value, [&] { copy_from(target, borrowed(some)); }, {"[copy_from]"});
    };
    refused();
    for (const Mode mode : graph_modes) BOOST_TEST(capture(refused, capture_options(mode)).node_count() == 0);
    BOOST_TEST(holds(target.contiguous(), 0));
  }
  for (const auto& strides : {std::vector<std::int64_t>{3, 1}, {1, 4}, {-3, -1}, {12, -5}}) {
    from_blob(memory.at(20), {4, 3}, {.strides = strides}) += 1;
  }
  zeros({1, 3}).expand({1, 3}) += 1;
  zeros({2, 0, 1}).expand({2, 0, 5}) += 1;
}

BOOST_AUTO_TEST_CASE(a_refused_order_leaves_no_part_of_a_copy_into_a_view) {
  const HazardsScope hazards(Hazards::error);
  Array x = zeros({4, 2});
  synchronize();
  const Numbers numbers(4, 1.0F);
  const Graph graph = capture([&] {
    const Stream a;
    const Stream b;
    {
      const StreamGuard on(a);
      x += 1;
    }
    const StreamGuard on(b);
    Array column = x.select(1, 1);
    require_error(Errc::illegal_state, [&] { copy_from(column, borrowed(std::span<const float>(numbers))); },
                  {"[copy_from]"});
  });
  BOOST_TEST(graph.node_count() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
