#include "kernels/elementwise.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "kernels/elementwise_rows.hpp"
#include "kernels/host.hpp"
#include "kernels/stream_host.hpp"
#include "kernels/transpose_host.hpp"

namespace refrain::kernels {
namespace {

bool is_plain_copy(const ElementwiseArgs& args) {
  return args.op == ElementwiseOp::copy && args.in_type == args.out_type;
}

bool is_worth_streaming(const ElementwiseArgs& args) { return args.size * element_size(args.out_type) >= stream_bytes; }

/// Where an input has shorter steps along another axis than along the last one, rows are cut into pieces of this many
/// elements, and all first pieces come before all second ones: the cache lines of the input are used whole.
constexpr i64 piece = 32;

/// An input that lies across the output, dense along another axis than the last one, is transposed in blocks: that
/// axis's extent and the last one's. A copy of 8192^2 float32 takes 50 ms so, and 220 ms in pieces.
constexpr i64 block_rows = 32;
constexpr i64 block_columns = 64;

/// A walk over all operands of a strided call.
class Walk {
 public:
  Walk(const ElementwiseArgs& args, Row row, const RowInput* inputs)
      : row_(row), input_count_(args.input_count), last_(args.ndim - 1), out_{args.out, args.out_strides[last_]} {
    out_size_ = element_size(args.out_type);
    for (int axis = 0; axis <= last_; ++axis) {
      axes_[axis] = {args.extents[axis], args.out_strides[axis] * out_size_, {}};
    }
    for (int k = 0; k < input_count_; ++k) {
      inputs_[k] = inputs[k];
      if (args.inputs[k].data == nullptr) continue;  // a scalar stays where it is
      inputs_[k].stride = args.inputs[k].strides[last_];
      sizes_[k] = element_size(input_type(args, k));
      for (int axis = 0; axis <= last_; ++axis) axes_[axis].steps[k] = args.inputs[k].strides[axis] * sizes_[k];
    }
    for (int k = 0; k < input_count_; ++k) {
      if (lies_across(k)) transposes_[k] = find_transpose(size_exponent(input_type(args, k)));
    }
    copies_ = is_plain_copy(args);
    streams_ = out_.stride == 1 && is_worth_streaming(args);
  }

  void run() {
    if (is_transposed_) {
      each_outer(last_ - 1, [&] { run_blocks(); });
      if (streams_) stream_fence();
      return;
    }
    const i64 extent = axes_[last_].extent;
    const i64 step = has_shorter_steps() ? piece : extent;
    for (i64 begin = 0; begin < extent; begin += step) {
      const i64 n = std::min(step, extent - begin);
      each_outer(last_, [&] { row_(inputs_, out_, n); });
      move(last_, n);
    }
  }

 private:
  struct Axis {
    i64 extent;
    i64 out_step;           ///< in bytes
    i64 steps[max_inputs];  ///< in bytes
  };

  /// Whether the input is dense along the axis before the last one. The first input that is along some axis decides
  /// which that is.
  bool lies_across(int k) {
    if (inputs_[k].stride == 0 || inputs_[k].stride == 1) return false;
    for (int axis = 0; axis < last_ && !is_transposed_; ++axis) {
      if (axes_[axis].steps[k] != sizes_[k]) continue;
      std::rotate(axes_ + axis, axes_ + axis + 1, axes_ + last_);
      is_transposed_ = true;
    }
    return is_transposed_ && axes_[last_ - 1].steps[k] == sizes_[k];
  }

  bool has_shorter_steps() const {
    for (int axis = 0; axis < last_; ++axis) {
      for (int k = 0; k < input_count_; ++k) {
        const i64 step = std::abs(axes_[axis].steps[k]);
        if (step != 0 && step < std::abs(axes_[last_].steps[k])) return true;
      }
    }
    return false;
  }

  /// So many steps along an axis, for all operands.
  void move(int axis, i64 steps) {
    out_.data = static_cast<char*>(out_.data) + steps * axes_[axis].out_step;
    for (int k = 0; k < input_count_; ++k) {
      inputs_[k].data = static_cast<const char*>(inputs_[k].data) + steps * axes_[axis].steps[k];
    }
  }

  /// `visit` with the operands at each index of the first `count` axes, and at the first index again in the end.
  template <class Visit>
  void each_outer(int count, Visit visit) {
    i64 index[max_ndim] = {};
    for (;;) {
      visit();
      int axis = count - 1;
      for (; axis >= 0; --axis) {
        // An axis that is full goes back to its beginning, and the next outer one moves by one.
        const bool full = ++index[axis] == axes_[axis].extent;
        move(axis, full ? 1 - axes_[axis].extent : 1);
        if (!full) break;
        index[axis] = 0;
      }
      if (axis < 0) return;
    }
  }

  void run_blocks() {
    const i64 rows = axes_[last_ - 1].extent;
    const i64 columns = axes_[last_].extent;
    for (i64 column = 0; column < columns; column += block_columns) {
      const i64 width = std::min(block_columns, columns - column);
      for (i64 row = 0; row < rows; row += block_rows) {
        const i64 height = std::min(block_rows, rows - row);
        run_block(height, width);
        move(last_ - 1, height);
      }
      move(last_ - 1, -rows);
      move(last_, width);
    }
    move(last_, -columns);
  }

  void run_block(i64 rows, i64 columns) {
    const Axis& down = axes_[last_ - 1];
    if (copies_ && !streams_ && out_.stride == 1) {
      transposes_[0](out_.data, down.out_step / out_size_, inputs_[0].data, inputs_[0].stride, rows, columns);
      return;
    }
    alignas(64) unsigned char blocks[max_inputs][block_rows * block_columns * sizeof(u64)];
    alignas(64) unsigned char results[block_columns * sizeof(u64)];
    RowOutput out = out_;
    RowInput inputs[max_inputs];
    i64 steps[max_inputs];
    for (int k = 0; k < input_count_; ++k) {
      inputs[k] = inputs_[k];
      steps[k] = down.steps[k];
      if (transposes_[k] == nullptr) continue;
      transposes_[k](blocks[k], block_columns, inputs_[k].data, inputs_[k].stride, rows, columns);
      inputs[k] = {blocks[k], 1};
      steps[k] = block_columns * sizes_[k];
    }
    for (i64 row = 0; row < rows; ++row) {
      if (streams_) {
        if (!copies_) row_(inputs, {results, 1}, columns);
        stream_copy(out.data, copies_ ? inputs[0].data : results, columns * out_size_);
      } else {
        row_(inputs, out, columns);
      }
      out.data = static_cast<char*>(out.data) + down.out_step;
      for (int k = 0; k < input_count_; ++k) inputs[k].data = static_cast<const char*>(inputs[k].data) + steps[k];
    }
  }

  Row row_;
  int input_count_;
  int last_;
  Axis axes_[max_ndim];
  RowOutput out_;
  i64 out_size_ = 0;
  RowInput inputs_[max_inputs] = {};
  i64 sizes_[max_inputs] = {};
  TransposeBlock transposes_[max_inputs] = {};  ///< of the inputs that lie across
  bool is_transposed_ = false;
  bool copies_ = false;   ///< bits
  bool streams_ = false;  ///< to dense rows, past the caches
};

/// A contiguous call.
class Dense {
 public:
  Dense(const ElementwiseArgs& args, Row row, const RowInput* inputs)
      : row_(row), input_count_(args.input_count), out_(args.out), out_size_(element_size(args.out_type)) {
    for (int k = 0; k < input_count_; ++k) {
      inputs_[k] = inputs[k];
      steps_[k] = inputs[k].stride * element_size(input_type(args, k));
    }
  }

  void run(i64 begin, i64 end) const {
    RowInput inputs[max_inputs];
    find_inputs(begin, inputs);
    row_(inputs, {out_at(begin), 1}, end - begin);
  }

  /// The result goes past the caches.
  void stream(i64 begin, i64 end) const {
    constexpr i64 piece_size = 256;
    alignas(64) unsigned char results[piece_size * sizeof(u64)];
    RowInput inputs[max_inputs];
    for (; begin < end; begin += piece_size) {
      const i64 n = std::min(piece_size, end - begin);
      find_inputs(begin, inputs);
      row_(inputs, {results, 1}, n);
      stream_copy(out_at(begin), results, n * out_size_);
    }
    stream_fence();
  }

 private:
  char* out_at(i64 i) const { return static_cast<char*>(out_) + i * out_size_; }
  void find_inputs(i64 i, RowInput* inputs) const {
    for (int k = 0; k < input_count_; ++k) {
      inputs[k] = {static_cast<const char*>(inputs_[k].data) + i * steps_[k], inputs_[k].stride};
    }
  }

  Row row_;
  int input_count_;
  void* out_;
  i64 out_size_;
  RowInput inputs_[max_inputs];
  i64 steps_[max_inputs];  ///< in bytes
};

/// Elements of a contiguous call that parts begin at.
constexpr i64 dense_step = 512;

/// How a strided call is split: along an axis, at multiples of a step.
struct Cut {
  int axis;
  i64 step;
};

bool lies_across(const ElementwiseArgs& args) {
  const int last = args.ndim - 1;
  for (int k = 0; k < args.input_count; ++k) {
    const ElementwiseInput& input = args.inputs[k];
    if (input.data == nullptr || input.strides[last] == 0 || input.strides[last] == 1) continue;
    if (std::find(input.strides, input.strides + last, 1) != input.strides + last) return true;
  }
  return false;
}

/// Where an input is transposed in blocks along the last axis, so that each part reads whole lines of the input; else
/// along the outermost axis that gives each part something, or the longest.
Cut find_cut(const ElementwiseArgs& args, i64 parts) {
  const int last = args.ndim - 1;
  if (args.extents[last] >= 2 * block_columns && lies_across(args)) return {last, block_columns};
  int longest = 0;
  for (int axis = 0; axis < args.ndim; ++axis) {
    if (args.extents[axis] >= parts) return {axis, 1};
    if (args.extents[axis] > args.extents[longest]) longest = axis;
  }
  return {longest, 1};
}

/// Indices [begin, end) of an axis. `size` stays the whole call's, which decides what goes past the caches.
ElementwiseArgs part_of(const ElementwiseArgs& args, int axis, i64 begin, i64 end) {
  ElementwiseArgs part = args;
  part.extents[axis] = end - begin;
  part.out = static_cast<char*>(args.out) + begin * args.out_strides[axis] * element_size(args.out_type);
  for (int k = 0; k < args.input_count; ++k) {
    ElementwiseInput& input = part.inputs[k];
    if (input.data == nullptr) continue;
    input.data = static_cast<const char*>(input.data) + begin * input.strides[axis] * element_size(input_type(args, k));
  }
  return part;
}

/// A strided call.
void walk(const ElementwiseArgs& args, Row row, const RowInput* scalars, const Split& split) {
  if (split.parts() == 1) return Walk(args, row, scalars).run();
  const Cut cut = find_cut(args, split.parts());
  split(args.extents[cut.axis], cut.step, [&](i64 begin, i64 end) {
    const ElementwiseArgs part = part_of(args, cut.axis, begin, end);
    RowInput inputs[max_inputs];
    for (int k = 0; k < args.input_count; ++k) {
      inputs[k] = part.inputs[k].data != nullptr ? RowInput{part.inputs[k].data, 1} : scalars[k];
    }
    Walk(part, row, inputs).run();
  });
}

/// memcpy does so by itself; and what is read is in the caches anyway.
bool is_streamed(const ElementwiseArgs& args) {
  if (is_plain_copy(args) || !is_worth_streaming(args)) return false;
  for (int k = 0; k < args.input_count; ++k) {
    if (args.inputs[k].data == args.out) return false;
  }
  return true;
}

}  // namespace

void elementwise_host(const ElementwiseArgs& args, const Split& split) {
  const Row row = find_entry<RowOf>(args);
  alignas(8) unsigned char scalars[max_inputs][8];  // as a row reads them
  RowInput inputs[max_inputs] = {};
  for (int k = 0; k < args.input_count; ++k) {
    const ElementwiseInput& input = args.inputs[k];
    if (input.data != nullptr) {
      inputs[k] = {input.data, 1};
    } else {
      const u64 bits = scalar_bits(input_type(args, k), input.scalar);
      std::memcpy(scalars[k], &bits, sizeof bits);
      inputs[k] = {scalars[k], 0};
    }
  }
  if (args.contiguous && is_streamed(args)) {
    const Dense call(args, row, inputs);
    split(args.size, dense_step, [&](i64 begin, i64 end) { call.stream(begin, end); });
  } else if (args.contiguous && split.parts() > 1) {
    const Dense call(args, row, inputs);
    split(args.size, dense_step, [&](i64 begin, i64 end) { call.run(begin, end); });
  } else if (args.contiguous) {
    row(inputs, {args.out, 1}, args.size);
  } else if (args.ndim == 0) {
    row(inputs, {args.out, 1}, 1);
  } else {
    walk(args, row, inputs, split);
  }
}

}  // namespace refrain::kernels
