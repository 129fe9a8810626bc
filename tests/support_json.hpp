#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::test {

/// A JSON value. Reads all that RFC 8259 allows, and nothing else.
struct JsonValue {
  enum class Kind { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;
  std::map<std::string, JsonValue> members;

  /// @throws std::runtime_error where the text is no JSON
  static JsonValue parse(std::string_view text);

  /// @throws std::out_of_range where there is none
  const JsonValue& operator[](const std::string& name) const { return members.at(name); }
  const JsonValue& operator[](std::size_t i) const { return items.at(i); }
  std::size_t size() const noexcept { return items.size(); }
};

}  // namespace refrain::test
