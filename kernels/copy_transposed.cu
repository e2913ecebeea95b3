// Copies between layouts whose contiguous modes differ, tile by tile through shared memory, so that
// both sides are read and written along their own.
//
// The shape of both layouts is (a, b, rest), in elements: the target is contiguous along a, the
// source along b. A tile has at least 128 bytes along both. Vectors along b divide the extent of b
// and all strides of the source; along a, that of a and the target's.
#include "streaming.cuh"
#ifndef __CUDACC_RTC__  // for editors: what a plan fills in
namespace value {
constexpr int bytes = 4, source_vector = 4, target_vector = 4;
constexpr int tile_a = 64, tile_b = 64;
constexpr int group = 0;           // tiles along a that blocks stay within; 0: all of them
constexpr bool streaming = false;  // past the first-level cache, and first to leave the second
}  // namespace value
namespace layout { struct source; struct target; }
#endif

using element = lutile::vector<value::bytes>;
using index = layout::source::index;

constexpr int kThreads = 256;
constexpr int kTileA = value::tile_a, kTileB = value::tile_b;
// One word more than a row, so that a column's elements are in different banks.
constexpr int kPitch = kTileB + (value::bytes < 4 ? 4 / value::bytes : 1);

// Several elements that one instruction moves.
template <int N>
union run {
  lutile::vector<N * value::bytes> whole;
  element part[N];
  unsigned word[(N * value::bytes + 3) / 4];
};

// Rows of shared memory start at whole words.
constexpr bool kByWords = value::bytes < 4 && value::source_vector * value::bytes % 4 == 0;

constexpr int kReads = kTileB / value::source_vector;   // vectors in a row of the source's tile
constexpr int kWrites = kTileA / value::target_vector;  // in a row of the target's
constexpr int kReadsEach = kTileA * kReads / kThreads;
constexpr int kWritesEach = kTileB * kWrites / kThreads;

static_assert(kTileA * value::bytes % 128 == 0 && kTileB * value::bytes % 128 == 0);
static_assert(kReadsEach * kThreads == kTileA * kReads, "every thread reads as many vectors");
static_assert(kWritesEach * kThreads == kTileB * kWrites, "and writes as many");

// A warp takes 4 rows of 8 vectors, which with one word more a row are in different banks.
struct spot {
  int row, vector;
};

template <int Vectors>
LUTILE_FN spot spot_of(int v) {
  constexpr int kAcross = Vectors / 8;
  return {v / (32 * kAcross) * 4 + v / 8 % 4, v / 32 % kAcross * 8 + v % 8};
}

struct place {
  index a, b, rest;
};

// Where the tile of a block is: along a first, within a group of tiles where there are groups.
__device__ place tile_of_block(const layout::source &from) {
  const index tiles_a = lutile::ceil_div(from.template size<0>(), index(kTileA));
  const index block = blockIdx.x;
  if constexpr (value::group == 0) {
    const index b = lutile::quo(block, tiles_a);
    return {(block - b * tiles_a) * kTileA, b * kTileB, 0};
  } else {
    const index tiles_b = lutile::ceil_div(from.template size<1>(), index(kTileB));
    const index first = lutile::quo(block, value::group * tiles_b) * value::group;
    const index inside = block - first * tiles_b;
    const index across = lutile::min(index(value::group), tiles_a - first);
    const index b = lutile::quo(inside, across);
    return {(first + inside - b * across) * kTileA, b * kTileB, 0};
  }
}

__device__ void read_tile(const element *source, const layout::source &from, place tile,
                          element (&shared)[kTileA][kPitch]) {
  run<value::source_vector> held[kReadsEach];
#pragma unroll
  for (int i = 0; i < kReadsEach; i++) {
    const spot s = spot_of<kReads>(threadIdx.x + i * kThreads);
    const index a = tile.a + s.row, b = tile.b + s.vector * value::source_vector;
    if (a >= from.template size<0>() || b >= from.template size<1>()) continue;
    const auto *at = (const decltype(held[i].whole) *)(source + from(a, b, tile.rest));
    held[i].whole = lutile::load<value::streaming>(at);
  }
#pragma unroll
  for (int i = 0; i < kReadsEach; i++) {
    const spot s = spot_of<kReads>(threadIdx.x + i * kThreads);
    element *place = &shared[s.row][s.vector * value::source_vector];
    if constexpr (kByWords) {
#pragma unroll
      for (int k = 0; k < value::source_vector * value::bytes / 4; k++)
        ((unsigned *)place)[k] = held[i].word[k];
    } else {
#pragma unroll
      for (int k = 0; k < value::source_vector; k++) place[k] = held[i].part[k];
    }
  }
}

__device__ void write_tile(element *target, const layout::target &to, place tile,
                           const element (&shared)[kTileA][kPitch]) {
#pragma unroll
  for (int i = 0; i < kWritesEach; i++) {
    const spot s = spot_of<kWrites>(threadIdx.x + i * kThreads);
    const int row = s.vector * value::target_vector, column = s.row;
    const index a = tile.a + row, b = tile.b + column;
    if (a >= to.template size<0>() || b >= to.template size<1>()) continue;
    run<value::target_vector> held;
#pragma unroll
    for (int k = 0; k < value::target_vector; k++) held.part[k] = shared[row + k][column];
    auto *at = (decltype(held.whole) *)(target + to(a, b, tile.rest));
    lutile::store<value::streaming>(at, held.whole);
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_transposed(const element *source, layout::source from, element *target,
                    layout::target to) {
  __shared__ __align__(16) element shared[kTileA][kPitch];
  const index rest = from.template size<2>();
  place tile = tile_of_block(from);
  for (tile.rest = blockIdx.y; tile.rest < rest; tile.rest += gridDim.y) {
    read_tile(source, from, tile, shared);
    __syncthreads();
    write_tile(target, to, tile, shared);
    __syncthreads();
  }
}
