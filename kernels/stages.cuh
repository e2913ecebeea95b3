/*
** Shared memory of a block of gemm_sm90: a ring of stages for tiles of A and B, buffers for the
** output, and the barriers by which the producer and the consumers wait for each other. The plan
** comes before.
*/
#pragma once

#include "mbarrier.cuh"
#include "ptx.cuh"
#include "ring.cuh"

using plan::kCluster;

constexpr int kWarpgroup = 128;
constexpr int kTilesAtOnce = plan::kPingPong ? plan::kConsumers : 1;
constexpr int kReaders = plan::kConsumers / kTilesAtOnce; /* of a stage */
constexpr int kTurns = plan::kPingPong ? plan::kConsumers : 0;

/* Of a tile's bias. */
constexpr int kBiasElements = plan::kBias == plan::kPerRow      ? plan::kBlockM
                              : plan::kBias == plan::kPerColumn ? plan::kBlockN
                                                                : 0;
constexpr unsigned kBiasBytes = kBiasElements * sizeof(plan::Element::Bits);

constexpr bool kLoadsC = plan::kReadsC && plan::D::kByTma;            /* by TMA, as it stores D */
constexpr bool kFetchesEarly = kLoadsC || plan::kBias != plan::kNone; /* as a tile starts */
constexpr int kAllBuffers = plan::kConsumers * plan::D::kBuffers;

/* Stages of A, stages of B, output buffers of each consumer, a bias for each, barriers, notes. */
constexpr unsigned kStagesOfB = plan::kStages * plan::A::kStageBytes;
constexpr unsigned kOutput = kStagesOfB + plan::kStages * plan::B::kStageBytes;
constexpr unsigned kBiases = kOutput + kAllBuffers * plan::D::kBufferBytes;
constexpr unsigned kFull = kBiases + plan::kConsumers * kBiasBytes;
constexpr unsigned kEmpty = kFull + plan::kStages * mbarrier::kBytes;
constexpr unsigned kTurn = kEmpty + plan::kStages * mbarrier::kBytes;
constexpr unsigned kLoaded = kTurn + kTurns * mbarrier::kBytes;
constexpr unsigned kNoteWritten = kLoaded + (kLoadsC ? kAllBuffers : 0) * mbarrier::kBytes;
constexpr unsigned kNoteRead = kNoteWritten + plan::kNotes * mbarrier::kBytes;
constexpr unsigned kNote = kNoteRead + plan::kNotes * mbarrier::kBytes;
constexpr unsigned kNoteBytes = 4;

static_assert(plan::kStages >= 2, "a stage is released when the next one is there");
static_assert(kNote + plan::kNotes * kNoteBytes == plan::kSharedBytes,
              "shared memory as the plan counts it");
static_assert(plan::A::kStageBytes % 1024 == 0 && plan::B::kStageBytes % 1024 == 0 &&
                  plan::D::kBufferBytes % 1024 == 0,
              "swizzles repeat after 1024 bytes");
static_assert(kBiasBytes % 16 == 0, "barriers are aligned");

using Place = Ring<plan::kStages>; /* among the stages */

/* This thread among those that have the sums of a tile. */
DEVICE unsigned thread_of_tile() {
  return plan::kPingPong ? threadIdx.x % kWarpgroup : threadIdx.x - kWarpgroup;
}

/* 'shared' is where the block's shared memory starts. */
DEVICE unsigned full(unsigned shared, unsigned stage) {
  return shared + kFull + stage * mbarrier::kBytes;
}
DEVICE unsigned empty(unsigned shared, unsigned stage) {
  return shared + kEmpty + stage * mbarrier::kBytes;
}
DEVICE unsigned turn(unsigned shared, unsigned warpgroup) {
  return shared + kTurn + warpgroup * mbarrier::kBytes;
}
/* A chunk of C is in that buffer of the warpgroup's. */
DEVICE unsigned loaded(unsigned shared, unsigned warpgroup, unsigned slot) {
  return shared + kLoaded + (warpgroup * plan::D::kBuffers + slot) * mbarrier::kBytes;
}
DEVICE unsigned bias_of(unsigned shared, unsigned warpgroup) {
  return shared + kBiases + warpgroup * kBiasBytes;
}

DEVICE unsigned note_written(unsigned shared, unsigned slot) {
  return shared + kNoteWritten + slot * mbarrier::kBytes;
}
DEVICE unsigned note_read(unsigned shared, unsigned slot) {
  return shared + kNoteRead + slot * mbarrier::kBytes;
}
DEVICE unsigned note(unsigned shared, unsigned slot) { return shared + kNote + slot * kNoteBytes; }

/* By one thread. Each kind's barriers are one behind the other. */
DEVICE void init_barriers(unsigned shared) {
  mbarrier::init<plan::kStages>(full(shared, 0), 1);
  mbarrier::init<plan::kStages>(empty(shared, 0), kReaders * kCluster);
  mbarrier::init<kTurns>(turn(shared, 0), 1);
  if constexpr (kLoadsC) mbarrier::init<kAllBuffers>(loaded(shared, 0, 0), 1);
  if constexpr (plan::kNotes > 0) {
    mbarrier::init<plan::kNotes>(note_written(shared, 0), 1);
    mbarrier::init<plan::kNotes>(note_read(shared, 0), plan::kConsumers * kWarpgroup);
  }
  mbarrier::fence_init();
}

/*
** By a consumer: the stage may be overwritten. What is loaded for all blocks of a cluster overwrites
** all, so all are told, by a thread each.
*/
DEVICE void release(unsigned shared, unsigned stage) {
  const unsigned thread = threadIdx.x % kWarpgroup;
  if constexpr (kCluster == 1) {
    if (thread == 0) mbarrier::arrive(empty(shared, stage));
  } else {
    if (thread < kCluster) mbarrier::arrive_at(empty(shared, stage), thread);
  }
}

/*
** Turns: a consumer starts with its tile when the one before has seen all stages of its own. The
** parity of a stage's phase says no more than whether one phase is over, so nobody may wait further
** ahead.
*/
DEVICE void wait_for_turn(unsigned shared, unsigned warpgroup, unsigned tiles_done) {
  mbarrier::wait(turn(shared, warpgroup), (tiles_done & 1) ^ (warpgroup == 0));
}
DEVICE void pass_turn(unsigned shared, unsigned warpgroup) {
  if (threadIdx.x % kWarpgroup == 0)
    mbarrier::arrive(turn(shared, (warpgroup + 1) % plan::kConsumers));
}
