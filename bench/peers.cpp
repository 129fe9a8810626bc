#include "peers.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

namespace refrain::bench {
namespace {

/// The text of one field of a line of flat JSON that the script wrote: `"key": value`.
std::optional<std::string> field(const std::string& line, const std::string& key) {
  const std::string start = "\"" + key + "\": ";
  const auto at = line.find(start);
  if (at == std::string::npos) return std::nullopt;
  const auto begin = at + start.size();
  if (line[begin] == '"') return line.substr(begin + 1, line.find('"', begin + 1) - begin - 1);
  return line.substr(begin, line.find_first_of(",}", begin) - begin);
}

double number(const std::string& line, const std::string& key) {
  const auto text = field(line, key);
  return text ? std::strtod(text->c_str(), nullptr) : 0;
}

std::vector<std::string> output_of(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return lines;
  char* text = nullptr;
  std::size_t capacity = 0;
  while (getline(&text, &capacity, pipe.get()) > 0) lines.emplace_back(text);
  std::free(text);
  return lines;
}

}  // namespace

PeerRows numpy_rows(const Effort& effort, const std::vector<std::string>& workloads) {
  std::string command = "python3 '" REFRAIN_BENCH_PEERS "/numpy_peers.py' --budget " +
                        std::to_string(effort.budget_seconds) + " --repeat " + std::to_string(effort.repeat);
  for (const std::string& workload : workloads) command += " --workload '" + workload + "'";
  PeerRows peers;
  peers.why_none = "python3 is not there or failed";
  for (const std::string& line : output_of(command + " 2>/dev/null")) {
    if (const auto missing = field(line, "missing")) peers.why_none = *missing;
    const auto workload = field(line, "workload");
    if (!workload) continue;
    Row row;
    row.workload = *workload;
    row.device = "host:0";
    row.mode = numpy_mode;
    row.commands = static_cast<int>(number(line, "commands"));
    row.timing = {number(line, "host_us"), number(line, "total_us"), number(line, "back_to_back_us"),
                  static_cast<int>(number(line, "repetitions"))};
    peers.rows.push_back(std::move(row));
  }
  if (!peers.rows.empty()) peers.why_none.clear();
  return peers;
}

}  // namespace refrain::bench
