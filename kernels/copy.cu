// Copies units of 1 to 16 bytes between layouts that count in them: whole vectors where both sides
// are contiguous, else elements.
//
// The shape of both layouts is (row, rest). By rows, a thread copies several units of one row, and
// the rows are spread over the grid's y; else a thread copies the unit of its linear index.
#ifndef __CUDACC_RTC__  // for editors: what a plan fills in
#include "lutile.cuh"
namespace value { constexpr int bytes = 16; constexpr bool rows = true; }
namespace layout { struct source; struct target; }
#endif

using unit = lutile::vector<value::bytes>;
using index = layout::source::index;

constexpr int kThreads = 256;
constexpr int kUnroll = 4;  // loads under way in each thread

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
    copy(const unit *source, layout::source from, unit *target, layout::target to) {
  if constexpr (value::rows) {
    const index rest = from.template size<1>();
    for (index r = blockIdx.y; r < rest; r += gridDim.y)
      copy_row(source + from(0, r), from.template stride<0>(), target + to(0, r),
               to.template stride<0>(), from.template size<0>());
  } else {
    const index i = blockIdx.x * index(kThreads) + threadIdx.x;
    if (i < from.size()) target[to(i)] = source[from(i)];
  }
}
