#include "array/npy_header.hpp"

#include <refrain/error.hpp>

#include <array>
#include <optional>
#include <span>
#include <utility>

namespace refrain {

namespace {

/// NumPy's names without byte order; bfloat16 has none.
constexpr std::pair<std::string_view, DType> dtype_names[] = {
    {"b1", DType::bool_},   {"u1", DType::uint8},   {"i4", DType::int32},   {"i8", DType::int64},
    {"f2", DType::float16}, {"f4", DType::float32}, {"f8", DType::float64},
};

/// Reads the dict from left to right. It is Python's syntax as far as NumPy writes it: no escapes, comments or
/// expressions.
class Parser {
 public:
  Parser(std::string_view text, const std::string& file, SourceLocation where)
      : rest_(text), file_(file), where_(where) {}

  NpyHeader parse() {
    expect('{');
    while (!take('}')) {
      parse_entry();
      if (take(',')) continue;
      expect('}');
      break;
    }
    skip_space();
    if (!rest_.empty()) refuse("goes on after the dict");
    if (!has_descr_ || !has_order_ || !extents_) refuse("does not have the entries descr, fortran_order and shape");
    header_.shape = make_shape();
    return header_;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(Errc::invalid_value, "load_npy", file_,
                "has a header that " + what + "; give a file that numpy.save wrote", where_);
  }

  void skip_space() {
    const std::size_t begin = rest_.find_first_not_of(" \n");
    rest_.remove_prefix(begin == std::string_view::npos ? rest_.size() : begin);
  }
  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool take(std::string_view word) {
    skip_space();
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse(std::string("has no '") + c + "' where one belongs");
  }

  std::string_view parse_string() {
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_.front();
    if (quote != '\'' && quote != '"') refuse("has no text where one belongs");
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) refuse("has a text without an end");
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void parse_entry() {
    const std::string_view key = parse_string();
    expect(':');
    if (key == "descr" && !std::exchange(has_descr_, true)) {
      parse_descr();
    } else if (key == "fortran_order" && !std::exchange(has_order_, true)) {
      header_.is_fortran = take("True");
      if (!header_.is_fortran && !take("False")) refuse("has a fortran_order that is neither True nor False");
    } else if (key == "shape" && !extents_) {
      parse_shape();
    } else {
      refuse("has an entry that is unknown or there twice");
    }
  }

  void parse_descr() {
    skip_space();
    const std::string_view name = rest_.starts_with('[') ? "a list of fields" : parse_string();
    const char order = name.empty() ? '\0' : name.front();
    for (const auto& [known, dtype] : dtype_names) {
      if (name.size() != 3 || name.substr(1) != known) continue;
      if (order != '<' && order != '>' && (order != '|' || size_of(dtype) != 1)) break;
      header_.dtype = dtype;
      header_.is_big_endian = order == '>';
      return;
    }
    throw Error(Errc::invalid_value, "load_npy", file_,
                "holds elements of a dtype that no array has, " + printable(name) +
                    "; convert them with NumPy (astype) to bool, uint8, int32, int64, float16, float32 or float64",
                where_);
  }

  /// What comes from the file as it may stand in an error.
  static std::string printable(std::string_view text) {
    constexpr std::size_t most = 32;
    std::string shown;
    for (const char c : text.substr(0, most)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown + (text.size() > most ? "..." : "");
  }

  void parse_shape() {
    extents_.emplace();
    expect('(');
    bool may_go_on = true;
    while (!take(')')) {
      if (!may_go_on) refuse("has extents without a ',' between them");
      if (count_ == Shape::max_ndim) refuse("has more than 8 extents");
      (*extents_)[count_++] = parse_extent();
      may_go_on = take(',');
    }
    // Python's (3) is a number, not a tuple.
    if (count_ == 1 && !may_go_on) refuse("has a shape that is no tuple");
  }

  std::int64_t parse_extent() {
    skip_space();
    const bool has_leading_zero = rest_.size() > 1 && rest_[0] == '0' && is_digit(rest_[1]);
    if (rest_.empty() || !is_digit(rest_.front()) || has_leading_zero) refuse("has an extent that is no number");
    std::int64_t extent = 0;
    for (; !rest_.empty() && is_digit(rest_.front()); rest_.remove_prefix(1)) {
      if (__builtin_mul_overflow(extent, 10, &extent) || __builtin_add_overflow(extent, rest_.front() - '0', &extent)) {
        refuse("has an extent beyond 2^63");
      }
    }
    return extent;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  Shape make_shape() const {
    // Also where an extent of 0 makes the array empty: NumPy has no such array.
    std::int64_t bytes = size_of(header_.dtype);
    for (std::size_t axis = 0; axis < count_; ++axis) {
      if ((*extents_)[axis] != 0 && __builtin_mul_overflow(bytes, (*extents_)[axis], &bytes)) {
        refuse("has extents beyond any memory");
      }
    }
    return Shape(std::span<const std::int64_t>(extents_->data(), count_), where_);
  }

  std::string_view rest_;
  const std::string& file_;
  SourceLocation where_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  std::optional<std::array<std::int64_t, Shape::max_ndim>> extents_;
  std::size_t count_ = 0;
};

std::string descr(DType dtype) {
  for (const auto& [name, of] : dtype_names) {
    if (of == dtype) return (size_of(dtype) == 1 ? "|" : "<") + std::string(name);
  }
  return {};
}

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file, SourceLocation where) {
  return Parser(text, file, where).parse();
}

std::string npy_preamble(const Shape& shape, DType dtype) {
  std::string dict = "{'descr': '" + descr(dtype) + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    dict += (axis > 0 ? " " : "") + std::to_string(shape[axis]);
    if (axis + 1 < shape.ndim() || axis == 0) dict += ",";
  }
  dict += "), }";
  // The elements begin at a multiple of 64 bytes, the header ends with a new line.
  constexpr std::size_t alignment = 64;
  const std::size_t fixed = npy_magic.size() + 4;
  dict.append(alignment - 1 - (fixed + dict.size()) % alignment, ' ');
  dict += '\n';
  std::string preamble(npy_magic);
  preamble += '\1';
  preamble += '\0';
  preamble += static_cast<char>(dict.size() & 0xFF);
  preamble += static_cast<char>(dict.size() >> 8);
  return preamble + dict;
}

}  // namespace refrain
