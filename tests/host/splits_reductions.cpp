// Reductions of the host give the same bits in one part and in many.

#include "host/support_splits.hpp"

#include "kernels/host.hpp"

namespace refrain::test {

namespace {

using kernels::ReduceArgs;
using kernels::ReduceOp;
using kernels::Type;

struct Shape {
  const char* name;
  i64 rows;
  i64 n;
  i64 row_step;      ///< from one row to the next
  i64 element_step;  ///< from one element of a row to the next
  i64 chunks;        ///< results of a row
};

constexpr Shape shapes[] = {
    {"one element", 1, 1, 1, 1, 1},
    {"a short row", 1, 1000, 1000, 1, 1},
    {"a row of three chunks", 1, 20'001, 20'001, 1, 1},
    {"a row of sixteen chunks", 1, 131'072, 131'072, 1, 1},
    {"two rows of five chunks", 2, 33'000, 33'000, 1, 1},
    {"a row, a result a chunk", 1, 200'001, 200'001, 1, 25},
    {"rows, results of chunks", 3, 140'001, 140'001, 1, 18},
    {"many rows", 700, 129, 129, 1, 1},
    {"many rows of two chunks", 600, 8193, 1, 0, 1},
    {"every second", 7, 10'001, 20'002, 2, 1},
    {"columns", 300, 700, 1, 300, 1},
    {"few columns of two chunks", 5, 9001, 1, 5, 2},
    {"columns of two chunks", 530, 8200, 1, 530, 2},
};

/// What a reduction of float32 computes with and gives.
Type result_type(ReduceOp op, i64 chunks) {
  switch (op) {
    case ReduceOp::min:
    case ReduceOp::max:
    case ReduceOp::softmax: return Type::float32;
    case ReduceOp::any:
    case ReduceOp::all: return Type::bool_;
    case ReduceOp::argmin:
    case ReduceOp::argmax: return Type::int64;
    default: return chunks > 1 ? Type::float64 : Type::float32;
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(host_splits_reductions)

BOOST_AUTO_TEST_CASE(reductions_of_all_shapes) {
  const auto data = numbers(i64{530} * 8200 + 1, 11);
  for (const Shape& shape : shapes) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::sum_of_squares, ReduceOp::max, ReduceOp::argmin,
                              ReduceOp::all, ReduceOp::dot, ReduceOp::var, ReduceOp::logsumexp, ReduceOp::softmax}) {
      ReduceArgs args{};
      args.op = op;
      args.in_type = Type::float32;
      args.out_type = result_type(op, shape.chunks);
      args.acc_type = args.out_type == Type::float32 && op != ReduceOp::max ? Type::float64 : args.out_type;
      args.rows = shape.rows;
      args.n = shape.n;
      args.chunks = op == ReduceOp::softmax ? 1 : shape.chunks;
      args.divisor = 1;
      args.in = data.data();
      args.other_stride = 1;
      // A row's mean or maximum has to be known where it has several results, and the other factor of a dot.
      const bool has_known = (op == ReduceOp::var || op == ReduceOp::logsumexp) && shape.chunks > 1;
      if (has_known || op == ReduceOp::dot) args.other = data.data() + 1;
      args.kept_ndim = 1;
      args.reduced_ndim = 1;
      args.kept_extents[0] = shape.rows;
      args.kept_strides[0] = shape.row_step;
      args.reduced_extents[0] = shape.n;
      args.reduced_strides[0] = shape.element_step;
      args.out_kept_strides[0] = shape.n;
      args.out_stride = 1;
      // An element of softmax each; else up to 16 bytes a result.
      const i64 results = op == ReduceOp::softmax ? shape.rows * shape.n : shape.rows * args.chunks * 4;
      require_same_bits(std::string(shape.name) + ", op " + std::to_string(static_cast<int>(op)),
                        static_cast<std::size_t>(results) * sizeof(float), [&](void* out, const Split& split) {
                          args.out = out;
                          kernels::reduce_host(args, split);
                        });
    }
  }
}

BOOST_AUTO_TEST_CASE(reductions_over_two_axes) {
  const auto data = numbers(100 * 30 * 40, 12);
  ReduceArgs args{};
  args.op = ReduceOp::sum;
  args.in_type = Type::float32;
  args.acc_type = Type::float64;
  args.out_type = Type::float32;
  args.rows = 30;
  args.n = 4000;
  args.chunks = 1;
  args.divisor = 4000;
  args.in = data.data();
  args.kept_ndim = 1;
  args.reduced_ndim = 2;
  args.kept_extents[0] = 30;
  args.kept_strides[0] = 40;
  args.reduced_extents[0] = 100;
  args.reduced_strides[0] = 1200;
  args.reduced_extents[1] = 40;
  args.reduced_strides[1] = 1;
  require_same_bits("means over two axes", 30 * sizeof(float), [&](void* out, const Split& split) {
    args.out = out;
    kernels::reduce_host(args, split);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
