/*
** D = (A * B^T) * B^T by mma.sync: A is (m, n), B is (n, n) with n <= kColumns, D is (m, n). The
** skeleton of attention, without the softmax.
**
** A block computes kBlockM rows of D, each warp whole rows of them. So the accumulators of the first
** product, rounded to A's type, are the A operand of the second one as they lie in the registers:
** plan::p_value says which accumulator an operand's register holds, worked out as
** acc .. (~C .. A) from the atom's layouts. Nothing moves between threads, or through memory.
**
** Tiles of A and B along k go through a ring of stages in shared memory; then those of B again, for
** the second product, which is done in kParts parts of D's columns: the registers of its operand A
** stay, and there are fewer accumulators beside them.
*/
#include "copier.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "ptx.cuh"

#ifndef LUTILE_PLAN
#include "element.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

namespace plan {

constexpr int kBlockM = 128;
constexpr int kColumns = 256; /* n or more */
constexpr int kBlockK = 32;
constexpr int kAtomK = 16;
constexpr int kSteps = 2;
constexpr int kStages = 3;
constexpr int kThreads = 256;
constexpr int kBlocks = 1; /* of a multiprocessor, at least: bounds registers */
constexpr int kWarpsN = 1;
constexpr bool kAsync = true;
constexpr int kAtomsM = 1; /* of a warp */
constexpr int kAtomsN = 32;
constexpr int kRun = 2;
constexpr int kValuesOfPart = 64;
constexpr int kParts = 2;
constexpr int kColumnsOfPart = 128;

using Operand = element::f16; /* of A and B */
using Element = element::f32; /* of D */

struct A {
  using Word = unsigned;           /* a register */
  static constexpr int kBytes = 2; /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 256;
  static constexpr int kUnit = 1;   /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8; /* elements of a copy */
  static constexpr int kCopies = 2; /* of a thread for a tile */
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
  static constexpr int kWords = 4;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),8):(32,(256,8),512) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 64 + i / 16 % 2 * 16 + i / 32 * 1024);
  }
  /* Sw<2,3,3> o 0 o 2:16 times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) { return swizzle<2, 4, 3>(i * 32); }
};

struct B {
  using Word = unsigned;           /* a register */
  static constexpr int kBytes = 2; /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 256;
  static constexpr int kUnit = 1;   /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8; /* elements of a copy */
  static constexpr int kCopies = 4; /* of a thread for a tile */
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
  static constexpr int kWords = 64;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),8):(32,(8,256),0) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 64 + i / 8 % 2 * 16 + i / 16 % 2 * 512);
  }
  /* Sw<2,3,3> o 0 o (16,2):(512,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 1024 + i / 16 * 32);
  }
};

/* The rows of B for a part of D's columns. */
struct Rows {
  using Word = unsigned;           /* a register */
  static constexpr int kBytes = 2; /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 256;
  static constexpr int kUnit = 1;   /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8; /* elements of a copy */
  static constexpr int kCopies = 2; /* of a thread for a tile */
  static constexpr int kCopyThreads = 256;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 16384;

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
  static constexpr int kWords = 32;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),8):(32,(8,256),0) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 64 + i / 8 % 2 * 16 + i / 16 % 2 * 512);
  }
  /* Sw<2,3,3> o 0 o (8,2):(512,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 1024 + i / 8 * 32);
  }
};

DEVICE void mma(float *d, const unsigned *a, const unsigned *b) {
  mma::SM80_16x8x16_F32F16F16F32_TN((unsigned *)d, a, b);
}

/* The accumulator that is value i of operand A: acc .. (~C .. A). */
/* ((2,2,2),1,16):((1,2,4),0,8) */
DEVICE constexpr unsigned p_value(unsigned i) { return i; }

/* Coordinates in the rows of D of an accumulator: the thread's first, and value i from there. */
/* (4,8,8):(0,1,16) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 * 16; }
/* (4,8,8):(2,0,0) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 2; }
/* ((2,2),(1,16)):((0,8),(0,0)) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 2 % 2 * 8; }
/* ((2,2),(1,16)):((1,0),(0,8)) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 2 + i / 4 * 8; }

/* The values in the order in which they are written: runs of kRun neighbours. */
/* 64:1 */
DEVICE constexpr unsigned run_value(unsigned i) { return i; }

}  // namespace plan
#endif

/* ---- What a plan must agree on -------------------------------------------------------------- */

static_assert(plan::kColumns % plan::kBlockK == 0, "whole tiles along k");
static_assert(plan::kBlockK == plan::kSteps * plan::kAtomK, "whole k-steps");
static_assert(plan::kStages >= 2, "one stage is read while another is written");
static_assert(plan::kWarpsN == 1, "a warp has whole rows");
static_assert(plan::Rows::kStageBytes == plan::B::kStageBytes, "they share the stages");
static_assert(plan::A::kStageBytes % 128 == 0 && plan::B::kStageBytes % 128 == 0 &&
                  (plan::A::kStoreMask | plan::A::kLoadMask | plan::B::kStoreMask |
                   plan::B::kLoadMask) < 128,
              "swizzles stay within 128 bytes, and a stage's start leaves them as they are");

using Word = unsigned;

constexpr int kTiles = plan::kColumns / plan::kBlockK; /* along k, in each pass */
constexpr int kAllTiles = kTiles * (1 + plan::kParts);
constexpr int kAhead = plan::kStages - 1; /* from the tile that is read to that which is fetched */
constexpr int kStagesOfB = plan::kStages * plan::A::kStageBytes; /* where B's stages start */
constexpr int kWordsOfStep = plan::A::kWords;                    /* of operand A, in a k-step */
constexpr int kWordsOfA = plan::A::kWords / plan::kAtomsM;
constexpr int kOperandWords = kTiles * plan::kSteps * kWordsOfStep;

/* All columns of S, or those of one part of D. */
template <int kAtomsN>
struct Accumulators {
  float values[plan::kAtomsM * kAtomsN * 4];

  DEVICE Accumulators() {
#pragma unroll
    for (int i = 0; i < plan::kAtomsM * kAtomsN * 4; i++) values[i] = 0;
  }
};
using Sums = Accumulators<plan::kAtomsN>;
using Part = Accumulators<plan::kAtomsN / plan::kParts>;

/* ---- The ring of stages --------------------------------------------------------------------- */

/*
** Tiles 0 to kTiles - 1 are of A and B; then, for each part, kTiles of the rows of B that it takes
** (plan::Rows). Tile t is in stage t % kStages.
*/
struct Ring {
  const char *matrix_b;
  long long b_row, b_k;
  int n;
  unsigned shared_b;
  Copier<plan::A> a;
  Copier<plan::B> b;
  Copier<plan::Rows> rows;

  DEVICE Ring(const char *matrix_a, const char *matrix_b, long long a_row, long long a_k,
              long long b_row, long long b_k, int first_row, int m, int n, unsigned shared)
      : matrix_b(matrix_b),
        b_row(b_row),
        b_k(b_k),
        n(n),
        shared_b(shared + kStagesOfB),
        a(matrix_a, a_row, a_k, first_row, m, shared),
        b(matrix_b, b_row, b_k, 0, n, shared + kStagesOfB),
        rows(matrix_b, b_row, b_k, 0, n, shared + kStagesOfB) {
#pragma unroll
    for (int tile = 0; tile < kAhead; tile++) {
      fetch(tile);
      store(tile);
    }
  }

  /* Starts the copies of a tile. Its stage must be one that nobody reads. */
  DEVICE void fetch(int tile) {
    const int stage = tile % plan::kStages;
    const int k_left = n - tile % kTiles * plan::kBlockK;
    if (tile < kTiles) {
      a.template copy<1>(stage, k_left, kAllSteps);
      b.template copy<1>(stage, k_left, kAllSteps);
      a.advance();
      b.advance();
    } else if (tile < kAllTiles) {
      if (tile % kTiles == 0) start_part(tile / kTiles - 1);
      rows.template copy<1>(stage, k_left, kAllSteps);
      rows.advance();
    }
    if constexpr (plan::kAsync) ptx::commit_copies();
  }

  DEVICE void start_part(int part) {
    rows = Copier<plan::Rows>(matrix_b, b_row, b_k, part * plan::kColumnsOfPart, n, shared_b);
  }

  /* The rest of a fetch, where it went through registers. */
  DEVICE void store(int tile) {
    const int stage = tile % plan::kStages;
    if (tile < kTiles) {
      a.store(stage);
      b.store(stage);
    } else if (tile < kAllTiles) {
      rows.store(stage);
    }
  }

  /* The next tile is in shared memory, and nobody reads the one before. */
  DEVICE void await() {
    if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
    __syncthreads();
  }
};

/* ---- Products ------------------------------------------------------------------------------- */

/* acc += a * b for one k-step; registers of B are loaded as they are used. */
template <class Operand, int kAtomsN>
DEVICE void multiply(Accumulators<kAtomsN> &acc, const Word *a, unsigned from_b, int step) {
  constexpr int kWordsOfB = Operand::kWords / kAtomsN;
  constexpr int kAtomsOfLoad = Operand::kWordsOfLoad / kWordsOfB;
#pragma unroll
  for (int load = 0; load < Loader<Operand>::kLoads; load++) {
    Word b[Operand::kWordsOfLoad];
    Loader<Operand>::load(b, from_b, step, load);
#pragma unroll
    for (int j = 0; j < kAtomsOfLoad; j++)
#pragma unroll
      for (int i = 0; i < plan::kAtomsM; i++)
        plan::mma(acc.values + (i + (j + load * kAtomsOfLoad) * plan::kAtomsM) * 4,
                  a + i * kWordsOfA, b + j * kWordsOfB);
  }
}

/* S = A * B^T. */
DEVICE void first_product(Sums &acc, Ring &ring, unsigned shared) {
  const unsigned from_a = shared + plan::A::load(threadIdx.x);
  const unsigned from_b = shared + kStagesOfB + plan::B::load(threadIdx.x);
#pragma unroll 1
  for (int tile = 0; tile < kTiles; tile++) {
    ring.await();
    ring.fetch(tile + kAhead);
    const int stage = tile % plan::kStages;
#pragma unroll
    for (int step = 0; step < plan::kSteps; step++) {
      Fragment<plan::A> a;
      a.load(from_a + stage * plan::A::kStageBytes, step);
      multiply<plan::B>(acc, a.words, from_b + stage * plan::B::kStageBytes, step);
    }
    ring.store(tile + kAhead);
  }
}

/* P = S, as operand A. */
DEVICE void convert(Word *p, const Sums &acc) {
#pragma unroll
  for (int w = 0; w < kOperandWords; w++)
    p[w] = plan::Operand::encode_pair(acc.values[plan::p_value(2 * w)],
                                      acc.values[plan::p_value(2 * w + 1)]);
}

/* A part of D = P * B^T. The loop is unrolled, as registers of P have no addresses. */
DEVICE void second_product(Part &acc, const Word *p, Ring &ring, unsigned shared, int part) {
  const unsigned from_b = shared + kStagesOfB + plan::Rows::load(threadIdx.x);
#pragma unroll
  for (int k = 0; k < kTiles; k++) {
    const int tile = (1 + part) * kTiles + k;
    ring.await();
    ring.fetch(tile + kAhead);
    const unsigned from = from_b + tile % plan::kStages * plan::Rows::kStageBytes;
#pragma unroll
    for (int step = 0; step < plan::kSteps; step++)
      multiply<plan::Rows>(acc, p + (k * plan::kSteps + step) * kWordsOfStep, from, step);
    ring.store(tile + kAhead);
  }
}

/* ---- Registers to global memory ------------------------------------------------------------- */

/* Where runs are more than one element, the columns of D are contiguous. */
DEVICE void write_part(const Part &acc, char *d, long long d_row, long long d_column, int first_row,
                       int first_column, int m, int n) {
  constexpr int kBytes = sizeof(plan::Element::Bits);
  const int row_0 = first_row + (int)plan::c_row(threadIdx.x);
  const int column_0 = first_column + (int)plan::c_column(threadIdx.x);
#pragma unroll
  for (unsigned i = 0; i < plan::kValuesOfPart; i += plan::kRun) {
    int row = row_0 + (int)plan::c_row_step(plan::run_value(i));
    int column = column_0 + (int)plan::c_column_step(plan::run_value(i));
    if (row >= m || column >= n) continue;
    float values[plan::kRun];
#pragma unroll
    for (int e = 0; e < plan::kRun; e++)
      values[e] = acc.values[plan::run_value(i + e)];
    const auto run = epilogue::Run<plan::Element, plan::kRun>::encode(values);
    run.store(d + (row * d_row + column * (plan::kRun > 1 ? 1 : d_column)) * kBytes);
  }
}

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(plan::kThreads, plan::kBlocks)
    chained_gemm(const char *a, const char *b, char *d, int m, int n, long long a_row,
                 long long a_k, long long b_row, long long b_k, long long d_row,
                 long long d_column) {
  extern __shared__ __align__(128) char shared[];
  const int first_row = blockIdx.x * plan::kBlockM;
  const unsigned stages = ptx::shared_address(shared);
  Ring ring(a, b, a_row, a_k, b_row, b_k, first_row, m, n, stages);

  Word p[kOperandWords];
  {
    Sums s;
    first_product(s, ring, stages);
    convert(p, s);
  }
#pragma unroll 1
  for (int part = 0; part < plan::kParts; part++) {
    Part acc;
    second_product(acc, p, ring, stages, part);
    write_part(acc, d, d_row, d_column, first_row, part * plan::kColumnsOfPart, m, n);
  }
}
