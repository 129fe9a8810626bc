#include <refrain/error.hpp>

namespace refrain {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_value: return "invalid_value";
    case Errc::illegal_state: return "illegal_state";
    case Errc::capture_unsupported: return "capture_unsupported";
    case Errc::capture_invalidated: return "capture_invalidated";
    case Errc::capture_merge: return "capture_merge";
    case Errc::capture_unmatched: return "capture_unmatched";
    case Errc::capture_unjoined: return "capture_unjoined";
    case Errc::capture_isolation: return "capture_isolation";
    case Errc::capture_implicit: return "capture_implicit";
    case Errc::captured_event: return "captured_event";
    case Errc::capture_wrong_thread: return "capture_wrong_thread";
    case Errc::graph_exec_update_failure: return "graph_exec_update_failure";
    case Errc::not_ready: return "not_ready";
    case Errc::not_supported: return "not_supported";
    case Errc::not_permitted: return "not_permitted";
    case Errc::out_of_memory: return "out_of_memory";
    case Errc::wrong_device: return "wrong_device";
    case Errc::no_device: return "no_device";
    case Errc::device_lost: return "device_lost";
    case Errc::shutting_down: return "shutting_down";
    case Errc::backend: return "backend";
  }
  return "unknown";
}

namespace {

std::string compose(Errc code, std::string_view call, std::string_view object, std::string_view reason,
                    SourceLocation where) {
  std::string text = "[";
  text.append(call).append("] ");
  if (!object.empty()) text.append(object).append(": ");
  text.append(reason).append(" (").append(to_string(code)).append(")");
  if (where.line != 0) text.append(", at ").append(where.str());
  return text;
}

}  // namespace

Error::Error(Errc code, std::string_view call, std::string_view object, std::string_view reason, SourceLocation where)
    : std::runtime_error(compose(code, call, object, reason, where)),
      code_(code),
      call_(call),
      object_(object),
      where_(where) {}

}  // namespace refrain
