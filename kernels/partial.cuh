/*
** Tiles of gemm_sm90 in parts: each part's sums go to global memory, and the last warpgroup to come
** adds them up, in the order of the parts, so that the result depends on no timing. The plan comes
** before.
*/
#pragma once

#include "products.cuh"
#include "schedule.cuh"
#include "sm90.cuh"

/* For each block of the grid: the sums of a tile; counters of a warpgroup each, which are 0. */
struct Workspace {
  unsigned *sums, *counters;
};

constexpr int kRegisters = plan::kAtomsM * plan::kRegistersOfAtom; /* of a thread */
constexpr int kWords = 4;                                          /* moved at once */
static_assert(plan::kSplits == 1 || plan::kRegistersOfAtom % kWords == 0, "");

/* This thread among those that have the sums of a tile. */
DEVICE unsigned thread_of_tile() {
  return plan::kPingPong ? threadIdx.x % kWarpgroup : threadIdx.x - kWarpgroup;
}

/* Where a part's sums are: of all threads kWords, then the next. */
DEVICE unsigned *sums_of_part(const Workspace &workspace, unsigned part, unsigned rank) {
  constexpr unsigned kThreadsOfTile = kReaders * kWarpgroup;
  return workspace.sums +
         (unsigned long long)(part * kCluster + rank) * kThreadsOfTile * kRegisters +
         thread_of_tile() * kWords;
}
constexpr int kNextWords = kReaders * kWarpgroup * kWords;

/* Whether the rows of registers from r on, of this thread, are rows of D. */
DEVICE bool is_inside(const Unit &unit, int m, int r) {
  const int atom = r / plan::kRegistersOfAtom;
  const unsigned row = plan::c_row(thread_of_tile()) + plan::c_row_step(atom * plan::kValuesOfAtom);
  return unit.m + (int)row < m;
}

DEVICE void write_part(const Accumulators &acc, unsigned *sums, const Unit &unit, int m) {
#pragma unroll
  for (int r = 0; r < kRegisters; r += kWords) {
    if (!is_inside(unit, m, r)) continue;
    unsigned words[kWords];
#pragma unroll
    for (int w = 0; w < kWords; w++)
      words[w] = wgmma::bits(acc[r / plan::kRegistersOfAtom][r % plan::kRegistersOfAtom + w]);
    ptx::store_global<4 * kWords>(sums + r / kWords * kNextWords, words);
  }
}

DEVICE void add_part(Accumulators &acc, const unsigned *sums, const Unit &unit, int m) {
#pragma unroll
  for (int r = 0; r < kRegisters; r += kWords) {
    if (!is_inside(unit, m, r)) continue;
    unsigned words[kWords];
    sm90::load_shared_by_blocks(words, sums + r / kWords * kNextWords);
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      plan::Register x;
      wgmma::set_bits(x, words[w]);
      wgmma::add(acc[r / plan::kRegistersOfAtom][r % plan::kRegistersOfAtom + w], x);
    }
  }
}

/* The sums of all parts. */
DEVICE void add_parts(Accumulators &acc, const Workspace &workspace, const Unit &unit, int m,
                      unsigned parts, unsigned rank) {
  clear(acc);
#pragma unroll 1
  for (unsigned part = 0; part < parts; part++)
    add_part(acc, sums_of_part(workspace, unit.tile * parts + part, rank), unit, m);
}

/*
** Whether this warpgroup is the last one of its tile's parts; then its sums are those of the whole
** tile, which has rows below m. Nobody waits for another part.
*/
DEVICE bool combine(Accumulators &acc, const Workspace &workspace, const Unit &unit, int m,
                    unsigned parts, unsigned rank, unsigned warpgroup) {
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  unsigned *counter =
      workspace.counters + (unit.tile * kCluster + rank) * kReaders + thread_of_tile() / kWarpgroup;
  write_part(acc, sums_of_part(workspace, unit.tile * parts + unit.part, rank), unit, m);
  sm90::barrier<kWarpgroup>(1 + warpgroup);
  bool is_last = false;
  if (is_leader) {
    sm90::fence_device();
    is_last = sm90::count(counter) == parts - 1;
    if (is_last) *counter = 0; /* for the next launch */
    sm90::fence_device();
  }
  if (!sm90::barrier_or<kWarpgroup>(1 + warpgroup, is_last)) return false;
  add_parts(acc, workspace, unit, m, parts, rank);
  return true;
}
