// Copies units of 1 to 16 bytes between layouts that count in them: whole vectors where both sides
// are contiguous, else elements.
//
// The shape of both layouts is (row, rest). By rows, a thread copies several units of one row, and
// the rows are spread over the grid's y; else a thread copies the unit of its linear index.
//
// Where value::element is not 0, rows are no whole units: of the last one of each, 'tail' bytes are
// there, elements of so many bytes.
#ifndef __CUDACC_RTC__  // for editors: what a plan fills in
#include "lutile.cuh"
namespace value { constexpr int bytes = 16, element = 0; constexpr bool rows = true; }
namespace layout { struct source; struct target; }
#endif

using unit = lutile::vector<value::bytes>;
using index = layout::source::index;

constexpr int kThreads = 256;
constexpr int kUnroll = 4;  // loads under way in each thread

// The first bytes of a unit, by pieces that are halves of those before, as far as each is there.
template <int Bytes>
__device__ void copy_tail(const char *source, char *target, unsigned tail) {
  if constexpr (Bytes > 0 && Bytes >= value::element) {
    using piece = lutile::vector<Bytes>;
    const unsigned at = tail & ~(2 * Bytes - 1u);
    if (tail & Bytes) *(piece *)(target + at) = *(const piece *)(source + at);
    copy_tail<Bytes / 2>(source, target, tail);
  }
}

__device__ void copy_unit(const unit *source, unit *target, bool is_last, unsigned tail) {
  if (value::element > 0 && is_last)
    copy_tail<value::bytes / 2>((const char *)source, (char *)target, tail);
  else
    *target = *source;
}

__device__ void copy_row(const unit *source, index source_step, unit *target, index target_step,
                         index n) {
  const index first = blockIdx.x * index(kThreads * kUnroll) + threadIdx.x;
  unit held[kUnroll];
#pragma unroll
  for (int i = 0; i < kUnroll; i++) {
    const index x = first + i * kThreads;
    if (x < n) held[i] = source[x * source_step];
  }
#pragma unroll
  for (int i = 0; i < kUnroll; i++) {
    const index x = first + i * kThreads;
    if (x < n) target[x * target_step] = held[i];
  }
}

extern "C" __global__ void __launch_bounds__(kThreads)
    copy(const unit *source, layout::source from, unit *target, layout::target to, unsigned tail) {
  const index row = from.template size<0>();
  if constexpr (value::rows) {
    constexpr bool kHasTail = value::element > 0;
    const index rest = from.template size<1>();
    for (index r = blockIdx.y; r < rest; r += gridDim.y) {
      const unit *first = source + from(0, r);
      unit *there = target + to(0, r);
      copy_row(first, from.template stride<0>(), there, to.template stride<0>(), row - kHasTail);
      if (kHasTail && blockIdx.x == 0 && threadIdx.x == 0)
        copy_unit(first + (row - 1), there + (row - 1), true, tail);
    }
  } else {
    const index i = blockIdx.x * index(kThreads) + threadIdx.x;
    if (i < from.size()) copy_unit(source + from(i), target + to(i), i % row == row - 1, tail);
  }
}
