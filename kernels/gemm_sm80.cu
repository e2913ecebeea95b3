/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by mma.sync: A is (m, k), B is (n, k), C and D are
** (m, n), each of any strides, and a batch of each. C, the bias and the scales may be null where the
** plan does not read them.
**
** A block computes one tile of D. Tiles of A and B go through a ring of stages in shared memory;
** while a warp multiplies one k-step, it loads registers of the next, and copies for the tile
** kStages - 1 ahead are under way. All offsets come from the plan, as functions of the thread and of
** the step: see 'place' in swizzle.cuh.
**
** The sums are registers that PTX names, for compilers take long for variables in loops.
**
** Compute capability 7.5 or more: cp.async where the plan says so (8.0), else through registers.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm80_plan.cuh"
#endif
#include "copier.cuh"
#include "registers.cuh"
#include "results.cuh"
#include "tile_order.cuh"

constexpr int kCopySteps = plan::kSteps / 2; /* the first ones, which issue copies */

static_assert(plan::A::kCopies * plan::A::kCopyThreads * plan::A::kVector ==
                  plan::kBlockM * plan::kBlockK,
              "copies cover the tile of A");
static_assert(plan::B::kCopies * plan::B::kCopyThreads * plan::B::kVector ==
                  plan::kBlockN * plan::kBlockK,
              "copies cover the tile of B");
static_assert((plan::A::kStoreMask | plan::B::kStoreMask) < 128, "see kLoadMask");

/* ---- Products ------------------------------------------------------------------------------- */

/* Copies for all stages but one; the first one has arrived then. */
DEVICE void fill_stages(Copier<plan::A> &copy_a, Copier<plan::B> &copy_b, int k) {
#pragma unroll 1 /* unrolled, it takes the compiler longer and the kernel as long */
  for (int stage = 0; stage < plan::kStages - 1; stage++) {
    copy_a.template copy<kCopySteps>(stage, k - stage * plan::kBlockK, kAllSteps);
    copy_b.template copy<kCopySteps>(stage, k - stage * plan::kBlockK, kAllSteps);
    copy_a.advance();
    copy_b.advance();
    copy_a.store(stage);
    copy_b.store(stage);
    if constexpr (plan::kAsync) ptx::commit_copies();
  }
  if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
  __syncthreads();
}

/* The pipeline over k: all of one tile's sums. */
DEVICE void accumulate(Copier<plan::A> &copy_a, Copier<plan::B> &copy_b, unsigned shared, int k) {
  fill_stages(copy_a, copy_b, k);
  Registers registers[2] = {Registers(shared), Registers(shared)}; /* of even and odd steps */
  constexpr int kSets = plan::kDoubles ? 2 : 1;                    /* 1: the first, for all steps */
  registers[0].load_early_a(0, 0);
  registers[0].load_early_b(0, 0);

  int read = 0, write = plan::kStages - 1; /* the stage of this tile, and that of the one before */
  int k_left = k - (plan::kStages - 1) * plan::kBlockK; /* from the tile that is copied next */
#pragma unroll 1
  for (int tile = 0; tile < k; tile += plan::kBlockK) {
#pragma unroll
    for (int step = 0; step < plan::kSteps; step++) {
      const int next = (step + 1) % plan::kSteps;
      Registers &now = registers[step % kSets], &then = registers[next % kSets];
      now.load_late(read, step);
      if (step == kLastStep) {
        copy_a.store(write);
        copy_b.store(write);
        if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
        __syncthreads(); /* the next stage is whole; nobody reads this one any more */
        copy_a.advance();
        copy_b.advance();
        write = read;
        read = read + 1 < plan::kStages ? read + 1 : 0;
        k_left -= plan::kBlockK;
      }
      if constexpr (plan::kDoubles) { /* the order that is fastest on an H200 */
        then.load_early_b(read, next);
        then.load_early_a(read, next);
      }
      if (step < kCopySteps) {
        copy_a.template copy<kCopySteps>(write, k_left, step);
        copy_b.template copy<kCopySteps>(write, k_left, step);
      }
      if (plan::kAsync && step == kCopySteps - 1) ptx::commit_copies();
      now.multiply_early_b();
      if constexpr (!plan::kDoubles) then.load_early_b(read, next);
      now.multiply_late_b_early_a();
      if constexpr (!plan::kDoubles) then.load_early_a(read, next);
      now.multiply_late();
    }
  }
}

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(plan::kThreads, plan::kBlocks)
    gemm(const char *a, const char *b, char *c, char *d, const char *bias, const float *scale_a,
         const float *scale_b, int m, int n, int k, int batches, long long a_row, long long a_k,
         long long a_batch, long long b_row, long long b_k, long long b_batch, long long c_row,
         long long c_column, long long c_batch, long long d_row, long long d_column,
         long long d_batch, plan::Compute alpha, plan::Compute beta) {
  extern __shared__ __align__(128) char shared[];
  const Tile tile = tile_of(blockIdx.x, m, n);
  const unsigned stages = ptx::shared_address(shared);

  const long long batch = blockIdx.y + (long long)gridDim.y * blockIdx.z;
  if (batch >= batches) return;
  if constexpr (plan::kScales) alpha *= *scale_a * *scale_b;

  Copier<plan::A> copy_a(a + batch * a_batch * plan::A::kBytes, a_row, a_k, tile.m, m, stages);
  Copier<plan::B> copy_b(b + batch * b_batch * plan::B::kBytes, b_row, b_k, tile.n, n,
                         stages + kStagesOfB);
  plan::Sums::declare();
  plan::Sums::clear();
  accumulate(copy_a, copy_b, stages, k);

  const int row = tile.m + (int)plan::c_row(threadIdx.x);
  const int column = tile.n + (int)plan::c_column(threadIdx.x);
  Epilogue epilogue = {Elements(c + batch * c_batch * kElementBytes, c_row, c_column, row, column),
                       Elements(d + batch * d_batch * kElementBytes, d_row, d_column, row, column),
                       bias, alpha, beta, row, column, m, n};
  epilogue.write_all();
}
