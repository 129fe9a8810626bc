#pragma once

#include "options.hpp"
#include "row.hpp"

#include <iosfwd>
#include <vector>

namespace refrain::bench {

struct Outcome {
  std::vector<Row> rows;
  bool all_held = true;  ///< no check failed and nothing threw
};

/// Measures what the options ask for, printing the table to `out` as it grows and failures to `errors`.
Outcome run(const Options& options, std::ostream& out, std::ostream& errors);

}  // namespace refrain::bench
