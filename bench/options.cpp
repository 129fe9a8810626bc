#include "options.hpp"

#include "modes.hpp"
#include "peers.hpp"
#include "workload.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace refrain::bench {
namespace {

using Names = std::vector<std::string>;

std::string joined(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Names split(const std::string& text) {
  Names parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) parts.push_back(part);
  return parts;
}

Names workload_names() {
  Names names;
  for (const Workload& workload : workloads()) names.push_back(workload.name);
  return names;
}

Names mode_names() {
  Names names;
  for (const auto* list : {&modes(), &ablations()}) {
    for (const Mode& mode : *list) names.push_back(mode.name);
  }
  for (const Baseline& baseline : baselines()) {
    if (std::find(names.begin(), names.end(), baseline.mode.name) == names.end()) names.push_back(baseline.mode.name);
  }
  return names;
}

Names peer_names() {
  Names names;
  for (const Peer& peer : peers()) names.push_back(peer.name);
  return names;
}

Names chosen(const std::string& what, const std::string& text, const Names& known) {
  Names names = split(text);
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      throw UsageError("unknown " + what + " '" + name + "'; there are: " + joined(known));
    }
  }
  if (names.empty()) throw UsageError("no " + what + " given; there are: " + joined(known));
  return names;
}

std::string device_names() {
  Names names;
  for (const Device& device : devices()) names.push_back(device.str());
  const std::string why = why_no_cuda();
  return joined(names) + (why.empty() ? "" : " (no CUDA device: " + why + ")");
}

/// "cuda" is every CUDA device, "cuda:1" one.
std::vector<Device> chosen_devices(const std::string& text) {
  std::vector<Device> list;
  for (const std::string& name : split(text)) {
    bool found = false;
    for (const Device& device : devices()) {
      if (name != device.str() && !device.str().starts_with(name + ":")) continue;
      found = true;
      if (std::find(list.begin(), list.end(), device) == list.end()) list.push_back(device);
    }
    if (!found) throw UsageError("no device '" + name + "'; there are: " + device_names());
  }
  if (list.empty()) throw UsageError("no device given; there are: " + device_names());
  return list;
}

template <class Number>
Number positive(const std::string& option, const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || !(number > 0)) {
    throw UsageError(option + " needs a number greater than 0, not '" + text + "'");
  }
  return number;
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& option = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == arguments.size()) throw UsageError(option + " needs a value");
      return arguments[++i];
    };
    if (option == "--help") {
      options.help = true;
    } else if (option == "--list") {
      options.list = true;
    } else if (option == "--count") {
      options.count = true;
    } else if (option == "--workload") {
      options.workloads = chosen("workload", value(), workload_names());
    } else if (option == "--mode") {
      options.modes = chosen("mode", value(), mode_names());
    } else if (option == "--device") {
      options.devices = chosen_devices(value());
    } else if (option == "--repeat") {
      options.effort.repeat = positive<int>(option, value());
    } else if (option == "--budget") {
      options.effort.budget_seconds = positive<double>(option, value());
    } else if (option == "--json") {
      options.json = value();
    } else if (option == "--peers") {
      options.peers = chosen("peer", value(), peer_names());
    } else if (option == "--ablate") {
      options.ablate = true;
    } else if (option == "--start") {
      options.start = true;
    } else if (option == "--first-replay") {
      options.first_replay = chosen_devices(value()).front().str();
    } else {
      throw UsageError("unknown option '" + option + "'\n\n" + usage());
    }
  }
  return options;
}

std::string usage() {
  return "refrain-bench: times Refrain's workloads and checks that replays give what eager runs give\n"
         "\n"
         "  --list                  the workloads and modes there are, with a line on each\n"
         "  --workload NAME[,NAME]  only these\n"
         "  --device NAME[,NAME]    only these: host, cuda, host:0, cuda:1, ...\n"
         "  --mode NAME[,NAME]      only these, as graph,hand,hand-fast; ratios need the rows they are taken to\n"
         "  --repeat N              N repetitions a row, whatever they take\n"
         "  --budget SECONDS        time for a row without --repeat (2)\n"
         "  --json FILE             writes the rows there too\n"
         "  --count                 counts CUDA calls and heap allocations of a steady-state step as well\n"
         "  --ablate                the graph with each pass off in turn as well\n"
         "  --peers NAME[,NAME]     times other libraries on the workloads that they can do: torch, jax, cupy, numpy\n"
         "  --start                 what comes before the first replay: recording, passes, kernels, a new process\n"
         "  --first-replay DEVICE   milliseconds to the first results of chain_100_1k; --start runs it\n"
         "  --help\n"
         "\n"
         "Exit code: 0, 1 when a check failed, 2 on a wrong command line.\n";
}

}  // namespace refrain::bench
