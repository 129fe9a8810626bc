#include "support_memory.hpp"

#include <refrain/enqueue.hpp>

namespace refrain::test {

Memory::Memory(std::int64_t size) : owner_(zeros({size})) {
  const Stream stream(owner_.device());
  stream.wait_stream(current_stream());
  stream.enqueue("address", readwrite(owner_), on_cuda([this](cudaStream_t, float* address) { address_ = address; }),
                 on_host([this](float* address) { address_ = address; }));
  stream.synchronize();
}

std::vector<float> Memory::values() const {
  synchronize(owner_.device());
  return owner_.to_vector<float>();
}

void Memory::fill(float value) const {
  synchronize(owner_.device());
  Array all = owner_;
  all.assign(value);
  synchronize(owner_.device());
}

}  // namespace refrain::test
