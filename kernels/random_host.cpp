#include "kernels/random.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/host.hpp"
#include "kernels/host_loops.hpp"

namespace refrain::kernels {
namespace {

/// Neighbouring threads of the layout, drawn together: their words and numbers (8 KiB) stay in the L1 cache.
constexpr int tile = 256;

/// Loops over a tile run over whole vectors.
constexpr int lanes = 16;

struct TileWords {
  alignas(64) u32 x[tile];
  alignas(64) u32 y[tile];
  alignas(64) u32 z[tile];
  alignas(64) u32 w[tile];
};

template <class T>
struct TileNumbers {
  alignas(64) T plane[4][tile];
};

/// Words of n threads from `thread` on.
REFRAIN_CLONES void draw_words(u64 seed, u64 thread, u64 draw, int n, TileWords& words) {
  REFRAIN_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    const Words drawn = philox(seed, thread + static_cast<u64>(i), draw);
    words.x[i] = drawn.x;
    words.y[i] = drawn.y;
    words.z[i] = drawn.z;
    words.w[i] = drawn.w;
  }
}

/// Numbers of n threads, for the first `planes` planes. Flat, for a call would keep the loop from being vectorised.
template <Distribution distribution, class T, int planes>
REFRAIN_CLONES __attribute__((flatten)) void draw_numbers(const TileWords& words, const RandomArgs& args, int n,
                                                          TileNumbers<T>& numbers) {
  using D = Draw<distribution, T>;
  const D of(args);
  REFRAIN_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    T drawn[D::count];
    of.make({words.x[i], words.y[i], words.z[i], words.w[i]}, drawn);
    numbers.plane[0][i] = drawn[0];
    if constexpr (planes > 1) numbers.plane[1][i] = drawn[1];
    if constexpr (planes > 2) {
      numbers.plane[2][i] = drawn[2];
      numbers.plane[3][i] = drawn[3];
    }
  }
}

/// Writes size * sizeof(T) bytes, tile by tile.
template <Distribution distribution, class T>
void run(const RandomArgs& args) {
  constexpr int count = Draw<distribution, T>::count;
  const i64 threads = static_cast<i64>(args.grid) * random_block;
  T* out = static_cast<T*>(args.out);
  TileWords words;
  TileNumbers<T> numbers;
  // Up to the device's capacity there is a thread for every number, and the first plane takes them all.
  const bool one_plane = args.size <= threads;
  u64 draw = args.offset / 4;
  for (i64 round = 0; round < args.size; round += threads * count, ++draw) {
    for (i64 thread = 0; thread < threads && round + thread < args.size; thread += tile) {
      const i64 left = args.size - (round + thread);
      const int n = left < tile ? static_cast<int>(left + lanes - 1) / lanes * lanes : tile;
      draw_words(args.seed, static_cast<u64>(thread), draw, n, words);
      if (one_plane) {
        draw_numbers<distribution, T, 1>(words, args, n, numbers);
      } else {
        draw_numbers<distribution, T, count>(words, args, n, numbers);
      }
      for (int k = 0; k < count; ++k) {
        const i64 begin = round + k * threads + thread;
        if (begin >= args.size) break;
        const i64 kept = args.size - begin < tile ? args.size - begin : tile;
        std::memcpy(out + begin, numbers.plane[k], static_cast<std::size_t>(kept) * sizeof(T));
      }
    }
  }
}

struct Run {
  const RandomArgs& args;

  template <Distribution distribution, class T>
  bool at() {
    run<distribution, T>(args);
    return true;
  }
};

}  // namespace

void random_host(const RandomArgs& args) {
  Run draw{args};
  visit_draw(args.distribution, args.type, draw);
}

}  // namespace refrain::kernels
