#include "graphed/comparison.hpp"

#include <refrain/launch.hpp>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <variant>

namespace refrain::detail {

namespace {

using graph::Node;
using runtime::Access;
using runtime::Buffer;

bool same(kernels::Value a, kernels::Value b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
bool same(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }
bool same(const Dim3& a, const Dim3& b) { return a.x == b.x && a.y == b.y && a.z == b.z; }

/// Whether two commands of a kind, on memory that agrees, do the same.
struct SameWork {
  const Node& known_node;
  const Node& fresh_node;

  bool operator()(const runtime::ElementwiseCommand& a, const runtime::ElementwiseCommand& b) const {
    if (a.args.op != b.args.op || a.args.in_type != b.args.in_type || a.args.out_type != b.args.out_type ||
        a.args.size != b.args.size || a.args.input_count != b.args.input_count || a.in_access != b.in_access) {
      return false;
    }
    for (int i = 0; i < a.args.input_count; ++i) {
      const bool is_scalar = a.in_access[static_cast<std::size_t>(i)] < 0;
      if (is_scalar && !is_parameter(i) && !same(a.args.inputs[i].scalar, b.args.inputs[i].scalar)) return false;
    }
    return true;
  }
  bool operator()(const runtime::ReduceCommand& a, const runtime::ReduceCommand& b) const {
    return a.args.op == b.args.op && a.args.rows == b.args.rows && a.args.n == b.args.n &&
           a.args.chunks == b.args.chunks && same(a.args.divisor, b.args.divisor) && a.args.root == b.args.root;
  }
  bool operator()(const runtime::MatmulCommand& a, const runtime::MatmulCommand& b) const {
    return a.bias_access == b.bias_access && a.workspace_access == b.workspace_access && a.plan->shape == b.plan->shape;
  }
  bool operator()(const runtime::MoveCommand& a, const runtime::MoveCommand& b) const {
    const kernels::MoveArgs& x = a.args;
    const kernels::MoveArgs& y = b.args;
    if (x.op != y.op || x.type != y.type || x.size != y.size) return false;
    if (x.op == kernels::MoveOp::count) {
      return same(x.start, y.start) && same(x.step, y.step) && x.has_last == y.has_last;
    }
    return x.flat_shift == y.flat_shift && std::equal(x.shifts, x.shifts + x.ndim, y.shifts);
  }
  bool operator()(const runtime::RandomCommand& a, const runtime::RandomCommand& b) const {
    return a.args.distribution == b.args.distribution && a.args.size == b.args.size && a.args.low == b.args.low &&
           a.args.range == b.args.range && same(a.args.first, b.args.first) && same(a.args.second, b.args.second) &&
           a.args.offset == b.args.offset && a.absolute == b.absolute && a.args.seed == b.args.seed;
  }
  bool operator()(const runtime::UploadCommand& a, const runtime::UploadCommand& b) const {
    return *a.owned == *b.owned;
  }
  bool operator()(const runtime::CopyCommand& a, const runtime::CopyCommand& b) const {
    return a.bytes == b.bytes && a.target == b.target && a.source == b.source;
  }
  bool operator()(const runtime::KernelCommand& a, const runtime::KernelCommand& b) const {
    const LaunchConfig& x = a.get().config();
    const LaunchConfig& y = b.get().config();
    return same(x.grid, y.grid) && same(x.block, y.block) && x.shared_bytes == y.shared_bytes &&
           a.get().has_values_of(b.get());
  }
  template <class T>
  bool operator()(const T&, const T&) const {
    return true;
  }
  template <class T, class U>
    requires(!std::is_same_v<T, U>)
  bool operator()(const T&, const U&) const { return false; }

  /// Whether a Param gives the scalar, to which replays are given the value of the call.
  bool is_parameter(int slot) const {
    const auto uses = [&](const Node& node) {
      return std::any_of(node.parameters.begin(), node.parameters.end(),
                         [&](const ParameterUse& use) { return use.slot == slot; });
    };
    return uses(known_node) && uses(fresh_node);
  }
};

class Comparison {
 public:
  Comparison(const Recorded& known, const graph::Program& fresh, std::span<const runtime::BufferRef> names)
      : known_(known.program()), fresh_(fresh) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].get() != nullptr) counterpart_[names[i].get()] = known.blocks()[i].name.get();
    }
    for (std::size_t i = 0; i < std::min(known_.made.size(), fresh_.made.size()); ++i) {
      counterpart_[fresh_.made[i].get()] = known_.made[i].get();
    }
  }

  std::string run() const {
    const std::size_t count = std::min(known_.nodes.size(), fresh_.nodes.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Node& a = known_.nodes[i];
      const Node& b = fresh_.nodes[i];
      const std::string name = graph::place(b.command);
      if (std::strcmp(a.command.label, b.command.label) != 0 || a.child != b.child) {
        return name + " is where " + graph::place(a.command) + " was";
      }
      if (!std::visit(SameWork{a, b}, a.command.payload, b.command.payload)) {
        return name + " has other values or another shape";
      }
      if (!same_memory(a, b)) return name + " uses other arrays";
      if (a.dependencies != b.dependencies) return name + " waits for other commands";
    }
    if (known_.nodes.size() == fresh_.nodes.size()) return {};
    const graph::Program& longer = known_.nodes.size() > count ? known_ : fresh_;
    return graph::place(longer.nodes[count].command) + (&longer == &known_ ? " is missing" : " is new");
  }

 private:
  bool same_memory(const Node& a, const Node& b) const {
    if (a.accesses.size() != b.accesses.size()) return false;
    for (std::size_t k = 0; k < a.accesses.size(); ++k) {
      const Access& x = a.accesses[k];
      const Access& y = b.accesses[k];
      if (x.mode != y.mode || x.begin != y.begin || x.end != y.end || x.first != y.first) return false;
      const auto counterpart = counterpart_.find(y.buffer);
      const Buffer* const expected = counterpart != counterpart_.end() ? counterpart->second : y.buffer;
      // Names of addresses are made anew by each recording.
      if (expected != x.buffer && !(x.buffer->is_array == false && y.buffer->is_array == false)) return false;
    }
    return true;
  }

  const graph::Program& known_;
  const graph::Program& fresh_;
  std::unordered_map<const Buffer*, const Buffer*> counterpart_;
};

}  // namespace

std::string difference(const Recorded& known, const graph::Program& fresh, std::span<const runtime::BufferRef> names) {
  return Comparison(known, fresh, names).run();
}

}  // namespace refrain::detail
