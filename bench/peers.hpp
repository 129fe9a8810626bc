#pragma once

#include "prepared.hpp"
#include "row.hpp"

#include <refrain/device.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace refrain::bench {

/// Another library, measured by a script of peers/ in a process of its own.
struct Peer {
  std::string name;  ///< on the command line
  std::vector<DeviceKind> kinds;
};

const std::vector<Peer>& peers();

/// A folder that is gone in the end.
class TemporaryFolder {
 public:
  /// @throws std::runtime_error where none can be made
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// A row of a peer's.
struct PeerRow {
  Row row;
  std::filesystem::path results;  ///< a file with what a first step gave
  bool has_own_numbers = false;   ///< it draws other random numbers
};

struct PeerReport {
  std::vector<PeerRow> rows;
  std::vector<std::string> missing;  ///< one line each: why there are no rows, or not all
};

/// Runs the peer on these workloads, or on all it can do when none is named, by the python3 that is found on PATH.
/// @param results where it puts files with results
PeerReport measure_peer(const Peer& peer, Device device, const Effort& effort,
                        const std::vector<std::string>& workloads, const std::filesystem::path& results);

/// What differs between a peer's results and those of a first eager step: element by element, of large arrays of every
/// n-th; where it has other random numbers, mean and spread.
std::string difference(const PeerRow& peer, const std::vector<Bytes>& expected, const std::vector<DType>& dtypes,
                       double tolerance);

}  // namespace refrain::bench
