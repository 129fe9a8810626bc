// Files and tensors for other languages: what the scripts here call through interchange.py. A function that returns 0
// or null has failed and said why. Arrays are pointers that `array_delete` takes.

#include <refrain/dlpack.hpp>
#include <refrain/npy.hpp>
#include <refrain/refrain.hpp>

#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <vector>

namespace rf = refrain;

namespace {

template <class Fn>
auto told(Fn fn) -> decltype(fn()) {
  try {
    return fn();
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return {};
  }
}

/// `stream` is a number as in DLPack's protocol: 1 is CUDA's legacy stream; 0 none. The handles are kept, as by a
/// program that goes on to use its streams: tensors that other code gives back wait for what it has put there.
std::optional<rf::Stream> stream_of(std::uintptr_t stream) {
  static auto& kept = *new std::vector<rf::Stream>;
  if (stream == 0) return std::nullopt;
  kept.push_back(rf::Stream::wrap(reinterpret_cast<cudaStream_t>(stream)));
  return kept.back();
}

rf::Array* own(rf::Array array) { return new rf::Array(std::move(array)); }

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED int copy_npy(const char* from, const char* to) {
  return told([&] {
    rf::save_npy(to, rf::load_npy(from, rf::Device{}));
    return 1;
  });
}

EXPORTED rf::Array* array_from_dlpack(void* tensor, int is_versioned, std::uintptr_t stream) {
  return told([&] {
    const rf::FromDlpackOptions options{.stream = stream_of(stream)};
    return own(is_versioned != 0 ? rf::from_dlpack(static_cast<DLManagedTensorVersioned*>(tensor), options)
                                 : rf::from_dlpack(static_cast<DLManagedTensor*>(tensor), options));
  });
}

EXPORTED void* array_to_dlpack(const rf::Array* array, int is_versioned, std::uintptr_t stream) {
  return told([&]() -> void* {
    const rf::ToDlpackOptions options{.stream = stream_of(stream)};
    if (is_versioned != 0) return rf::to_dlpack(*array, options);
    return rf::to_dlpack_unversioned(*array, options);
  });
}

EXPORTED rf::Array* array_double_plus_one(const rf::Array* array) {
  return told([&] { return own(*array * 2 + 1); });
}

EXPORTED rf::Array* array_transpose(const rf::Array* array) {
  return told([&] { return own(array->transpose(0, 1)); });
}

EXPORTED int array_add_one(rf::Array* array) {
  return told([&] {
    *array += 1;
    return 1;
  });
}

EXPORTED int array_is_cuda(const rf::Array* array) { return array->device().kind == rf::DeviceKind::cuda ? 1 : 0; }

EXPORTED void array_delete(rf::Array* array) { delete array; }

EXPORTED int synchronize_device(int is_cuda) {
  return told([&] {
    rf::synchronize(rf::Device{is_cuda != 0 ? rf::DeviceKind::cuda : rf::DeviceKind::host, 0});
    return 1;
  });
}

/// What Refrain holds on the device, once work is done and it has let go.
EXPORTED std::int64_t live_bytes(int is_cuda) {
  synchronize_device(is_cuda);
  synchronize_device(is_cuda);
  return rf::memory_stats(rf::Device{is_cuda != 0 ? rf::DeviceKind::cuda : rf::DeviceKind::host, 0}).live;
}
