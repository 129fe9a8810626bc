#pragma once

#include "json.hpp"
#include "machine.hpp"
#include "row.hpp"

#include <iosfwd>
#include <span>
#include <vector>

namespace refrain::bench {

/// Prints the table's head.
void print_head(std::ostream& out);

/// Prints the rows of one workload on one device, with their ratios to its eager row and to the hand-written
/// row that does the same.
void print_group(std::ostream& out, std::span<const Row> rows);

/// Prints what one step of each row calls and allocates, for rows where that was counted.
void print_counts(std::ostream& out, const std::vector<Row>& rows);

/// Prints what the graphs of the rows take of the device's memory, for rows where that is known.
void print_memory(std::ostream& out, const std::vector<Row>& rows);

/// The members `schema` and `machine` of an object that is open.
void write_machine(Json& json, const Machine& machine);

/// Writes everything as JSON, schema 1. Times are microseconds; `nodes`, `edges`, the costs and the memory of a
/// graph are null for rows that have none, `verified` where there was nothing to compare, `note` where there is none.
void write_json(std::ostream& out, const Machine& machine, const std::vector<Row>& rows);

}  // namespace refrain::bench
