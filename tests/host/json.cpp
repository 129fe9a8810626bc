// Strings in JSON: everything is escaped that must be, and what is no UTF-8 is replaced.

#include "graph/json.hpp"
#include "support.hpp"
#include "support_json.hpp"

#include <string>

namespace refrain::test {

using graph::json_string;

BOOST_AUTO_TEST_SUITE(host_json)

BOOST_AUTO_TEST_CASE(every_character_of_ascii_comes_back) {
  for (int c = 0; c < 0x80; ++c) {
    const std::string text = "<" + std::string(1, static_cast<char>(c)) + ">";
    BOOST_TEST(JsonValue::parse(json_string(text)).text == text, "character " << c);
  }
  BOOST_TEST(json_string("a\"\\\x1f") == "\"a\\\"\\\\\\u001f\"");
}

BOOST_AUTO_TEST_CASE(utf8_stays_as_it_is) {
  for (const std::string text : {"\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
                                 "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    BOOST_TEST(json_string("x" + text + "y") == "\"x" + text + "y\"");
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_utf8_is_replaced_byte_by_byte) {
  const std::string bad = "\\ufffd";
  const auto replaced = [&](const std::string& text, int bytes) {
    std::string wanted = "\"x";
    for (int i = 0; i < bytes; ++i) wanted += bad;
    BOOST_TEST(json_string("x" + text + "y") == wanted + "y\"");
  };
  for (const char* const text : {"\x80", "\xBF", "\xC0", "\xFE", "\xFF", "\xC3", "\xF5"}) replaced(text, 1);
  for (const char* const text : {"\xC0\x80", "\xC1\xBF", "\xE2\x82", "\x80\x80"}) replaced(text, 2);
  replaced("\xE0\x9F\xBF", 3);                                     // longer than needed
  replaced("\xED\xA0\x80", 3);                                     // half of a pair
  replaced("\xF0\x8F\xBF\xBF", 4);                                 // longer than needed
  replaced("\xF4\x90\x80\x80", 4);                                 // beyond the last
  BOOST_TEST(json_string("\xE2\x82") == "\"" + bad + bad + "\"");  // cut off by the end
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
