#include "support_errors.hpp"

#include <refrain/error.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <stdexcept>
#include <utility>

namespace refrain::test {

namespace {

const std::string data_file = REFRAIN_TEST_DATA_DIR "/errors.txt";

/// Lines of "key: text", sorted by key.
std::map<std::string, std::string> known_texts() {
  std::map<std::string, std::string> texts;
  std::ifstream in(data_file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) throw std::runtime_error(data_file + ": not of the form key: text: " + line);
    texts[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return texts;
}

void write_text(const std::string& key, const std::string& text) {
  std::map<std::string, std::string> texts = known_texts();
  texts[key] = text;
  std::ofstream out(data_file);
  for (const auto& [name, line] : texts) out << name << ": " << line << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + data_file);
}

}  // namespace

std::string normalised(std::string text) {
  static const std::pair<std::regex, const char*> replacements[] = {
      {std::regex(R"((stream|event|graph) \d+)"), "$1 N"},
      {std::regex(R"((host|cuda):-?\d+)"), "DEVICE"},
      {std::regex(R"(use one of( DEVICE)+)"), "use one of DEVICES"},
      {std::regex(R"([^\s]+\.(cpp|cu|hpp):\d+)"), "FILE:LINE"},
      {std::regex(R"(/\S*/refrain_tests_\w+)"), "A_FILE"},
      {std::regex(R"(\d+ live ones)"), "N live ones"},
      {std::regex(R"(over the limit of \d+)"), "over the limit of N"},
  };
  for (const auto& [pattern, replacement] : replacements) text = std::regex_replace(text, pattern, replacement);
  return text;
}

void check_error_text(const std::function<void()>& fn) {
  const std::string key = boost::unit_test::framework::current_test_case().p_name;
  std::string text;
  try {
    fn();
  } catch (const Error& error) {
    text = normalised(error.what());
    const std::string file = error.where().file;
    BOOST_TEST(file.find("error_texts") != std::string::npos, "the place is not the program's: " << error.what());
  }
  BOOST_REQUIRE_MESSAGE(!text.empty(), "nothing was thrown");
  if (std::getenv("REFRAIN_UPDATE_ERRORS") != nullptr) write_text(key, text);
  const std::map<std::string, std::string> known = known_texts();
  const auto line = known.find(key);
  BOOST_REQUIRE_MESSAGE(line != known.end(), "errors.txt has no line for " << key << ": " << text);
  BOOST_TEST(text == line->second);
}

}  // namespace refrain::test
