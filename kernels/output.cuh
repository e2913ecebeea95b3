/*
** D of gemm_sm90: a warpgroup's sums through shared memory to global memory, chunk by chunk. The
** plan comes before.
*/
#pragma once

#include "partial.cuh"
#include "products.cuh"
#include "schedule.cuh"
#include "sm90.cuh"
#include "swizzle.cuh"
#include "tma.cuh"

constexpr int kChunksOfTile = plan::kAtomsM * plan::D::kChunks;
static_assert(plan::D::kBuffers >= 2, "one is written while another is stored");
static_assert(plan::D::kWrites * plan::D::kBytesOfWrite ==
                  plan::D::kValuesOfChunk * (int)sizeof(plan::Element::Bits),
              "writes cover a chunk");

/* ---- What is in global memory ----------------------------------------------------------------- */

/* D, and C and the bias, which are added to the sums times alpha. */
struct Output {
  const tma::Map *map;
  plan::Element::Bits *d;
  const plan::Element::Bits *c, *bias;
  plan::Strides d_strides, c_strides;
  int m, n;
  plan::Compute alpha, beta;

  /* The element of D at that place of the tile: x is its sum. */
  DEVICE plan::Compute finish(plan::Compute x, const Unit &unit, int row, int column) const {
    row += unit.m, column += unit.n;
    x *= alpha;
    const bool is_inside = row < m && column < n;
    if (plan::kReadsC && is_inside)
      x += beta * plan::Element::decode(c[plan::D::offset(row, column, unit.batch, c_strides)]);
    if (plan::kBias == plan::kPerRow && row < m) x += plan::Element::decode(bias[row]);
    if (plan::kBias == plan::kPerColumn && column < n) x += plan::Element::decode(bias[column]);
    return plan::epilogue(x, row, column);
  }

  /*
  ** Whether threads write the chunk: where TMA does not take D, or rows end inside of the chunk and
  ** of 16 bytes that TMA writes as a whole.
  */
  DEVICE bool is_for_threads(int column) const {
    constexpr int kUnit = 16 / sizeof(plan::Element::Bits);
    return !plan::D::kByTma || n % kUnit != 0 && column < n && n < column + plan::D::kChunkColumns;
  }

  /* A chunk by TMA, by one thread. */
  DEVICE void store(unsigned buffer, int batch, int row, int column) const {
#pragma unroll
    for (unsigned i = 0; i < plan::D::kBoxes; i++)
      tma::store(*map, plan::D::corner(row + (int)plan::D::box_row(i), column, batch),
                 buffer + plan::D::box(i));
  }

  /* What of a chunk is inside of D, by all threads of a warpgroup. */
  DEVICE void copy(unsigned buffer, int batch, int row, int column) const {
    constexpr unsigned kColumns = plan::D::kChunkColumns, kVector = plan::D::kVector;
#pragma unroll(plan::D::kByTma ? 1 : 4)
    for (unsigned i = threadIdx.x % kWarpgroup * kVector; i < plan::D::kChunkElements;
         i += kWarpgroup * kVector) {
      const int y = row + (int)(i / kColumns), x = column + (int)(i % kColumns);
      if (y >= m || x >= n) continue;
      plan::Element::Bits *to = d + plan::D::offset(y, x, batch, d_strides);
      if (x + (int)kVector <= n)
        copy_vector(to, buffer + plan::D::element(i));
      else
        for (int e = 0; x + e < n; e++) to[e] = load(buffer + plan::D::element(i + e));
    }
  }

 private:
  static DEVICE void copy_vector(plan::Element::Bits *to, unsigned from) {
    constexpr int kBytes = plan::D::kVector * sizeof(plan::Element::Bits);
    if constexpr (kBytes == 8) {
      unsigned long long bits;
      ptx::load_shared(bits, from);
      *(unsigned long long *)to = bits;
    } else if constexpr (kBytes == 4) {
      unsigned bits;
      ptx::load_shared(bits, from);
      *(unsigned *)to = bits;
    } else if constexpr (kBytes == 2) {
      *(unsigned short *)to = (unsigned short)ptx::load_shared_b16(from);
    } else {
      *to = load(from);
    }
  }

  static DEVICE plan::Element::Bits load(unsigned from) {
    unsigned bits;
    if constexpr (sizeof(plan::Element::Bits) == 1)
      bits = ptx::load_shared_b8(from);
    else if constexpr (sizeof(plan::Element::Bits) == 2)
      bits = ptx::load_shared_b16(from);
    else
      ptx::load_shared(bits, from);
    return (plan::Element::Bits)bits;
  }
};

/* ---- Chunks in shared memory -------------------------------------------------------------------- */

/* The words of a write: kCount values, as they lie in the output. */
template <class Element, int kCount>
DEVICE void encode(unsigned *words, const plan::Compute *x) {
#pragma unroll
  for (int i = 0; i < kCount; i += sizeof(typename Element::Bits) == 4 ? 1 : 2) {
    if constexpr (sizeof(typename Element::Bits) == 4)
      words[i] = Element::encode(x[i]);
    else
      words[i / 2] = Element::encode_pair(x[i], x[i + 1]);
  }
}

/* Write i of this thread for a chunk: values from 'first' on of an atom's sums. */
DEVICE void write(unsigned buffer, unsigned i, const plan::Register *sums, unsigned atom,
                  unsigned first, const Output &output, const Unit &unit) {
  constexpr int kValues = plan::D::kBytesOfWrite / (int)sizeof(plan::Element::Bits);
  const unsigned thread = thread_of_tile();
  plan::Compute x[kValues];
  unsigned words[(plan::D::kBytesOfWrite + 3) / 4];
#pragma unroll
  for (unsigned e = 0; e < kValues; e++) {
    const unsigned value = atom * plan::kValuesOfAtom + first + e;
    x[e] = output.finish((plan::Compute)wgmma::value(sums, first + e), unit,
                         plan::c_row(thread) + plan::c_row_step(value),
                         plan::c_column(thread) + plan::c_column_step(value));
  }
  encode<plan::Element, kValues>(words, x);
  const unsigned target = buffer + place<plan::D::kStoreMask>(plan::D::store(thread % kWarpgroup),
                                                              plan::D::store_step(i));
  if constexpr (plan::D::kBytesOfWrite == 16)
    sm90::store_matrices(target, words);
  else
    ptx::store_shared<plan::D::kBytesOfWrite>(target, words);
}

/* Columns of a tile for each value that a thread has of a row. */
constexpr int kColumnsOfValue = plan::kBlockN / plan::kValuesOfAtom;

/* Where a chunk starts in the tile: the last one ends with it, and may share columns with the one
** before. */
DEVICE constexpr int first_column(int chunk) {
  constexpr int kLast = plan::kBlockN - plan::D::kChunkColumns;
  return chunk * plan::D::kChunkColumns < kLast ? chunk * plan::D::kChunkColumns : kLast;
}

/* ---- Tiles ---------------------------------------------------------------------------------------- */

/*
** A tile's sums to D, a chunk of columns at a time. Chunks take turns in the buffers, from
** 'first_buffer' on; one is stored by TMA while the next is written, and the last ones while the
** next tile is multiplied. Before a buffer is written, the barrier of the chunk before says that it
** has been read.
*/
DEVICE void write_tile(const Output &output, const Accumulators &acc, const Unit &unit,
                       unsigned shared, unsigned warpgroup, unsigned first_buffer) {
  constexpr int kStep = plan::D::kValuesOfChunk / plan::D::kWrites;
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  const unsigned leader = thread_of_tile() - threadIdx.x % kWarpgroup;
  const unsigned buffers = shared + kOutput + warpgroup * plan::D::kBuffers * plan::D::kBufferBytes;
#pragma unroll
  for (int i = 0; i < kChunksOfTile; i++) {
    const int atom = i / plan::D::kChunks, chunk = i % plan::D::kChunks;
    const unsigned buffer =
        buffers + (first_buffer + i) % plan::D::kBuffers * plan::D::kBufferBytes;
#pragma unroll
    for (int j = 0; j < plan::D::kWrites; j++)
      write(buffer, j, acc[atom], atom, first_column(chunk) / kColumnsOfValue + j * kStep, output,
            unit);
    tma::fence_stores();
    if (is_leader) tma::wait_stores_read<plan::D::kBuffers - 2>();
    sm90::barrier<kWarpgroup>(1 + warpgroup);
    const int column = unit.n + first_column(chunk);
    const int row =
        unit.m + (int)(plan::c_row(leader) + plan::c_row_step(atom * plan::kValuesOfAtom));
    if (output.is_for_threads(column))
      output.copy(buffer, unit.batch, row, column);
    else if (is_leader)
      output.store(buffer, unit.batch, row, column);
    if (is_leader) tma::commit_stores(); /* an empty group counts too */
  }
}

/* The buffer with which the next tile starts. */
DEVICE unsigned next_buffer(unsigned first_buffer) {
  if constexpr (kChunksOfTile % plan::D::kBuffers == 0)
    return 0;
  else
    return (first_buffer + kChunksOfTile) % plan::D::kBuffers;
}
