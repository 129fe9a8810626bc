#include "support_json.hpp"

#include <cstddef>
#include <cstdlib>
#include <stdexcept>

namespace refrain::test {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  JsonValue whole() {
    JsonValue value = any();
    skip_space();
    if (at_ != text_.size()) fail("more text");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("no JSON at byte " + std::to_string(at_) + ": " + what);
  }
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char peek() const {
    if (at_ == text_.size()) fail("the end");
    return text_[at_];
  }
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void need(std::string_view token) {
    if (!take(token)) fail("not " + std::string(token));
  }

  JsonValue any() {
    skip_space();
    JsonValue value;
    if (peek() == '{') {
      read_object(value);
    } else if (peek() == '[') {
      read_array(value);
    } else if (peek() == '"') {
      value.kind = JsonValue::Kind::string;
      value.text = string();
    } else if (take("true") || take("false")) {
      value.kind = JsonValue::Kind::boolean;
      value.boolean = text_[at_ - 2] == 'u';
    } else if (!take("null")) {
      read_number(value);
    }
    return value;
  }

  void read_object(JsonValue& value) {
    value.kind = JsonValue::Kind::object;
    need("{");
    skip_space();
    if (take("}")) return;
    do {
      skip_space();
      std::string name = string();
      skip_space();
      need(":");
      if (!value.members.emplace(std::move(name), any()).second) fail("a name twice");
      skip_space();
    } while (take(","));
    need("}");
  }

  void read_array(JsonValue& value) {
    value.kind = JsonValue::Kind::array;
    need("[");
    skip_space();
    if (take("]")) return;
    do {
      value.items.push_back(any());
      skip_space();
    } while (take(","));
    need("]");
  }

  void read_number(JsonValue& value) {
    const std::size_t begin = at_;
    take("-");
    const std::size_t whole = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') ++at_;
      if (at_ == first) fail("no digit");
    };
    digits();
    if (text_[whole] == '0' && at_ - whole > 1) fail("a leading 0");
    if (take(".")) digits();
    if (take("e") || take("E")) {
      (void)(take("+") || take("-"));
      digits();
    }
    value.kind = JsonValue::Kind::number;
    value.number = std::strtod(std::string(text_.substr(begin, at_ - begin)).c_str(), nullptr);
  }

  /// Escapes of characters below U+0080 only, but U+FFFD: that is all that is written.
  std::string string() {
    need("\"");
    std::string out;
    for (; peek() != '"'; ++at_) {
      if (static_cast<unsigned char>(peek()) < 0x20) fail("a control character");
      if (peek() != '\\') {
        out += peek();
        continue;
      }
      ++at_;
      constexpr std::string_view escapes = "\"\\/bfnrt";
      if (const auto which = escapes.find(peek()); which != std::string_view::npos) {
        out += "\"\\/\b\f\n\r\t"[which];
        continue;
      }
      need("u");
      if (text_.size() - at_ < 4) fail("half an escape");
      const auto code = std::strtoul(std::string(text_.substr(at_, 4)).c_str(), nullptr, 16);
      if (code == 0xFFFD) {
        out += "\xEF\xBF\xBD";
      } else if (code < 0x80) {
        out += static_cast<char>(code);
      } else {
        fail("an escape that is never written");
      }
      at_ += 3;
    }
    need("\"");
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

JsonValue JsonValue::parse(std::string_view text) { return Reader(text).whole(); }

}  // namespace refrain::test
