// seed3 on the host as one loop over its elements, without streams, commands or threads. The numbers are
// drawn by the kernel body that the host device uses.

#include "kernels/host.hpp"
#include "modes.hpp"

#include <cstring>
#include <memory>

namespace refrain::bench {
namespace {

constexpr std::size_t size = 2500;
constexpr int grid = (size + 255) / 256;
constexpr std::uint64_t draw_increment = 4;

struct Buffers {
  std::vector<float> a = std::vector<float>(size);
  std::vector<float> b = std::vector<float>(size);
  std::vector<float> result = std::vector<float>(size);
  std::uint64_t offset = 0;
};

void draw(std::vector<float>& numbers, std::uint64_t& offset) {
  kernels::RandomArgs args{};
  args.distribution = kernels::Distribution::normal;
  args.type = kernels::Type::float32;
  args.second = 1;  // of mean 0 and deviation 1
  args.grid = grid;
  args.size = size;
  args.offset = offset;
  args.out = numbers.data();
  kernels::random_host(args);
  offset += draw_increment;
}

void step(Buffers& buffers) {
  draw(buffers.a, buffers.offset);
  draw(buffers.b, buffers.offset);
  for (std::size_t i = 0; i < size; ++i) {
    const float a = buffers.a[i] * 3;
    const float b = buffers.b[i] + 5;
    buffers.result[i] = a + b;
  }
}

Prepared prepare_loop(const Workload& workload, Device, const Effort&) {
  const auto buffers = std::make_shared<Buffers>();
  Prepared prepared;
  prepared.work = {[buffers] { step(*buffers); }, [] {}};
  step(*buffers);
  Bytes found(size * sizeof(float));
  std::memcpy(found.data(), buffers->result.data(), found.size());
  note(prepared, difference(eager_reference(workload.prepare(), 1).front(), {found}));
  return prepared;
}

}  // namespace

std::vector<Baseline> seed_loops() {
  return {{"seed3", DeviceKind::host, {loop_mode, "the same arithmetic in plain loops", prepare_loop}}};
}

}  // namespace refrain::bench
