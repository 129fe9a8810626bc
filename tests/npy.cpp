// Arrays in files of NumPy's: what is written and read, and that no file does any harm.

#include "support.hpp"
#include "support_files.hpp"
#include "support_reference.hpp"

#include <refrain/npy.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>

using boost::test_tools::per_element;

namespace refrain::test {

namespace {

constexpr DType dtypes_of_files[] = {DType::bool_,   DType::uint8,   DType::int32,  DType::int64,
                                     DType::float16, DType::float32, DType::float64};

/// A file as NumPy writes it: the dict, padded, after the version, then the elements.
std::string file_of(std::string dict, const std::string& elements, int version = 1) {
  dict += '\n';
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) file += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return file + dict + elements;
}

std::string dict_of(const std::string& descr, const std::string& shape, bool is_fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (is_fortran ? "True" : "False") + ", 'shape': " + shape +
         ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& values, bool is_big_endian = false) {
  std::string bytes;
  for (const T value : values) {
    char raw[sizeof(T)];
    std::memcpy(raw, &value, sizeof(T));
    if (is_big_endian) std::reverse(raw, raw + sizeof(T));
    bytes.append(raw, sizeof(T));
  }
  return bytes;
}

Array load(const std::string& content) {
  const TemporaryFile file(content);
  return load_npy(file.path());
}

bool is_refused(const std::string& content) {
  try {
    load(content);
    return false;
  } catch (const Error& error) {
    return error.code() == Errc::invalid_value && error.call() == "load_npy";
  }
}

const std::string row_of_three = bytes_of(std::vector<float>{1, 2, 3});

}  // namespace

BOOST_AUTO_TEST_SUITE(npy, *boost::unit_test::label("sanitize"))

BOOST_AUTO_TEST_CASE(a_file_is_written_byte_for_byte_as_numpy_writes_it) {
  const TemporaryFile file;
  save_npy(file.path(), from_host(std::vector<float>{1, 2, 3}, {3}));
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }";
  dict.resize(117, ' ');  // 128 bytes with what is before and the new line after it
  BOOST_TEST(file.content() == file_of(dict, row_of_three));
}

BOOST_AUTO_TEST_CASE(what_is_saved_is_loaded_again) {
  for (const DType dtype : dtypes_of_files) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{5}, Shape{2, 3}, Shape{2, 1, 3, 2}, Shape{0}, Shape{2, 0, 3},
                               Shape{1, 1, 1, 1, 1, 1, 1, 2}}) {
      BOOST_TEST_CONTEXT(dtype << " " << shape.str()) {
        const Array x = rand(shape) * 100;
        const Array saved = (dtype == DType::bool_ ? x > 50 : x).cast(dtype);
        const TemporaryFile file;
        save_npy(file.path(), saved);
        const Array loaded = load_npy(file.path());
        BOOST_TEST((loaded.dtype() == dtype));
        BOOST_TEST(loaded.shape() == shape);
        BOOST_TEST(loaded.device() == current_device());
        BOOST_TEST(loaded.is_contiguous());
        BOOST_TEST(loaded.cast(DType::float64).to_vector<double>() == saved.cast(DType::float64).to_vector<double>(),
                   per_element());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(views_are_saved_in_row_major_order) {
  const Array x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  const TemporaryFile file;
  save_npy(file.path(), x.transpose(0, 1));
  BOOST_TEST(load_npy(file.path()).shape() == (Shape{3, 2}));
  BOOST_TEST(load_npy(file.path()).to_vector<float>() == (std::vector<float>{1, 4, 2, 5, 3, 6}), per_element());
  save_npy(file.path(), x.select(1).flip(0));
  BOOST_TEST(load_npy(file.path()).to_vector<float>() == (std::vector<float>{6, 5, 4}), per_element());
}

BOOST_AUTO_TEST_CASE(saving_waits_for_the_last_writer) {
  const Stream stream;
  Array x;
  {
    const StreamGuard on(stream);
    x = slowly(3);
  }
  const TemporaryFile file;
  save_npy(file.path(), x);
  BOOST_TEST(holds(load_npy(file.path()), 3));
}

BOOST_AUTO_TEST_CASE(every_version_of_the_format_is_read) {
  for (const int version : {1, 2, 3}) {
    BOOST_TEST_CONTEXT(version) {
      const Array x = load(file_of(dict_of("<f4", "(3,)"), row_of_three, version));
      BOOST_TEST(x.to_vector<float>() == (std::vector<float>{1, 2, 3}), per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(big_endian_elements_are_turned) {
  const std::vector<double> doubles{1.5, -2, 1e300};
  BOOST_TEST(load(file_of(dict_of(">f8", "(3,)"), bytes_of(doubles, true))).to_vector<double>() == doubles,
             per_element());
  const std::vector<std::int32_t> ints{1, -2, 0x01020304};
  BOOST_TEST(load(file_of(dict_of(">i4", "(3,)"), bytes_of(ints, true))).to_vector<std::int32_t>() == ints,
             per_element());
  const std::vector<std::int64_t> longs{1, -2, 0x0102030405060708};
  BOOST_TEST(load(file_of(dict_of(">i8", "(3,)"), bytes_of(longs, true))).to_vector<std::int64_t>() == longs,
             per_element());
  BOOST_TEST(holds(load(file_of(dict_of(">f2", "()"), std::string("\x3E\x00", 2))), 1.5));
}

BOOST_AUTO_TEST_CASE(elements_in_fortran_order_come_in_row_major_order) {
  const std::string elements = bytes_of(std::vector<std::int64_t>{1, 4, 2, 5, 3, 6});
  const Array x = load(file_of(dict_of("<i8", "(2, 3)", true), elements));
  BOOST_TEST(x.shape() == (Shape{2, 3}));
  BOOST_TEST(x.is_contiguous());
  BOOST_TEST(x.to_vector<std::int64_t>() == (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}), per_element());
  BOOST_TEST(load(file_of(dict_of("<i8", "(2, 0)", true), "")).shape() == (Shape{2, 0}));
  BOOST_TEST(load(file_of(dict_of("<i8", "()", true), elements.substr(0, 8))).item<int>() == 1);
}

BOOST_AUTO_TEST_CASE(anything_but_zero_is_true) {
  const Array x = load(file_of(dict_of("|b1", "(4,)"), std::string("\x00\x01\x02\xFF", 4)));
  BOOST_TEST(x.to_vector<bool>() == (std::vector<bool>{false, true, true, true}), per_element());
  BOOST_TEST(holds(x.cast(DType::int32).slice(1, 4), 1));
}

BOOST_AUTO_TEST_CASE(dicts_are_read_as_python_reads_them) {
  for (const char* dict : {
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
           "{'shape':(3,),'descr':'<f4','fortran_order':False}",
           "{\"descr\": \"<f4\", \"fortran_order\": False, \"shape\": (3, ), }",
           "  { 'fortran_order' : True , 'shape' : ( 3 , ) , 'descr' : '<f4' }      ",
       }) {
    BOOST_TEST_CONTEXT(dict) { BOOST_TEST(load(file_of(dict, row_of_three)).shape() == (Shape{3})); }
  }
}

BOOST_AUTO_TEST_CASE(dicts_that_numpy_never_writes_are_refused) {
  for (const char* dict : {
           "",
           "{",
           "{}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'descr': '<f4', 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (03,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} #",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}{}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'shape': (3,)}",
           "{'descr': '<f4, 'fortran_order': False, 'shape': (3,)}",
           "{'descr': <f4, 'fortran_order': False, 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4611686018427387904, 4611686018427387904)}",
       }) {
    BOOST_TEST_CONTEXT(dict) { BOOST_TEST(is_refused(file_of(dict, row_of_three))); }
  }
}

BOOST_AUTO_TEST_CASE(dtypes_that_no_array_has_are_refused) {
  for (const char* descr : {"", "<", "f4", "|f4", "=f4", "<f16", "<c8", "<i2", "<u4", "<U3", "|S12", "|O", "|V2",
                            "<M8[us]", "|b1 ", "<f", "<F4"}) {
    BOOST_TEST_CONTEXT(descr) { BOOST_TEST(is_refused(file_of(dict_of(descr, "(3,)"), row_of_three))); }
  }
  const char* const fields = "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,), }";
  BOOST_TEST(is_refused(file_of(fields, row_of_three)));
}

BOOST_AUTO_TEST_CASE(sizes_are_not_believed) {
  // Each of these would take more memory than there is.
  for (const char* shape : {"(1000000000000,)", "(1000000, 1000000)", "(1152921504606846975,)"}) {
    BOOST_TEST_CONTEXT(shape) { BOOST_TEST(is_refused(file_of(dict_of("<f4", shape), row_of_three))); }
  }
  std::string file = file_of(dict_of("<f4", "(3,)"), row_of_three, 2);
  file[11] = '\x7F';  // of the header's length
  BOOST_TEST(is_refused(file));
  BOOST_TEST(is_refused(file_of(std::string(70'000, ' ') + dict_of("<f4", "(3,)"), row_of_three, 2)));
}

BOOST_AUTO_TEST_CASE(a_file_has_its_elements_and_nothing_else) {
  const std::string file = file_of(dict_of("<f4", "(3,)"), row_of_three);
  for (std::size_t size = 0; size < file.size(); ++size) {
    BOOST_TEST_CONTEXT(size) { BOOST_TEST(is_refused(file.substr(0, size))); }
  }
  BOOST_TEST(is_refused(file + '\0'));
  BOOST_TEST(is_refused(file + file));
}

BOOST_AUTO_TEST_CASE(no_mutation_of_a_file_does_harm) {
  // Deterministic: the engine's numbers are the standard's, and so are these uses of them.
  std::mt19937 random(20'240'611);
  const auto below = [&](std::size_t n) { return random() % n; };
  const std::string seeds[] = {
      file_of(dict_of("<f4", "(3,)"), row_of_three),
      file_of(dict_of(">i4", "(1, 3)", true), row_of_three, 2),
      file_of(dict_of("|b1", "(3, 2, 2)"), row_of_three, 3),
      file_of(dict_of("<f2", "()"), row_of_three.substr(0, 2)),
  };
  const char* const pieces[] = {"'",    "(",     ")", "{",  "}",     ",", ":", "0", "9", "99999999999",
                                "True", "False", "-", "\\", "shape", "[", "<", ">", "|", "\n"};
  const TemporaryFile file;
  int read = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string content = seeds[below(std::size(seeds))];
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(content.size() + 1);
      switch (below(5)) {
        case 0: content.resize(at); break;
        case 1: content.insert(at, pieces[below(std::size(pieces))]); break;
        case 2: content.erase(at, 1 + below(4)); break;
        case 3:
          if (at < content.size()) content[at] = static_cast<char>(below(256));
          break;
        default: content.insert(at, content.substr(below(content.size() + 1), below(20))); break;
      }
      if (content.empty()) break;
    }
    file.write(content);
    try {
      const Array x = load_npy(file.path());
      read += x.size_bytes() <= static_cast<std::int64_t>(content.size()) ? 1 : 1'000'000;
    } catch (const Error& error) {
      if (error.code() == Errc::invalid_value && error.call() == "load_npy") continue;
      BOOST_ERROR(error.what());
    }
  }
  BOOST_TEST(read > 20);
  BOOST_TEST(read < 6000);
}

BOOST_AUTO_TEST_CASE(what_a_capture_loads_is_its_graphs) {
  for (const Mode mode : {Mode::eager, Mode::graph, Mode::graph_none, Mode::live}) {
    const TemporaryFile file(file_of(dict_of("<f4", "(3, 1)", true), row_of_three));
    const Array x = run_as(mode, [&] { return load_npy(file.path()) + 1; });
    BOOST_TEST(x.to_vector<float>() == (std::vector<float>{2, 3, 4}), per_element());
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_not_there_yet_are_not_saved) {
  const TemporaryFile file;
  for (const bool live : live_modes) {
    auto [graph, x] = capture(
        [&] {
          Array made = ones({3});
          require_error(Errc::capture_unsupported, [&] { save_npy(file.path(), made); });
          return made;
        },
        {.live = live});
    require_error(Errc::illegal_state, [&, &array = x] { save_npy(file.path(), array); });
    graph.instantiate().replay();
    save_npy(file.path(), x);
    BOOST_TEST(holds(load_npy(file.path()), 1));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace refrain::test
