#include "jit/host_rows.hpp"

#include "jit/host_scratch.hpp"
#include "jit/host_windows.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/host.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace refrain::jit {

using kernels::element_size;
using kernels::RowInput;
using kernels::RowOutput;
using kernels::Type;
using Kind = Instruction::Kind;

namespace {

/// Elements computed together, where a row has no more.
constexpr std::int64_t tile = 2048;

std::int64_t rows_a_tile(const Expression& expression) {
  return std::clamp<std::int64_t>(tile / expression.row_length(), 1, expression.rows());
}

/// Whether rows can be gone through by where each begins and one stride.
bool is_simple(const Expression& expression, const Layout& layout) {
  return layout.wraps.empty() && is_line(expression, layout);
}

kernels::Row copy_loop(Type type) { return kernels::Finders<kernels::RowOf>::copy(type, type); }

}  // namespace

class HostRows::Frame {
 public:
  Frame(const HostRows& engine, void* const* addresses, std::span<const kernels::Value> scalars)
      : engine_(engine),
        e_(*engine.expression_),
        addresses_(addresses),
        n_(e_.row_length()),
        register_bytes_((static_cast<std::size_t>(rows_a_tile(e_) * n_) * 8 + 63) / 64 * 64),
        segments_(e_.windows.size()) {
    const auto registers = static_cast<std::size_t>(engine.registers_) + spread_registers;
    registers_ = scratch(registers * register_bytes_ + scalars.size() * 8);
    scalars_ = reinterpret_cast<kernels::u64*>(registers_ + registers * register_bytes_);
    for (std::size_t i = 0; i < scalars.size(); ++i) scalars_[i] = kernels::scalar_bits(e_.scalars[i], scalars[i]);
  }

  /// Rows [first, first + rows).
  void run(std::int64_t first, std::int64_t rows) {
    first_ = first;
    rows_ = rows;
    if (!segments_.empty()) find_segments(e_, Walk(e_, first * n_).index(), rows * n_, segments_);
    for (std::size_t i = 0; i < e_.code.size(); ++i) {
      if (e_.code[i].kind == Kind::load && engine_.registers_of_[i] >= 0) load(i);
    }
    for (const Step& step : engine_.steps_) {
      switch (e_.code[step.instruction].kind) {
        case Kind::reduce: reduce(step); break;
        case Kind::take: take(step); break;
        case Kind::choose: choose(step); break;
        default: apply(step); break;
      }
    }
    for (std::size_t i = 0; i < e_.outputs.size(); ++i) store(i);
  }

 private:
  /// For operands that have one value a row, spread over the row's elements.
  static constexpr std::size_t spread_registers = kernels::max_inputs;

  std::byte* own(std::size_t instruction) const {
    return registers_ + static_cast<std::size_t>(engine_.registers_of_[instruction]) * register_bytes_;
  }
  bool is_of_rows(std::size_t instruction) const { return engine_.plan_.is_of_rows[instruction]; }

  /// Where a row of an array begins, which is simple.
  std::byte* row_of(const Layout& layout, void* address, std::int64_t row) const {
    std::int64_t offset = 0;
    for (int axis = e_.row_axis() - 1; axis >= 0; --axis) {
      const std::int64_t outer = axis > 0 ? row / e_.extents[axis] : 0;
      offset += (row - outer * e_.extents[axis]) * layout.strides[axis];
      row = outer;
    }
    return static_cast<std::byte*>(address) + offset * element_size(layout.type);
  }

  /// Elements that lie in one run are used where they are.
  bool is_run(const Layout& layout) const { return layout.is_dense || (rows_ == 1 && is_simple(e_, layout)); }

  /// Elements of an array from a position of the tile on, where they lie.
  template <class Visit>
  void over_tile(const Layout& layout, void* address, std::int64_t position, std::int64_t n, Visit visit) const {
    const std::int64_t bytes = element_size(layout.type);
    over_pieces(e_, layout, first_ * n_ + position, n, [&](std::int64_t done, const Piece& piece) {
      visit(done, RowInput{static_cast<std::byte*>(address) + piece.offset * bytes, piece.stride}, piece.length);
    });
  }

  /// Calls visit(position, n, first element of the result) for what is computed of the tile: all, or where `of_rows`
  /// the first element of each row.
  template <class Visit>
  void over_elements(bool of_rows, Visit visit) const {
    if (!of_rows) return visit(std::int64_t{0}, rows_ * n_, std::int64_t{0});
    for (std::int64_t row = 0; row < rows_; ++row) visit(row * n_, std::int64_t{1}, row);
  }

  void load(std::size_t instruction) {
    const auto number = static_cast<std::size_t>(e_.code[instruction].number);
    const Layout& layout = e_.inputs[number];
    void* const address = addresses_[e_.outputs.size() + number];
    const std::int64_t bytes = element_size(layout.type);
    const kernels::Row copy = copy_loop(layout.type);
    if (!is_simple(e_, layout)) {
      const auto gather = [&](std::int64_t position, std::int64_t n, std::byte* to) {
        over_tile(layout, address, position, n, [&](std::int64_t done, const RowInput& from, std::int64_t length) {
          copy(&from, {to + done * bytes, 1}, length);
        });
      };
      over_elements(is_of_rows(instruction), [&](std::int64_t position, std::int64_t n, std::int64_t at) {
        std::byte* const to = own(instruction) + at * bytes;
        if (layout.window < 0) return gather(position, n, to);
        std::memset(to, 0, static_cast<std::size_t>(n * bytes));  // outside of the window nothing is read
        over_segments(layout.window, position, n, [&](std::int64_t begin, std::int64_t end) {
          gather(begin, end - begin, to + (begin - position) * bytes);
        });
      });
      return;
    }
    const std::int64_t count = is_of_rows(instruction) ? 1 : n_;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const RowInput input{row_of(layout, address, first_ + row), layout.strides[e_.ndim - 1]};
      copy(&input, {own(instruction) + row * count * bytes, 1}, count);
    }
  }

  /// What of n positions lies in a window.
  template <class Visit>
  void over_segments(int window, std::int64_t position, std::int64_t n, Visit visit) const {
    for (const auto [begin, end] : segments_[static_cast<std::size_t>(window)]) {
      const std::int64_t from = std::max(begin, position);
      const std::int64_t to = std::min(end, position + n);
      if (from < to) visit(from, to);
    }
  }

  /// A value of all elements, or, where `of_rows`, of one a row.
  RowInput operand(std::size_t instruction, bool of_rows, int spread_number) const {
    const Instruction& of = e_.code[instruction];
    if (of.kind == Kind::scalar) return {&scalars_[of.number], 0};
    if (engine_.registers_of_[instruction] < 0) {
      const Layout& layout = e_.inputs[static_cast<std::size_t>(of.number)];
      void* const address = addresses_[e_.outputs.size() + static_cast<std::size_t>(of.number)];
      return {row_of(layout, address, first_), layout.strides[e_.ndim - 1]};
    }
    if (of_rows || !is_of_rows(instruction)) return {own(instruction), 1};
    if (rows_ == 1) return {own(instruction), 0};
    std::byte* const spread =
        registers_ + static_cast<std::size_t>(engine_.registers_ + spread_number) * register_bytes_;
    const std::int64_t bytes = element_size(of.type);
    for (std::int64_t row = 0; row < rows_; ++row) {
      const RowInput value{own(instruction) + row * bytes, 0};
      copy_loop(of.type)(&value, {spread + row * n_ * bytes, 1}, n_);
    }
    return {spread, 1};
  }

  void apply(const Step& step) {
    const Instruction& instruction = e_.code[step.instruction];
    const bool of_rows = is_of_rows(step.instruction);
    RowInput inputs[kernels::max_inputs];
    for (int k = 0; k < instruction.operand_count(); ++k) {
      inputs[k] = operand(static_cast<std::size_t>(instruction.operands[k]), of_rows, k);
    }
    step.loop(inputs, {own(step.instruction), 1}, of_rows ? rows_ : rows_ * n_);
  }

  void take(const Step& step) {
    const Instruction& instruction = e_.code[step.instruction];
    const bool of_rows = is_of_rows(step.instruction);
    const auto number = static_cast<std::size_t>(instruction.number);
    const Layout& layout = e_.inputs[number];
    const RowInput indices = operand(static_cast<std::size_t>(instruction.operands[0]), of_rows, 0);
    const std::int64_t bytes = element_size(instruction.type);
    const std::int64_t index_bytes = element_size(instruction.in_type) * indices.stride;
    over_elements(of_rows, [&](std::int64_t position, std::int64_t n, std::int64_t at) {
      over_tile(layout, addresses_[e_.outputs.size() + number], position, n,
                [&](std::int64_t done, const RowInput& from, std::int64_t length) {
                  const RowInput index{static_cast<const std::byte*>(indices.data) + (at + done) * index_bytes,
                                       indices.stride};
                  step.take(*layout.taken, from, index, {own(step.instruction) + (at + done) * bytes, 1}, length);
                });
    });
  }

  void choose(const Step& step) {
    const Instruction& instruction = e_.code[step.instruction];
    const bool of_rows = is_of_rows(step.instruction);
    const RowInput inside = operand(static_cast<std::size_t>(instruction.operands[0]), of_rows, 0);
    const RowInput outside = operand(static_cast<std::size_t>(instruction.operands[1]), of_rows, 1);
    const std::int64_t bytes = element_size(instruction.type);
    step.loop(&outside, {own(step.instruction), 1}, of_rows ? rows_ : rows_ * n_);
    over_elements(of_rows, [&](std::int64_t position, std::int64_t n, std::int64_t at) {
      over_segments(instruction.number, position, n, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t first = at + begin - position;
        const RowInput from{static_cast<const std::byte*>(inside.data) + first * inside.stride * bytes, inside.stride};
        step.loop(&from, {own(step.instruction) + first * bytes, 1}, end - begin);
      });
    });
  }

  void reduce(const Step& step) {
    const Instruction& instruction = e_.code[step.instruction];
    const Reduction& reduction = e_.reductions[static_cast<std::size_t>(instruction.number)];
    const RowInput in = operand(static_cast<std::size_t>(instruction.operands[0]), false, 0);
    kernels::ReduceArgs args{};
    args.op = reduction.op;
    args.in_type = reduction.in_type;
    args.acc_type = reduction.acc_type;
    args.out_type = reduction.out_type;
    args.root = reduction.root;
    args.rows = rows_;
    args.n = n_;
    args.chunks = 1;
    args.divisor = reduction.divisor;
    args.in = in.data;
    args.out = own(step.instruction);
    if (instruction.operands[1] >= 0) {
      args.other = operand(static_cast<std::size_t>(instruction.operands[1]), true, 1).data;
    }
    args.reduced_ndim = 1;
    args.reduced_extents[0] = n_;
    args.reduced_strides[0] = in.stride;
    if (rows_ > 1) {
      args.kept_ndim = 1;
      args.kept_extents[0] = rows_;
      args.kept_strides[0] = n_ * in.stride;
    }
    kernels::reduce_host(args);
  }

  void store(std::size_t output) {
    const Layout& layout = e_.outputs[output];
    const bool of_rows = e_.is_of_rows(layout);
    const RowInput value = operand(static_cast<std::size_t>(e_.results[output]), of_rows, 0);
    const std::int64_t count = of_rows ? 1 : n_;
    const kernels::Row copy = copy_loop(layout.type);
    if (is_run(layout) && !of_rows) {
      copy(&value, {row_of(layout, addresses_[output], first_), layout.strides[e_.ndim - 1]}, rows_ * n_);
      return;
    }
    const std::int64_t bytes = element_size(layout.type);
    if (!is_simple(e_, layout)) {
      over_tile(
          layout, addresses_[output], 0, rows_ * n_, [&](std::int64_t done, const RowInput& to, std::int64_t length) {
            const RowInput from{static_cast<const std::byte*>(value.data) + done * value.stride * bytes, value.stride};
            copy(&from, {const_cast<void*>(to.data), to.stride}, length);
          });
      return;
    }
    const std::int64_t step = value.stride * count * bytes;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const RowInput from{static_cast<const std::byte*>(value.data) + row * step, value.stride};
      copy(&from, {row_of(layout, addresses_[output], first_ + row), layout.strides[e_.ndim - 1]}, count);
    }
  }

  const HostRows& engine_;
  const Expression& e_;
  void* const* addresses_;
  std::int64_t n_;
  std::size_t register_bytes_;
  std::byte* registers_;
  kernels::u64* scalars_;
  std::int64_t first_ = 0;
  std::int64_t rows_ = 0;
  std::vector<std::vector<Segment>> segments_;  ///< by window
};

HostRows::HostRows(std::shared_ptr<const Expression> expression)
    : expression_(std::move(expression)), plan_(*expression_), registers_of_(expression_->code.size(), -1) {
  place_values();
}

void HostRows::place_values() {
  const auto& code = expression_->code;
  const bool is_in_place = std::any_of(expression_->outputs.begin(), expression_->outputs.end(),
                                       [](const Layout& output) { return output.is_in_place; });
  const auto is_computed = [&](std::size_t i) { return code[i].kind != Kind::load && code[i].kind != Kind::scalar; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (plan_.computed_in[i] < 0) continue;
    if (is_computed(i)) order.push_back(i);
    if (code[i].kind != Kind::load) continue;
    // Read where they are, unless a store may come first or they lie in several runs.
    const Layout& layout = expression_->inputs[static_cast<std::size_t>(code[i].number)];
    const bool is_run = layout.is_dense || (rows_a_tile(*expression_) == 1 && is_simple(*expression_, layout));
    if (is_in_place || !is_run || plan_.is_of_rows[i]) registers_of_[i] = registers_++;
  }
  // Operands come before their users in the code already.
  std::vector<std::size_t> last_use(code.size(), 0);
  for (std::size_t at = 0; at < order.size(); ++at) {
    for (int k = 0; k < code[order[at]].operand_count(); ++k) {
      last_use[static_cast<std::size_t>(code[order[at]].operands[k])] = at;
    }
  }
  for (const int result : expression_->results) last_use[static_cast<std::size_t>(result)] = order.size();
  std::vector<int> free_registers;
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::size_t i = order[at];
    if (free_registers.empty()) free_registers.push_back(registers_++);
    registers_of_[i] = free_registers.back();
    free_registers.pop_back();
    Step step{i, nullptr, nullptr};
    if (code[i].kind == Kind::op) step.loop = find_row(code[i]);
    if (code[i].kind == Kind::choose) step.loop = copy_loop(code[i].type);
    if (code[i].kind == Kind::take) step.take = find_take(code[i].type, code[i].in_type);
    steps_.push_back(step);
    std::vector<std::size_t> operands;
    for (int k = 0; k < code[i].operand_count(); ++k) {
      const auto operand = static_cast<std::size_t>(code[i].operands[k]);
      const bool is_counted = std::find(operands.begin(), operands.end(), operand) != operands.end();
      if (is_computed(operand) && !is_counted && last_use[operand] == at)
        free_registers.push_back(registers_of_[operand]);
      operands.push_back(operand);
    }
  }
}

void HostRows::run(void* const* addresses, std::span<const kernels::Value> scalars, const kernels::Split& split) const {
  const std::int64_t step = rows_a_tile(*expression_);
  split(expression_->rows(), step, [&](std::int64_t begin, std::int64_t end) {
    Frame frame(*this, addresses, scalars);
    for (std::int64_t row = begin; row < end; row += step) frame.run(row, std::min(step, end - row));
  });
}

}  // namespace refrain::jit
