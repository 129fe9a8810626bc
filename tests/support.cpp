#include "support.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

namespace refrain::test {

void require_error(Errc code, const std::function<void()>& fn, std::initializer_list<std::string_view> words,
                   SourceLocation where) {
  BOOST_TEST_CONTEXT("expected " << to_string(code) << " at " << where.str()) {
    try {
      fn();
    } catch (const Error& error) {
      const std::string text = error.what();
      BOOST_TEST(to_string(error.code()) == to_string(code), "got " << to_string(error.code()) << ": " << text);
      for (const std::string_view word : words) {
        BOOST_TEST((text.find(word) != std::string::npos), "\"" << word << "\" is missing in: " << text);
      }
      return;
    }
    BOOST_FAIL("nothing was thrown");
  }
}

namespace {

/// Large enough to be work, small enough for many streams at once.
std::int64_t busy_size(Device device) { return device.kind == DeviceKind::cuda ? 1 << 24 : 1 << 18; }

void add_rounds(const Stream& stream, int rounds) {
  const StreamGuard on(stream);
  Array work = zeros({busy_size(stream.device())});
  for (int i = 0; i < rounds; ++i) work += 1;
}

/// How many rounds take about a millisecond; measured once per device, outside of any capture.
double rounds_per_millisecond(Device device) {
  static std::mutex mutex;
  static std::map<int, double> known;
  const std::lock_guard lock(mutex);
  const auto [entry, is_new] = known.try_emplace(device.index, 0.0);
  if (is_new) {
    entry->second = on_another_thread([device] {
      constexpr int rounds = 8;
      const Stream stream(device);
      add_rounds(stream, 1);
      stream.synchronize();
      const auto begin = std::chrono::steady_clock::now();
      add_rounds(stream, rounds);
      stream.synchronize();
      const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
      return rounds / taken.count();
    });
  }
  return entry->second;
}

}  // namespace

void keep_busy(const Stream& stream, int milliseconds) {
  add_rounds(stream, 1 + static_cast<int>(rounds_per_millisecond(stream.device()) * milliseconds));
}

bool seen_pending(const Stream& stream, const std::function<bool()>& is_done) {
  for (const int milliseconds : {40, 80, 160, 320, 640}) {
    keep_busy(stream, milliseconds);
    if (!is_done()) return true;
    stream.synchronize();
  }
  return false;
}

std::optional<Device> a_gpu() {
  if (current_device().kind == DeviceKind::cuda) return current_device();
  BOOST_TEST_MESSAGE("left out: it needs a GPU");
  return std::nullopt;
}

std::optional<std::pair<Device, Device>> two_devices() {
  const DeviceKind kind = current_device().kind;
  if (device_count(kind) >= 2) return std::pair{Device{kind, 0}, Device{kind, 1}};
  BOOST_TEST_MESSAGE("left out: it needs two devices, and there is one");
  return std::nullopt;
}

HazardsScope::HazardsScope(Hazards mode) : previous_(hazards()) {
  set_hazards(mode);
  clear_diagnostics();
}

HazardsScope::~HazardsScope() {
  set_hazards(previous_);
  clear_diagnostics();
}

std::vector<Diagnostic> of_kind(const std::vector<Diagnostic>& all, DiagnosticKind kind) {
  std::vector<Diagnostic> found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found),
               [kind](const Diagnostic& diagnostic) { return diagnostic.kind == kind; });
  return found;
}

std::vector<std::string> labels(const Graph& graph) {
  std::vector<std::string> all;
  for (const GraphNode& node : graph.nodes()) all.push_back(node.label);
  return all;
}

Edges edges(const Graph& graph) {
  Edges all;
  for (const GraphNode& node : graph.nodes()) {
    for (const int from : node.dependencies) all.emplace_back(from, node.id);
  }
  std::sort(all.begin(), all.end());
  return all;
}

bool comes_before(const Graph& graph, int first, int second) {
  const std::vector<GraphNode> nodes = graph.nodes();
  std::vector<int> open = {second};
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (const int from : nodes.at(static_cast<std::size_t>(at)).dependencies) {
      if (from == first) return true;
      open.push_back(from);
    }
  }
  return false;
}

Array filled(float value, std::int64_t size) { return full({size}, value); }

namespace {

template <class T>
bool all_equal(const Array& array, double value) {
  const std::vector<T> all = array.to_vector<T>();
  return std::all_of(all.begin(), all.end(), [value](T element) { return static_cast<double>(element) == value; });
}

}  // namespace

bool holds(const Array& array, double value) {
  switch (array.dtype()) {
    case DType::bool_: return all_equal<bool>(array, value);
    case DType::uint8: return all_equal<std::uint8_t>(array, value);
    case DType::float16: return all_equal<float16>(array, value);
    case DType::bfloat16: return all_equal<bfloat16>(array, value);
    case DType::int32: return all_equal<std::int32_t>(array, value);
    case DType::int64: return all_equal<std::int64_t>(array, value);
    case DType::float32: return all_equal<float>(array, value);
    case DType::float64: break;
  }
  return all_equal<double>(array, value);
}

Array slowly(float value, int milliseconds) {
  const Stream stream = current_stream();
  const Device device = stream.device();
  const int rounds = 1 + static_cast<int>(rounds_per_millisecond(device) * milliseconds);
  const std::int64_t size = busy_size(device);
  // Counts up to a number that float32 holds exactly, then takes it away again.
  Array slow = zeros({size});
  for (int i = 0; i < rounds; ++i) slow += 1;
  slow -= rounds;
  slow += value;
  return slow;
}

}  // namespace refrain::test
