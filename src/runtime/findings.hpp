#pragma once

#include <refrain/diagnostics.hpp>

#include <string>

namespace refrain::runtime {

/// A missing wait of eager work that was found; each pair of places is reported once. With the order lock held, so the
/// sink is told by the next `log_findings`.
void find_added_order(const std::string& first, const std::string& second);

/// Hands findings to the log sink that it has not seen. Without any lock, since it calls the user.
void log_findings();
/// Hands a warning to the log sink, if there is one. Likewise.
void log(const Diagnostic& diagnostic);

}  // namespace refrain::runtime
