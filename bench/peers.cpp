#include "peers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>

namespace refrain::bench {
namespace {

namespace fs = std::filesystem;

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

/// Calls `take` with each line that the command prints.
/// @return whether the command ended with 0
template <class Take>
bool run_command(const std::string& command, const Take& take) {
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return false;
  char* text = nullptr;
  std::size_t capacity = 0;
  while (getline(&text, &capacity, pipe) > 0) take(std::string(text));
  std::free(text);
  return pclose(pipe) == 0;
}

std::string last_line(const fs::path& path) {
  std::ifstream file(path);
  std::string last;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

/// As measuring.py writes it.
struct Result {
  std::int64_t size = 0;
  std::int64_t stride = 1;
  std::vector<double> numbers;  ///< of every stride-th element
};

std::vector<Result> read_results(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const auto read = [&](void* to, std::size_t bytes) {
    if (!file.read(static_cast<char*>(to), static_cast<std::streamsize>(bytes))) {
      throw std::runtime_error("the peer's results cannot be read");
    }
  };
  std::int64_t count = 0;
  read(&count, sizeof count);
  std::vector<Result> results;
  for (std::int64_t i = 0; i < count; ++i) {
    Result result;
    read(&result.size, sizeof result.size);
    read(&result.stride, sizeof result.stride);
    result.numbers.resize(static_cast<std::size_t>((result.size + result.stride - 1) / result.stride));
    read(result.numbers.data(), result.numbers.size() * sizeof(double));
    results.push_back(std::move(result));
  }
  return results;
}

struct Spread {
  double mean = 0;
  double deviation = 0;
};

Spread spread_of(const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  Spread spread;
  for (const double each : numbers) spread.mean += each / count;
  for (const double each : numbers) spread.deviation += std::pow(each - spread.mean, 2) / count;
  spread.deviation = std::sqrt(spread.deviation);
  return spread;
}

/// Of random numbers that are not the same: empty where mean and spread are as far apart as chance explains.
std::string statistical_difference(const std::vector<double>& expected, const std::vector<double>& found) {
  const Spread a = spread_of(expected);
  const Spread b = spread_of(found);
  const auto count = static_cast<double>(expected.size());
  // One number is itself a mean, of many.
  const bool is_one = expected.size() == 1;
  const double mean_bound = is_one ? 0.01 * std::abs(a.mean) : 6 * a.deviation * std::sqrt(2 / count);
  const double deviation_bound = 6 * a.deviation / std::sqrt(count);
  if (std::abs(a.mean - b.mean) <= mean_bound && std::abs(a.deviation - b.deviation) <= deviation_bound) return {};
  return "mean " + std::to_string(b.mean) + " and deviation " + std::to_string(b.deviation) +
         " where there should be " + std::to_string(a.mean) + " and " + std::to_string(a.deviation);
}

}  // namespace

const std::vector<Peer>& peers() {
  static const std::vector<Peer> all = {{"torch", {DeviceKind::host, DeviceKind::cuda}},
                                        {"jax", {DeviceKind::host, DeviceKind::cuda}},
                                        {"cupy", {DeviceKind::cuda}},
                                        {"numpy", {DeviceKind::host}}};
  return all;
}

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "refrain-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder can be made for files of a while");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

PeerReport measure_peer(const Peer& peer, Device device, const Effort& effort,
                        const std::vector<std::string>& workloads, const fs::path& results) {
  const bool is_cuda = device.kind == DeviceKind::cuda;
  const fs::path errors = results / "errors";
  std::string command = "python3 -B '" REFRAIN_BENCH_PEERS "/" + peer.name + "_peers.py' --device " +
                        (is_cuda ? "cuda" : "host") + " --budget " + std::to_string(effort.budget_seconds) +
                        " --repeat " + std::to_string(effort.repeat) + " --results '" + results.string() + "'";
  for (const std::string& workload : workloads) command += " --workload '" + workload + "'";
  command += " 2>'" + errors.string() + "'";

  PeerReport report;
  const bool has_ended_well = run_command(command, [&](const std::string& line) {
    if (const auto why = field(line, "missing")) report.missing.push_back("no rows: " + *why);
    if (const auto which = field(line, "skipped")) report.missing.push_back("no row: " + *which);
    const auto workload = field(line, "workload");
    if (!workload) return;
    PeerRow made;
    made.row.workload = *workload;
    made.row.device = device.str();
    made.row.mode = field(line, "mode").value_or("?");
    made.row.note = field(line, "note").value_or("");
    made.row.timing = {number(line, "host_us"), number(line, "total_us"), number(line, "back_to_back_us"),
                       static_cast<int>(number(line, "repetitions"))};
    if (field(line, "memory_bytes")) {
      made.row.memory = {static_cast<std::int64_t>(number(line, "memory_bytes")),
                         static_cast<std::int64_t>(number(line, "memory_in_use_bytes"))};
    }
    made.results = field(line, "results").value_or("");
    made.has_own_numbers = number(line, "own_numbers") != 0;
    report.rows.push_back(std::move(made));
  });
  if (!has_ended_well) {
    const std::string why = last_line(errors);
    report.missing.push_back("no more rows: python3 is not there or its script failed" +
                             (why.empty() ? "" : ": " + why));
  }
  return report;
}

std::string difference(const PeerRow& peer, const std::vector<Bytes>& expected, const std::vector<DType>& dtypes,
                       double tolerance) {
  const std::vector<Result> results = read_results(peer.results);
  if (results.size() != expected.size()) {
    return std::to_string(results.size()) + " results where there should be " + std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result& result = results[i];
    const std::vector<double> all = numbers_of(expected[i], dtypes[i]);
    if (result.size != static_cast<std::int64_t>(all.size())) {
      return std::to_string(result.size) + " elements where there should be " + std::to_string(all.size());
    }
    std::vector<double> wanted;
    for (std::size_t k = 0; k < all.size(); k += static_cast<std::size_t>(result.stride)) wanted.push_back(all[k]);
    std::string text = peer.has_own_numbers ? statistical_difference(wanted, result.numbers)
                                            : difference(wanted, result.numbers, tolerance);
    if (!text.empty()) return "result " + std::to_string(i) + ": " + text;
  }
  return {};
}

}  // namespace refrain::bench
