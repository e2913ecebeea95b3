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

constexpr int kWords = 4; /* moved at once */
static_assert(plan::kSplits == 1 || plan::kRegistersOfPiece % kWords == 0, "");

/* Where a part's sums are: of all threads kWords, then the next. */
DEVICE unsigned *sums_of_part(const Workspace &workspace, unsigned part, unsigned rank) {
  constexpr unsigned kThreadsOfTile = kReaders * kWarpgroup;
  return workspace.sums +
         (unsigned long long)(part * kCluster + rank) * kThreadsOfTile * kPieces *
             plan::kRegistersOfPiece +
         thread_of_tile() * kWords;
}
constexpr int kNextWords = kReaders * kWarpgroup * kWords;
constexpr int kNextPiece = plan::kRegistersOfPiece / kWords * kNextWords;

/* Whether this thread's rows of a piece are rows of D. */
DEVICE bool is_inside(const Unit &unit, int m, int piece) {
  const unsigned row = plan::c_row(thread_of_tile()) + plan::c_row_step(first_value(piece));
  return unit.m + (int)row < m;
}

DEVICE void write_part(const Piece &piece, unsigned *sums) {
#pragma unroll
  for (int r = 0; r < plan::kRegistersOfPiece; r += kWords) {
    unsigned words[kWords];
#pragma unroll
    for (int w = 0; w < kWords; w++) words[w] = wgmma::bits(piece[r + w]);
    ptx::store_global<4 * kWords>(sums + r / kWords * kNextWords, words);
  }
}

DEVICE void add_part(Piece &piece, const unsigned *sums) {
#pragma unroll
  for (int r = 0; r < plan::kRegistersOfPiece; r += kWords) {
    unsigned words[kWords];
    sm90::load_shared_by_blocks(words, sums + r / kWords * kNextWords);
#pragma unroll
    for (int w = 0; w < kWords; w++) {
      plan::Register x;
      wgmma::set_bits(x, words[w]);
      wgmma::add(piece[r + w], x);
    }
  }
}

template <class Sums>
DEVICE void write_parts(unsigned *sums, const Unit &unit, int m) {
#pragma unroll 1
  for (int i = 0; i < kPieces; i++) {
    if (!is_inside(unit, m, i)) continue;
    Piece piece;
    Sums::read(i, piece);
    write_part(piece, sums + i * kNextPiece);
  }
}

/* The sums of all parts. */
template <class Sums>
DEVICE void add_parts(const Workspace &workspace, const Unit &unit, int m, unsigned parts,
                      unsigned rank) {
#pragma unroll 1
  for (int i = 0; i < kPieces; i++) {
    if (!is_inside(unit, m, i)) continue;
    Piece piece;
    for (int r = 0; r < plan::kRegistersOfPiece; r++) piece[r] = 0;
#pragma unroll 1
    for (unsigned part = 0; part < parts; part++)
      add_part(piece, sums_of_part(workspace, unit.tile * parts + part, rank) + i * kNextPiece);
    Sums::write(i, piece);
  }
}

/*
** Whether this warpgroup is the last one of its tile's parts; then its sums are those of the whole
** tile, of whose rows only those below m matter. Nobody waits for another part.
*/
template <class Sums>
DEVICE bool combine(const Workspace &workspace, const Unit &unit, int m, unsigned parts,
                    unsigned rank, unsigned warpgroup) {
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  unsigned *counter =
      workspace.counters + (unit.tile * kCluster + rank) * kReaders + thread_of_tile() / kWarpgroup;
  write_parts<Sums>(sums_of_part(workspace, unit.tile * parts + unit.part, rank), unit, m);
  ptx::barrier<kWarpgroup>(1 + warpgroup);
  bool is_last = false;
  if (is_leader) {
    sm90::fence_device();
    is_last = sm90::count(counter) == parts - 1;
    if (is_last) *counter = 0; /* for the next launch */
    sm90::fence_device();
  }
  if (!sm90::barrier_or<kWarpgroup>(1 + warpgroup, is_last)) return false;
  add_parts<Sums>(workspace, unit, m, parts, rank);
  return true;
}
