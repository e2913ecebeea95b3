/*
** What gemm_sm90 adds to the sums of a tile: chunks of C, which come to the buffers in which those of
** D take their places, and the bias, in shared memory from the tile's start on. The plan comes
** before.
*/
#pragma once

#include "mbarrier.cuh"
#include "products.cuh"
#include "schedule.cuh"
#include "target.cuh"

/*
** Chunks take turns in a warpgroup's buffers. A chunk's ticket, of kTickets that come round, says
** which buffer is its own and, where C comes by TMA, in which phase that buffer's barrier is.
*/
constexpr unsigned kTickets = (kLoadsC ? 2 : 1) * plan::D::kBuffers;

DEVICE unsigned ticket_after(unsigned ticket, int chunks) { return (ticket + chunks) % kTickets; }
DEVICE unsigned slot_of(unsigned ticket) { return ticket % plan::D::kBuffers; }
DEVICE unsigned parity_of(unsigned ticket) { return ticket / plan::D::kBuffers; }

DEVICE unsigned buffer_of(unsigned shared, unsigned warpgroup, unsigned ticket) {
  return shared + kOutput +
         (warpgroup * plan::D::kBuffers + slot_of(ticket)) * plan::D::kBufferBytes;
}

/* Rows of D between a warpgroup's atoms. */
constexpr int kRowsOfAtom = plan::c_row_step(plan::kValuesOfAtom);
static_assert(plan::kAtomsM < 3 || plan::c_row_step(2 * plan::kValuesOfAtom) == 2 * kRowsOfAtom,
              "a third atom is as far from the second one as that from the first");

/* The first row in a tile that is this warpgroup's. */
DEVICE int first_row() { return (int)plan::c_row(thread_of_tile() - threadIdx.x % kWarpgroup); }

/* ---- C ---------------------------------------------------------------------------------------- */

/* Chunk i of the tile, by one thread, once what was in its buffer has been read. */
DEVICE void load_chunk(const Output &output, const Unit &unit, unsigned shared, unsigned warpgroup,
                       unsigned ticket, int i) {
  const unsigned barrier = loaded(shared, warpgroup, slot_of(ticket));
  const int atom = plan::kAtomsM == 1 ? 0 : i / plan::D::kChunks;
  const int column = first_column(i - atom * plan::D::kChunks);
  mbarrier::arrive_expecting(barrier, plan::D::kBufferBytes);
  output.load(buffer_of(shared, warpgroup, ticket), barrier, unit.batch,
              unit.m + first_row() + atom * kRowsOfAtom, unit.n + column);
}

/* Waits for a chunk of C, or brings it, by all threads of a warpgroup. */
DEVICE void take_chunk(const Output &output, const Unit &unit, unsigned shared, unsigned warpgroup,
                       unsigned ticket, int row, int column) {
  if constexpr (kLoadsC) {
    mbarrier::wait(loaded(shared, warpgroup, slot_of(ticket)), parity_of(ticket));
  } else {
    output.fetch(buffer_of(shared, warpgroup, ticket), unit.batch, row, column);
    ptx::barrier<kWarpgroup>(1 + warpgroup);
  }
}

/* ---- The bias --------------------------------------------------------------------------------- */

/* A tile's elements of it, to the warpgroup's place for them. */
DEVICE void fetch_bias(const Output &output, const Unit &unit, unsigned shared,
                       unsigned warpgroup) {
  const int first = plan::kBias == plan::kPerRow ? unit.m : unit.n;
  const int end = plan::kBias == plan::kPerRow ? output.m : output.n;
#pragma unroll 1
  for (int i = threadIdx.x % kWarpgroup; i < kBiasElements; i += kWarpgroup) {
    unsigned word = 0;
    ptx::load_global_if<kElementBytes>(first + i < end, &word, output.bias + first + i);
    ptx::store_shared<kElementBytes>(bias_of(shared, warpgroup) + i * kElementBytes, &word);
  }
}

/* Its element for a row and a column of the tile. */
DEVICE plan::Compute bias_at(unsigned elements, unsigned row, unsigned column) {
  unsigned word;
  ptx::load_shared<kElementBytes>(
      &word, elements + (plan::kBias == plan::kPerRow ? row : column) * kElementBytes);
  return (plan::Compute)plan::Element::decode((plan::Element::Bits)word);
}

/* ---- A tile ----------------------------------------------------------------------------------- */

/* While the tile's first MMAs run: its bias, and as many chunks of C as there are buffers. */
DEVICE void fetch_early(const Output &output, const Unit &unit, unsigned shared, unsigned warpgroup,
                        unsigned ticket) {
  if constexpr (plan::kBias != plan::kNone) fetch_bias(output, unit, shared, warpgroup);
  if constexpr (kLoadsC) {
    if (threadIdx.x % kWarpgroup != 0) return;
    tma::wait_stores_read<0>();
#pragma unroll 1
    for (int i = 0; i < plan::D::kBuffers && i < kChunksOfTile; i++)
      load_chunk(output, unit, shared, warpgroup, ticket_after(ticket, i), i);
  }
}
