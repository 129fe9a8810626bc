#pragma once

#include "kernels/config.hpp"

// Work on the host in parts that do not touch one another, so that several threads may do them.

namespace refrain::kernels {

/// Into how many parts a kernel's work is worth cutting, and who runs them. No part's results depend on where the work
/// is cut: each element, or chunk of a reduction, is computed as it would be alone.
class Split {
 public:
  using Part = void (*)(void* context, i64 part);
  /// Calls part(context, 0), ..., part(context, parts - 1), each once, on any threads; returns when all have returned.
  using Run = void (*)(i64 parts, Part part, void* context);

  /// Not at all.
  constexpr Split() = default;
  constexpr Split(i64 parts, Run run) : Split(parts, run, parts) {}
  constexpr Split(i64 parts, Run run, i64 threads) : parts_(parts), run_(run), threads_(threads) {}

  i64 parts() const { return parts_; }
  /// How many may run at once.
  i64 threads() const { return threads_; }

  /// body(begin, end) for ranges that make up [0, count) together, cut at multiples of `step`. count > 0.
  template <class Body>
  void operator()(i64 count, i64 step, const Body& body) const {
    if (parts_ == 1) return body(i64{0}, count);
    const i64 steps = (count - 1) / step + 1;
    if (steps == 1) return body(i64{0}, count);
    struct Cut {
      const Body& body;
      i64 count, step, steps, parts;
    };
    Cut cut{body, count, step, steps, parts_ < steps ? parts_ : steps};
    run_(
        cut.parts,
        [](void* context, i64 part) {
          const Cut& of = *static_cast<const Cut*>(context);
          const i64 begin = of.steps * part / of.parts * of.step;
          const i64 end = of.steps * (part + 1) / of.parts * of.step;
          of.body(begin, end < of.count ? end : of.count);
        },
        &cut);
  }

 private:
  i64 parts_ = 1;
  Run run_ = nullptr;
  i64 threads_ = 1;
};

}  // namespace refrain::kernels
