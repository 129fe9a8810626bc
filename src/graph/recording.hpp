#pragma once

#include "graph/program.hpp"
#include "runtime/order.hpp"
#include "runtime/recorder.hpp"
#include "runtime/stream_core.hpp"

#include <refrain/capture.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace refrain::graph {

class Recording;

/// What events of a capture share with it: the open recording, or where it went. Guarded by the order lock.
struct CaptureTag {
  Recording* open = nullptr;
  std::string holder;
  std::uint64_t foreign_id = 0;  ///< of a capture that other code has begun; 0: it is Refrain's own
};

/// The nodes that a stream's next command depends on, and all that comes before them.
struct Frontier {
  std::vector<int> nodes;
  LaneClock clock;
};

/// Copies bytes between two blocks, in the stream's order.
void copy_bytes(runtime::StreamCore& stream, runtime::Buffer& to, std::int64_t to_begin, runtime::Buffer& from,
                std::int64_t from_begin, std::int64_t bytes, SourceLocation where);

/// Records commands as a graph. The capture rules are here, once for all devices: a refused call throws and leaves the
/// capture as it was.
class Recording final : public runtime::Recorder, public std::enable_shared_from_this<Recording> {
 public:
  enum class Scope : std::uint8_t { thread, stream };

  static std::shared_ptr<Recording> begin(Scope scope, const Stream& origin, CaptureOptions options,
                                          SourceLocation where);
  ~Recording() override;

  /// Lets the stream's commands be part of the capture of other code's that it is in, if it is in one, and of none if
  /// that capture is over. Without the order lock.
  /// @throws Error(Errc::capture_invalidated) when the capture is broken
  static void follow(runtime::StreamCore& stream, const char* call, SourceLocation where);

  /// @throws as Capture::end; when it throws capture_unjoined the capture is gone
  std::shared_ptr<Program> end(SourceLocation where);
  /// Checks that the stream is the origin.
  void require_origin(const Stream& stream, SourceLocation where) const;
  void discard(const std::string& why) noexcept;
  bool is_open() const noexcept;

  /// As recorded so far.
  const Program& program() const noexcept { return *program_; }

  /// Records a replay of a graph as one command. `live`: the graph's commands, which a live capture needs. With the
  /// order lock held.
  void add_graph(runtime::StreamCore& stream, const std::shared_ptr<Program>& program, const runtime::Plan* live,
                 SourceLocation where);
  /// For a capture that stands for its own run: an empty one is worth no warning, any seed may be set, and if `may_run`
  /// it runs what it holds at a call that no capture allows. In src/graph/recording_run.cpp, as the next three.
  void stand_for_a_run(bool may_run) noexcept {
    stands_for_a_run_ = true;
    may_run_ = may_run;
  }
  bool run_so_far(const char* call, SourceLocation where) override;
  /// The call that it ran what it held for; empty: it did not.
  const std::string& ran_for() const noexcept { return ran_for_; }
  /// What streams of it wait for that was put on others before: each run of what stands for a run waits anew.
  struct OutsideWait {
    std::weak_ptr<runtime::EventCore> event;
    runtime::Slot slot = 0;
    std::uint64_t stream_id = 0;  ///< of the stream that it was recorded on, for which the wait is once it is gone
  };
  const std::vector<OutsideWait>& awaited_outside() const noexcept { return awaited_outside_; }
  /// Events that it recorded and that are still there, no events of nodes among them.
  std::vector<std::shared_ptr<runtime::EventCore>> recorded_events() const;
  bool is_live() const noexcept override { return live_ != nullptr; }
  bool is_attached() const noexcept override { return tag_->foreign_id != 0; }
  /// Of the program that is recorded. With the order lock held.
  std::shared_ptr<runtime::ReplayMark> mark() const noexcept { return program_->mark; }

  void submit(runtime::StreamCore& stream, const runtime::Command& command) override;
  void check_order(const runtime::StreamCore& stream, const runtime::Command& command) const override;
  void record_event(runtime::StreamCore& stream, runtime::EventCore& event, SourceLocation where) override;
  void wait_event(runtime::StreamCore& stream, runtime::EventCore& event, SourceLocation where) override;
  runtime::Buffer* allocate(runtime::StreamCore& stream, Device device, std::int64_t bytes,
                            SourceLocation where) override;
  void manual_seed(std::uint64_t seed, SourceLocation where) override;
  void manual_seed(runtime::GeneratorCore& generator, std::uint64_t seed, SourceLocation where) override;
  runtime::CapturedState state_of(runtime::GeneratorCore& generator, SourceLocation where) override;
  void set_state(runtime::GeneratorCore& generator, const runtime::CapturedState* state, SourceLocation where) override;
  [[noreturn]] void refuse(const char* call, const std::string& object, SourceLocation where) const override;
  cudaStream_t native(runtime::StreamCore& stream, SourceLocation where) override;
  bool pin(const runtime::Command& command) override;
  void call_live(runtime::OrderLock& lock, runtime::StreamCore& stream, const runtime::Command& command,
                 const runtime::ForeignCall& call) override;
  std::shared_ptr<void> stream_destroyed(runtime::StreamCore& stream) noexcept override;
  void expect_outside_wait(const runtime::EventCore& event) override;
  bool spans(Device device) const noexcept override;
  bool is_member(const runtime::StreamCore& stream) const noexcept override;
  void exposed(runtime::StreamCore& stream) noexcept override;
  bool takes_in(runtime::StreamCore& stream, std::uint64_t capture) override;

 private:
  struct Lane {
    std::shared_ptr<runtime::StreamCore> core;
    Frontier frontier;
    std::uint32_t length = 0;        ///< commands
    bool is_watched = false;         ///< other code has the native stream
    std::string strayed_after = {};  ///< where work of other code was first seen
  };
  struct RecordedAccess {
    int node;
    std::int64_t begin;
    std::int64_t end;
    runtime::AccessMode mode;
  };
  /// What was recorded of a block, or of all foreign memory.
  struct RecordedHistory {
    std::vector<RecordedAccess> accesses;
    std::vector<const runtime::Buffer*> names;  ///< of a block from outside: more than one where it has aliases
  };
  class Point;

  Recording(Scope scope, runtime::StreamCore& origin, CaptureOptions options);

  std::string str() const;
  void require_open(const char* call, SourceLocation where) const;
  void check_can_join(const runtime::StreamCore& stream, const char* call, SourceLocation where) const;
  int lane_of(runtime::StreamCore& stream, const char* call, SourceLocation where);
  int add_lane(runtime::StreamCore& stream);
  /// A command that was just recorded.
  struct Added {
    int lane;
    const Node* node;
    std::vector<int> hazards;  ///< commands that the recording has put before it
    int id;
  };
  Added add_node(runtime::StreamCore& stream, const runtime::Command& command, const std::shared_ptr<Program>& child);

  // Of captures that other code has begun: src/graph/attach.cpp.
  static void attach(runtime::StreamCore& stream, std::uint64_t id, std::shared_ptr<Recording>& made);
  void adopt(runtime::StreamCore& stream);
  std::shared_ptr<Recording> leave() noexcept;
  void keep_attached(const Added& added) noexcept;
  void refuse_draws(bool draws, const char* call, const runtime::StreamCore& stream, SourceLocation where) const;

  void submit_undeclared(runtime::StreamCore& stream, runtime::Payload payload, const char* label,
                         SourceLocation where);
  void note_undeclared(const Node& node, int id);
  /// Puts it into the live capture too, if this is one.
  template <class Run>
  void put_live(const Added& added, Run run);
  LaneClock clock_of(const runtime::StreamCore& stream) const;
  void check_buffers(const runtime::Command& command) const;
  std::vector<int> find_hazards(const runtime::StreamCore& stream, const runtime::Command& command,
                                LaneClock& clock) const;
  void note(DiagnosticKind kind, Severity severity, std::vector<int> commands, std::string text);
  void keep(const Node& node, int id);
  void materialize(runtime::Buffer& buffer);
  /// Gives an alias memory of its own, in this capture that stands for runs of its own: other code keeps its address,
  /// and each run copies what the alias stood for to it and back. In src/graph/recording_run.cpp.
  bool give_memory(runtime::Buffer& alias);
  runtime::Access own_access(const runtime::Access& access);
  void wait_outside(runtime::EventCore& event, const runtime::StreamCore& stream, SourceLocation where);
  /// Whether the event's newest record is in this capture.
  bool holds(const runtime::EventCore& event) const;
  /// A live graph in which other code has put work: as CUDA has it.
  void add_native_graph(runtime::StreamCore& stream, const std::shared_ptr<Program>& program,
                        std::span<const runtime::Access> accesses, SourceLocation where);
  void place_child(Node& node, const std::shared_ptr<Program>& child);
  void run_live(const Added& added, const runtime::Plan* child);
  // Of draws: src/graph/recording_draws.cpp.
  void place_draw(runtime::RandomCommand& draw);
  void place_child_draws(Node& node, const Program& child);
  int number_of(runtime::GeneratorCore& generator);
  void seed_defaults(std::uint64_t seed);
  void refuse_seed(std::uint64_t present, std::uint64_t seed, SourceLocation where) const;
  void join_lanes();
  void require_joined(SourceLocation where);
  void require_none_strayed(SourceLocation where);
  void watch(Lane& lane) noexcept;
  void close(std::string holder) noexcept;
  std::shared_ptr<Program> give_up(const std::string& why) noexcept;

  const Scope scope_;
  const CaptureOptions options_;
  const std::thread::id thread_;
  std::shared_ptr<runtime::StreamCore> origin_;
  std::shared_ptr<runtime::ThreadRecorder> slot_;  ///< of the thread, if thread-scoped

  // Guarded by the order lock.
  bool open_ = true;
  std::string gone_;  ///< why it is not open
  std::shared_ptr<CaptureTag> tag_;
  std::shared_ptr<Program> program_;
  std::vector<Lane> lanes_;
  std::unordered_map<const runtime::StreamCore*, int> lane_numbers_;
  /// By what orders a buffer: its own history, or that of all foreign memory, which extents there count in.
  std::unordered_map<const runtime::AccessHistory*, RecordedHistory> histories_;
  /// Memory that is not Refrain's: every name of the same bytes is one buffer of the program.
  std::map<std::tuple<void*, std::int64_t, const runtime::Buffer*>, runtime::BufferRef> foreign_;
  std::optional<Stream> outside_;  ///< waits for what the program waits for outside
  int pruned_ = 0;
  bool stands_for_a_run_ = false;
  bool may_run_ = false;
  /// What aliases with memory of their own stood for.
  std::vector<std::pair<runtime::BufferRef, runtime::BufferRef>> given_memory_;
  std::string ran_for_;
  std::vector<OutsideWait> awaited_outside_;
  std::vector<std::weak_ptr<runtime::EventCore>> recorded_events_;  ///< of one that stands for a run
  std::unique_ptr<runtime::LiveCapture> live_;
  std::shared_ptr<Program> given_up_;  ///< of a live capture that failed half-way; destroyed without the lock
};

}  // namespace refrain::graph
