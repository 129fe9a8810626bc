#include "cuda/lower.hpp"

#include "cuda/capture.hpp"

#include <refrain/error.hpp>

#include <algorithm>
#include <vector>

namespace refrain::cuda {

namespace {

std::shared_ptr<runtime::Executable> lower_literally(const runtime::Plan& plan) {
  using Kind = runtime::PlanStep::Kind;
  CudaCapture capture(plan.device, plan.lanes[0].priority, nullptr, CudaCapture::Mode::thread_local_);
  capture.keep_alive(plan.keep_alive);
  for (const runtime::PlanStep& step : plan.steps) {
    switch (step.kind) {
      case Kind::fork: {
        const runtime::PlannedLane& lane = plan.lanes[static_cast<std::size_t>(step.lane)];
        capture.fork(step.lane, lane.device, lane.priority, nullptr);
        break;
      }
      case Kind::command: {
        const runtime::PlannedCommand& planned = plan.commands[static_cast<std::size_t>(step.index)];
        capture.run(step.lane, {&planned, 1});
        break;
      }
      case Kind::record: capture.record(step.lane); break;
      case Kind::wait: capture.wait(step.lane, step.index); break;
      case Kind::depend: capture.depend(step.lane, step.index); break;
    }
  }
  return capture.end(plan.draw_increments);
}

std::shared_ptr<runtime::Executable> lower_planned(const runtime::Plan& plan) {
  CudaCapture capture(plan.device, 0, nullptr, CudaCapture::Mode::thread_local_);
  capture.keep_alive(plan.keep_alive);
  std::vector<Device> lanes{plan.device};  // one stream a device
  for (const runtime::PlannedCommand& planned : plan.commands) {
    const runtime::PlannedLane& branch = plan.lanes[static_cast<std::size_t>(planned.lane)];
    auto lane = static_cast<int>(std::find(lanes.begin(), lanes.end(), branch.device) - lanes.begin());
    if (lane == static_cast<int>(lanes.size())) {
      lanes.push_back(branch.device);
      capture.fork(lane, branch.device, 0, nullptr);
    }
    capture.set_dependencies(lane, planned.dependencies);
    capture.run(lane, {&planned, 1});
    if (branch.priority != 0) capture.set_priority(branch.priority);
  }
  return capture.end(plan.draw_increments);
}

}  // namespace

std::shared_ptr<runtime::Executable> lower_to_cuda(const runtime::Plan& plan) {
  // No user code runs while lowering, so only another thread's device-wide call can invalidate the capture.
  constexpr int tries = 3;
  for (int attempt = 0; attempt < tries; ++attempt) {
    try {
      return plan.steps.empty() ? lower_planned(plan) : lower_literally(plan);
    } catch (const Error& error) {
      const int code = static_cast<int>(error.code());
      const bool is_of_capture =
          code >= static_cast<int>(Errc::capture_unsupported) && code <= static_cast<int>(Errc::capture_wrong_thread);
      if (!is_of_capture && error.code() != Errc::illegal_state) throw;
    }
  }
  return assemble(plan);
}

}  // namespace refrain::cuda
