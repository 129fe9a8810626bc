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
  SoftmaxRow(const ReduceArgs& args, i64 row, const Split& split)
      : args_(args),
        split_(split),
        x_(static_cast<const In*>(args.in) + row_offset(args, row)),
        out_(out_row<In>(args, row)),
        fold_(Softmax<In>::second(reduce_row(args, Extreme<In>(args), x_, 0, args.n, split))) {}

  void run() {
    const Sum<Wide<In>, double> sum(args_);
    const i64 chunks = (args_.n - 1) / reduce_chunk + 1;
    if (chunks == 1) {
      Wide<In> powers[reduce_chunk];
      take_powers(0, powers);
      double total = dense_chunk(sum, powers, args_.n, 0);
      write_shares(powers, out_, args_.n, combine_lanes(sum, &total, 1));
      return;
    }
    double sums[reduce_lanes];
    split_(chunks, 1, [&](i64 chunk, i64 end) {
      Wide<In> powers[reduce_chunk];
      for (; chunk < end; ++chunk) {
        const i64 count = take_powers(chunk, powers);
        sums[chunk] = dense_chunk(sum, powers, count, chunk * reduce_chunk);
      }
    });
    const double total = combine_lanes(sum, sums, chunks);
    split_(chunks, 1, [&](i64 chunk, i64 end) {
      Wide<In> powers[reduce_chunk];
      for (; chunk < end; ++chunk) {
        const i64 count = take_powers(chunk, powers);
        write_shares(powers, out_ + chunk * reduce_chunk * args_.out_stride, count, total);
      }
    });
  }

 private:
  i64 take_powers(i64 chunk, Wide<In>* powers) const {
    const i64 position = chunk * reduce_chunk;
    const i64 count = std::min(args_.n - position, reduce_chunk);
    if (are_dense(args_)) {
      dense_powers(fold_, x_ + position, count, powers);
    } else {
      for (i64 i = 0; i < count; ++i) powers[i] = fold_.power(x_[element_offset(args_, position + i)]);
    }
    return count;
  }
  REFRAIN_CLONES static void dense_powers(Powers<In> fold, const In* x, i64 count, Wide<In>* powers) {
    REFRAIN_INDEPENDENT
    for (i64 i = 0; i < count; ++i) powers[i] = fold.power(x[i]);
  }
  REFRAIN_CLONES void write_shares(const Wide<In>* powers, In* out, i64 count, double total) const {
    const i64 stride = args_.out_stride;
    if (stride == 1) {
      REFRAIN_INDEPENDENT
      for (i64 i = 0; i < count; ++i) out[i] = Softmax<In>::share(powers[i], total);
      return;
    }
    for (i64 i = 0; i < count; ++i) out[i * stride] = Softmax<In>::share(powers[i], total);
  }

  const ReduceArgs& args_;
  const Split& split_;
  const In* x_;
  In* out_;
  Powers<In> fold_;
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
void softmax_tile(const ReduceArgs& args, const In* x, i64 row, i64 rows) {
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
}

template <class In>
void softmax_columns(const ReduceArgs& args, const Split& split) {
  const Tiles tiles(args, split);
  split(tiles.count(), 1, [&](i64 at, i64 end) {
    for (; at < end; ++at) {
      tiles.visit<In>(at, [&](const In* x, i64 row, i64 rows) { softmax_tile(args, x, row, rows); });
    }
  });
}

template <class In>
void softmax_rows(const ReduceArgs& args, const Split& split) {
  if (are_rows_split(args, split)) {
    for (i64 row = 0; row < args.rows; ++row) SoftmaxRow<In>(args, row, split).run();
    return;
  }
  split(args.rows, 1, [&](i64 row, i64 end) {
    for (; row < end; ++row) SoftmaxRow<In>(args, row, {}).run();
  });
}

template <class P>
struct HostSoftmax {
  static HostReduction make() {
    return [](const ReduceArgs& args, const Split& split) {
      using In = typename P::In;
      are_columns(args) ? softmax_columns<In>(args, split) : softmax_rows<In>(args, split);
    };
  }
};

}  // namespace

HostReduction find_softmax_on_host(const ReduceArgs& args) { return find_softmax<HostSoftmax>(args); }

}  // namespace refrain::kernels
