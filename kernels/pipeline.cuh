/*
** What the warpgroups of a block of gemm_sm90 do: one thread of the first loads, the others
** multiply. 'Work' is what there is to do: units, and the matrices of each. The plan comes before.
*/
#pragma once

#include "output.cuh"

static_assert(plan::kThreads == (plan::kConsumers + 1) * kWarpgroup, "one warpgroup loads");
static_assert(plan::kProducerRegisters % 8 == 0 && plan::kConsumerRegisters % 8 == 0 &&
                  plan::kProducerRegisters + plan::kConsumers * plan::kConsumerRegisters <= 512,
              "registers of a multiprocessor");
static_assert(plan::kClusterM == 1 || plan::kClusterN == 1, "what is shared goes to all blocks");
static_assert(plan::A::kSlices == plan::kClusterN && plan::B::kSlices == plan::kClusterM,
              "blocks side by side share A, those on top of each other B");

/* ---- The producer --------------------------------------------------------------------------- */

/* This block's slice of an operand's tile, a box at a time. */
template <class Operand>
DEVICE void load(const tma::Map &map, unsigned stage, unsigned barrier, int row, int k, int batch,
                 unsigned rank) {
  const unsigned first = Operand::kSlices == 1 ? 0 : rank * Operand::kBoxes;
#pragma unroll
  for (unsigned i = 0; i < Operand::kBoxes; i++) {
    const auto at = Operand::corner(row + (int)Operand::box_row(first + i),
                                    k + (int)Operand::box_k(first + i), batch);
    const unsigned target = stage + Operand::box(first + i);
    if constexpr (Operand::kSlices == 1)
      tma::load(target, map, at, barrier);
    else
      tma::load_to_blocks(target, map, at, barrier, (1 << kCluster) - 1);
  }
}

/* By one thread: loads for all units, as far ahead as there are stages. */
template <class Work>
DEVICE void produce(Work work, unsigned shared, unsigned rank) {
  constexpr unsigned kBytes = plan::A::kStageBytes + plan::B::kStageBytes;
  Place place;
  for (unsigned i = blockIdx.x / kCluster; i < work.count(); i += gridDim.x / kCluster) {
    const Unit unit = work.unit(i, rank);
#pragma unroll 1
    for (int s = 0; s < unit.stages; s++) {
      const unsigned barrier = full(shared, place.stage);
      const int k = (unit.first + s) * plan::kBlockK;
      mbarrier::wait(empty(shared, place.stage), place.parity ^ 1);
      mbarrier::arrive_expecting(barrier, kBytes);
      load<plan::A>(work.a(), shared + place.stage * plan::A::kStageBytes, barrier, unit.m, k,
                    unit.batch, rank);
      load<plan::B>(work.b(), shared + kStagesOfB + place.stage * plan::B::kStageBytes, barrier,
                    unit.n, k, unit.batch, rank);
      place.advance();
    }
  }
}

/* ---- Consumers ------------------------------------------------------------------------------ */

/*
** Consumers share each unit, or they take turns: then one writes a tile while another multiplies the
** next. Those that share find the next unit while the last MMAs of this one run, so that they start
** with it at once.
*/
template <class Work>
DEVICE void consume(Work work, unsigned shared, unsigned rank) {
  const unsigned warpgroup = sm90::uniform(threadIdx.x / kWarpgroup) - 1;
  Place place;
  constexpr bool kFindsNext = !plan::kPingPong && !Work::kIsList;
  const unsigned first = blockIdx.x / kCluster, step = gridDim.x / kCluster;
  Unit next;
  if constexpr (kFindsNext) next = work.unit(first, rank);
  unsigned turns = 0, done = 0, buffer = 0;
  if (plan::kSkew > 0 && warpgroup == 1) __nanosleep(plan::kSkew);
  for (unsigned i = first; i < work.count(); i += step) {
    const Unit unit = kFindsNext ? next : work.unit(i, rank);
    if (plan::kPingPong && turns++ % plan::kConsumers != warpgroup) {
      place.skip(unit.stages);
      continue;
    }
    if constexpr (plan::kPingPong) wait_for_turn(shared, warpgroup, done++);
    accumulate<plan::Sums, Work::kIsList>(place, shared, warpgroup, unit.stages, [&] {
      if constexpr (plan::kPingPong) pass_turn(shared, warpgroup);
      if (kFindsNext && i + step < work.count()) next = work.unit(i + step, rank);
    });
    bool is_whole = true;
    if constexpr (plan::kSplits > 1)
      if (unit.part >= 0)
        is_whole = combine<plan::Sums>(work.workspace(), unit, work.output().m, work.parts(), rank,
                                       warpgroup);
    if (is_whole) {
      write_tile(work.output(), unit, shared, warpgroup, buffer);
      buffer = next_buffer(buffer);
    }
  }
  tma::wait_stores_read<0>(); /* shared memory goes with the block */
}

/* ---- A block -------------------------------------------------------------------------------- */

/* Before the work of all threads: barriers, and what the grid before has written. */
DEVICE void prepare(unsigned shared) {
  if (threadIdx.x == 0) init_barriers(shared);
  if constexpr (kCluster == 1)
    __syncthreads();
  else
    sm90::cluster_barrier();
  if constexpr (plan::kDependent) {
    sm90::launch_dependents();
    sm90::wait_for_grid();
  }
}

template <class Work>
DEVICE void run(const Work &work, unsigned shared, unsigned rank) {
  constexpr bool kMovesRegisters = plan::kConsumerRegisters > 0; /* else all keep what they have */
  if (threadIdx.x < kWarpgroup) {
    if constexpr (kMovesRegisters) sm90::give_registers<plan::kProducerRegisters>();
    if (threadIdx.x == 0) produce(work, shared, rank);
  } else {
    if constexpr (kMovesRegisters) sm90::take_registers<plan::kConsumerRegisters>();
    consume(work, shared, rank);
  }
  /* Another block may still arrive at this one's barriers. */
  if constexpr (kCluster > 1) sm90::cluster_barrier();
}
