/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by TMA and mma.sync: A is (m, k), B is (n, k), C and
** D are (m, n), and a batch of each; C and D of any strides. k is not 0. C, the bias and the scales may
** be null where the plan does not read them.
**
** As many blocks as the multiprocessors have room for go through the tiles of D. In each, one thread
** loads tiles of A and B by TMA into a ring of stages in shared memory, as far ahead as there are
** stages, of the next tile too. Warps multiply them from there: while a k-step is multiplied, the
** next one's registers are loaded. No barrier is for all threads: a stage is read when it is whole, and
** loaded again when each warp has given it back.
**
** Compute capability 9.0 and newer. mma.sync is all that 12.0 has; 9.0 has wgmma, too (gemm_sm90.cu),
** and 10.0 tcgen05, for which there is no template.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm120_plan.cuh"
#endif
#include "boxes.cuh"
#include "mbarrier.cuh"
#include "registers.cuh"
#include "results.cuh"
#include "ring.cuh"
#include "sm90.cuh"
#include "tile_order.cuh"

constexpr int kWarpgroup = 128;
constexpr int kConsumers = 32 * plan::kWarps; /* threads that multiply, the first ones */
constexpr unsigned kStageBytes = plan::A::kStageBytes + plan::B::kStageBytes;
constexpr unsigned kFull = plan::kStages * kStageBytes; /* where the barriers are */
constexpr unsigned kEmpty = kFull + plan::kStages * mbarrier::kBytes;

static_assert(plan::kThreads == kConsumers + kWarpgroup,
              "one warpgroup loads, for setmaxnreg is for whole ones");
static_assert(kEmpty + plan::kStages * mbarrier::kBytes == plan::kSharedBytes, "");
static_assert(plan::A::kStageBytes % 1024 == 0 && plan::B::kStageBytes % 1024 == 0,
              "swizzles repeat after 1024 bytes");
static_assert(plan::kDoubles, "registers of two k-steps at a time");

/* ---- Stages --------------------------------------------------------------------------------- */

using Place = Ring<plan::kStages>;

/* 'shared' is where the block's shared memory starts. */
DEVICE unsigned full(unsigned shared, unsigned stage) {
  return shared + kFull + stage * mbarrier::kBytes;
}
DEVICE unsigned empty(unsigned shared, unsigned stage) {
  return shared + kEmpty + stage * mbarrier::kBytes;
}

DEVICE void init_barriers(unsigned shared) {
  mbarrier::init<plan::kStages>(full(shared, 0), 1);
  mbarrier::init<plan::kStages>(empty(shared, 0), plan::kWarps);
  mbarrier::fence_init();
}

/* ---- The work of a launch ------------------------------------------------------------------- */

/* A block's tiles are as far apart as there are blocks; batches follow each other. */
struct Work {
  unsigned of_batch, count; /* tiles */
  int m, n, stages;         /* stages of a tile */

  DEVICE Work(int m, int n, int k, int batches)
      : of_batch((unsigned)((m + plan::kBlockM - 1) / plan::kBlockM) *
                 ((n + plan::kBlockN - 1) / plan::kBlockN)),
        count(of_batch * batches),
        m(m),
        n(n),
        stages((k + plan::kBlockK - 1) / plan::kBlockK) {}

  /* Tiles of this block. */
  DEVICE int own() const { return (int)((count - blockIdx.x + gridDim.x - 1) / gridDim.x); }
  DEVICE Tile tile(unsigned i) const { return tile_of(i % of_batch, m, n); }
  DEVICE int batch(unsigned i) const { return (int)(i / of_batch); }
};

/* By one thread: loads for all tiles of this block. */
DEVICE void produce(const Work &work, const tma::Map &a, const tma::Map &b, unsigned shared) {
  Place place;
  for (unsigned i = blockIdx.x; i < work.count; i += gridDim.x) {
    const Tile tile = work.tile(i);
    const int batch = work.batch(i);
#pragma unroll 1
    for (int s = 0; s < work.stages; s++) {
      const unsigned barrier = full(shared, place.slot);
      mbarrier::wait(empty(shared, place.slot), place.parity ^ 1);
      mbarrier::arrive_expecting(barrier, kStageBytes);
      load<plan::A>(a, shared + place.slot * plan::A::kStageBytes, barrier, tile.m,
                    s * plan::kBlockK, batch, 0);
      load<plan::B>(b, shared + kStagesOfB + place.slot * plan::B::kStageBytes, barrier, tile.n,
                    s * plan::kBlockK, batch, 0);
      place.advance();
    }
  }
}

/* ---- Products ------------------------------------------------------------------------------- */

/* A warp's part of the pipeline: its registers, and how far it is among the stages. */
struct Pipeline {
  unsigned shared;
  int left;               /* stages that this one and the block's next tiles have */
  Registers registers[2]; /* of even and odd steps */
  Place place;

  DEVICE Pipeline(unsigned shared, int stages)
      : shared(shared), left(stages), registers{Registers(shared), Registers(shared)} {
    mbarrier::wait(full(shared, 0), 0);
    registers[0].load_early_b(0, 0);
    registers[0].load_early_a(0, 0);
  }

  /* A stage, of which the last step loads registers of the next one, if there is one. */
  DEVICE void multiply() {
    const unsigned slot = place.slot;
    place.advance();
    const bool is_last = --left == 0;
#pragma unroll
    for (int step = 0; step < plan::kSteps; step++) {
      const int next = (step + 1) % plan::kSteps;
      const unsigned then_slot = step == kLastStep ? place.slot : slot;
      Registers &now = registers[step % 2], &then = registers[next % 2];
      now.load_late(slot, step);
      if (step == kLastStep && !is_last) mbarrier::wait(full(shared, place.slot), place.parity);
      then.load_early_b(then_slot, next); /* after the last stage old data, which nobody uses */
      then.load_early_a(then_slot, next);
      now.multiply_early_b();
      now.multiply_late_b_early_a();
      now.multiply_late();
    }
    if (threadIdx.x % 32 == 0) mbarrier::arrive(empty(shared, slot)); /* its registers are read */
  }
};

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(plan::kThreads, plan::kBlocks)
    gemm(const __grid_constant__ tma::Map a, const __grid_constant__ tma::Map b, char *c, char *d,
         const char *bias, const float *scale_a, const float *scale_b, int m, int n, int k,
         int batches, long long c_row, long long c_column, long long c_batch, long long d_row,
         long long d_column, long long d_batch, plan::Compute alpha, plan::Compute beta) {
  plan::Sums::declare();
  extern __shared__ __align__(1024) char shared[];
  const unsigned start = ptx::shared_address(shared);
  constexpr bool kMovesRegisters = plan::kConsumerRegisters > 0; /* else all keep what they have */
  const Work work(m, n, k, batches);
  if (threadIdx.x == 0) init_barriers(start);
  __syncthreads();
  if (threadIdx.x >= kConsumers) {
    if constexpr (kMovesRegisters) sm90::give_registers<plan::kProducerRegisters>();
    if (threadIdx.x == kConsumers) produce(work, a, b, start);
    return;
  }
  if constexpr (kMovesRegisters) sm90::take_registers<plan::kConsumerRegisters>();
  if constexpr (plan::kScales) alpha *= *scale_a * *scale_b;

  Pipeline pipeline(start, work.own() * work.stages);
  for (unsigned i = blockIdx.x; i < work.count; i += gridDim.x) {
    plan::Sums::clear();
#pragma unroll 1
    for (int stage = 0; stage < work.stages; stage++) pipeline.multiply();

    const Tile tile = work.tile(i);
    const long long batch = work.batch(i);
    const int row = tile.m + (int)plan::c_row(threadIdx.x);
    const int column = tile.n + (int)plan::c_column(threadIdx.x);
    char *const old = c + batch * c_batch * kElementBytes;
    char *const target = d + batch * d_batch * kElementBytes;
    const Epilogue epilogue = {Elements(old, c_row, c_column, row, column),
                               Elements(target, d_row, d_column, row, column),
                               bias, alpha, beta, row, column, m, n};
    epilogue.write_all();
  }
}
