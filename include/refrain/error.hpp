#pragma once

#include <refrain/source_location.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace refrain {

/// What went wrong. Values shared with `cudaError_t` carry CUDA's number and name; the others start at 10000.
enum class Errc {
  invalid_value = 1,
  illegal_state = 401,
  capture_unsupported = 900,
  capture_invalidated = 901,
  capture_merge = 902,
  capture_unmatched = 903,
  capture_unjoined = 904,
  capture_isolation = 905,
  capture_implicit = 906,
  captured_event = 907,
  capture_wrong_thread = 908,
  graph_exec_update_failure = 910,
  not_ready = 10000,
  not_supported,
  not_permitted,
  out_of_memory,
  wrong_device,
  no_device,
  device_lost,
  shutting_down,
  backend,  ///< CUDA, NVRTC or another library failed in a way that has no code of its own; the text carries its name
};

/// The name of a code, e.g. "capture_unjoined".
std::string_view to_string(Errc code) noexcept;

/// Every error Refrain throws. `what()` says what was refused, on which object, where, and what to do instead.
class Error : public std::runtime_error {
 public:
  /// @param call   the refused call, e.g. "wait_event"
  /// @param object the stream, array or node it was made on; may be empty
  /// @param reason why, with the remedy
  Error(Errc code, std::string_view call, std::string_view object, std::string_view reason, SourceLocation where = {});

  Errc code() const noexcept { return code_; }
  const std::string& call() const noexcept { return call_; }
  const std::string& object() const noexcept { return object_; }
  SourceLocation where() const noexcept { return where_; }

 private:
  Errc code_;
  std::string call_;
  std::string object_;
  SourceLocation where_;
};

}  // namespace refrain
