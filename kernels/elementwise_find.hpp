#pragma once

#include "kernels/elementwise.hpp"

// The tables from which host and CUDA find the loop or the kernel of an op. `Entry<Functor>::make()` is a table's
// entry. They are long to compile: each of them is in a file of its own for each kind of device.

namespace refrain::kernels {

template <template <class> class Entry>
using Made = decltype(Entry<Apply<ops::add, float>>::make());

/// One entry a Type.
template <template <class> class Entry>
struct ByType {
  Made<Entry> of[type_count];
};

/// `Make<T>::make()` for the type of each Type.
template <template <class> class Entry, template <class> class Make>
constexpr ByType<Entry> by_type() {
  return {{Make<bool>::make(), Make<u8>::make(), Make<i32>::make(), Make<i64>::make(), Make<Half>::make(),
           Make<BFloat>::make(), Make<float>::make(), Make<double>::make()}};
}

/// Ops whose operands are exchanged for another op's before they get here have no entries: a > b is b < a.
template <class Op>
inline constexpr bool is_mirrored = is_same<Op, ops::greater> || is_same<Op, ops::greater_equal>;

/// Entries of an op; empty for types that it is not defined for, and all of them where it has not so many operands.
template <template <class> class Entry, class Op, int arity>
struct OpEntries {
  template <class T>
  struct Of {
    static constexpr Made<Entry> make() {
      if constexpr (Op::arity == arity && !is_mirrored<Op> && Op::template takes<T>) {
        return Entry<Apply<Op, T>>::make();
      } else {
        return {};
      }
    }
  };
};

/// Of the ops of the table with so many operands.
template <template <class> class Entry, int arity>
Made<Entry> find_op(ElementwiseOp op, Type type) {
  static const ByType<Entry> table[] = {
#define REFRAIN_ROW(name) by_type<Entry, OpEntries<Entry, ops::name, arity>::template Of>(),
#define REFRAIN_UNARY(name, domain, result, expression) REFRAIN_ROW(name)
#define REFRAIN_BINARY(name, domain, result, expression) REFRAIN_ROW(name)
#define REFRAIN_TERNARY(name, domain, result, expression) REFRAIN_ROW(name)
#include "kernels/elementwise_table.hpp"
#undef REFRAIN_ROW
  };
  return table[static_cast<int>(op)].of[static_cast<int>(type)];
}

/// Of `where`, by the size of what is chosen.
template <template <class> class Entry>
Made<Entry> find_select(Type type) {
  static const Made<Entry> table[] = {Entry<Select<u8>>::make(), Entry<Select<u16>>::make(), Entry<Select<u32>>::make(),
                                      Entry<Select<u64>>::make()};
  return table[size_exponent(type)];
}

template <template <class> class Entry, class To>
struct CopyEntries {
  template <class From>
  struct Of {
    static constexpr Made<Entry> make() {
      if constexpr (is_same<To, From>) {
        return Entry<Move<typename BitsOf<sizeof(To)>::type>>::make();
      } else {
        return Entry<Convert<To, From>>::make();
      }
    }
  };
  static constexpr ByType<Entry> make() { return by_type<Entry, Of>(); }
};

/// Of copies.
template <template <class> class Entry>
Made<Entry> find_copy(Type to, Type from) {
  static const ByType<Entry> table[] = {CopyEntries<Entry, bool>::make(),  CopyEntries<Entry, u8>::make(),
                                        CopyEntries<Entry, i32>::make(),   CopyEntries<Entry, i64>::make(),
                                        CopyEntries<Entry, Half>::make(),  CopyEntries<Entry, BFloat>::make(),
                                        CopyEntries<Entry, float>::make(), CopyEntries<Entry, double>::make()};
  return table[static_cast<int>(to)].of[static_cast<int>(from)];
}

/// Each defined in a file of its own: the ops of the table with one, two, three operands, `where`, and copies.
template <template <class> class Entry>
struct Finders {
  static Made<Entry> unary(ElementwiseOp op, Type type);
  static Made<Entry> binary(ElementwiseOp op, Type type);
  static Made<Entry> ternary(ElementwiseOp op, Type type);
  static Made<Entry> copy(Type to, Type from);
};

/// Empty for an op without a kernel for its types.
template <template <class> class Entry>
Made<Entry> find_entry(const ElementwiseArgs& args) {
  if (args.op == ElementwiseOp::copy) return Finders<Entry>::copy(args.out_type, args.in_type);
  if (args.input_count == 1) return Finders<Entry>::unary(args.op, args.in_type);
  if (args.input_count == 2) return Finders<Entry>::binary(args.op, args.in_type);
  return Finders<Entry>::ternary(args.op, args.in_type);
}

}  // namespace refrain::kernels
