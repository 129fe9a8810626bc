#pragma once

#include <refrain/diagnostics.hpp>

#include <string>

namespace refrain::runtime {

/// A missing wait of eager work that was found; each pair of places is reported once. With the order lock held.
void find_added_order(const std::string& first, const std::string& second);

/// Hands a warning to the log sink, if there is one.
void log(const Diagnostic& diagnostic);

}  // namespace refrain::runtime
