/*
** D = epilogue(alpha * A * B^T + beta * C + bias) by mma.sync: A is (m, k), B is (n, k), C and D are
** (m, n), each of any strides, and a batch of each.
**
** A block computes one tile of D. Tiles of A and B go through a ring of stages in shared memory;
** while a warp multiplies one k-step, it loads registers of the next, and copies for the tile
** kStages - 1 ahead are under way. All offsets come from the plan, as functions of the thread and of
** the step: see 'place'.
**
** The sums are registers that PTX names, for compilers take long for variables in loops.
**
** Compute capability 7.5 or more: cp.async where the plan says so (8.0), else through registers.
*/
#ifndef LUTILE_PLAN
#include "gemm_sm80_plan.cuh"
#endif
#include "copier.cuh"
#include "element.cuh"
#include "epilogue.cuh"
#include "fragment.cuh"
#include "ptx.cuh"

/* ---- What a plan must agree on -------------------------------------------------------------- */

constexpr int kSumBytes = sizeof(plan::Accumulator::Bits);

static_assert(plan::kBlockK % plan::kAtomK == 0, "whole k-steps");
static_assert(plan::kSteps == plan::kBlockK / plan::kAtomK, "all k-steps of a tile");
static_assert(plan::kSteps % 2 == 0, "a step's registers go by its parity; a half of them copy");
static_assert(plan::kStages >= 2, "one stage is read while another is written");
static_assert(plan::A::kCopies * plan::A::kCopyThreads * plan::A::kVector ==
                  plan::kBlockM * plan::kBlockK,
              "copies cover the tile of A");
static_assert(plan::B::kCopies * plan::B::kCopyThreads * plan::B::kVector ==
                  plan::kBlockN * plan::kBlockK,
              "copies cover the tile of B");
static_assert(plan::kEarlyA % plan::A::kWordsOfLoad == 0 &&
                  plan::kEarlyB % plan::B::kWordsOfLoad == 0,
              "whole loads");
static_assert(plan::kRegistersOfPiece * (int)sizeof(plan::Register) % (plan::kRun * kSumBytes) == 0,
              "whole runs");
static_assert(plan::A::kStageBytes % 128 == 0 && plan::B::kStageBytes % 128 == 0 &&
                  (plan::A::kStoreMask | plan::A::kLoadMask | plan::B::kStoreMask |
                   plan::B::kLoadMask) < 128,
              "swizzles stay within 128 bytes, and a stage's start leaves them as they are");

constexpr int kStagesOfB = plan::kStages * plan::A::kStageBytes; /* where B's stages start */
constexpr int kLastStep = plan::kSteps - 1;
constexpr int kCopySteps = plan::kSteps / 2; /* the first ones, which issue copies */

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

/* ---- Products ------------------------------------------------------------------------------- */

/*
** The registers of a k-step. Early ones are loaded while the step before is multiplied: all but a
** few, where there are registers for two steps, else a half; late ones when their step starts.
*/
struct Registers {
  Fragment<plan::A> a;
  Fragment<plan::B> b;
  unsigned from_a, from_b; /* shared addresses of the thread in stage 0 */

  DEVICE explicit Registers(unsigned shared)
      : from_a(shared + plan::A::load(threadIdx.x)),
        from_b(shared + kStagesOfB + plan::B::load(threadIdx.x)) {}

  DEVICE void load_early_a(int stage, int step) {
    a.load(from_a + stage * plan::A::kStageBytes, step, 0, plan::kEarlyA);
  }
  DEVICE void load_early_b(int stage, int step) {
    b.load(from_b + stage * plan::B::kStageBytes, step, 0, plan::kEarlyB);
  }
  DEVICE void load_late(int stage, int step) {
    a.load(from_a + stage * plan::A::kStageBytes, step, plan::kEarlyA);
    b.load(from_b + stage * plan::B::kStageBytes, step, plan::kEarlyB);
  }

  /*
  ** MMAs by early registers of B, by late ones and early ones of A, and by late ones of both: the
  ** quarters of plan::multiply, which are empty where there are no such registers.
  */
  DEVICE void multiply_early_b() {
    a.round(0, plan::kEarlyA);
    b.round(0, plan::kEarlyB);
    plan::multiply(0, a.words, b.words);
    a.round(plan::kEarlyA, plan::A::kWords);
    plan::multiply(2, a.words + plan::kEarlyA, b.words);
  }
  DEVICE void multiply_late_b_early_a() {
    b.round(plan::kEarlyB, plan::B::kWords);
    plan::multiply(1, a.words, b.words + plan::kEarlyB);
  }
  DEVICE void multiply_late() {
    plan::multiply(3, a.words + plan::kEarlyA, b.words + plan::kEarlyB);
  }
};

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
  constexpr int kSets = plan::kDoubles ? 2 : 1;                    /* the first one of all */
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

/* ---- Registers to global memory ------------------------------------------------------------- */

constexpr int kElementBytes = sizeof(plan::Element::Bits);

/* Sums of a thread, seen a piece at a time. */
using Piece = plan::Register[plan::kRegistersOfPiece];
constexpr unsigned kValues = sizeof(plan::Register) / kSumBytes; /* in a register */
constexpr unsigned kValuesOfPiece = kValues * plan::kRegistersOfPiece;

DEVICE auto value_of(const Piece &piece, unsigned i) {
  const plan::Register bits = piece[i / kValues] >> i % kValues * 8 * kSumBytes;
  return plan::Accumulator::decode((plan::Accumulator::Bits)bits);
}

/*
** C or D, from the thread's first element on; where a run is more than one element, its columns are
** contiguous.
*/
struct Elements {
  char *first;
  long long row_stride, column_stride;

  DEVICE Elements(char *data, long long row_stride, long long column_stride, int row, int column)
      : first(data),
        row_stride(row_stride),
        column_stride(plan::kRun > 1 ? 1 : column_stride) {
    first = at(row, column);
  }

  DEVICE char *at(int rows, int columns) const {
    return first + (rows * row_stride + columns * column_stride) * kElementBytes;
  }
};

using Run = epilogue::Run<plan::Element, plan::kRun>;

struct Epilogue {
  Elements c, d;
  const char *bias;
  plan::Compute alpha, beta;
  int row, column; /* of the thread's first value */
  int m, n;

  DEVICE plan::Compute bias_at(int i, bool is_inside) const {
    auto bits = epilogue::Run<plan::Element, 1>::load_if(is_inside, bias + i * kElementBytes).get(0);
    return (plan::Compute)plan::Element::decode(bits);
  }

  /*
  ** A run of sums to its place in D: from value 'first' of a piece on, which is the thread's value
  ** 'start' + 'first'. Nothing here branches, so that the runs' loads and stores overlap.
  */
  DEVICE void write(const Piece &piece, unsigned start, unsigned first) const {
    const int rows = plan::c_row_step(start + first), columns = plan::c_column_step(start + first);
    const bool is_inside = row + rows < m && column + columns < n;
    Run old, run;
    run.clear();
    if constexpr (plan::kReadsC) old = Run::load_if(is_inside, c.at(rows, columns));
#pragma unroll
    for (int e = 0; e < plan::kRun; e++) {
      plan::Compute x = (plan::Compute)value_of(piece, first + e);
      x *= alpha;
      if constexpr (plan::kReadsC) x += beta * (plan::Compute)plan::Element::decode(old.get(e));
      if constexpr (plan::kBias == plan::kPerRow) x += bias_at(row + rows, is_inside);
      if constexpr (plan::kBias == plan::kPerColumn) x += bias_at(column + columns + e, is_inside);
      run.set(e, plan::Element::encode(plan::epilogue(x, row + rows, column + columns + e)));
    }
    run.store_if(is_inside, d.at(rows, columns));
  }

  DEVICE void write_all() const {
#pragma unroll 1
    for (unsigned i = 0; i < plan::kPieces; i++) {
      Piece piece;
      plan::Sums::read(i, piece);
#pragma unroll
      for (unsigned first = 0; first < kValuesOfPiece; first += plan::kRun)
        write(piece, i * kValuesOfPiece, first);
    }
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
