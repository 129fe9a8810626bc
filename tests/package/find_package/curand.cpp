#include <refrain/curand.hpp>

#include <cstdio>

namespace rf = refrain;

int main() {
  const rf::Device host{rf::DeviceKind::host, 0};
  rf::CurandGenerator generator(CURAND_RNG_QUASI_SOBOL32, {.device = host});
  const rf::Array x = rf::zeros({100}, {.device = host});
  generator.uniform(x);
  for (const float number : x.to_vector<float>()) {
    if (number > 0 && number <= 1) continue;
    std::printf("%f is not above 0 up to 1\n", static_cast<double>(number));
    return 1;
  }
  return 0;
}
