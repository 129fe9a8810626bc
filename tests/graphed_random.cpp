// Random functions of arguments, captured arrays and state, called with random arrays: graphed against plain calls, bit
// for bit. Arguments are whole arrays, parts of some, the same ones twice, earlier results, and memory of other code's
// that overlaps. REFRAIN_FUZZ=N runs N functions from REFRAIN_FUZZ_SEED on (0).

#include "support.hpp"
#include "support_fuzz.hpp"
#include "support_memory.hpp"

#include <boost/test/unit_test.hpp>
#include <refrain/refrain.hpp>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace refrain::test {

namespace {

constexpr std::int64_t length = 4;  // of what ops work on
constexpr int calls = 12;
constexpr int ops = 19;
constexpr int values = 6;

/// One step of a function: which op, on what, into which value.
struct Op {
  int kind;
  int left;
  int right;
  int target;
  int choice;
};

std::vector<Op> make_function(std::mt19937& random) {
  std::vector<Op> function(3 + random() % 10);
  for (Op& op : function) {
    op = {static_cast<int>(random() % ops), static_cast<int>(random() % 13), static_cast<int>(random() % 13),
          static_cast<int>(random() % values), static_cast<int>(random() % 16)};
  }
  return function;
}

/// What a function works on besides its arguments.
struct World {
  std::vector<Array> arrays;  ///< the first two are captured
  Array first_state = full({length}, 0.5F);
  Array second_state = full({length}, 0.25F);
  Memory foreign{16};
  Stream side;

  World() {
    for (int i = 0; i < 6; ++i) arrays.push_back(full({2 * length}, static_cast<float>(i + 1)));
    foreign.fill(1.5F);
  }
};

Array bounded(const Array& x) { return minimum(maximum(x, -50), 50); }

/// Runs a function: x and y may become other arrays, z not.
class Body {
 public:
  Body(World& world, Array& x, Array& y, const Array& z, const Param<float>& rate)
      : world_(world), x_(x), y_(y), z_(z), rate_(rate), values_(values) {
    for (Array& value : values_) value = part(z) * 0;
  }

  std::vector<Array> run(const std::vector<Op>& function, bool has_side) {
    for (const Op& op : function) {
      if (has_side && op.choice % 4 == 0 && op.kind < 10) {
        world_.side.wait_stream(current_stream());
        {
          const StreamGuard on(world_.side);
          execute(op);
        }
        current_stream().wait_stream(world_.side);
      } else {
        execute(op);
      }
    }
    for (int i = 0; i < 7; ++i) {  // numbers stay small over many calls
      if (i == 2) continue;
      Array array = named(i);
      array.assign(bounded(array));
    }
    results_.push_back(values_.front());
    return results_;
  }

 private:
  static Array part(const Array& array) { return array.size() == 2 * length ? array.slice(1, 1 + length) : array; }

  const Array& named(int number) {
    switch (number) {
      case 0: return x_;
      case 1: return y_;
      case 2: return z_;
      case 3:
      case 4: return world_.arrays[static_cast<std::size_t>(number - 3)];
      case 5: return world_.first_state;
      case 6: return world_.second_state;
      default: return values_[static_cast<std::size_t>((number - 7) % values)];
    }
  }

  void execute(const Op& op) {
    Array a = part(named(op.left));
    const Array b = part(named(op.right));
    Array& target = values_[static_cast<std::size_t>(op.target)];
    const float number = static_cast<float>(op.choice) * 0.25F - 1;
    switch (op.kind) {
      case 0: target = a + b; break;
      case 1: target = a * 0.5F + b * number; break;
      case 2: target = a * rate_; break;
      case 3: a += b; break;
      case 4: a *= 0.5F; break;
      case 5: a.assign(b); break;
      case 6: target = sum(a) + b; break;
      case 7: target = a + rand({length}); break;
      case 8: {
        Array two = a.slice(op.choice % 3, op.choice % 3 + 2);
        two += number;
        break;
      }
      case 9: {
        Array front = a.slice(0, 2);
        front.assign(b.slice(2, 4) * 0.25F);
        break;
      }
      case 10: results_.push_back(target); break;
      case 11: results_.push_back(named(op.left)); break;
      case 12: (op.left % 2 != 0 ? world_.first_state : world_.second_state) = target; break;
      case 13: x_ = target; break;
      case 14: y_ = a + 1; break;
      case 15: std::swap(world_.first_state, world_.second_state); break;
      case 16: results_.push_back(target.slice(1, 3)); break;
      case 17: target = roll(a, 1); break;
      default:
        a -= b;
        a.assign(bounded(a));
        break;
    }
  }

  World& world_;
  Array& x_;
  Array& y_;
  const Array& z_;
  const Param<float>& rate_;
  std::vector<Array> values_;
  std::vector<Array> results_;
};

/// An argument of a call: of this world, or a result of the call before.
Array argument(World& world, const std::vector<Array>& earlier, unsigned kind, unsigned which, unsigned offset) {
  const auto begin = static_cast<std::int64_t>(offset);
  switch (kind) {
    case 0: return world.arrays[2 + which % 4];
    case 1: return world.arrays[2 + which % 4].slice(begin, begin + length);
    case 2: return world.arrays[which % 2].slice(begin, begin + length);
    case 3: return world.arrays[which % 6];
    case 4: return world.first_state;
    case 5: return from_blob(world.foreign.at(static_cast<std::int64_t>(which % 2 * 6 + offset)), {length});
    case 6:
      if (!earlier.empty() && earlier[which % earlier.size()].size() == length) return earlier[which % earlier.size()];
      [[fallthrough]];
    default: return full({length}, static_cast<float>(which + offset));
  }
}

/// What differs after the same calls; empty when nothing does.
std::string difference(unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<Op> function = make_function(random);
  const bool has_side = random() % 2 == 0;
  World mine;
  World given;
  auto step = graphed([&](Array& x, Array& y, const Array& z,
                          const Param<float>& rate) { return Body(given, x, y, z, rate).run(function, has_side); },
                      {.buffer_sets = static_cast<int>(1 + random() % 4)});
  step.state(given.first_state, given.second_state);

  std::string found;
  const auto compare = [&](const Array& expected, const Array& array, const std::string& name) {
    if (found.empty() && expected.to_vector<float>() != array.to_vector<float>()) found = name;
  };
  std::deque<std::pair<std::vector<Array>, std::vector<Array>>> held;
  std::vector<Array> my_earlier;
  std::vector<Array> earlier;
  for (int call = 0; call < calls && found.empty(); ++call) {
    // Few kinds of calls a function, so that most are replays.
    std::mt19937 kind(seed * 7 + random() % 2);
    const auto shift = static_cast<unsigned>(random() % 4);
    std::vector<Array> my_arguments;
    std::vector<Array> arguments;
    for (int i = 0; i < 3; ++i) {
      const auto of = static_cast<unsigned>(kind() % 8);
      const auto which = static_cast<unsigned>(kind() % 6) + (of < 2 ? shift : 0);
      const auto offset = static_cast<unsigned>(kind() % 4);
      my_arguments.push_back(argument(mine, my_earlier, of, which, offset));
      arguments.push_back(argument(given, earlier, of, which, offset));
    }
    const Param<float> rate(static_cast<float>(random() % 4) * 0.5F);
    const std::string name = "call " + std::to_string(call) + ": ";
    manual_seed(static_cast<std::uint64_t>(call));
    my_earlier = Body(mine, my_arguments[0], my_arguments[1], my_arguments[2], rate).run(function, has_side);
    const Array my_next = rand({2});
    manual_seed(static_cast<std::uint64_t>(call));
    earlier = step(arguments[0], arguments[1], arguments[2], rate);
    const Array next = rand({2});

    if (my_earlier.size() != earlier.size()) return name + "another number of results";
    for (std::size_t i = 0; i < earlier.size(); ++i)
      compare(my_earlier[i], earlier[i], name + "result " + std::to_string(i));
    for (std::size_t i = 0; i < 3; ++i) compare(my_arguments[i], arguments[i], name + "argument " + std::to_string(i));
    for (std::size_t i = 0; i < 6; ++i) compare(mine.arrays[i], given.arrays[i], name + "array " + std::to_string(i));
    compare(mine.first_state, given.first_state, name + "the first state");
    compare(mine.second_state, given.second_state, name + "the second state");
    compare(my_next, next, name + "random numbers after it");
    if (found.empty() && mine.foreign.values() != given.foreign.values()) found = name + "memory of other code's";
    held.emplace_back(my_earlier, earlier);
    if (held.size() > 5) held.pop_front();
    for (const auto& [expected, arrays] : held) {
      for (std::size_t i = 0; i < arrays.size(); ++i) compare(expected[i], arrays[i], name + "a result that was held");
    }
  }
  return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graphed_random)

BOOST_AUTO_TEST_CASE(calls_are_what_plain_calls_are) {
  const HazardsScope hazards(Hazards::ignore);
  const FuzzRange range = fuzz_range(current_device().kind == DeviceKind::host ? 400 : 24);
  for (unsigned seed = range.first; seed < range.end(); ++seed) {
    const std::string found = difference(seed);
    BOOST_TEST(found.empty(), "function " << seed << ", " << found);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
