#include "report.hpp"

#include "json.hpp"
#include "modes.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <ostream>
#include <string>

namespace refrain::bench {
namespace {

constexpr int schema = 1;

struct Column {
  const char* title;
  int width;  ///< negative: flush left
};

constexpr Column columns[] = {
    {"workload", -18}, {"device", -7},     {"mode", -23},     {"host us", 10},     {"total us", 10},
    {"b2b us", 10},    {"host ns/op", 11}, {"b2b ns/op", 10}, {"nodes", 6},        {"edges", 6},
    {"record us", 10}, {"inst. us", 10},   {"first us", 10},  {"total/eager", 12}, {"host/raw", 9},
    {"total/raw", 10}, {"reps", 6},        {"ok", 3},         {"note", -1},
};

void print_line(std::ostream& out, const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const int width = columns[i].width;
    const std::string& cell = cells[i];
    const auto wanted = static_cast<std::size_t>(std::abs(width));
    const std::string padding(wanted > cell.size() ? wanted - cell.size() : 0, ' ');
    line += (i == 0 ? "" : " ") + (width < 0 ? cell + padding : padding + cell);
  }
  out << line << '\n';
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

const std::string nothing = "-";

std::string microseconds(double value) { return fixed(value, value < 100 ? 2 : value < 10'000 ? 1 : 0); }
std::string nanoseconds(double value) { return fixed(value, value < 100 ? 1 : 0); }
std::string ratio(double value, double to) { return to > 0 ? fixed(value / to, 2) : nothing; }
std::string count(const std::optional<int>& value) { return value ? std::to_string(*value) : nothing; }
std::string verdict(const std::optional<bool>& verified) { return !verified ? nothing : *verified ? "yes" : "NO"; }

const Row* find(std::span<const Row> rows, std::string_view mode) {
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.mode == mode; });
  return row == rows.end() ? nullptr : &*row;
}

/// The hand-written row that does what this one does; none for the hand-written rows themselves.
const Row* hand_written(std::span<const Row> rows, const Row& row) {
  if (row.mode == eager_mode) return find(rows, "raw-eager");
  if (!row.nodes || row.mode == "raw" || row.mode.starts_with(hand_mode)) return nullptr;
  for (const char* const mode : {"raw", hand_mode, loop_mode}) {
    if (const Row* const found = find(rows, mode)) return found;
  }
  return nullptr;
}

void write_cost(Json& json, const Row& row, const char* key, double GraphCosts::*member) {
  json.key(key);
  row.costs ? json.value((*row.costs).*member) : json.null();
}

void write_row(Json& json, const Row& row) {
  const auto integer = [&](const char* key, const std::optional<int>& value) {
    json.key(key);
    value ? json.value(*value) : json.null();
  };
  json.begin_object();
  json.key("workload").value(row.workload);
  json.key("device").value(row.device);
  json.key("mode").value(row.mode);
  json.key("host_us").value(row.timing.host_us);
  json.key("total_us").value(row.timing.total_us);
  json.key("back_to_back_us").value(row.timing.back_to_back_us);
  integer("nodes", row.nodes);
  integer("edges", row.edges);
  write_cost(json, row, "record_us", &GraphCosts::record_us);
  write_cost(json, row, "instantiate_us", &GraphCosts::instantiate_us);
  write_cost(json, row, "first_replay_us", &GraphCosts::first_replay_us);
  const auto bytes = [&](const char* key, std::int64_t GraphMemory::*member) {
    json.key(key);
    row.memory ? json.value((*row.memory).*member) : json.null();
  };
  bytes("memory_bytes", &GraphMemory::taken);
  bytes("memory_in_use_bytes", &GraphMemory::in_use);
  json.key("repetitions").value(row.timing.repetitions);
  json.key("verified");
  row.verified ? json.value(*row.verified) : json.null();
  json.key("note");
  row.note.empty() ? json.null() : json.value(row.note);
  if (row.counts) {
    json.key("calls_per_replay");
    row.counts->api_calls ? json.value(*row.counts->api_calls) : json.null();
    json.key("allocations_per_replay").value(row.counts->allocations);
  }
  json.end_object();
}

}  // namespace

void print_head(std::ostream& out) {
  std::vector<std::string> titles;
  for (const Column& column : columns) titles.emplace_back(column.title);
  print_line(out, titles);
}

void print_group(std::ostream& out, std::span<const Row> rows) {
  const Row* const eager = find(rows, eager_mode);
  for (const Row& row : rows) {
    const Timing& timing = row.timing;
    const Row* const raw = hand_written(rows, row);
    const auto cost = [&](double GraphCosts::*member) {
      return row.costs ? microseconds((*row.costs).*member) : nothing;
    };
    print_line(out,
               {row.workload, row.device, row.mode, microseconds(timing.host_us), microseconds(timing.total_us),
                microseconds(timing.back_to_back_us), nanoseconds(timing.host_us * 1000 / row.commands),
                nanoseconds(timing.back_to_back_us * 1000 / row.commands), count(row.nodes), count(row.edges),
                cost(&GraphCosts::record_us), cost(&GraphCosts::instantiate_us), cost(&GraphCosts::first_replay_us),
                eager ? ratio(timing.total_us, eager->timing.total_us) : nothing,
                raw && raw->mode != loop_mode ? ratio(timing.host_us, raw->timing.host_us) : nothing,
                raw ? ratio(timing.total_us, raw->timing.total_us) : nothing, std::to_string(timing.repetitions),
                verdict(row.verified), row.note});
  }
  out.flush();
}

void print_counts(std::ostream& out, const std::vector<Row>& rows) {
  out << "\nOne steady-state step:\n";
  for (const Row& row : rows) {
    if (!row.counts) continue;
    std::string names;
    for (const std::string& name : row.counts->api_names) names += (names.empty() ? " (" : ", ") + name;
    if (!names.empty()) names += ")";
    out << "  " << row.workload << ' ' << row.device << ' ' << row.mode << ": allocations "
        << fixed(row.counts->allocations, 2);
    if (row.counts->api_calls) out << ", CUDA calls " << fixed(*row.counts->api_calls, 2) << names;
    out << '\n';
  }
}

void print_memory(std::ostream& out, const std::vector<Row>& rows) {
  if (std::none_of(rows.begin(), rows.end(), [](const Row& row) { return row.memory.has_value(); })) return;
  out << "\nMemory of graphs, their results included, in KiB:\n";
  char line[160];
  std::snprintf(line, sizeof line, "  %-18s %-7s %-23s %12s %12s\n", "workload", "device", "mode", "taken", "in use");
  out << line;
  for (const Row& row : rows) {
    if (!row.memory) continue;
    const auto kib = [](std::int64_t bytes) { return fixed(static_cast<double>(bytes) / 1024, 1); };
    std::snprintf(line, sizeof line, "  %-18s %-7s %-23s %12s %12s\n", row.workload.c_str(), row.device.c_str(),
                  row.mode.c_str(), kib(row.memory->taken).c_str(), kib(row.memory->in_use).c_str());
    out << line;
  }
}

void write_machine(Json& json, const Machine& machine) {
  json.key("schema").value(schema);
  json.key("machine").begin_object();
  for (const auto& [key, value] : machine.facts) json.key(key).value(value);
  json.key("devices").begin_object();
  for (const auto& [device, name] : machine.devices) json.key(device).value(name);
  json.end_object();
  json.end_object();
}

void write_json(std::ostream& out, const Machine& machine, const std::vector<Row>& rows) {
  Json json(out);
  json.begin_object();
  write_machine(json, machine);
  json.key("rows").begin_array();
  for (const Row& row : rows) write_row(json, row);
  json.end_array();
  json.end_object();
  out << '\n';
}

}  // namespace refrain::bench
