/*
** What the warpgroups of a block of gemm_sm90 do: one thread of the first loads, the others
** multiply. 'Work' is what there is to do: units, and the matrices of each. The plan comes before.
*/
#pragma once

#include "boxes.cuh"
#include "output.cuh"

static_assert(plan::kThreads == (plan::kConsumers + 1) * kWarpgroup, "one warpgroup loads");
static_assert(plan::kProducerRegisters % 8 == 0 && plan::kConsumerRegisters % 8 == 0 &&
                  plan::kProducerRegisters + plan::kConsumers * plan::kConsumerRegisters <= 512,
              "registers of a multiprocessor");
static_assert(plan::kClusterM == 1 || plan::kClusterN == 1, "what is shared goes to all blocks");
static_assert(plan::A::kSlices == plan::kClusterN && plan::B::kSlices == plan::kClusterM,
              "blocks side by side share A, those on top of each other B: all of a cluster");

/* ---- The producer --------------------------------------------------------------------------- */

/* By one thread: loads for all units, as far ahead as there are stages. */
template <class Work>
DEVICE void produce(Work &work, unsigned shared, unsigned rank) {
  constexpr unsigned kBytes = plan::A::kStageBytes + plan::B::kStageBytes;
  Place place;
  for (auto numbers = work.producer_numbers(shared); numbers.number < work.count();
       numbers.advance()) {
    const Unit unit = work.unit(numbers.number, rank);
    numbers.look_ahead();
#pragma unroll 1
    for (int s = 0; s < unit.stages; s++) {
      const unsigned barrier = full(shared, place.slot);
      const int k = (unit.first + s) * plan::kBlockK;
      mbarrier::wait(empty(shared, place.slot), place.parity ^ 1);
      mbarrier::arrive_expecting(barrier, kBytes);
      load<plan::A>(work.a(unit), shared + place.slot * plan::A::kStageBytes, barrier, unit.m, k,
                    unit.batch, rank);
      load<plan::B>(work.b(unit), shared + kStagesOfB + place.slot * plan::B::kStageBytes, barrier,
                    unit.n, k, unit.batch, rank);
      place.advance();
    }
  }
}

/* ---- Consumers ------------------------------------------------------------------------------ */

/* Stages of a tile of which this warpgroup has no rows. */
DEVICE void pass_stages(Place &place, unsigned shared, int stages) {
#pragma unroll 1
  for (int i = 0; i < stages; i++) {
    mbarrier::wait(full(shared, place.slot), place.parity);
    release(shared, place.slot);
    place.advance();
  }
}

/* A unit's sums to D, of a part only where it is the last one of its tile to come. Gives the ticket of
** the next unit's first chunk. */
template <class Work>
DEVICE unsigned write_unit(const Work &work, const Unit &unit, unsigned shared, unsigned rank,
                           unsigned warpgroup, unsigned ticket) {
  const Output &output = work.output(unit);
  if constexpr (plan::kSplits > 1)
    if (unit.part >= 0) {
      if (!combine<plan::Sums>(work.workspace(), unit, output.m, work.parts(), rank, warpgroup))
        return ticket;
      fetch_early(output, unit, shared, warpgroup, ticket);
    }
  write_tile(output, unit, shared, warpgroup, ticket);
  return next_ticket(ticket);
}

/*
** Consumers share each unit, or they take turns: then one writes a tile while another multiplies the
** next. One by itself finds the next unit while the last MMAs of this one run, so that it starts with
** it at once. In a list of products, one multiplies nothing where a tile's last rows are not its
** own.
*/
template <class Work>
DEVICE void consume(Work &work, unsigned shared, unsigned rank) {
  constexpr bool kFindsNext = plan::kConsumers == 1;
  const unsigned warpgroup = sm90::uniform(threadIdx.x / kWarpgroup) - 1;
  Place place;
  auto numbers = work.consumer_numbers(shared);
  Unit next;
  const auto find_next = [&] {
    if constexpr (kFindsNext)
      if (numbers.number < work.count()) next = work.unit(numbers.number, rank);
  };
  const auto advance = [&] {
    numbers.advance();
    find_next();
  };
  find_next();
  unsigned turns = 0, done = 0, ticket = 0;
  if (plan::kSkew > 0 && warpgroup == 1) __nanosleep(plan::kSkew);
  while (numbers.number < work.count()) {
    Unit unit;
    if constexpr (kFindsNext)
      unit = next;
    else
      unit = work.unit(numbers.number, rank);
    if constexpr (plan::kPingPong)
      if (turns++ % plan::kConsumers != warpgroup) {
        place.skip(unit.stages);
        advance();
        continue;
      }
    const bool has_rows =
        !Work::kIsList || kReaders == 1 || (int)plan::c_row(warpgroup * kWarpgroup) < unit.rows;
    if (!has_rows) pass_stages(place, shared, unit.stages);
    if constexpr (plan::kPingPong) wait_for_turn(shared, warpgroup, done++);
    const int stages = has_rows ? unit.stages : 0;
    const auto early = [&] {
      if (has_rows && unit.part < 0)
        fetch_early(work.output(unit), unit, shared, warpgroup, ticket);
    };
    accumulate<plan::Sums, Work::kIsList>(place, shared, warpgroup, stages, early, [&] {
      if constexpr (plan::kPingPong) pass_turn(shared, warpgroup);
      advance();
    });
    if (!has_rows) continue;
    ticket = write_unit(work, unit, shared, rank, warpgroup, ticket);
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
DEVICE void run(Work work, unsigned shared, unsigned rank) {
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
