#include "support_torch.hpp"

// Boost 1.74 warns about its own use of this.
#define BOOST_BIND_GLOBAL_PLACEHOLDERS
#include <boost/property_tree/json_parser.hpp>
#include <boost/property_tree/ptree.hpp>

#include <stdexcept>

namespace refrain::test {

namespace {

using boost::property_tree::ptree;

const ptree& document() {
  static const ptree& tree = [&]() -> const ptree& {
    auto& read = *new ptree;
    boost::property_tree::read_json(REFRAIN_TEST_DATA_DIR "/torch_cuda_rng.json", read);
    if (read.get<int>("multiprocessors") != torch_multiprocessors) {
      throw std::runtime_error("torch_cuda_rng.json is of another GPU than these tests know");
    }
    return read;
  }();
  return tree;
}

/// The elements of a JSON list; none when it is null or missing.
template <class T>
std::vector<T> list(const ptree& parent, const std::string& name) {
  std::vector<T> values;
  if (const auto found = parent.get_child_optional(name)) {
    for (const auto& [key, value] : *found) values.push_back(value.template get_value<T>());
  }
  return values;
}

std::vector<TorchCall> read_calls() {
  std::vector<TorchCall> calls;
  for (const auto& [key, row] : document().get_child("rows")) {
    TorchCall call;
    call.seed = row.get<std::uint64_t>("seed");
    call.op = row.get<std::string>("op");
    call.args = list<double>(row, "args");
    call.shape = list<std::int64_t>(row, "shape");
    call.dtype = row.get<std::string>("dtype");
    const bool follows = !calls.empty() && calls.back().seed == call.seed;
    call.offset_before = follows ? calls.back().offset_after : 0;
    call.offset_after = row.get<std::uint64_t>("offset_after");
    for (const auto& [pair_key, pair] : row.get_child("values")) {
      const double index = pair.front().second.get_value<double>();
      call.values.emplace_back(static_cast<std::int64_t>(index), pair.back().second.get_value<double>());
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace

std::int64_t TorchCall::size() const {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  return size;
}

const std::vector<TorchCall>& torch_calls() {
  static const auto& calls = *new std::vector<TorchCall>(read_calls());
  return calls;
}

std::vector<std::uint64_t> torch_seeds() {
  std::vector<std::uint64_t> seeds;
  for (const TorchCall& call : torch_calls()) {
    if (seeds.empty() || seeds.back() != call.seed) seeds.push_back(call.seed);
  }
  return seeds;
}

std::vector<double> torch_numbers(const std::string& path) {
  std::vector<double> numbers = list<double>(document().get_child("programs"), path);
  if (numbers.empty()) throw std::runtime_error("torch_cuda_rng.json has no numbers " + path);
  return numbers;
}

double torch_number(const std::string& path) { return document().get_child("programs").get<double>(path); }

}  // namespace refrain::test
