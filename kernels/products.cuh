/*
** Sums of a unit of work of gemm_sm90: a warpgroup's MMAs over the stages that the producer fills.
** The plan comes before.
*/
#pragma once

#include "stages.cuh"
#include "wgmma.cuh"

using Accumulators = plan::Register[plan::kAtomsM][plan::kRegistersOfAtom];

DEVICE void clear(Accumulators &acc) {
#pragma unroll
  for (int i = 0; i < plan::kAtomsM; i++)
#pragma unroll
    for (int r = 0; r < plan::kRegistersOfAtom; r++) acc[i][r] = 0;
}

template <class Operand>
DEVICE unsigned descriptor(unsigned stages, unsigned warpgroup) {
  return Operand::kDescriptor + wgmma::units(stages) + Operand::start(warpgroup);
}

/* All k-steps of a stage, as one group of MMAs. */
DEVICE void multiply(Accumulators &acc, unsigned a, unsigned b, bool adds) {
  wgmma::fence();
#pragma unroll
  for (int step = 0; step < plan::kSteps; step++)
#pragma unroll
    for (int i = 0; i < plan::kAtomsM; i++)
      plan::mma(acc[i], a + plan::A::step(i + step * plan::kAtomsM), b + plan::B::step(step),
                adds || step > 0);
  wgmma::commit();
}

/*
** The sums over some stages: MMAs add to what is in the registers only from the second stage on. One
** is released while the next one's MMAs run. 'is_last': of the unit,
** so that the next consumer has its turn.
*/
DEVICE void accumulate_run(Accumulators &acc, Place &place, unsigned shared, unsigned warpgroup,
                           int stages, bool is_last) {
  const unsigned part = plan::kPingPong ? 0 : warpgroup;
  const auto a = descriptor<plan::A>(shared, part);
  const auto b = descriptor<plan::B>(shared + kStagesOfB, part);
  unsigned before = 0;
#pragma unroll 1
  for (int i = 0; i < stages; i++) {
    mbarrier::wait(full(shared, place.stage), place.parity);
    multiply(acc, a + place.stage * (plan::A::kStageBytes / 16),
             b + place.stage * (plan::B::kStageBytes / 16), i > 0);
    wgmma::wait<1>();
    if (i > 0) release(shared, before);
    before = place.stage;
    place.advance();
  }
  if (plan::kPingPong && is_last) pass_turn(shared, warpgroup);
  wgmma::wait<0>();
  if (stages > 0) release(shared, before);
#pragma unroll
  for (int i = 0; i < plan::kAtomsM; i++)
#pragma unroll
    for (int r = 0; r < plan::kRegistersOfAtom; r++) wgmma::pin(acc[i][r]);
}

DEVICE void add_run(Accumulators &acc, const Accumulators &run) {
#pragma unroll
  for (int i = 0; i < plan::kAtomsM; i++)
#pragma unroll
    for (int r = 0; r < plan::kRegistersOfAtom; r++) acc[i][r] += run[i][r];
}

/*
** All of a unit's sums, in registers that are 0: else their last values, of whatever path, must be
** kept from the MMAs. MMAs of fp8 keep about 13 bits of their sums between each other: after
** kPromote stages, if that is not 0, these are added up as f32.
*/
DEVICE void accumulate(Accumulators &acc, Place &place, unsigned shared, unsigned warpgroup,
                       int stages) {
  if constexpr (plan::kPromote == 0) {
    accumulate_run(acc, place, shared, warpgroup, stages, true);
  } else {
    Accumulators run;
#pragma unroll 1
    for (int i = 0; i < stages; i += plan::kPromote) {
      const bool is_last = i + plan::kPromote >= stages;
      accumulate_run(run, place, shared, warpgroup, is_last ? stages - i : plan::kPromote, is_last);
      add_run(acc, run);
    }
  }
}
