#include "kernels/reduce_host.hpp"

namespace refrain::kernels {
namespace {

/// Where the row's first result goes.
template <class In>
In* out_row(const ReduceArgs& args, i64 row) {
  return static_cast<In*>(args.out) + offset_along(args.kept_ndim, args.kept_extents, args.out_kept_strides, row);
}

/// Powers are kept for a chunk at a time, so that rows of one chunk take each once.
template <class In>
class SoftmaxRow {
 public:
  SoftmaxRow(const ReduceArgs& args, i64 row)
      : args_(args),
        x_(static_cast<const In*>(args.in) + row_offset(args, row)),
        out_(out_row<In>(args, row)),
        fold_(Softmax<In>::second(reduce_row(args, Extreme<In>(args), x_, 0, args.n))) {}

  void run() {
    const Sum<Wide<In>, double> sum(args_);
    double sums[reduce_lanes];
    i64 chunks = 0;
    for (i64 position = 0; position < args_.n; position += reduce_chunk) {
      const i64 count = take_powers(position);
      sums[chunks++] = dense_chunk(sum, powers_, count, position);
    }
    const double total = combine_lanes(sum, sums, chunks);
    for (i64 position = 0; position < args_.n; position += reduce_chunk) {
      const i64 count = chunks == 1 ? args_.n : take_powers(position);
      write_shares(out_ + position * args_.out_stride, count, total);
    }
  }

 private:
  i64 take_powers(i64 position) {
    const i64 count = std::min(args_.n - position, reduce_chunk);
    for (i64 i = 0; i < count; ++i) powers_[i] = fold_.power(x_[element_offset(args_, position + i)]);
    return count;
  }
  REFRAIN_CLONES void write_shares(In* out, i64 count, double total) const {
    const i64 stride = args_.out_stride;
    if (stride == 1) {
      REFRAIN_INDEPENDENT
      for (i64 i = 0; i < count; ++i) out[i] = Softmax<In>::share(powers_[i], total);
      return;
    }
    for (i64 i = 0; i < count; ++i) out[i * stride] = Softmax<In>::share(powers_[i], total);
  }

  const ReduceArgs& args_;
  const In* x_;
  In* out_;
  Powers<In> fold_;
  Wide<In> powers_[reduce_chunk];
};

/// Softmax for second_folds.
template <class In_>
struct SoftmaxPasses : Softmax<In_> {
  using typename Softmax<In_>::Second;
  static Second second(const ReduceArgs&, In_ largest) { return Softmax<In_>::second(largest); }
  static Second known(const ReduceArgs& args, i64 row) {
    return second(args, static_cast<const In_*>(args.other)[row]);
  }
};

template <class In>
void softmax_columns(const ReduceArgs& args) {
  for_each_tile<In>(args, [&](const In* x, i64 row, i64 rows) {
    TileOf<Powers<In>> folds;
    second_folds<SoftmaxPasses<In>>(args, x, row, rows, folds);
    double totals[tile];
    columns_of<true>(args, folds.begin(), x, rows, 0, args.n).reduce(totals);
    In* const out = out_row<In>(args, row);
    const i64 step = args.out_kept_strides[args.kept_ndim - 1];
    for (i64 i = 0; i < args.n; ++i) {
      const In* elements = x + i * args.reduced_strides[0];
      for (i64 k = 0; k < rows; ++k) {
        out[i * args.out_stride + k * step] = Softmax<In>::share(folds.begin()[k].power(elements[k]), totals[k]);
      }
    }
  });
}

template <class P>
struct HostSoftmax {
  static HostReduction make() {
    return [](const ReduceArgs& args) {
      using In = typename P::In;
      if (are_columns(args)) return softmax_columns<In>(args);
      for (i64 row = 0; row < args.rows; ++row) SoftmaxRow<In>(args, row).run();
    };
  }
};

}  // namespace

HostReduction find_softmax_on_host(const ReduceArgs& args) { return find_softmax<HostSoftmax>(args); }

}  // namespace refrain::kernels
