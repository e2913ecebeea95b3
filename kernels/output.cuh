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

  /* The element of D at that place: x is its sum times alpha. */
  DEVICE plan::Compute finish(plan::Compute x, int batch, int row, int column) const {
    const bool is_inside = row < m && column < n;
    if (plan::kReadsC && is_inside)
      x += beta * plan::Element::decode(c[plan::D::offset(row, column, batch, c_strides)]);
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
    if constexpr (!plan::D::kByTma || plan::D::kEndsInUnits) return !plan::D::kByTma;
    return n % kUnit != 0 && column < n && n < column + plan::D::kChunkColumns;
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

/* Sums of a piece times alpha. */
template <class Sums>
DEVICE void read_scaled(plan::Compute (&x)[kValuesOfPiece], int i, plan::Compute alpha) {
  if constexpr (Sums::kReadsScaled) {
    Sums::read_scaled(i, alpha, x);
  } else {
    Piece piece;
    Sums::read(i, piece);
#pragma unroll
    for (int e = 0; e < kValuesOfPiece; e++) x[e] = alpha * (plan::Compute)wgmma::value(piece, e);
  }
}

constexpr int kWritesOfPiece = plan::D::kWrites / kPiecesOfChunk;
constexpr int kWordsOfWrite = (plan::D::kBytesOfWrite + 3) / 4;

/* Where this thread's write j of a piece of the tile goes, in the buffer of its chunk. */
DEVICE unsigned target_of(unsigned buffer, int piece, int j) {
  const unsigned step = plan::D::store_step(piece % kPiecesOfChunk * kWritesOfPiece + j);
  return buffer + place<plan::D::kStoreMask>(plan::D::store(threadIdx.x % kWarpgroup), step);
}

DEVICE void write_words(unsigned target, const unsigned *words) {
  if constexpr (plan::D::kBytesOfWrite == 16)
    sm90::store_matrices(target, words);
  else
    ptx::store_shared<plan::D::kBytesOfWrite>(target, words);
}

/* One write: values from 'first' on of a piece, which starts at (m, n) in D. */
DEVICE void write_values(unsigned target, plan::Compute *x, unsigned first, const Output &output,
                         int m, int n, int batch) {
  constexpr int kValues = plan::D::kBytesOfWrite / (int)sizeof(plan::Element::Bits);
  unsigned words[kWordsOfWrite];
#pragma unroll
  for (unsigned e = 0; e < kValues; e++)
    x[first + e] = output.finish(x[first + e], batch, m + (int)plan::c_row_step(first + e),
                                 n + (int)plan::c_column_step(first + e));
  encode<plan::Element, kValues>(words, x + first);
  write_words(target, words);
}

/* Piece i of the tile's sums to the buffer of its chunk, where that is all that becomes of them. */
template <class Sums>
DEVICE void write_pairs(unsigned buffer, int i, float alpha) {
  unsigned words[kWritesOfPiece * kWordsOfWrite];
  Sums::read_pairs(i, alpha, words);
#pragma unroll
  for (int j = 0; j < kWritesOfPiece; j++)
    write_words(target_of(buffer, i, j), words + j * kWordsOfWrite);
}

/* The same with all that an output may ask for. */
template <class Sums>
DEVICE void write_finished(unsigned buffer, int i, const Output &output, const Unit &unit) {
  constexpr int kStep = kValuesOfPiece / kWritesOfPiece;
  const unsigned thread = thread_of_tile(), value = first_value(i);
  const int m = unit.m + (int)(plan::c_row(thread) + plan::c_row_step(value));
  const int n = unit.n + (int)(plan::c_column(thread) + plan::c_column_step(value));
  plan::Compute x[kValuesOfPiece];
  read_scaled<Sums>(x, i, output.alpha);
#pragma unroll
  for (int j = 0; j < kWritesOfPiece; j++)
    write_values(target_of(buffer, i, j), x, j * kStep, output, m, n, unit.batch);
}

template <class Sums>
DEVICE void write_piece(unsigned buffer, int i, const Output &output, const Unit &unit) {
  if constexpr (Sums::kReadsPairs)
    write_pairs<Sums>(buffer, i, output.alpha);
  else
    write_finished<Sums>(buffer, i, output, unit);
}

/* ---- Tiles ---------------------------------------------------------------------------------------- */

constexpr int kRowsOfAtom = plan::c_row_step(plan::kValuesOfAtom); /* until the next one's, if any */
static_assert(plan::kAtomsM < 3 || plan::c_row_step(2 * plan::kValuesOfAtom) == 2 * kRowsOfAtom,
              "atoms are as far apart");

/*
** A tile's sums to D, a chunk of columns at a time. Chunks take turns in the buffers, from
** 'first_buffer' on; one is stored by TMA while the next is written, and the last ones while the
** next tile is multiplied. Before a buffer is written, the barrier of the chunk before says that it
** has been read.
*/
DEVICE void write_tile(const Output &output, const Unit &unit, unsigned shared, unsigned warpgroup,
                       unsigned first_buffer) {
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  const unsigned leader = thread_of_tile() - threadIdx.x % kWarpgroup;
  const unsigned buffers = shared + kOutput + warpgroup * plan::D::kBuffers * plan::D::kBufferBytes;
  int row = unit.m + (int)plan::c_row(leader), chunk = 0; /* of an atom */
#pragma unroll 1
  for (int i = 0; i < kChunksOfTile; i++) {
    const int column = unit.n + first_column(chunk);
    const unsigned buffer =
        buffers + (first_buffer + i) % plan::D::kBuffers * plan::D::kBufferBytes;
#pragma unroll 1
    for (int j = 0; j < kPiecesOfChunk; j++)
      write_piece<plan::Sums>(buffer, i * kPiecesOfChunk + j, output, unit);
    tma::fence_stores();
    if (is_leader) tma::wait_stores_read<plan::D::kBuffers - 2>();
    ptx::barrier<kWarpgroup>(1 + warpgroup);
    if (output.is_for_threads(column))
      output.copy(buffer, unit.batch, row, column);
    else if (is_leader)
      output.store(buffer, unit.batch, row, column);
    if (is_leader) tma::commit_stores(); /* an empty group counts too */
    chunk++;
    if (plan::kAtomsM > 1 && chunk == plan::D::kChunks) {
      chunk = 0;
      row += kRowsOfAtom;
    }
  }
}

/* The buffer with which the next tile starts. */
DEVICE unsigned next_buffer(unsigned first_buffer) {
  if constexpr (kChunksOfTile % plan::D::kBuffers == 0)
    return 0;
  else
    return (first_buffer + kChunksOfTile) % plan::D::kBuffers;
}
