#pragma once

#include "measure.hpp"

#include <refrain/device.hpp>

#include <stdexcept>
#include <string>
#include <vector>

namespace refrain::bench {

/// What the command line asks for. Names are checked.
struct Options {
  bool help = false;
  bool list = false;
  bool count = false;
  bool ablate = false;
  bool start = false;                  ///< what comes before the first replay, in place of the table
  std::string first_replay;            ///< of what --start runs in new processes: the device
  std::vector<std::string> workloads;  ///< empty: all
  std::vector<std::string> modes;      ///< empty: all
  std::vector<Device> devices;         ///< empty: all
  std::vector<std::string> peers;      ///< empty: none
  Effort effort;
  std::string json;  ///< a file's name, or empty
};

/// A command line that cannot be obeyed, and why.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// @throws UsageError on unknown names and missing or malformed values
Options parse_options(const std::vector<std::string>& arguments);

std::string usage();

}  // namespace refrain::bench
