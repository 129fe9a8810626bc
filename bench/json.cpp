#include "json.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <ostream>

namespace refrain::bench {

Json& Json::key(std::string_view name) {
  separate();
  quote(name);
  out_ << ": ";
  after_key_ = true;
  return *this;
}

Json& Json::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

Json& Json::value(double number) {
  if (!std::isfinite(number)) return null();
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  separate();
  out_ << std::string_view(text, static_cast<std::size_t>(end - text));
  return *this;
}

Json& Json::value(int number) {
  separate();
  out_ << number;
  return *this;
}

Json& Json::value(std::int64_t number) {
  separate();
  out_ << number;
  return *this;
}

Json& Json::value(bool truth) {
  separate();
  out_ << (truth ? "true" : "false");
  return *this;
}

Json& Json::null() {
  separate();
  out_ << "null";
  return *this;
}

Json& Json::begin(char bracket) {
  separate();
  out_ << bracket;
  filled_.push_back(false);
  return *this;
}

Json& Json::end(char bracket) {
  const bool filled = filled_.back();
  filled_.pop_back();
  if (filled) new_line();
  out_ << bracket;
  return *this;
}

void Json::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (filled_.empty()) return;
  if (filled_.back()) out_ << ',';
  filled_.back() = true;
  new_line();
}

void Json::new_line() { out_ << '\n' << std::string(2 * filled_.size(), ' '); }

void Json::quote(std::string_view text) {
  out_ << '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out_ << '\\' << c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out_ << escape;
    } else {
      out_ << c;
    }
  }
  out_ << '"';
}

}  // namespace refrain::bench
