#pragma once

#include "graph/arena.hpp"
#include "graph/program.hpp"
#include "runtime/order.hpp"
#include "runtime/plan.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/graph.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace refrain::graph {

/// A block that a call passes for one that its program names: the program's begins at `offset` in it.
struct PassedBlock {
  runtime::Buffer* buffer = nullptr;
  std::int64_t offset = 0;

  std::byte* address() const noexcept {
    auto* const begin = static_cast<std::byte*>(buffer->address());
    return begin == nullptr ? nullptr : begin + offset;
  }
};

/// A value that a parameter has from a call on.
struct PassedValue {
  const detail::ParameterState* parameter = nullptr;
  const void* value = nullptr;
};

/// An executable and what a replay does around it: order, generator, one launch.
class Exec : public std::enable_shared_from_this<Exec> {
 public:
  static std::shared_ptr<Exec> make(const std::shared_ptr<Program>& program, InstantiateOptions options,
                                    SourceLocation where);
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

  /// @throws as GraphExec::replay
  void replay(runtime::StreamCore& stream, SourceLocation where) { replay(stream, {}, {}, where); }

  // Of an executable whose replays are each passed blocks in the place of `names`, which have no memory of their own
  // and are in no other program; in exec_pass.cpp. It holds no block that it was passed.
  static std::shared_ptr<Exec> make_passing(const std::shared_ptr<Program>& program, const InstantiateOptions& options,
                                            std::span<runtime::Buffer* const> names,
                                            std::span<const PassedBlock> blocks, SourceLocation where);
  /// Another one with the same plan and temporaries: their replays are ordered one after another.
  std::shared_ptr<Exec> sibling(std::span<const PassedBlock> blocks, SourceLocation where);
  /// As many blocks as there are names; the arrays in them have values. Parameters keep the values of the calls before;
  /// if it throws, nobody knows which of these have been passed.
  void replay(runtime::StreamCore& stream, std::span<const PassedBlock> blocks, std::span<const PassedValue> values,
              SourceLocation where);
  /// Whether its nodes have the addresses of these blocks.
  bool has(std::span<const PassedBlock> blocks) const noexcept;
  /// Whether the newest replay of it or a sibling is done. Without the order lock.
  bool is_idle() const;
  /// Waits for that.
  void synchronize() const;

  // As GraphExec's; in exec_change.cpp and exec_update.cpp.
  void set_parameter(const detail::ParameterState& parameter, const void* value, SourceLocation where);
  /// Whether a command uses it.
  bool uses(const detail::ParameterState& parameter);
  void set_config(std::string_view label, const LaunchConfig& config);
  void enable(std::string_view label, bool is_enabled, SourceLocation where);
  void bind(const Array& recorded, const Array& array, SourceLocation where);
  void bind(const void* recorded, void* address, SourceLocation where);
  Array output(const Array& recorded, SourceLocation where) const;
  GraphUpdate update(const std::shared_ptr<Program>& program, SourceLocation where);
  std::shared_ptr<Exec> clone(SourceLocation where);

  const Program& program() const noexcept { return *state_.program; }
  const runtime::Executable& executable() const noexcept { return *state_.executable; }
  /// The program's, then those of the plan.
  std::vector<Diagnostic> diagnostics() const;
  /// Of the program as planned.
  int node_count() const noexcept { return static_cast<int>(state_.plan.commands.size()); }
  int edge_count() const noexcept;
  std::string to_dot() const;
  InstantiateOptions options() const noexcept { return options_; }
  ArenaUse arena_use() const;
  // In explain.cpp.
  std::string explain() const;
  std::string explain_json() const;

 private:
  /// Another block in the place of one that the program names.
  struct Binding {
    runtime::BufferRef buffer;
    std::int64_t offset = 0;  ///< of the array in it
  };
  using Bindings = std::unordered_map<const runtime::Buffer*, Binding>;
  /// A command that is not the program's any more.
  struct Changed {
    runtime::Command command;
    const runtime::Command* recorded;          ///< the program's
    std::shared_ptr<detail::KernelCall> call;  ///< a kernel's, own
    bool is_enabled = true;
  };

  /// What each replay is passed in the place of a name.
  struct Passed {
    runtime::Buffer* name;
    std::byte* address = nullptr;                           ///< that the nodes have
    std::vector<runtime::Access> accesses;                  ///< of a replay, by the name
    std::vector<std::pair<std::size_t, std::size_t>> uses;  ///< command of the plan, access
  };

  /// Where the plan's commands use a parameter.
  struct ParameterUses {
    struct Use {
      std::size_t command;
      int slot;
      std::optional<DType> dtype;  ///< that an op converts it to; nothing for kernels, which take it as it is
      kernels::Value value;        ///< as the op has it
      Changed* own = nullptr;      ///< the executable's own command, once it has one
    };
    std::shared_ptr<const detail::ParameterState> parameter;  ///< held, so that no other one gets its address
    std::vector<Use> uses;
  };

  /// All that an update replaces.
  struct State {
    // What each replay looks at: together, for the lines of the cache.
    std::shared_ptr<Program> program;
    std::shared_ptr<runtime::ReplayMark> mark;  ///< the program's; a clone has its own
    std::shared_ptr<runtime::Executable> executable;
    std::optional<std::uint64_t> prepared_at;  ///< the mark's generation
    bool crosses_kinds = false;                ///< one of `outside` is used by another kind of device too
    std::vector<runtime::Access> outside;      ///< what a replay touches besides its arena, merged by buffer
    std::vector<Passed> passed;
    std::vector<runtime::Access> passing;  ///< what the replay that is issued does to what it was passed
    std::vector<std::pair<std::size_t, std::int64_t>> passing_from;  ///< the same's block, and where in it by the name
    std::vector<runtime::GeneratorPosition> draws;                   ///< reused by replays
    std::vector<ParameterUses> parameter_uses;                       ///< found when first set
    std::vector<std::size_t> changed_now;  ///< commands that have other values for the next replay
    std::vector<std::size_t> moved;        ///< commands that have other addresses for it

    runtime::Plan plan;
    std::vector<Diagnostic> diagnostics;
    std::unordered_map<std::string, std::string> folded;  ///< labels of commands that passes took away, and why
    ArenaUse arena_use;
    Bindings bindings;
    std::unordered_map<std::size_t, std::unique_ptr<Changed>> changed;  ///< by command of the plan
    std::vector<runtime::Buffer*> outputs;    ///< what has values once this executable has run
    std::vector<runtime::StreamPoint> after;  ///< of what an update took the place of
  };

  Exec(InstantiateOptions options, std::shared_ptr<ArenaRoom> pool);

  /// `room`: for its temporaries.
  static State plan(const std::shared_ptr<Program>& program, InstantiateOptions options, SourceLocation where,
                    const std::shared_ptr<runtime::ReplayMark>& mark, std::shared_ptr<ArenaRoom> room,
                    Bindings bindings, std::span<runtime::Buffer* const> names = {});
  static std::shared_ptr<runtime::Executable> lower(const runtime::Plan& plan);
  static void find_boundary(State& state);
  static runtime::Access bound(const State& state, const runtime::Access& access);

  /// Records the replay, unless the capture of the stream ends meanwhile.
  /// `live`: what a live capture needs, to be destroyed without the lock.
  bool record(runtime::StreamCore& stream, runtime::OrderLock& lock, std::optional<runtime::Plan>& live,
              SourceLocation where);
  void issue(runtime::StreamCore& stream, SourceLocation where);
  /// Gives the plan the addresses, and notes the commands that have others now.
  static void put(State& state, std::span<const PassedBlock> blocks);
  /// Gives the executable the blocks and values of the next replay. With the order lock held.
  void pass(const runtime::StreamCore& stream, std::span<const PassedBlock> blocks, std::span<const PassedValue> values,
            SourceLocation where);
  void prepare(runtime::StreamCore& stream, SourceLocation where);
  void refuse_shared_elements(SourceLocation where) const;
  void advance_generators();

  void require_changeable(const char* call, SourceLocation where) const;
  std::vector<std::size_t> commands_labelled(std::string_view label, bool kernels_only, const char* call,
                                             SourceLocation where) const;
  bool has_label(std::string_view label) const;
  /// Whether it writes a temporary in whose memory another one lies too.
  bool shares_memory(std::size_t command) const;
  ParameterUses& uses_of(const detail::ParameterState& parameter);
  /// Finds what the commands have for the value. Nothing changes yet.
  void convert(ParameterUses& parameter, const void* value, SourceLocation where);
  /// Gives it to the commands, which become `changed_now`.
  void take_value(ParameterUses& parameter, const void* value);
  Changed& own_command(std::size_t command);
  /// The command as it is in another executable of the same plan.
  void copy_change(std::size_t command, const Changed& changed);
  void apply(std::size_t command);
  void refuse_baked_in(const runtime::Buffer* recorded, SourceLocation where) const;
  void require_aligned(const runtime::Buffer* recorded, const Binding& binding, SourceLocation where) const;
  void bind_buffer(const runtime::Buffer* recorded, Binding binding);
  static void leave(runtime::Buffer& buffer, runtime::ReplayMark& mark);
  static void leave_all(State& state);
  void take_over(State& next);
  /// What other code keeps for its nodes must outlive the runs under way. Without the order lock.
  static void keep_foreign_work(const State& state) noexcept;

  const InstantiateOptions options_;
  const std::shared_ptr<ArenaRoom> pool_;  ///< room shared with executables of other graphs; null: none is
  std::mutex changes_;                     ///< one change at a time; taken before the order lock
  State state_;                            ///< guarded by the order lock
};

}  // namespace refrain::graph
