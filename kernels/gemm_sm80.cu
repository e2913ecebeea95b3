/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by mma.sync: A is (m, k), B is (n, k), C and D are
** (m, n), each of any strides, and a batch of each.
**
** A block computes one tile of D. Tiles of A and B go through a ring of stages in shared memory;
** while a warp multiplies one k-step, it loads the registers of the next, and copies for the tile
** kStages - 1 ahead are under way. All offsets come from the plan, as functions of the thread and of
** the step, which combine without carries: see 'place'.
**
** Compute capability 7.5 or more: cp.async where the plan says so (8.0), else through registers.
*/
#include "copier.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "ptx.cuh"
#include "swizzle.cuh"

#ifndef LUTILE_PLAN
#include "element.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

constexpr int kBlockM = 128;
constexpr int kBlockN = 256;
constexpr int kBlockK = 32;
constexpr int kAtomK = 16;
constexpr int kSteps = 2;
constexpr int kStages = 4;
constexpr int kThreads = 256;
constexpr int kBlocks = 1;  /* of a multiprocessor, at least: bounds registers */
constexpr bool kAsync = true;
constexpr int kAtomsM = 4;  /* of a warp */
constexpr int kAtomsN = 8;
constexpr int kWordsOfC = 4;  /* registers of an atom's accumulators */
constexpr int kGroup = 8;  /* rows of tiles that blocks go down together */
constexpr int kRun = 2;
constexpr int kValuesOfC = 128;
constexpr bool kReadsC = false;
constexpr bool kScales = false;  /* alpha is times a number in memory for A and for B */
constexpr Bias kBias = kNone;

using Word = unsigned;
using Accumulator = element::f32;
using Element = element::f16;  /* of C, D and the bias */
using Compute = float;

struct A {
  using Word = unsigned;  /* a register */
  static constexpr int kBytes = 2;  /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 256;
  static constexpr int kUnit = 1;  /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8;  /* elements of a copy */
  static constexpr int kCopies = 2;  /* of a thread for a tile */
  static constexpr int kCopyThreads = 256;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 8192;

  /* Coordinates of a copy: the thread's first, and from there. */
  /* (4,64):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 4; }
  /* (4,64):(8,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 4 * 8; }
  /* (2,1):(64,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 64; }
  /* (2,1):(0,32) */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }

  /* Bytes in a stage at which it arrives. */
  static constexpr int kStoreMask = 48;
  /* Sw<2,3,3> o 0 o (4,64):(8,32) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) { return swizzle<2, 4, 3>(i * 16); }
  /* Sw<2,3,3> o 0 o (2,1):(2048,0) times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<2, 4, 3>(i * 4096); }

  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */
  static constexpr Load kLoad = kMatrices;
  static constexpr int kWords = 16;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),(2,4)):(32,(256,8),(512,0)) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 64 + i / 16 % 2 * 16 + i / 32 % 2 * 1024);
  }
  /* Sw<2,3,3> o 0 o (4,2):(1024,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 4 * 2048 + i / 4 * 32);
  }
};

struct B {
  using Word = unsigned;  /* a register */
  static constexpr int kBytes = 2;  /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 256;
  static constexpr int kUnit = 1;  /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8;  /* elements of a copy */
  static constexpr int kCopies = 4;  /* of a thread for a tile */
  static constexpr int kCopyThreads = 256;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 16384;

  /* Coordinates of a copy: the thread's first, and from there. */
  /* (4,64):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 4; }
  /* (4,64):(8,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 4 * 8; }
  /* (4,1):(64,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 64; }
  /* (4,1):(0,32) */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }

  /* Bytes in a stage at which it arrives. */
  static constexpr int kStoreMask = 48;
  /* Sw<2,3,3> o 0 o (4,64):(8,32) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) { return swizzle<2, 4, 3>(i * 16); }
  /* Sw<2,3,3> o 0 o (4,1):(2048,0) times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<2, 4, 3>(i * 4096); }

  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */
  static constexpr Load kLoad = kMatrices;
  static constexpr int kWords = 16;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),(2,4)):(32,(8,1024),(0,256)) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 64 + i / 8 % 2 * 16 + i / 16 % 2 * 2048 + i / 64 * 512);
  }
  /* Sw<2,3,3> o 0 o (4,2):(2048,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 4 * 4096 + i / 4 * 32);
  }
};

DEVICE void mma(Word *d, const Word *a, const Word *b) {
  mma::SM80_16x8x16_F32F16F16F32_TN(d, a, b);
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
/* (4,8,2,4):(0,1,16,0) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 % 2 * 16; }
/* (4,8,2,4):(2,0,0,8) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 2 + i / 64 * 8; }
/* ((2,2),(4,8)):((0,8),(32,0)) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 2 % 2 * 8 + i / 4 % 4 * 32; }
/* ((2,2),(4,8)):((1,0),(0,32)) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 2 + i / 16 * 32; }

/* The values in the order in which they are written: runs of kRun neighbours. */
/* 128:1 */
DEVICE constexpr unsigned run_value(unsigned i) { return i; }

DEVICE Compute epilogue(Compute x, int m, int n) { return x; }

}  // namespace plan
#endif

/* ---- What a plan must agree on -------------------------------------------------------------- */

static_assert(plan::kBlockK % plan::kAtomK == 0, "whole k-steps");
static_assert(plan::kSteps == plan::kBlockK / plan::kAtomK, "all k-steps of a tile");
static_assert(plan::kSteps % 2 == 0, "registers are double-buffered: the parity of a step is fixed");
static_assert(plan::kStages >= 2, "one stage is read while another is written");
static_assert(plan::A::kCopies * plan::A::kCopyThreads * plan::A::kVector ==
                  plan::kBlockM * plan::kBlockK,
              "copies cover the tile of A");
static_assert(plan::B::kCopies * plan::B::kCopyThreads * plan::B::kVector ==
                  plan::kBlockN * plan::kBlockK,
              "copies cover the tile of B");
static_assert(plan::A::kCopies <= 32 && plan::B::kCopies <= 32, "a bit a copy");
static_assert(plan::A::kStageBytes % 128 == 0 && plan::B::kStageBytes % 128 == 0 &&
                  (plan::A::kStoreMask | plan::A::kLoadMask | plan::B::kStoreMask |
                   plan::B::kLoadMask) < 128,
              "swizzles stay within 128 bytes, and a stage's start leaves them as they are");

using plan::Word;

constexpr int kStagesOfB = plan::kStages * plan::A::kStageBytes; /* where B's stages start */
constexpr int kLastStep = plan::kSteps - 1;
constexpr int kCopySteps = kLastStep; /* those that issue copies: all before the barrier */

/* ---- The product of a k-step ---------------------------------------------------------------- */

using Accumulators = Word[plan::kAtomsM * plan::kAtomsN * plan::kWordsOfC];

/* There and back along n, so that one of an atom's operands is the one before's. */
DEVICE void multiply(Accumulators &acc, const Fragment<plan::A> &a, const Fragment<plan::B> &b) {
  constexpr int kWordsOfA = plan::A::kWords / plan::kAtomsM;
  constexpr int kWordsOfB = plan::B::kWords / plan::kAtomsN;
#pragma unroll
  for (int i = 0; i < plan::kAtomsM; i++)
#pragma unroll
    for (int there = 0; there < plan::kAtomsN; there++) {
      int j = i % 2 == 0 ? there : plan::kAtomsN - 1 - there;
      plan::mma(acc + (i + j * plan::kAtomsM) * plan::kWordsOfC, a.words + i * kWordsOfA,
                b.words + j * kWordsOfB);
    }
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

struct Tile {
  int m, n; /* of its first element */
};

/*
** Blocks go down kGroup rows of tiles before they go on to the next column, so that those that run
** together share more of A and B in L2.
*/
DEVICE Tile tile_of(unsigned block, int m, int n) {
  unsigned rows = (m + plan::kBlockM - 1) / plan::kBlockM;
  unsigned columns = (n + plan::kBlockN - 1) / plan::kBlockN;
  unsigned group = block / (plan::kGroup * columns), in_group = block % (plan::kGroup * columns);
  unsigned left = rows - group * plan::kGroup;
  unsigned height = left < plan::kGroup ? left : plan::kGroup;
  return {(int)(group * plan::kGroup + in_group % height) * plan::kBlockM,
          (int)(in_group / height) * plan::kBlockN};
}

/* The pipeline over k: all of one tile's accumulators. */
DEVICE void accumulate(Accumulators &acc, Copier<plan::A> &copy_a, Copier<plan::B> &copy_b,
                       unsigned shared, int k) {
  Fragment<plan::A> a[2];
  Fragment<plan::B> b[2];
  const unsigned from_a = shared + plan::A::load(threadIdx.x);
  const unsigned from_b = shared + kStagesOfB + plan::B::load(threadIdx.x);

#pragma unroll 1 /* unrolled, it takes the compiler longer and the kernel as long */
  for (int stage = 0; stage < plan::kStages - 1; stage++) {
    copy_a.template copy<kCopySteps>(stage, k - stage * plan::kBlockK, kAllSteps);
    copy_b.template copy<kCopySteps>(stage, k - stage * plan::kBlockK, kAllSteps);
    copy_a.store(stage);
    copy_b.store(stage);
    if constexpr (plan::kAsync) ptx::commit_copies();
  }
  if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
  __syncthreads();
  a[0].load(from_a, 0);
  b[0].load(from_b, 0);

  int read = 0, write = plan::kStages - 1;
  int k_left = k - (plan::kStages - 1) * plan::kBlockK; /* from the tile that is copied next */
  for (int tile = 0; tile < k; tile += plan::kBlockK) {
#pragma unroll
    for (int step = 0; step < plan::kSteps; step++) {
      if (step == kLastStep) {
        copy_a.store(write);
        copy_b.store(write);
        if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
        __syncthreads(); /* the next stage is whole; nobody reads this one any more */
        write = read;
        read = read + 1 < plan::kStages ? read + 1 : 0;
        k_left -= plan::kBlockK;
      }
      const int next = (step + 1) % plan::kSteps;
      a[next % 2].load(from_a + read * plan::A::kStageBytes, next);
      b[next % 2].load(from_b + read * plan::B::kStageBytes, next);
      if (step < kCopySteps) {
        copy_a.template copy<kCopySteps>(write, k_left, step);
        copy_b.template copy<kCopySteps>(write, k_left, step);
      }
      if (plan::kAsync && step == kCopySteps - 1) ptx::commit_copies();
      a[step % 2].round();
      b[step % 2].round();
      multiply(acc, a[step % 2], b[step % 2]);
    }
  }
}

/* ---- Registers to global memory ------------------------------------------------------------- */

constexpr int kElementBytes = sizeof(plan::Element::Bits);

/* Value i of an accumulator's registers. */
DEVICE auto value_of(const Accumulators &acc, unsigned i) {
  constexpr unsigned kBits = 8 * sizeof(plan::Accumulator::Bits);
  constexpr unsigned kValues = 8 * sizeof(Word) / kBits; /* in a word */
  return plan::Accumulator::decode((plan::Accumulator::Bits)(acc[i / kValues] >> i % kValues * kBits));
}

/*
** A matrix of D's elements, from the thread's first one on; where a run is more than one element, its
** columns are contiguous.
*/
struct Output {
  char *first;
  long long row_stride, column_stride;

  DEVICE Output(char *data, long long row_stride, long long column_stride, int row, int column)
      : row_stride(row_stride), column_stride(plan::kRun > 1 ? 1 : column_stride) {
    first = data;
    first = at(row, column);
  }

  DEVICE char *at(int rows, int columns) const {
    return first + (rows * row_stride + columns * column_stride) * kElementBytes;
  }
};

using Run = epilogue::Run<plan::Element, plan::kRun>;

struct Epilogue {
  Output c, d;
  const char *bias;
  plan::Compute alpha, beta;
  int row, column; /* of the thread's first value */
  int m, n;

  DEVICE plan::Compute bias_at(int i, bool is_inside) const {
    auto bits = epilogue::Run<plan::Element, 1>::load_if(is_inside, bias + i * kElementBytes).get(0);
    return (plan::Compute)plan::Element::decode(bits);
  }

  /*
  ** A run of accumulators, from value 'first' in the plan's order, to its place in D. Nothing here
  ** branches: all rows of a thread have their addresses in common with one another, and so have
  ** columns.
  */
  DEVICE void write(const Accumulators &acc, unsigned first) const {
    const int rows = plan::c_row_step(plan::run_value(first));
    const int columns = plan::c_column_step(plan::run_value(first));
    const bool is_inside = row + rows < m && column + columns < n;
    Run old, run;
    run.clear();
    if constexpr (plan::kReadsC) old = Run::load_if(is_inside, c.at(rows, columns));
#pragma unroll
    for (int e = 0; e < plan::kRun; e++) {
      plan::Compute x = (plan::Compute)value_of(acc, plan::run_value(first + e));
      x *= alpha;
      if constexpr (plan::kReadsC) x += beta * (plan::Compute)plan::Element::decode(old.get(e));
      if constexpr (plan::kBias == plan::kPerRow) x += bias_at(row + rows, is_inside);
      if constexpr (plan::kBias == plan::kPerColumn) x += bias_at(column + columns + e, is_inside);
      run.set(e, plan::Element::encode(plan::epilogue(x, row + rows, column + columns + e)));
    }
    run.store_if(is_inside, d.at(rows, columns));
  }

  DEVICE void write_all(const Accumulators &acc) const {
#pragma unroll
    for (unsigned i = 0; i < plan::kValuesOfC; i += plan::kRun) write(acc, i);
  }
};

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
  Accumulators acc;
#pragma unroll
  for (int i = 0; i < (int)(sizeof acc / sizeof *acc); i++) acc[i] = 0;
  accumulate(acc, copy_a, copy_b, stages, k);

  const int row = tile.m + (int)plan::c_row(threadIdx.x);
  const int column = tile.n + (int)plan::c_column(threadIdx.x);
  Epilogue epilogue = {Output(c + batch * c_batch * kElementBytes, c_row, c_column, row, column),
                       Output(d + batch * d_batch * kElementBytes, d_row, d_column, row, column),
                       bias, alpha, beta, row, column, m, n};
  epilogue.write_all(acc);
}
