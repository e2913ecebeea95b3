// Copies between layouts whose contiguous modes differ, tile by tile through shared memory, so that
// both sides are read and written along their own.
//
// The shape of both layouts is (a, b, rest), in elements: the target is contiguous along a, the
// source along b. Rows of a tile have 128 bytes. Vectors along b divide the extent of b and all
// strides of the source; along a, that of a and the target's.
#ifndef __CUDACC_RTC__  // for editors: what a plan fills in
#include "lutile.cuh"
namespace value { constexpr int bytes = 4, source_vector = 4, target_vector = 4; }
namespace layout { struct source; struct target; }
#endif

using element = lutile::vector<value::bytes>;
using index = layout::source::index;

constexpr int kThreads = 256;
constexpr int kTile = 128 / value::bytes;
// One word more than a row, so that a column's elements are in different banks.
constexpr int kPitch = kTile + (value::bytes < 4 ? 4 / value::bytes : 1);

// Several elements that one instruction moves.
template <int N>
union run {
  lutile::vector<N * value::bytes> whole;
  element part[N];
  unsigned word[(N * value::bytes + 3) / 4];
};

// Rows of shared memory start at whole words.
constexpr bool kByWords = value::bytes < 4 && value::source_vector * value::bytes % 4 == 0;

constexpr int kReads = kTile / value::source_vector;   // vectors in a row of the source's tile
constexpr int kWrites = kTile / value::target_vector;  // in a row of the target's
constexpr int kReadsEach = (kTile * kReads + kThreads - 1) / kThreads;
constexpr int kWritesEach = (kTile * kWrites + kThreads - 1) / kThreads;

struct place {
  index a, b, rest;
};

__device__ void read_tile(const element *source, const layout::source &from, place tile,
                          element (&shared)[kTile][kPitch]) {
  run<value::source_vector> held[kReadsEach];
#pragma unroll
  for (int i = 0; i < kReadsEach; i++) {
    const int v = threadIdx.x + i * kThreads;
    const index a = tile.a + v / kReads, b = tile.b + v % kReads * value::source_vector;
    if (v < kTile * kReads && a < from.template size<0>() && b < from.template size<1>())
      held[i].whole = *(const decltype(held[i].whole) *)(source + from(a, b, tile.rest));
  }
#pragma unroll
  for (int i = 0; i < kReadsEach; i++) {
    const int v = threadIdx.x + i * kThreads;
    if (v >= kTile * kReads) continue;
    element *place = &shared[v / kReads][v % kReads * value::source_vector];
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
                           const element (&shared)[kTile][kPitch]) {
#pragma unroll
  for (int i = 0; i < kWritesEach; i++) {
    const int v = threadIdx.x + i * kThreads;
    const int row = v % kWrites * value::target_vector, column = v / kWrites;
    const index a = tile.a + row, b = tile.b + column;
    if (v >= kTile * kWrites || a >= to.template size<0>() || b >= to.template size<1>()) continue;
    run<value::target_vector> held;
#pragma unroll
    for (int k = 0; k < value::target_vector; k++) held.part[k] = shared[row + k][column];
    *(decltype(held.whole) *)(target + to(a, b, tile.rest)) = held.whole;
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy_transposed(const element *source, layout::source from, element *target,
                    layout::target to) {
  __shared__ __align__(16) element shared[kTile][kPitch];
  const index tiles = lutile::ceil_div(from.template size<0>(), index(kTile));
  const index rest = from.template size<2>();
  place tile = {index(blockIdx.x) % tiles * kTile, index(blockIdx.x) / tiles * kTile, 0};
  for (tile.rest = blockIdx.y; tile.rest < rest; tile.rest += gridDim.y) {
    read_tile(source, from, tile, shared);
    __syncthreads();
    write_tile(target, to, tile, shared);
    __syncthreads();
  }
}
