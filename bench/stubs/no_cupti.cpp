// In place of raw/api_calls.cpp in a binary without CUPTI.

#include "api_calls.hpp"

namespace refrain::bench {

std::string why_no_api_calls() { return "built without CUPTI"; }
std::vector<std::string> api_calls(const std::function<void()>&) { return {}; }

}  // namespace refrain::bench
