#include "kernels/random.hpp"

#include <cstddef>
#include <cstring>

#include "kernels/host.hpp"
#include "kernels/host_loops.hpp"

namespace refrain::kernels {
namespace {

// Tiles of neighbouring threads are drawn together: their words and numbers (8 KiB) stay in the L1 cache.
constexpr int tile = random_tile;

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

/// Numbers of `n` threads from `thread` on, of one round: all planes, or the first alone.
template <Distribution distribution, class T>
void draw_tile(const RandomArgs& args, u64 draw, i64 thread, int n, bool one_plane, TileNumbers<T>& numbers) {
  TileWords words;
  const int padded = (n + lanes - 1) / lanes * lanes;
  draw_words(args.seed, static_cast<u64>(thread), draw, padded, words);
  if (one_plane) {
    draw_numbers<distribution, T, 1>(words, args, padded, numbers);
  } else {
    draw_numbers<distribution, T, Draw<distribution, T>::count>(words, args, padded, numbers);
  }
}

/// Writes size * sizeof(T) bytes, tile by tile: of a round, and of the next one.
struct Run {
  const RandomArgs& args;
  const Split& split;

  template <Distribution distribution, class T>
  bool at() {
    static_assert(random_tile == random_block, "a tile is a block of the grid");
    constexpr int count = Draw<distribution, T>::count;
    const i64 rounds = (args.size - 1) / (static_cast<i64>(args.grid) * random_block * count) + 1;
    split(rounds * args.grid, 1, [this](i64 begin, i64 end) { draw<distribution, T>(begin, end); });
    return true;
  }

 private:
  template <Distribution distribution, class T>
  void draw(i64 begin, i64 end) const {
    constexpr int count = Draw<distribution, T>::count;
    const i64 threads = static_cast<i64>(args.grid) * random_block;
    T* out = static_cast<T*>(args.out);
    TileNumbers<T> numbers;
    // Up to the device's capacity there is a thread for every number, and the first plane takes them all.
    const bool one_plane = args.size <= threads;
    for (i64 at = begin; at < end; ++at) {
      const i64 round = at / args.grid;
      const i64 thread = at % args.grid * random_tile;
      const i64 first = round * threads * count + thread;
      if (first >= args.size) continue;
      const i64 left = args.size - first;
      const int n = left < random_tile ? static_cast<int>(left) : random_tile;
      draw_tile<distribution>(args, args.offset / 4 + static_cast<u64>(round), thread, n, one_plane, numbers);
      for (int k = 0; k < count; ++k) {
        const i64 target = first + k * threads;
        if (target >= args.size) break;
        const i64 kept = args.size - target < random_tile ? args.size - target : random_tile;
        std::memcpy(out + target, numbers.plane[k], static_cast<std::size_t>(kept) * sizeof(T));
      }
    }
  }
};

struct RunTile {
  const RandomArgs& args;
  i64 round;
  i64 thread;
  int n;
  void* out;

  template <Distribution distribution, class T>
  bool at() {
    const bool one_plane = args.size <= static_cast<i64>(args.grid) * random_block;
    draw_tile<distribution>(args, args.offset / 4 + static_cast<u64>(round), thread, n, one_plane,
                            *static_cast<TileNumbers<T>*>(out));
    return true;
  }
};

}  // namespace

void random_host(const RandomArgs& args, const Split& split) {
  Run draw{args, split};
  visit_draw(args.distribution, args.type, draw);
}

void random_tile_host(const RandomArgs& args, i64 round, i64 thread, int n, void* numbers) {
  RunTile draw{args, round, thread, n, numbers};
  visit_draw(args.distribution, args.type, draw);
}

}  // namespace refrain::kernels
