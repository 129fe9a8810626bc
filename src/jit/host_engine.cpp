#include "jit/host_engine.hpp"

#include "jit/host_rows.hpp"
#include "jit/host_scratch.hpp"
#include "kernels/host.hpp"
#include "kernels/random_plan.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace refrain::jit {

using kernels::element_size;
using kernels::random_block;
using kernels::random_tile;
using kernels::Row;
using kernels::RowInput;
using kernels::RowOutput;
using kernels::Type;

namespace {

/// Positions computed together: a register of eight-byte numbers is 16 KiB.
constexpr std::int64_t tile = 2048;
constexpr std::size_t register_bytes = tile * 8;
/// Positions that parts begin at multiples of: shorter than a tile, for what takes long for each.
constexpr std::int64_t part_step = 256;

RowInput moved_on(const RowInput& row, std::int64_t elements, std::int64_t bytes) {
  return {static_cast<const std::byte*>(row.data) + elements * row.stride * bytes, row.stride};
}
RowOutput moved_on(const RowOutput& row, std::int64_t elements, std::int64_t bytes) {
  return {static_cast<std::byte*>(row.data) + elements * row.stride * bytes, row.stride};
}

/// Positions from one to another, a row at a time.
template <class Tile>
void over_rows(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t step, Tile tile_at) {
  while (begin < end) {
    const std::int64_t n = std::min({end - begin, row - begin % row, step});
    tile_at(begin, n);
    begin += n;
  }
}

}  // namespace

class HostEngine::Frame {
 public:
  Frame(const HostEngine& engine, const Expression& expression, void* const* addresses,
        std::span<const kernels::Value> scalars)
      : engine_(engine), expression_(expression), outputs_(expression_.outputs.size()) {
    const std::size_t arrays = expression_.arrays();
    const std::size_t draws = expression_.draws.size();
    const std::size_t values = scalars.size() + engine.singles_.size();
    const std::size_t tables = (arrays * sizeof(RowInput) + values * 8 + 63) / 64 * 64;
    registers_ = scratch(tables + (static_cast<std::size_t>(engine.registers_) + draws) * register_bytes);
    drawn_ = registers_ + static_cast<std::size_t>(engine.registers_) * register_bytes;
    std::byte* const rest = drawn_ + draws * register_bytes;
    at_ = reinterpret_cast<RowInput*>(rest);
    scalars_ = reinterpret_cast<kernels::u64*>(rest + arrays * sizeof(RowInput));
    for (std::size_t i = 0; i < arrays; ++i)
      at_[i] = {addresses[i], expression_.layout(i).strides[expression_.ndim - 1]};
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      scalars_[i] = kernels::scalar_bits(expression_.scalars[i], scalars[i]);
    }
    addresses_ = addresses;
    singles_ = scalars_ + scalars.size();
    constexpr Segment one[] = {{0, 1}};
    for (const Op& op : engine.singles_) engine.run_op(*this, op, one);
  }

  /// All arrays at this position, the first of n of a tile.
  void go_to(std::int64_t position, std::int64_t n) {
    std::int64_t index[kernels::max_ndim];
    std::int64_t rest = position;
    for (int axis = expression_.ndim - 1; axis >= 0; --axis) {
      index[axis] = axis > 0 ? rest % expression_.extents[axis] : rest;
      rest /= axis > 0 ? expression_.extents[axis] : 1;
    }
    for (std::size_t i = 0; i < expression_.arrays(); ++i) {
      std::int64_t offset = 0;
      for (int axis = 0; axis < expression_.ndim; ++axis) offset += index[axis] * expression_.layout(i).strides[axis];
      at_[i].data = static_cast<std::byte*>(addresses_[i]) + offset * element_size(expression_.layout(i).type);
    }
    if (!expression_.windows.empty()) {
      segments_ = engine_.known_segments(position, n);
      if (segments_ == nullptr) {
        found_.resize(expression_.windows.size());
        find_segments(expression_, index, n, found_);
        segments_ = &found_;
      }
    }
    for (std::size_t i = 0; i < expression_.inputs.size(); ++i) {
      if (engine_.rooms_[i] < 0) continue;
      const Layout& from = expression_.inputs[i];
      std::byte* const room = registers_ + static_cast<std::size_t>(engine_.rooms_[i]) * register_bytes;
      RowInput& at = at_[outputs_ + i];
      at.stride = from.strides[expression_.ndim - 1];
      if (from.window >= 0) {
        at = fetch_parts(from.type, at, segments(from.window), n, room);
      } else {
        at = fetch(expression_, from, addresses_[outputs_ + i], position, n, room);
      }
    }
  }

  /// What of the tile lies within a window.
  const std::vector<Segment>& segments(int window) const { return (*segments_)[static_cast<std::size_t>(window)]; }

  /// Operand 0 within a window of the tile, else operand 1; the result may lie where one of them does.
  void choose(const Op& op, std::int64_t n) const {
    const RowOutput out = output(op.result);
    const auto copy = [&](const RowInput& from, std::int64_t begin, std::int64_t end) {
      if (begin == end || from.data == out.data) return;
      const RowInput part = moved_on(from, begin, op.bytes);
      op.row(&part, moved_on(out, begin, op.bytes), end - begin);
    };
    std::int64_t done = 0;
    for (const auto [begin, end] : segments(op.window)) {
      copy(input(op.operands[1]), done, begin);
      copy(input(op.operands[0]), begin, end);
      done = end;
    }
    copy(input(op.operands[1]), done, n);
  }

  /// Which of the drawn numbers the next tile takes: those of a plane, from one on.
  void take_drawn(int plane, std::int64_t first) { first_drawn_ = plane * random_tile + first; }
  void* drawn(std::size_t draw) const { return drawn_ + draw * register_bytes; }

  RowInput input(Source source) const {
    const auto number = static_cast<std::size_t>(source.number);
    switch (source.kind) {
      case Source::Kind::memory: return at_[outputs_ + number];
      case Source::Kind::output: return at_[number];
      case Source::Kind::scalar: return {&scalars_[number], 0};
      case Source::Kind::drawn: {
        const std::int64_t bytes = first_drawn_ * element_size(expression_.draws[number].type);
        return {drawn_ + number * register_bytes + bytes, 1};
      }
      case Source::Kind::single: return {&singles_[number], 0};
      case Source::Kind::own: break;
    }
    return {registers_ + number * register_bytes, 1};
  }
  RowOutput output(Source source) const {
    const RowInput place = input(source);
    return {const_cast<void*>(place.data), place.stride};
  }

 private:
  const HostEngine& engine_;
  const Expression& expression_;
  std::size_t outputs_;
  std::byte* registers_;
  std::byte* drawn_;
  RowInput* at_;
  kernels::u64* scalars_;
  kernels::u64* singles_;
  void* const* addresses_;
  std::int64_t first_drawn_ = 0;
  const Segments* segments_ = nullptr;
  Segments found_;
};

HostEngine::HostEngine(std::shared_ptr<const Expression> expression)
    : expression_(std::move(expression)), parts_(find_parts(*expression_)) {
  if (expression_->has_rows()) {
    rows_ = std::make_unique<const HostRows>(expression_);
  } else {
    find_rooms();
    place_values();
    if (is_one_row_) segments_ = find_all_segments(*expression_, tile);
  }
}

HostEngine::~HostEngine() = default;

void HostEngine::find_rooms() {
  is_one_row_ = true;
  std::int64_t dense[kernels::max_ndim];
  std::int64_t inner = 1;
  for (int axis = expression_->ndim - 1; axis >= 0; --axis) {
    dense[axis] = inner;
    inner *= expression_->extents[axis];
  }
  const auto look_at = [&](const Layout& layout) {
    const auto* const end = layout.strides + expression_->ndim;
    is_one_row_ = is_one_row_ && (layout.is_dense || !layout.wraps.empty() || std::equal(layout.strides, end, dense) ||
                                  std::all_of(layout.strides, end, [](std::int64_t stride) { return stride == 0; }));
  };
  for (const Layout& output : expression_->outputs) look_at(output);
  for (const Layout& input : expression_->inputs) {
    look_at(input);
    rooms_.push_back(input.wraps.empty() ? -1 : registers_++);
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Instruction& load = expression_->code[i];
    if (load.kind != Instruction::Kind::load) continue;
    const auto input = static_cast<std::size_t>(load.number);
    const int window = expression_->inputs[input].window;
    if (window >= 0 && parts_[i] != window) rooms_[input] = registers_++;
  }
}

std::vector<bool> HostEngine::find_singles() const {
  std::vector<bool> is_single;
  for (const Instruction& instruction : expression_->code) {
    bool is_same = instruction.kind == Instruction::Kind::scalar || instruction.kind == Instruction::Kind::op;
    if (instruction.kind == Instruction::Kind::load) {
      is_same = expression_->inputs[static_cast<std::size_t>(instruction.number)].is_single;
    }
    for (int k = 0; k < instruction.operand_count(); ++k) {
      is_same = is_same && is_single[static_cast<std::size_t>(instruction.operands[k])];
    }
    is_single.push_back(is_same);
  }
  return is_single;
}

HostEngine::Op HostEngine::make_op(std::size_t number, const std::vector<Source>& values) const {
  const Instruction& instruction = expression_->code[number];
  Op op{};
  op.operand_count = instruction.operand_count();
  op.part = parts_[number];
  op.bytes = element_size(instruction.type);
  for (int k = 0; k < op.operand_count; ++k) {
    const auto operand = static_cast<std::size_t>(instruction.operands[k]);
    op.operands[k] = values[operand];
    op.operand_bytes[k] = element_size(expression_->code[operand].type);
  }
  if (instruction.kind == Instruction::Kind::take) {
    op.take = find_take(instruction.type, instruction.in_type);
    op.taken_from = instruction.number;
  } else if (instruction.kind == Instruction::Kind::choose) {
    op.row = kernels::Finders<kernels::RowOf>::copy(instruction.type, instruction.type);
    op.window = instruction.number;
    op.part = -1;
  } else {
    op.row = find_row(instruction);
  }
  return op;
}

/// Whether an op's values can be written where the other ones of the choice that follows are.
bool HostEngine::writes_into_choice(std::size_t number, const std::vector<std::size_t>& last_use) const {
  const auto& code = expression_->code;
  if (code[number].kind != Instruction::Kind::op || number + 1 == code.size()) return false;
  const Instruction& next = code[number + 1];
  const int inside = static_cast<int>(number);
  return next.kind == Instruction::Kind::choose && next.operands[0] == inside && next.operands[1] != inside &&
         parts_[number] == next.number && last_use[number] == number + 1;
}

void HostEngine::place_values() {
  const std::vector<bool> is_single = find_singles();
  const auto& code = expression_->code;
  constexpr std::size_t never = SIZE_MAX;
  std::vector<std::size_t> last_use(code.size(), never);
  for (std::size_t i = 0; i < code.size(); ++i) {
    for (int k = 0; k < code[i].operand_count(); ++k) last_use[static_cast<std::size_t>(code[i].operands[k])] = i;
  }
  for (const int result : expression_->results) last_use[static_cast<std::size_t>(result)] = never;
  std::vector<int> free_registers;
  std::vector<Source> values;  // by instruction
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& instruction = code[i];
    const bool is_take = instruction.kind == Instruction::Kind::take;
    const bool is_choice = instruction.kind == Instruction::Kind::choose;
    if (instruction.kind != Instruction::Kind::op && !is_take && !is_choice) {
      const auto kind = instruction.kind == Instruction::Kind::load     ? Source::Kind::memory
                        : instruction.kind == Instruction::Kind::scalar ? Source::Kind::scalar
                                                                        : Source::Kind::drawn;
      values.push_back({kind, instruction.number});
      continue;
    }
    if (is_choice && i > 0 && !is_single[i - 1] && writes_into_choice(i - 1, last_use)) {
      values.push_back(values.back());
      continue;
    }
    Op op = make_op(i, values);
    Source choice{};
    const bool is_part_of_choice = !is_single[i] && writes_into_choice(i, last_use);
    if (is_part_of_choice) {
      const auto other = static_cast<std::size_t>(code[i + 1].operands[1]);
      const bool is_over = values[other].kind == Source::Kind::own && last_use[other] == i + 1 &&
                           element_size(code[other].type) == op.bytes;
      choice = is_over ? values[other] : result_of(i + 1, free_registers);
      if (!is_over) {
        ops_.push_back(
            {kernels::Finders<kernels::RowOf>::copy(instruction.type, instruction.type), 1, {values[other]}, choice});
      }
    }
    if (is_single[i]) {
      op.result = {Source::Kind::single, static_cast<int>(singles_.size())};
      singles_.push_back(op);
      values.push_back(op.result);
      continue;
    }
    // A row may write what it reads, element by element: of one size only.
    std::vector<int> free_afterwards;
    for (int k = 0; k < op.operand_count; ++k) {
      const auto operand = static_cast<std::size_t>(instruction.operands[k]);
      if (values[operand].kind != Source::Kind::own || last_use[operand] != i) continue;
      last_use[operand] = never;  // given back once
      const bool is_of_size = element_size(code[operand].type) == element_size(instruction.type);
      (is_of_size ? free_registers : free_afterwards).push_back(values[operand].number);
    }
    op.result = is_part_of_choice ? choice : result_of(i, free_registers);
    free_registers.insert(free_registers.end(), free_afterwards.begin(), free_afterwards.end());
    ops_.push_back(op);
    values.push_back(op.result);
  }
  const bool is_in_place = std::any_of(expression_->outputs.begin(), expression_->outputs.end(),
                                       [](const Layout& output) { return output.is_in_place; });
  for (std::size_t k = 0; k < expression_->results.size(); ++k) {
    const auto result = static_cast<std::size_t>(expression_->results[k]);
    const int output = static_cast<int>(k);
    Source& value = values[result];
    if (value.kind == Source::Kind::output && value.number == output) continue;
    const Row copy = kernels::Finders<kernels::RowOf>::copy(code[result].type, code[result].type);
    if (value.kind == Source::Kind::memory && is_in_place) {  // another store may come first
      const Source kept{Source::Kind::own, registers_++};
      ops_.push_back({copy, 1, {value}, kept});
      value = kept;
    }
    stores_.push_back({copy, value, output});
  }
}

HostEngine::Source HostEngine::result_of(std::size_t instruction, std::vector<int>& free_registers) {
  const auto& results = expression_->results;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (results[k] == static_cast<int>(instruction) && !expression_->outputs[k].is_in_place) {
      return {Source::Kind::output, static_cast<int>(k)};
    }
  }
  if (free_registers.empty()) return {Source::Kind::own, registers_++};
  const int number = free_registers.back();
  free_registers.pop_back();
  return {Source::Kind::own, number};
}

std::int64_t HostEngine::row_of(const Expression& expression) const noexcept {
  return is_one_row_ ? expression.size : expression.extents[expression.ndim - 1];
}

const Segments* HostEngine::known_segments(std::int64_t position, std::int64_t n) const noexcept {
  const auto number = static_cast<std::size_t>(position / tile);
  const bool is_tile = position % tile == 0 && n == std::min(tile, expression_->size - position);
  return is_tile && number < segments_.size() ? &segments_[number] : nullptr;
}

void HostEngine::run_op(const Frame& frame, const Op& op, std::span<const Segment> segments) const {
  RowInput inputs[kernels::max_inputs];
  for (int k = 0; k < op.operand_count; ++k) inputs[k] = frame.input(op.operands[k]);
  const RowOutput out = frame.output(op.result);
  for (const auto [begin, end] : segments) {
    RowInput own[kernels::max_inputs];
    for (int k = 0; k < op.operand_count; ++k) own[k] = moved_on(inputs[k], begin, op.operand_bytes[k]);
    if (op.take == nullptr) {
      op.row(own, moved_on(out, begin, op.bytes), end - begin);
      continue;
    }
    const Layout& from = expression_->inputs[static_cast<std::size_t>(op.taken_from)];
    const RowInput source = moved_on(frame.input({Source::Kind::memory, op.taken_from}), begin, op.bytes);
    op.take(*from.taken, source, own[0], moved_on(out, begin, op.bytes), end - begin);
  }
}

void HostEngine::run_tile(Frame& frame, std::int64_t n) const {
  const Segment whole[] = {{0, n}};
  for (const Op& op : ops_) {
    if (op.window >= 0) {
      frame.choose(op, n);
    } else {
      run_op(frame, op, op.part < 0 ? std::span<const Segment>(whole) : frame.segments(op.part));
    }
  }
  for (const Store& store : stores_) {
    const RowInput input = frame.input(store.from);
    store.row(&input, frame.output({Source::Kind::output, store.output}), n);
  }
}

void HostEngine::run_rows(Frame& frame, const Expression& expression, std::int64_t begin, std::int64_t end) const {
  over_rows(row_of(expression), begin, end, tile, [&](std::int64_t at, std::int64_t n) {
    frame.go_to(at, n);
    run_tile(frame, n);
  });
}

void HostEngine::run_drawn(Frame& frame, std::span<const kernels::RandomArgs> draws, std::int64_t begin,
                           std::int64_t end) const {
  const std::int64_t size = expression_->size;
  const std::int64_t grid = expression_->grid;
  const int planes = kernels::numbers_per_draw(draws[0].distribution, draws[0].type);
  for (std::int64_t block = begin; block < end; ++block) {
    const std::int64_t round = block / grid;
    const std::int64_t thread = block % grid * random_block;
    const std::int64_t first = round * planes * grid * random_block + thread;
    if (first >= size) continue;
    const auto n = static_cast<int>(std::min<std::int64_t>(random_tile, size - first));
    for (std::size_t draw = 0; draw < draws.size(); ++draw) {
      kernels::random_tile_host(draws[draw], round, thread, n, frame.drawn(draw));
    }
    for (int plane = 0; plane < planes; ++plane) {
      const std::int64_t from = first + plane * grid * random_block;
      over_rows(row_of(*expression_), from, std::min(from + random_tile, size), random_tile,
                [&](std::int64_t at, std::int64_t count) {
                  frame.take_drawn(plane, at - from);
                  frame.go_to(at, count);
                  run_tile(frame, count);
                });
    }
  }
}

void HostEngine::run(void* const* addresses, std::span<const kernels::Value> scalars,
                     std::span<const kernels::RandomArgs> draws, const kernels::Split& split) const {
  static_assert(random_tile == random_block, "a tile is a block of the grid");
  if (rows_ != nullptr) return rows_->run(addresses, scalars, split);
  if (draws.empty()) {
    split(expression_->size, part_step, [&](std::int64_t begin, std::int64_t end) {
      Frame frame(*this, *expression_, addresses, scalars);
      run_rows(frame, *expression_, begin, end);
    });
    return;
  }
  const std::int64_t in_round = static_cast<std::int64_t>(expression_->grid) * random_block *
                                kernels::numbers_per_draw(draws[0].distribution, draws[0].type);
  split(((expression_->size - 1) / in_round + 1) * expression_->grid, 1, [&](std::int64_t begin, std::int64_t end) {
    Frame frame(*this, *expression_, addresses, scalars);
    run_drawn(frame, draws, begin, end);
  });
}

void HostEngine::run_part(const Expression& part, void* const* addresses,
                          std::span<const kernels::Value> scalars) const {
  Frame frame(*this, part, addresses, scalars);
  run_rows(frame, part, 0, part.size);
}

}  // namespace refrain::jit
