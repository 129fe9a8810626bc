#pragma once

#include <refrain/refrain.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <future>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the suites share.
namespace refrain::test {

/// Runs `fn`, which must throw refrain::Error of this code with a text that contains every one of the words.
void require_error(Errc code, const std::function<void()>& fn, std::initializer_list<std::string_view> words = {},
                   SourceLocation where = SourceLocation::current());

/// Issues work of roughly this length to the stream; returns long before it is done.
void keep_busy(const Stream& stream, int milliseconds = 50);

/// Keeps the stream busy, then asks `is_done`. True once it answered false; asked again behind more work when it did
/// not, since a thread that was interrupted may come too late to see work unfinished.
bool seen_pending(const Stream& stream, const std::function<bool()>& is_done);

/// The device under test when it is a GPU; nothing, and a message, when it is not.
std::optional<Device> a_gpu();

/// Two ordinals of the device kind under test; nothing, and a message, where there is one only.
std::optional<std::pair<Device, Device>> two_devices();

/// Runs `fn` on another thread and waits; its result or exception is handed back.
template <class Fn>
auto on_another_thread(Fn&& fn) {
  return std::async(std::launch::async, std::forward<Fn>(fn)).get();
}

/// Sets the hazards mode until the end of the scope, with a clean slate of findings before and after.
class HazardsScope {
 public:
  explicit HazardsScope(Hazards mode);
  ~HazardsScope();
  HazardsScope(const HazardsScope&) = delete;
  HazardsScope& operator=(const HazardsScope&) = delete;

 private:
  Hazards previous_;
};

/// The findings of one kind.
std::vector<Diagnostic> of_kind(const std::vector<Diagnostic>& all, DiagnosticKind kind);

/// Labels in issue order.
std::vector<std::string> labels(const Graph& graph);

/// The edges as (from, to), ascending.
using Edges = std::vector<std::pair<int, int>>;
Edges edges(const Graph& graph);

/// Whether a chain of dependencies leads from node `first` to node `second`.
bool comes_before(const Graph& graph, int first, int second);

/// An array with `size` float32 elements of one value, on the device that is current.
Array filled(float value, std::int64_t size = 4);

/// True when every element has this value. Waits for the last writer, as host reads do.
bool holds(const Array& array, double value);

/// An array of this value that a chain of ops on the current stream takes a while to make.
Array slowly(float value, int milliseconds = 20);

/// Values of `CaptureOptions::live`.
inline constexpr std::initializer_list<bool> live_modes = {false, true};

}  // namespace refrain::test
