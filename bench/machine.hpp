#pragma once

#include <string>
#include <utility>
#include <vector>

namespace refrain::bench {

/// Where numbers were measured, as names and values.
struct Machine {
  std::vector<std::pair<std::string, std::string>> facts;    ///< processor, system, compiler, ...
  std::vector<std::pair<std::string, std::string>> devices;  ///< "cuda:0" and its name
};

Machine this_machine();

/// One line for the head of the table.
std::string summary(const Machine& machine);

}  // namespace refrain::bench
