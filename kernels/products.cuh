/*
** Sums of a unit of work of gemm_sm90: a warpgroup's MMAs over the stages that the producer fills.
** The plan comes before.
*/
#pragma once

#include "stages.cuh"
#include "wgmma.cuh"

/* Sums of a thread, seen a piece at a time. */
using Piece = plan::Register[plan::kRegistersOfPiece];
constexpr int kValuesOfPiece = wgmma::kValues<plan::Register> * plan::kRegistersOfPiece;
constexpr int kPiecesOfChunk = plan::D::kValuesOfChunk / kValuesOfPiece;
constexpr int kChunksOfTile = plan::kAtomsM * plan::D::kChunks;
constexpr int kPieces = kChunksOfTile * kPiecesOfChunk;

/* Where a chunk of an atom starts in the tile: the last one ends with it, and may share columns with
** the one before, but where C is read, which may be D. */
DEVICE constexpr int first_column(int chunk) {
  constexpr int kLast = plan::kBlockN - plan::D::kChunkColumns;
  const int column = chunk * plan::D::kChunkColumns;
  return column < kLast ? column : kLast;
}

/* The first value of a thread that is in a piece. */
DEVICE constexpr int first_value(int piece) {
  constexpr int kColumnsOfValue = plan::kBlockN / plan::kValuesOfAtom; /* of a row */
  const int chunk = piece / kPiecesOfChunk;
  return chunk / plan::D::kChunks * plan::kValuesOfAtom +
         first_column(chunk % plan::D::kChunks) / kColumnsOfValue +
         piece % kPiecesOfChunk * kValuesOfPiece;
}

template <class Operand>
DEVICE unsigned descriptor(unsigned stages, unsigned warpgroup) {
  return Operand::kDescriptor + wgmma::units(stages) + Operand::start(warpgroup);
}

constexpr int kGroupsOfStage = plan::kSteps / plan::kStepsOfGroup;

/*
** All k-steps of a stage, some in a group of MMAs. Groups are in a loop, for the compiler takes long
** for each MMA.
*/
DEVICE void multiply(unsigned a, unsigned b, bool adds) {
#pragma unroll 1
  for (int first = 0; first < plan::kSteps; first += plan::kStepsOfGroup) {
    wgmma::fence();
#pragma unroll
    for (int step = first; step < first + plan::kStepsOfGroup; step++)
#pragma unroll
      for (int i = 0; i < plan::kAtomsM; i++)
        plan::mma(i, a + plan::A::step(i + step * plan::kAtomsM), b + plan::B::step(step),
                  adds || step > 0);
    wgmma::commit();
  }
}

/*
** Whether a stage's MMAs are over before the next one's start, which those of another consumer of the
** tile hide, and ptxas has less to do for; else they go on while that is waited for.
*/
constexpr bool kWaitsForStage = kReaders > 1;

/*
** The sums over some stages: MMAs add to what is in the registers only from the second stage on.
** 'early' is called while the first one's run, 'meanwhile' while the last one's may.
*/
template <class Early, class Meanwhile>
DEVICE void accumulate_run(Place &place, unsigned shared, unsigned warpgroup, int stages,
                           const Early &early, const Meanwhile &meanwhile) {
  const unsigned part = plan::kPingPong ? 0 : warpgroup;
  const auto a = descriptor<plan::A>(shared, part);
  const auto b = descriptor<plan::B>(shared + kStagesOfB, part);
  unsigned before = 0;
#pragma unroll 1
  for (int i = 0; i < stages; i++) {
    mbarrier::wait(full(shared, place.slot), place.parity);
    multiply(a + place.slot * (plan::A::kStageBytes / 16),
             b + place.slot * (plan::B::kStageBytes / 16), i > 0);
    if (kFetchesEarly && i == 0) early();
    if constexpr (kWaitsForStage) {
      wgmma::wait<0>();
      release(shared, place.slot);
    } else {
      wgmma::wait<kGroupsOfStage>();
      if (i > 0) release(shared, before);
      before = place.slot;
    }
    place.advance();
  }
  meanwhile();
  if constexpr (!kWaitsForStage) {
    wgmma::wait<0>();
    if (stages > 0) release(shared, before);
  }
}

/*
** All of a unit's sums. MMAs of fp8 keep about 13 bits of their sums between each other: after
** kPromote stages, if that is not 0, these are added up as f32. The first MMA leaves nothing of what
** was in its registers. 'early' is called once, while the first MMAs run, and 'meanwhile' while the
** last ones may, if there are any.
*/
template <class Sums, bool kMayBeEmpty, class Early, class Meanwhile>
DEVICE void accumulate(Place &place, unsigned shared, unsigned warpgroup, int stages,
                       const Early &early, const Meanwhile &meanwhile) {
  if constexpr (kMayBeEmpty || plan::kPromote > 0) Sums::clear();
  if (kFetchesEarly && kMayBeEmpty && stages == 0) early();
  if constexpr (plan::kPromote == 0) {
    accumulate_run(place, shared, warpgroup, stages, early, meanwhile);
  } else {
    int left = stages;
#pragma unroll 1
    do {
      const int run = left < plan::kPromote ? left : plan::kPromote;
      left -= run;
      const auto first = [&] {
        if (run + left == stages) early();
      };
      accumulate_run(place, shared, warpgroup, run, first, [&] {
        if (left == 0) meanwhile();
      });
      if (run > 0) Sums::add_run();
    } while (left > 0);
  }
}
