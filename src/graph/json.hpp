#pragma once

#include <string>
#include <string_view>

namespace refrain::graph {

/// The text as a JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace refrain::graph
