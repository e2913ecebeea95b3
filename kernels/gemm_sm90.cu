/*
** D = epilogue(alpha * A * B^T + beta * C) on Hopper (sm_90a): A is (m, k), B is (n, k), C and D are
** (m, n), and a batch of each.
**
** As many blocks as there are multiprocessors go through the tiles of D. In each, one thread loads
** tiles of A and B by TMA into a ring of stages in shared memory; warpgroups multiply them from
** there by wgmma, and write D through shared memory by TMA, while the next tile is under way. Blocks
** of a cluster load what they share once, each a slice for all. Offsets, boxes and descriptors come
** from the plan. TMA reads zeros beyond the edges, and writes nothing there except up to the next 16
** bytes: where rows of D end in between, threads write their last columns.
*/
#include "element.cuh"
#include "mbarrier.cuh"
#include "ptx.cuh"
#include "sm90.cuh"
#include "swizzle.cuh"
#include "tma.cuh"
#include "wgmma.cuh"

#ifndef LUTILE_PLAN
#include "element.cuh"
#include "swizzle.cuh"
#include "wgmma.cuh"

namespace plan {

constexpr int kBlockM = 128;
constexpr int kBlockN = 128;
constexpr int kBlockK = 64;
constexpr int kSteps = 4;  /* of k, of a stage */
constexpr int kAtomsM = 2;  /* of a warpgroup */
constexpr int kValuesOfAtom = 64;  /* of a thread */
constexpr int kStages = 6;
constexpr int kConsumers = 2;  /* warpgroups */
constexpr bool kPingPong = true;  /* consumers take turns with tiles, or share each */
constexpr int kThreads = 384;
constexpr int kProducerRegisters = 40;
constexpr int kConsumerRegisters = 232;
constexpr int kClusterM = 1;  /* blocks on top of each other */
constexpr int kClusterN = 1;  /* blocks side by side */
constexpr int kCluster = 1;
constexpr int kGroup = 16;  /* rows of tiles that clusters go down together */
constexpr int kSharedBytes = 229488;
constexpr bool kReadsC = false;

using Element = element::f16;  /* of C and D */
using Compute = float;

/* Sw<3,4,3> o smem[16b] o ((8,16),(64,1)):((64,512),(1,0)) */
struct A {
  static constexpr wgmma::Major kMajor = wgmma::kMajorK;
  static constexpr int kStageBytes = 16384;
  static constexpr int kSlices = 1;  /* of a tile, each loaded by one block for all */
  static constexpr int kBoxes = 1;  /* of a slice */

  /* Boxes, those of slice 0 first: the first row, and bytes in a stage. */
  /* (1,1):(0,0) */
  static DEVICE constexpr unsigned box_row(unsigned) { return 0; }
  /* (1,1):(0,0) times 2 */
  static DEVICE constexpr unsigned box(unsigned) { return 0; }

  /* The first MMA's descriptor; units of 16 bytes to a warpgroup's first, and from there. */
  static constexpr unsigned long long kDescriptor = 0x4000004000010000;
  /* 1:0 */
  static DEVICE constexpr unsigned start(unsigned) { return 0; }
  /* (2,4):(512,2) */
  static DEVICE constexpr unsigned step(unsigned i) { return i % 2 * 512 + i / 2 * 2; }
};

/* Sw<3,4,3> o smem[16b] o ((8,16),(64,1)):((64,512),(1,0)) */
struct B {
  static constexpr wgmma::Major kMajor = wgmma::kMajorK;
  static constexpr int kStageBytes = 16384;
  static constexpr int kSlices = 1;  /* of a tile, each loaded by one block for all */
  static constexpr int kBoxes = 1;  /* of a slice */

  /* Boxes, those of slice 0 first: the first row, and bytes in a stage. */
  /* (1,1):(0,0) */
  static DEVICE constexpr unsigned box_row(unsigned) { return 0; }
  /* (1,1):(0,0) times 2 */
  static DEVICE constexpr unsigned box(unsigned) { return 0; }

  /* The first MMA's descriptor; units of 16 bytes to a warpgroup's first, and from there. */
  static constexpr unsigned long long kDescriptor = 0x4000004000010000;
  /* 1:0 */
  static DEVICE constexpr unsigned start(unsigned) { return 0; }
  /* (1,4):(0,2) */
  static DEVICE constexpr unsigned step(unsigned i) { return i * 2; }
};

/* A chunk of the output: Sw<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) */
struct D {
  static constexpr int kChunkColumns = 64;
  static constexpr int kChunkElements = 4096;
  static constexpr int kChunks = 2;  /* of an atom */
  static constexpr int kValuesOfChunk = 32;  /* of a thread */
  static constexpr int kBuffers = 2;
  static constexpr int kBufferBytes = 8192;
  static constexpr int kWrites = 4;  /* of a thread for a chunk */
  static constexpr int kWordsOfWrite = 4;  /* 4 are matrices' rows */

  /* Bytes in a buffer at which a thread writes. */
  static constexpr int kStoreMask = 112;
  /* Sw<3,3,3> o 0 o (8,(2,2),4):(64,(512,8),1024) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) {
    return swizzle<3, 4, 3>(i % 16 * 128 + i / 16 % 2 * 16 + i / 32 * 2048);
  }
  /* Sw<3,3,3> o 0 o 4:16 times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<3, 4, 3>(i * 32); }

  /* Bytes in a buffer of an element, row by row. */
  /* Sw<3,3,3> o 0 o (64,64):(1,64) times 2 */
  static DEVICE constexpr unsigned element(unsigned i) { return swizzle<3, 4, 3>(i * 2); }
};

DEVICE void mma(float (&d)[kValuesOfAtom], unsigned long long a, unsigned long long b, bool adds) {
  wgmma::SM90_64x128x16_F32F16F16_SS<A::kMajor, B::kMajor>(d, a, b, adds);
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
/* (4,8,4):(0,1,16) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 * 16; }
/* (4,8,4):(2,0,0) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 2; }
/* ((2,2,16),(2,1)):((0,8,0),(64,0)) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 2 % 2 * 8 + i / 64 * 64; }
/* ((2,2,16),(2,1)):((1,0,8),(0,0)) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 2 + i / 4 % 16 * 8; }

DEVICE Compute epilogue(Compute x, int m, int n) { return x; }

}  // namespace plan
#endif

/* ---- What a plan must agree on -------------------------------------------------------------- */

using plan::kCluster;

constexpr int kWarpgroup = 128;
constexpr int kChunksOfTile = plan::kAtomsM * plan::D::kChunks;
constexpr int kTilesAtOnce = plan::kPingPong ? plan::kConsumers : 1;
constexpr int kReaders = plan::kConsumers / kTilesAtOnce; /* of a stage */

static_assert(plan::kThreads == (plan::kConsumers + 1) * kWarpgroup, "one warpgroup loads");
static_assert(plan::kProducerRegisters % 8 == 0 && plan::kConsumerRegisters % 8 == 0 &&
                  plan::kProducerRegisters + plan::kConsumers * plan::kConsumerRegisters <= 512,
              "registers of a multiprocessor");
static_assert(plan::kClusterM == 1 || plan::kClusterN == 1, "what is shared goes to all blocks");
static_assert(plan::A::kSlices == plan::kClusterN && plan::B::kSlices == plan::kClusterM,
              "blocks side by side share A, those on top of each other B");
static_assert(plan::A::kStageBytes % 1024 == 0 && plan::B::kStageBytes % 1024 == 0 &&
                  plan::D::kBufferBytes % 1024 == 0,
              "swizzles repeat after 1024 bytes");
static_assert(plan::D::kBuffers >= 2 && kChunksOfTile % plan::D::kBuffers == 0,
              "a tile starts with the same buffer as the one before");
static_assert(plan::D::kWrites * plan::D::kWordsOfWrite * 4 ==
                  plan::D::kValuesOfChunk * (int)sizeof(plan::Element::Bits),
              "writes cover a chunk");

/* Shared memory: stages of A, stages of B, output buffers of each consumer, barriers. */
constexpr unsigned kStagesOfB = plan::kStages * plan::A::kStageBytes;
constexpr unsigned kOutput = kStagesOfB + plan::kStages * plan::B::kStageBytes;
constexpr unsigned kFull = kOutput + plan::kConsumers * plan::D::kBuffers * plan::D::kBufferBytes;
constexpr unsigned kEmpty = kFull + plan::kStages * mbarrier::kBytes;
constexpr unsigned kTurn = kEmpty + plan::kStages * mbarrier::kBytes;
constexpr int kTurns = plan::kPingPong ? plan::kConsumers : 0;
static_assert(kTurn + kTurns * mbarrier::kBytes == plan::kSharedBytes, "");

/* ---- Stages --------------------------------------------------------------------------------- */

/* A place in the ring: the stage, and the parity of the phase in which it is filled. */
struct Place {
  unsigned stage = 0, parity = 0;

  DEVICE void advance() {
    if (++stage < plan::kStages) return;
    stage = 0;
    parity ^= 1;
  }

  /* Past stages that another consumer reads. */
  DEVICE void skip(unsigned count) {
    const unsigned to = stage + count;
    stage = to % plan::kStages;
    parity ^= to / plan::kStages & 1;
  }
};

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

DEVICE void init_barriers(unsigned shared) {
  for (int stage = 0; stage < plan::kStages; stage++) {
    mbarrier::init(full(shared, stage), 1);
    mbarrier::init(empty(shared, stage), kReaders * kCluster);
  }
  for (int i = 0; i < kTurns; i++) mbarrier::init(turn(shared, i), 1);
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

/* ---- Tiles ---------------------------------------------------------------------------------- */

struct Tile {
  int m, n, batch; /* of its first element */
};

/*
** Tiles of a cluster, one after the other for all clusters. These go down kGroup rows of tiles
** before they go on to the next column, so that those that run together share more in L2.
*/
struct Schedule {
  unsigned rows, columns, count;

  DEVICE Schedule(int m, int n, int batches) {
    rows = (m + plan::kBlockM * plan::kClusterM - 1) / (plan::kBlockM * plan::kClusterM);
    columns = (n + plan::kBlockN * plan::kClusterN - 1) / (plan::kBlockN * plan::kClusterN);
    count = rows * columns * batches;
  }

  /* This block's part of the cluster's tile i. */
  DEVICE Tile tile(unsigned i, unsigned rank) const {
    const unsigned batch = i / (rows * columns), in_batch = i % (rows * columns);
    const unsigned group = in_batch / (plan::kGroup * columns);
    const unsigned in_group = in_batch % (plan::kGroup * columns);
    const unsigned left = rows - group * plan::kGroup;
    const unsigned height = left < plan::kGroup ? left : plan::kGroup;
    const unsigned row = group * plan::kGroup + in_group % height;
    const unsigned column = in_group / height;
    return {(int)(row * plan::kClusterM + rank % plan::kClusterM) * plan::kBlockM,
            (int)(column * plan::kClusterN + rank / plan::kClusterM) * plan::kBlockN, (int)batch};
  }
};

/* ---- The producer --------------------------------------------------------------------------- */

/* This block's slice of an operand's tile, a box at a time. */
template <class Operand>
DEVICE void load(const tma::Map &map, unsigned stage, unsigned barrier, int row, int k, int batch,
                 unsigned rank) {
  const unsigned first = Operand::kSlices == 1 ? 0 : rank * Operand::kBoxes;
#pragma unroll
  for (unsigned i = 0; i < Operand::kBoxes; i++) {
    const int from = row + (int)Operand::box_row(first + i);
    const unsigned target = stage + Operand::box(first + i);
    const tma::Corner at = Operand::kMajor == wgmma::kMajorK ? tma::Corner{k, from, batch}
                                                             : tma::Corner{from, k, batch};
    if constexpr (Operand::kSlices == 1)
      tma::load(target, map, at, barrier);
    else
      tma::load_to_blocks(target, map, at, barrier, (1 << kCluster) - 1);
  }
}

/* By one thread: loads for all tiles, as far ahead as there are stages. */
DEVICE void produce(const tma::Map &a, const tma::Map &b, const Schedule &schedule, unsigned shared,
                    int k, unsigned rank) {
  constexpr unsigned kBytes = plan::A::kStageBytes + plan::B::kStageBytes;
  Place place;
  for (unsigned i = blockIdx.x / kCluster; i < schedule.count; i += gridDim.x / kCluster) {
    const Tile tile = schedule.tile(i, rank);
    for (int at = 0; at < k; at += plan::kBlockK) {
      const unsigned barrier = full(shared, place.stage);
      mbarrier::wait(empty(shared, place.stage), place.parity ^ 1);
      mbarrier::arrive_expecting(barrier, kBytes);
      load<plan::A>(a, shared + place.stage * plan::A::kStageBytes, barrier, tile.m, at, tile.batch,
                    rank);
      load<plan::B>(b, shared + kStagesOfB + place.stage * plan::B::kStageBytes, barrier, tile.n,
                    at, tile.batch, rank);
      place.advance();
    }
  }
}

/* ---- Consumers: products -------------------------------------------------------------------- */

using Accumulators = float[plan::kAtomsM][plan::kValuesOfAtom];

/* This thread among those that have the sums of a tile. */
DEVICE unsigned thread_of_tile() {
  return plan::kPingPong ? threadIdx.x % kWarpgroup : threadIdx.x - kWarpgroup;
}

template <class Operand>
DEVICE unsigned long long descriptor(unsigned stages, unsigned warpgroup) {
  return Operand::kDescriptor + wgmma::units(stages) + Operand::start(warpgroup);
}

/* All k-steps of a stage, as one group of MMAs. */
DEVICE void multiply(Accumulators &acc, unsigned long long a, unsigned long long b, bool adds) {
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

/* All of a tile's sums. A stage is released while the next one's MMAs run. */
DEVICE void accumulate(Accumulators &acc, Place &place, unsigned shared, unsigned warpgroup,
                       int k) {
  const unsigned part = plan::kPingPong ? 0 : warpgroup;
  const auto a = descriptor<plan::A>(shared, part);
  const auto b = descriptor<plan::B>(shared + kStagesOfB, part);
  unsigned before = 0;
  for (int at = 0; at < k; at += plan::kBlockK) {
    mbarrier::wait(full(shared, place.stage), place.parity);
    multiply(acc, a + place.stage * (plan::A::kStageBytes / 16),
             b + place.stage * (plan::B::kStageBytes / 16), at > 0);
    wgmma::wait<1>();
    if (at > 0) release(shared, before);
    before = place.stage;
    place.advance();
  }
  if constexpr (plan::kPingPong) pass_turn(shared, warpgroup);
  wgmma::wait<0>();
  release(shared, before);
#pragma unroll
  for (int i = 0; i < plan::kAtomsM; i++) wgmma::pin(acc[i]);
}

/* ---- Consumers: output ---------------------------------------------------------------------- */

/* C, whose columns are contiguous, and what it and the sums are multiplied by. */
struct Scaling {
  const plan::Element::Bits *c;
  long long c_row, c_batch;
  int m, n;
  float alpha, beta;

  DEVICE float apply(float x, const Tile &tile, int row, int column) const {
    row += tile.m, column += tile.n;
    x *= alpha;
    if constexpr (plan::kReadsC)
      if (row < m && column < n)
        x += beta * plan::Element::decode(c[tile.batch * c_batch + row * c_row + column]);
    return plan::epilogue(x, row, column);
  }
};

/* D, whose columns are contiguous. */
struct Output {
  const tma::Map &map;
  plan::Element::Bits *d;
  long long d_row, d_batch;
  int m, n;

  /* Whether rows end inside of the chunk, and of 16 bytes that TMA writes as a whole. */
  DEVICE bool ends_inside(int column) const {
    constexpr int kUnit = 16 / sizeof(plan::Element::Bits);
    return n % kUnit != 0 && column < n && n < column + plan::D::kChunkColumns;
  }

  /* What of a chunk is inside of D, by all threads of a warpgroup. */
  DEVICE void copy(unsigned buffer, int batch, int row, int column) const {
    constexpr unsigned kColumns = plan::D::kChunkColumns;
#pragma unroll 1
    for (unsigned i = threadIdx.x % kWarpgroup; i < plan::D::kChunkElements; i += kWarpgroup) {
      const int y = row + (int)(i / kColumns), x = column + (int)(i % kColumns);
      if (y >= m || x >= n) continue;
      const unsigned from = buffer + plan::D::element(i);
      unsigned bits;
      if constexpr (sizeof(plan::Element::Bits) == 2)
        bits = ptx::load_shared_b16(from);
      else
        ptx::load_shared(bits, from);
      d[batch * d_batch + y * d_row + x] = (plan::Element::Bits)bits;
    }
  }
};

/* The words of a write: kCount values, as they lie in the output. */
template <class Element, int kCount>
DEVICE void encode(unsigned *words, const float *x) {
#pragma unroll
  for (int i = 0; i < kCount; i += 4 / (int)sizeof(typename Element::Bits)) {
    if constexpr (sizeof(typename Element::Bits) == 4)
      words[i] = Element::encode(x[i]);
    else
      words[i / 2] = Element::encode_pair(x[i], x[i + 1]);
  }
}

/* One write of this thread to a buffer: values from 'first' on of an atom's sums. */
DEVICE void write(unsigned buffer, const float *sums, unsigned atom, unsigned first,
                  const Scaling &scaling, const Tile &tile) {
  constexpr int kValues = plan::D::kWordsOfWrite * 4 / (int)sizeof(plan::Element::Bits);
  const unsigned thread = thread_of_tile();
  const unsigned in_chunk = first % plan::D::kValuesOfChunk / kValues;
  float x[kValues];
  unsigned words[plan::D::kWordsOfWrite];
#pragma unroll
  for (unsigned e = 0; e < kValues; e++) {
    const unsigned value = atom * plan::kValuesOfAtom + first + e;
    x[e] = scaling.apply(sums[first + e], tile, plan::c_row(thread) + plan::c_row_step(value),
                         plan::c_column(thread) + plan::c_column_step(value));
  }
  encode<plan::Element, kValues>(words, x);
  const unsigned target = buffer + place<plan::D::kStoreMask>(plan::D::store(thread % kWarpgroup),
                                                              plan::D::store_step(in_chunk));
  if constexpr (plan::D::kWordsOfWrite == 4)
    sm90::store_matrices(target, words);
  else
    ptx::store_shared<4 * plan::D::kWordsOfWrite>(target, words);
}

/*
** A tile's sums to D, a chunk of columns at a time. Chunks take turns in the buffers; one is stored
** by TMA while the next is written, and the last ones while the next tile is multiplied. Before a
** buffer is written, the barrier of the chunk before says that it has been read.
*/
DEVICE void write_tile(const Output &output, const Accumulators &acc, const Scaling &scaling,
                       const Tile &tile, unsigned shared, unsigned warpgroup) {
  constexpr int kStep = plan::D::kValuesOfChunk / plan::D::kWrites;
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  const unsigned leader = thread_of_tile() - threadIdx.x % kWarpgroup;
  const unsigned buffers = shared + kOutput + warpgroup * plan::D::kBuffers * plan::D::kBufferBytes;
#pragma unroll
  for (int i = 0; i < kChunksOfTile; i++) {
    const int atom = i / plan::D::kChunks, chunk = i % plan::D::kChunks;
    const unsigned buffer = buffers + i % plan::D::kBuffers * plan::D::kBufferBytes;
#pragma unroll
    for (int j = 0; j < plan::D::kWrites; j++)
      write(buffer, acc[atom], atom, chunk * plan::D::kValuesOfChunk + j * kStep, scaling, tile);
    tma::fence_stores();
    if (is_leader) tma::wait_stores_read<plan::D::kBuffers - 2>();
    sm90::barrier<kWarpgroup>(1 + warpgroup);
    const int column = tile.n + chunk * plan::D::kChunkColumns;
    const int row =
        tile.m + (int)(plan::c_row(leader) + plan::c_row_step(atom * plan::kValuesOfAtom));
    if (output.ends_inside(column))
      output.copy(buffer, tile.batch, row, column);
    else if (is_leader)
      tma::store(output.map, {column, row, tile.batch}, buffer);
    if (is_leader) tma::commit_stores(); /* an empty group counts too */
  }
}

/*
** Consumers share each tile, or they take turns: then one writes a tile while another multiplies the
** next.
*/
DEVICE void consume(const Output &output, const Scaling &scaling, const Schedule &schedule,
                    unsigned shared, int k, unsigned rank) {
  const unsigned warpgroup = threadIdx.x / kWarpgroup - 1;
  const unsigned clusters = gridDim.x / kCluster, before = plan::kPingPong ? warpgroup : 0;
  const unsigned stages = (k + plan::kBlockK - 1) / plan::kBlockK; /* of a tile */
  Accumulators acc;
  Place place;
  unsigned tiles_done = 0;
  place.skip(before * stages);
  for (unsigned i = blockIdx.x / kCluster + before * clusters; i < schedule.count;
       i += kTilesAtOnce * clusters) {
    if constexpr (plan::kPingPong) wait_for_turn(shared, warpgroup, tiles_done++);
    accumulate(acc, place, shared, warpgroup, k);
    write_tile(output, acc, scaling, schedule.tile(i, rank), shared, warpgroup);
    place.skip((kTilesAtOnce - 1) * stages);
  }
  tma::wait_stores_read<0>(); /* shared memory goes with the block */
}

/* ---- The kernel ----------------------------------------------------------------------------- */

extern "C" __global__ void __cluster_dims__(plan::kCluster, 1, 1)
    __launch_bounds__(plan::kThreads, 1)
        gemm(const __grid_constant__ tma::Map a, const __grid_constant__ tma::Map b,
             const __grid_constant__ tma::Map d, void *to, long long d_row, long long d_batch,
             const void *c, long long c_row, long long c_batch, int m, int n, int k, int batches,
             float alpha, float beta) {
  extern __shared__ __align__(1024) char bytes[];
  const unsigned shared = ptx::shared_address(bytes);
  const unsigned rank = kCluster == 1 ? 0 : sm90::block_in_cluster();
  const Schedule schedule(m, n, batches);

  if (threadIdx.x == 0) {
    tma::prefetch(a);
    tma::prefetch(b);
    tma::prefetch(d);
    init_barriers(shared);
  }
  if constexpr (kCluster == 1)
    __syncthreads();
  else
    sm90::cluster_barrier();

  if (threadIdx.x < kWarpgroup) {
    sm90::give_registers<plan::kProducerRegisters>();
    if (threadIdx.x == 0) produce(a, b, schedule, shared, k, rank);
  } else {
    sm90::take_registers<plan::kConsumerRegisters>();
    const Scaling scaling = {(const plan::Element::Bits *)c, c_row, c_batch, m, n, alpha, beta};
    const Output output = {d, (plan::Element::Bits *)to, d_row, d_batch, m, n};
    consume(output, scaling, schedule, shared, k, rank);
  }
  /* Another block may still arrive at this one's barriers. */
  if constexpr (kCluster > 1) sm90::cluster_barrier();
}
