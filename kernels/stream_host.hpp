#pragma once

#include "kernels/config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// Stores past the caches: whole cache lines that are written so need not be read first.

namespace refrain::kernels {

/// Results from this many bytes on are stored past the caches: what is larger will not be there when it is read again.
inline constexpr i64 stream_bytes = i64{32} << 20;

/// memcpy, ordered with other stores by `stream_fence` only.
inline void stream_copy(void* to, const void* from, i64 bytes) {
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
#if defined(__SSE2__)
  constexpr i64 line = 64;
  const i64 to_line = static_cast<i64>(-reinterpret_cast<std::uintptr_t>(out) % line);
  if (bytes >= to_line + line) {
    std::memcpy(out, in, static_cast<std::size_t>(to_line));
    i64 at = to_line;
    for (; at + line <= bytes; at += line) {
      for (i64 i = at; i < at + line; i += 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
      }
    }
    out += at;
    in += at;
    bytes -= at;
  }
#endif
  std::memcpy(out, in, static_cast<std::size_t>(bytes));
}

inline void stream_fence() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace refrain::kernels
