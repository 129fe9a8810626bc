#include <refrain/refrain.hpp>

#include <cstdio>
#include <vector>

namespace rf = refrain;

int main() {
  rf::Stream stream;
  const rf::Array twos = rf::ones({3}) * 2;
  if (twos.to_vector<float>() != std::vector<float>{2, 2, 2}) {
    std::puts("ones({3}) * 2 is not 2, 2, 2");
    return 1;
  }
  return 0;
}
