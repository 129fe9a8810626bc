#include "support_programs.hpp"

#include "support_foreign_work.hpp"

#include <refrain/data.hpp>
#include <refrain/distributions.hpp>

#include <algorithm>
#include <iterator>
#include <ostream>

namespace refrain::test {

namespace {

constexpr std::size_t states = 3;
constexpr std::size_t lanes = 3;
constexpr std::int64_t small_sizes[] = {1, 3, 7, 48, 48, 300, 1025};

enum Kind : int {
  function,
  arithmetic,
  difference,
  row_added,
  column_times,
  add_in_place,
  assign,
  rows_in_place,
  columns_in_place,
  view_in_place,
  transposed,
  draw,
  centred,
  reduction,
  cast,
  integers,
  move,
  expand,
  host_function,
  smalls_by_factor,
  smalls_in_place,
  smalls_by_sum,
  by_one_element,
  wait_stream,
  record_event,
  wait_event,
  // Programs without these have their branches chosen by the passes.
  blend,
  triple,
  undeclared
};
constexpr int plain_kinds = Kind::blend;
constexpr int all_kinds = Kind::undeclared + 1;

}  // namespace

Array program_of_many_sizes(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Array> values;
  const auto any = [&]() -> const Array& { return values[random() % values.size()]; };
  Array sum = zeros({});
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<std::int64_t>(100 + random() % 5000);
    switch (random() % 5) {
      case 0: values.push_back(rand({n})); break;
      case 1: values.push_back(values.empty() ? rand({n}) : any() * 2); break;
      case 2: values.push_back(values.empty() ? rand({n}) : roll(any(), 1) + 1); break;
      case 3: values.push_back(values.empty() ? rand({n}) : any().slice({.step = 2}).contiguous()); break;
      default:
        if (!values.empty()) sum = sum + mean(any());
        break;
    }
    if (values.size() > 6) values.erase(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
  }
  return sum;
}

std::vector<Step> make_program(std::mt19937& random) {
  std::vector<Step> program(5 + random() % 25);
  const unsigned kinds = random() % 3 == 0 ? all_kinds : plain_kinds;
  const bool has_host_functions = random() % 4 == 0;
  for (Step& step : program) {
    step = {static_cast<int>(random() % kinds), random() % lanes, random() % states, random(), random(),
            static_cast<unsigned>(random())};
    if (step.kind == Kind::host_function && !has_host_functions) step.kind = Kind::reduction;
  }
  return program;
}

std::ostream& operator<<(std::ostream& out, const Step& step) {
  return out << "kind " << step.kind << ", stream " << step.stream << ", target " << step.target << ", left "
             << step.left << ", right " << step.right << ", choice " << step.choice;
}

bool has_factor(const std::vector<Step>& program) {
  return std::any_of(program.begin(), program.end(), [](const Step& step) {
    return step.kind == Kind::smalls_by_factor && (step.choice & ((1U << std::size(small_sizes)) - 1)) != 0;
  });
}

ProgramMachine::ProgramMachine(std::int64_t rows, std::int64_t columns)
    : rows_(rows), columns_(columns), streams_(lanes), orders_(states) {
  for (std::size_t i = 0; i < states; ++i) states_.push_back(initial(i));
  for (std::size_t i = 0; i < std::size(small_sizes); ++i) smalls_.push_back(initial_small(i));
  for (std::size_t i = 0; i < states; ++i) first_states_.push_back(initial(i));
  for (std::size_t i = 0; i < std::size(small_sizes); ++i) first_smalls_.push_back(initial_small(i));
}

void ProgramMachine::reset() {
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].assign(first_states_[i]);
  for (std::size_t i = 0; i < smalls_.size(); ++i) smalls_[i].assign(first_smalls_[i]);
  manual_seed(5);
}

std::vector<Array> ProgramMachine::run(const std::vector<Step>& program) {
  values_ = states_;
  events_ = std::vector<Event>(2);
  const bool has_undeclared =
      std::any_of(program.begin(), program.end(), [](const Step& step) { return step.kind == Kind::undeclared; });
  for (Order& order : orders_) order = {std::vector<bool>(lanes, false), std::nullopt};
  if (has_undeclared) {  // after what was done to the states before
    for (const Stream& stream : streams_) stream.wait_stream(current_stream());
  }
  for (const Step& step : program) {
    const StreamGuard on(streams_[step.stream]);
    execute(step);
  }
  std::vector<Array> results = states_;
  results.insert(results.end(), smalls_.begin(), smalls_.end());
  results.push_back(values_.back());
  if (values_.size() > states + 2) results.push_back(values_[states + 1]);
  values_.clear();
  for (const Stream& stream : streams_) current_stream().wait_stream(stream);
  return results;
}

Array ProgramMachine::initial(std::size_t number) const {
  std::vector<float> values(static_cast<std::size_t>(rows_ * columns_));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 13 + number) % 29) * 0.11F - 1.2F;
  }
  return from_host(values, shape());
}

Array ProgramMachine::initial_small(std::size_t number) {
  std::vector<float> values(static_cast<std::size_t>(small_sizes[number]));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7 + number) % 23) * 0.13F - 1.4F;
  return from_host(values, {small_sizes[number]});
}

void ProgramMachine::execute(const Step& step) {
  if (step.kind == Kind::undeclared) return blend_undeclared(step);
  wait_for_undeclared(step);
  const unsigned choice = step.choice;
  const Array a = values_[step.left % values_.size()];
  const Array b = values_[step.right % values_.size()];
  Array target = states_[step.target];
  const Stream& stream = streams_[step.stream];
  const auto row = static_cast<std::int64_t>(choice) % rows_;
  const auto column = static_cast<std::int64_t>(choice) % columns_;
  const Way way = choice % 2 == 0 ? Way::enqueue : Way::launch;
  switch (static_cast<Kind>(step.kind)) {
    case Kind::function: return add(choice % 3 == 0 ? tanh(a) : choice % 3 == 1 ? abs(a) + 0.5F : relu(a));
    case Kind::arithmetic: return add(choice % 2 == 0 ? a + b : a * b);
    case Kind::difference: return add(a - b * 0.25F);
    case Kind::row_added: return add(a + b.select(row));
    case Kind::column_times: return add(a * b.slice({.begin = column, .end = column + 1}, 1));
    case Kind::add_in_place: target += b; return;
    case Kind::assign: return target.assign(choice % 3 == 0 ? a : choice % 3 == 1 ? a.flip(1) : moved(a, choice));
    case Kind::rows_in_place: target.slice(0, 3) += a.slice(3, 6); return;
    case Kind::columns_in_place: target.slice({.begin = 1, .end = 7, .step = 2}, 1) *= 0.5F; return;
    case Kind::view_in_place: return write_view(target, a, choice);
    case Kind::transposed: return add(a.transpose(0, 1).contiguous().reshape(shape()));
    case Kind::draw: return add(choice % 2 == 0 ? drawn(choice / 2) + a : a * drawn(choice / 2));
    case Kind::centred: return add(a - mean(b, -1, true));
    case Kind::reduction: return add(a + reduced(b, choice));
    case Kind::cast: return add(where(a < b, a.cast(DType::float16).cast(DType::float32), b.cast(DType::bfloat16)));
    case Kind::integers: return add((a * 8).cast(DType::int32) % 5 * (b * 3).cast(DType::int32) + b);
    case Kind::move: return add(moved(a, choice) + b);
    case Kind::expand: return add(a.select(row).expand(shape()) * b + a.flip(0));
    case Kind::host_function:
      if (choice % 4 == 0) current_stream().launch_host_func([] {});
      return add(a + 1);
    case Kind::smalls_by_factor: return each_small(step, [&](Array& small) { small = small * factor_ + 0.25F; });
    case Kind::smalls_in_place: return each_small(step, [&](Array& small) { small *= 0.75F; });
    case Kind::smalls_by_sum: {
      const Array one = sum(a) * 0.01F;
      return each_small(step, [&](Array& small) { small.assign(small * one - tanh(small)); });
    }
    case Kind::by_one_element: {  // of what others may write before or while its readers run
      if (choice % 5 == 0) smalls_[0] *= 0.75F;
      const Array one = tanh(choice % 3 == 0 ? smalls_[0] : b.select(row).select(column)) * 0.5F + 1;
      if (choice % 4 == 0) return add(a * one);
      if (choice % 4 == 1) {
        target *= one;
        return;
      }
      return each_small(step, [&](Array& small) { small.assign(small * one); });
    }
    case Kind::wait_stream: return streams_[choice % lanes].wait_stream(stream);
    case Kind::record_event: return events_[choice % events_.size()].record(stream);
    case Kind::wait_event: return stream.wait_event(events_[choice % events_.size()]);
    case Kind::blend: return foreign_blend(stream, way, target, a);
    case Kind::triple: {
      const Array made = empty(shape());
      foreign_triple(stream, way, made, a);
      return add(made);
    }
    case Kind::undeclared: break;
  }
}

/// What a step may touch of states that an undeclared command had before, it touches after that.
void ProgramMachine::wait_for_undeclared(const Step& step) {
  for (const std::size_t state : {step.left % values_.size(), step.right % values_.size(), step.target}) {
    if (state >= states) continue;
    Order& order = orders_[state];
    if (order.undeclared && !order.is_used_on[step.stream]) streams_[step.stream].wait_event(*order.undeclared);
    order.is_used_on[step.stream] = true;
  }
}

void ProgramMachine::blend_undeclared(const Step& step) {
  const Stream& stream = streams_[step.stream];
  const std::size_t source = step.left % states;
  for (const std::size_t state : {step.target, source}) {
    const Order& order = orders_[state];
    if (order.undeclared) stream.wait_event(*order.undeclared);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (lane != step.stream && order.is_used_on[lane]) stream.wait_stream(streams_[lane]);
    }
  }
  undeclared_blend(stream, step.choice % 2 == 0 ? Way::enqueue : Way::launch, data<float>(states_[step.target]),
                   data<const float>(states_[source]), rows_ * columns_);
  Event done;
  done.record(stream);
  for (const std::size_t state : {step.target, source}) orders_[state] = {std::vector<bool>(lanes, false), done};
}

void ProgramMachine::write_view(Array& target, const Array& source, unsigned choice) const {
  const auto column = static_cast<std::int64_t>(choice / 8) % (columns_ - 1);
  switch (choice % 4) {
    case 0: return target.select(column, 1).assign(source.select(column + 1, 1));
    case 1: target.flip(0).slice(1, 4) -= source.slice(2, 5); return;
    case 2: return target.slice({.begin = column, .end = column + 2}, 1).assign(source.select(column, 1).unsqueeze(1));
    default: target.reshape({rows_ * columns_}).slice(5, 9) += target.reshape({rows_ * columns_}).slice(0, 4); return;
  }
}

/// Of any shape that goes with the arrays'.
Array ProgramMachine::reduced(const Array& a, unsigned choice) const {
  switch (choice % 10) {
    case 0: return sum(a, 0);
    case 1: return max(a, -1, true);
    case 2: return var(a, -1, 1, true) * 0.5F;
    case 3: return softmax(a, -1);
    case 4: return softmax(a, 0);
    case 5: return any(a > 1, -1, true).cast(DType::float32);
    case 6: return argmax(a, 1, true).cast(DType::float32) * 0.01F;
    case 7: return dot(a.reshape({rows_ * columns_}), a.reshape({rows_ * columns_})) * 0.001F;
    case 8: return sum((a * 16).cast(DType::int32)) * 0.001F;
    default: return min(a);
  }
}

Array ProgramMachine::drawn(unsigned choice) const {
  switch (choice % 8) {
    case 0: return bernoulli(0.75, shape());
    case 1: return normal(0.5, 2, shape(), {.dtype = DType::float16}).cast(DType::float32);
    case 2: return randint(-3, 4, shape(), {.dtype = DType::int32}).cast(DType::float32);
    case 3: return exponential(1.5, {columns_});
    case 4:
    case 5: return rand(shape());
    default: return randn(shape());
  }
}

Array ProgramMachine::moved(const Array& a, unsigned choice) {
  const auto shift = static_cast<std::int64_t>(choice / 8 % 19) - 9;
  switch (choice % 8) {
    case 0: return roll(a, shift, 0);
    case 1: return roll(a, {shift, shift / 2}, {1, 0});
    case 2: return roll(a, shift);
    case 3: return roll(a.flip(0).transpose(0, 1), shift, 0).transpose(0, 1);
    case 4: return take(a, (a * 8).cast(DType::int64));
    case 5: return take(a, (a.select(2) * 2).cast(DType::int32), 1);
    default: return roll(a, shift, 1);
  }
}

template <class Fn>
void ProgramMachine::each_small(const Step& step, Fn change) {
  for (std::size_t i = 0; i < smalls_.size(); ++i) {
    if ((step.choice >> i & 1) == 0) continue;
    const StreamGuard on(streams_[(step.stream + (step.choice >> (i + 8) & 1)) % lanes]);
    Array value = smalls_[i];
    change(value);
    smalls_[i].assign(value);
  }
}

}  // namespace refrain::test
