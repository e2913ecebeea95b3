/*
** D = (A * B^T) * B^T by mma.sync: A is (m, n), B is (n, n) with n <= kColumns, D is (m, n). The
** skeleton of attention, without the softmax.
**
** A block has kGroups groups of warps, each with threads (x, its number). A group computes tiles of
** kBlockM rows of D one after the other, each warp whole rows of them. So the accumulators of the
** first product, rounded to A's type, are the A operand of the second one as they lie in the
** registers: plan::P says which accumulators an operand's register holds, worked out as
** acc .. (~C .. A) from the atom's layouts. Nothing moves between threads, or through memory.
**
** Tiles of A along k go through a ring of stages in shared memory, as far ahead as there are stages,
** those of the group's next rows too. All of B stays there, for all groups, if there is room
** (kStaysB); else its tiles go through the ring, beside those of A, and then again.
**
** Sums and P are registers that PTX names, for compilers take long for variables in loops.
*/
#ifndef LUTILE_PLAN
#include "chained_gemm_plan.cuh"
#endif
#include "copier.cuh"
#include "fragment.cuh"
#include "ptx.cuh"
#include "results.cuh"

using plan::Word;

constexpr int kTiles = plan::kColumns / plan::kBlockK; /* along k, in each product */
constexpr int kTilesOfRing = plan::kStaysB ? kTiles : 2 * kTiles; /* for a tile of rows */
constexpr int kAhead = plan::kStages - 1; /* from the tile that is read to that which is fetched */
constexpr int kWordsOfStep = plan::A::kWords;

/* Where both go through registers, there are none for a tile that comes while MMAs run. */
constexpr bool kFetchesLate = !plan::kAsync && !plan::kStaysB;

/* Shared memory: all of B, then stages of each group; or stages of A and of B of each group. */
constexpr unsigned kBytesOfB = (plan::kStaysB ? kTiles : plan::kStages) * plan::B::kStageBytes;
constexpr unsigned kBytesOfA = plan::kStages * plan::A::kStageBytes;

static_assert(plan::kColumns % plan::kBlockK == 0, "whole tiles along k");
static_assert(plan::kBlockK == plan::kSteps * plan::kAtomK, "whole k-steps");
static_assert(plan::kStages >= 2, "one stage is read while another is written");
static_assert(plan::A::kStageBytes % 128 == 0 && plan::B::kStageBytes % 128 == 0 &&
                  (plan::A::kStoreMask | plan::A::kLoadMask | plan::B::kStoreMask |
                   plan::B::kLoadMask) < 128,
              "swizzles stay within 128 bytes, and a stage's start leaves them as they are");

/* Shared addresses of B's stages and of A's, for the group of this thread. */
struct Stages {
  unsigned b, a;

  DEVICE explicit Stages(unsigned shared)
      : b(shared + (plan::kStaysB ? 0 : threadIdx.y * (kBytesOfB + kBytesOfA))),
        a(b + kBytesOfB + (plan::kStaysB ? threadIdx.y * kBytesOfA : 0)) {}
};

/* All threads of a group meet. */
DEVICE void meet() {
  if constexpr (plan::kGroups == 1)
    __syncthreads();
  else
    ptx::barrier<plan::kThreads>(1 + threadIdx.y);
}

/* ---- What is in shared memory --------------------------------------------------------------- */

/* The tiles of rows of a group, which goes through every 'step'-th one. */
struct Rows {
  int number, step, count;

  DEVICE explicit Rows(int m)
      : number(blockIdx.x * plan::kGroups + threadIdx.y),
        step(gridDim.x * plan::kGroups),
        count(m / plan::kBlockM + (m % plan::kBlockM > 0)) {}

  DEVICE bool is_any() const { return number < count; }
  DEVICE void advance() { number = step < count - number ? number + step : count; }
  DEVICE int first() const { return number * plan::kBlockM; }
};

struct Matrices {
  const char *a, *b;
  long long a_row, a_k, b_row, b_k;
  int m, n;
};

/*
** The tiles along k that a group reads in turn, in a ring of stages: for each tile of rows those of A,
** and beside them, and again after them, those of B if these do not stay.
*/
struct Ring {
  const Matrices &matrices;
  Stages stages;
  Rows rows; /* from which tiles are fetched */
  Copier<plan::A> a;
  Copier<plan::B> b;
  int fetched = 0;         /* number of the next tile that is, for those rows */
  int write = 0, read = 0; /* the stage to which it goes, and that of the tile that is read */

  DEVICE Ring(const Matrices &matrices, const Stages &stages)
      : matrices(matrices), stages(stages), rows(matrices.m), a(copier_of_a()), b(copier_of_b()) {
#pragma unroll 1 /* unrolled, it takes the compiler longer and the kernel as long */
    for (int i = 0; i < kAhead; i++) {
      fetch();
      store();
    }
  }

  DEVICE Copier<plan::A> copier_of_a() const {
    return Copier<plan::A>(matrices.a, matrices.a_row, matrices.a_k, rows.first(), matrices.m,
                           stages.a);
  }
  DEVICE Copier<plan::B> copier_of_b() const {
    return Copier<plan::B>(matrices.b, matrices.b_row, matrices.b_k, 0, matrices.n, stages.b);
  }

  DEVICE bool is_of_a() const { return plan::kStaysB || fetched < kTiles; }

  DEVICE int k_left() const { return matrices.n - fetched % kTiles * plan::kBlockK; }

  /* Starts the copies of the next tile. Its stage must be one that nobody reads. */
  DEVICE void fetch() {
    if (!kFetchesLate && rows.is_any()) {
      if (is_of_a()) a.template copy<1>(write, k_left(), kAllSteps);
      if constexpr (!plan::kStaysB) b.template copy<1>(write, k_left(), kAllSteps);
    }
    if constexpr (plan::kAsync) ptx::commit_copies();
  }

  /* The rest of a fetch: what goes through registers, and the tile after that one. */
  DEVICE void store() {
    if (rows.is_any()) {
      if (is_of_a()) store(a);
      if constexpr (!plan::kStaysB) store(b);
    }
    a.advance();
    b.advance();
    write = write + 1 < plan::kStages ? write + 1 : 0;
    fetched++;
    if (!plan::kStaysB && fetched % kTiles == 0) b = copier_of_b();
    if (fetched < kTilesOfRing) return;
    fetched = 0;
    rows.advance();
    if (rows.is_any()) a = copier_of_a();
  }

  template <class Copier>
  DEVICE void store(Copier &copier) {
    if constexpr (kFetchesLate)
      copier.move(write, k_left());
    else
      copier.store(write);
  }

  /* The tile to read is in shared memory, and nobody reads the one before. */
  DEVICE void await() {
    if constexpr (plan::kAsync) ptx::wait_copies<plan::kStages - 2>();
    meet();
  }

  DEVICE void advance() { read = read + 1 < plan::kStages ? read + 1 : 0; }
};

/* All of B, tiles by group; it is there after a wait for copies and a barrier. */
DEVICE void fill_b(const Matrices &matrices, const Stages &stages) {
  Copier<plan::B> b(matrices.b, matrices.b_row, matrices.b_k, 0, matrices.n, stages.b);
#pragma unroll 1
  for (int tile = 0; tile < kTiles; tile++) {
    const int k_left = matrices.n - tile * plan::kBlockK;
    if (tile % plan::kGroups == threadIdx.y) {
      if constexpr (plan::B::kAsync)
        b.template copy<1, 1>(tile, k_left, kAllSteps);
      else
        b.move(tile, k_left);
    }
    b.advance();
  }
  if constexpr (plan::kAsync) ptx::commit_copies();
}

/* ---- Products ------------------------------------------------------------------------------- */

constexpr int kGroupsOfStep = plan::B::kWords / plan::kWordsOfGroup; /* of columns */
constexpr int kGroupsOfTile = plan::kSteps * kGroupsOfStep;

/* The registers of B of a group in a tile. */
DEVICE void load_group(Word *b, unsigned from_b, int i) {
  constexpr int kLoads = plan::kWordsOfGroup / plan::B::kWordsOfLoad;
#pragma unroll
  for (int load = 0; load < kLoads; load++)
    Loader<plan::B>::load(b + load * plan::B::kWordsOfLoad, from_b, i / kGroupsOfStep,
                          i % kGroupsOfStep * kLoads + load);
}

/* The MMAs of a tile along k; registers of B are loaded while those before are multiplied. */
DEVICE void multiply(const Word *a, unsigned from_b) {
  Word b[2][plan::kWordsOfGroup];
  load_group(b[0], from_b, 0);
#pragma unroll
  for (int i = 0; i < kGroupsOfTile; i++) {
    if (i + 1 < kGroupsOfTile) load_group(b[(i + 1) % 2], from_b, i + 1);
    plan::multiply(i % kGroupsOfStep, a + i / kGroupsOfStep * kWordsOfStep, b[i % 2]);
  }
}

/* The registers of A for a tile along k that is in shared memory. */
DEVICE void load_a(Word *a, unsigned from_a) {
#pragma unroll
  for (int step = 0; step < plan::kSteps; step++) {
    Fragment<plan::A> words;
    words.load(from_a, step);
#pragma unroll
    for (int w = 0; w < kWordsOfStep; w++) a[step * kWordsOfStep + w] = words.words[w];
  }
}

/* Of a thread's rows of B: for runs of four in D, its columns come in another order than those of S. */
template <class Operand>
DEVICE unsigned offset_in_b(bool is_first) {
  if constexpr (kCrosses)
    if (!is_first) return Operand::load_by_fours(threadIdx.x);
  return Operand::load(threadIdx.x);
}

/*
** D = P * B^T behind S = A * B^T, to the sums. The two are one loop, so that the MMAs of a tile along
** k are there once: operand A comes from shared memory, or is P.
*/
DEVICE void multiply(Ring &ring, const Stages &stages) {
  plan::Sums::clear();
#pragma unroll 1
  for (int i = 0; i < 2 * kTiles; i++) {
    const bool is_first = i < kTiles, is_fetched = is_first || !plan::kStaysB;
    const int tile = is_first ? i : i - kTiles;
    Word a[plan::kRegistersOfTile];
    if (i == kTiles) {
      plan::P::convert();
      plan::Sums::clear();
    }
    if (is_fetched) {
      ring.await();
      ring.fetch();
    }
    if (is_first)
      load_a(a, stages.a + plan::A::load(threadIdx.x) + ring.read * plan::A::kStageBytes);
    else
      plan::P::read(tile, a);
    const unsigned from_b = stages.b + offset_in_b<plan::B>(is_first) +
                            (plan::kStaysB ? tile : ring.read) * plan::B::kStageBytes;
    multiply(a, from_b);
    if (is_fetched) {
      ring.store();
      ring.advance();
    }
  }
}

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(plan::kThreads *plan::kGroups, plan::kBlocks)
    chained_gemm(const char *a, const char *b, char *d, int m, int n, long long a_row,
                 long long a_k, long long b_row, long long b_k, long long d_row,
                 long long d_column) {
  extern __shared__ __align__(128) char shared[];
  const Matrices matrices = {a, b, a_row, a_k, b_row, b_k, m, n};
  const Stages stages(ptx::shared_address(shared));
  if constexpr (plan::kStaysB) fill_b(matrices, stages);
  Ring ring(matrices, stages);
  if constexpr (plan::kStaysB) {
    if constexpr (plan::kAsync) ptx::wait_copies<kAhead>();
    __syncthreads();
  }

  plan::Sums::declare();
  plan::P::declare();
  const int column = plan::c_column(threadIdx.x);
#pragma unroll 1
  for (Rows rows(m); rows.is_any(); rows.advance()) {
    multiply(ring, stages);
    const int row = rows.first() + (int)plan::c_row(threadIdx.x);
    const Elements target(d, d_row, d_column, row, column);
    const Epilogue epilogue = {target, target, nullptr, 1, 0, row, column, m, n};
    epilogue.write_all();
  }
}
