#pragma once

#include "kernels/args.hpp"

namespace refrain {

/// What an op of the table computes in, by the names that the table uses.
enum class Domain : unsigned char { all, numbers, floats, bits, logic };

struct OpInfo {
  const char* name;
  Domain domain;
  bool gives_truth;  ///< bool, else what it computes in
};

/// Of an op of the table.
inline const OpInfo& op_info(kernels::ElementwiseOp op) noexcept {
  constexpr bool same = false;
  constexpr bool truth = true;
  static constexpr OpInfo all[] = {
#define REFRAIN_UNARY(name, domain, result, expression) {#name, Domain::domain, result},
#define REFRAIN_BINARY(name, domain, result, expression) {#name, Domain::domain, result},
#define REFRAIN_TERNARY(name, domain, result, expression) {#name, Domain::domain, result},
#include "kernels/elementwise_table.hpp"
  };
  return all[static_cast<int>(op)];
}

}  // namespace refrain
