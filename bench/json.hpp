#pragma once

#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <vector>

namespace refrain::bench {

/// Writes JSON as it is told, indented. The caller keeps keys and values in order; commas and quotes are this
/// class's.
class Json {
 public:
  explicit Json(std::ostream& out) : out_(out) {}

  Json& begin_object() { return begin('{'); }
  Json& end_object() { return end('}'); }
  Json& begin_array() { return begin('['); }
  Json& end_array() { return end(']'); }

  Json& key(std::string_view name);

  Json& value(std::string_view text);
  Json& value(const char* text) { return value(std::string_view(text)); }
  Json& value(double number);  ///< null when it is not finite
  Json& value(int number);
  Json& value(std::int64_t number);
  Json& value(bool truth);
  Json& null();

 private:
  Json& begin(char bracket);
  Json& end(char bracket);
  void separate();
  void new_line();
  void quote(std::string_view text);

  std::ostream& out_;
  std::vector<bool> filled_;  ///< for each open bracket, whether something is in it
  bool after_key_ = false;
};

}  // namespace refrain::bench
