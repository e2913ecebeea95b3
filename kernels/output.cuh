/*
** D of gemm_sm90: a warpgroup's sums through shared memory to global memory, chunk by chunk. The
** plan comes before.
*/
#pragma once

#include "addends.cuh"
#include "partial.cuh"
#include "sm90.cuh"
#include "swizzle.cuh"

static_assert(plan::D::kBuffers >= 2, "one is written while another is stored");
static_assert(plan::D::kWrites * plan::D::kBytesOfWrite ==
                  plan::D::kValuesOfChunk * (int)sizeof(plan::Element::Bits),
              "writes cover a chunk");

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

/* Value i of such words. */
template <class Element>
DEVICE plan::Compute decode(const unsigned *words, int i) {
  using Bits = typename Element::Bits;
  if constexpr (sizeof(Bits) == 4)
    return (plan::Compute)Element::decode(words[i]);
  else
    return (plan::Compute)Element::decode((Bits)(words[i / 2] >> i % 2 * 8 * sizeof(Bits)));
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
constexpr int kValuesOfWrite = plan::D::kBytesOfWrite / kElementBytes;

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

/* The words of C that are where a write's will be. */
DEVICE void read_words(unsigned *words, unsigned target) {
  if constexpr (plan::D::kBytesOfWrite == 16)
    ptx::load_matrices<4, false>(words, target);
  else
    ptx::load_shared<plan::D::kBytesOfWrite>(words, target);
}

static_assert(plan::c_row_step(1) == 0 && plan::c_row_step(2) > 0 && plan::c_column_step(2) == 0,
              "values come in fours: two neighbours in one row, and in another");

/* Adds the bias to the values of a piece, whose first one is at (row, column) of the tile. */
DEVICE void add_bias(plan::Compute (&x)[kValuesOfPiece], unsigned elements, unsigned row,
                     unsigned column) {
  plan::Compute added[2]; /* of two rows, or of two columns */
#pragma unroll
  for (unsigned e = 0; e < kValuesOfPiece; e++) {
    constexpr bool kOfRows = plan::kBias == plan::kPerRow;
    plan::Compute &one = added[kOfRows ? e / 2 % 2 : e % 2];
    if (kOfRows ? e < 4 && e % 2 == 0 : e % 4 < 2)
      one = bias_at(elements, row + plan::c_row_step(e), column + plan::c_column_step(e));
    x[e] += one;
  }
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

/*
** The same with all that an output may ask for; C is in the buffer. Loads come first, and stores
** last, for these keep their order.
*/
template <class Sums>
DEVICE void write_finished(unsigned buffer, int i, const Output &output, const Unit &unit,
                           unsigned bias) {
  const unsigned thread = thread_of_tile(), value = first_value(i);
  const unsigned row = plan::c_row(thread) + plan::c_row_step(value);
  const unsigned column = plan::c_column(thread) + plan::c_column_step(value);
  unsigned words[kWritesOfPiece][kWordsOfWrite];
  plan::Compute x[kValuesOfPiece];
  if constexpr (plan::kReadsC)
#pragma unroll
    for (int j = 0; j < kWritesOfPiece; j++) read_words(words[j], target_of(buffer, i, j));
  read_scaled<Sums>(x, i, output.alpha);
  if (plan::kReadsC && output.beta != 0) /* else C may be what is not a number */
#pragma unroll
    for (int e = 0; e < kValuesOfPiece; e++)
      x[e] += output.beta * decode<plan::Element>(words[e / kValuesOfWrite], e % kValuesOfWrite);
  if constexpr (plan::kBias != plan::kNone) add_bias(x, bias, row, column);
#pragma unroll
  for (int e = 0; e < kValuesOfPiece; e++)
    x[e] = plan::epilogue(x[e], unit.m + (int)(row + plan::c_row_step(e)),
                          unit.n + (int)(column + plan::c_column_step(e)));
#pragma unroll
  for (int j = 0; j < kWritesOfPiece; j++) {
    encode<plan::Element, kValuesOfWrite>(words[j], x + j * kValuesOfWrite);
    write_words(target_of(buffer, i, j), words[j]);
  }
}

template <class Sums>
DEVICE void write_piece(unsigned buffer, int i, const Output &output, const Unit &unit,
                        unsigned bias) {
  if constexpr (Sums::kReadsPairs)
    write_pairs<Sums>(buffer, i, output.alpha);
  else
    write_finished<Sums>(buffer, i, output, unit, bias);
}

/* ---- Tiles ---------------------------------------------------------------------------------------- */

/* A chunk from its buffer to D, by TMA where that takes it. */
DEVICE void put_chunk(const Output &output, unsigned buffer, unsigned warpgroup, int batch, int row,
                      int column) {
  if constexpr (Output::kMayCopy)
    if (output.is_for_threads(column)) {
      output.copy(buffer, batch, row, column);
      if constexpr (kLoadsC) ptx::barrier<kWarpgroup>(1 + warpgroup);
      return;
    }
  if constexpr (plan::D::kByTma)
    if (threadIdx.x % kWarpgroup == 0) output.store(buffer, batch, row, column);
}

/*
** A tile's sums to D, a chunk of columns at a time. Chunks take turns in the buffers, from that of
** ticket 'first' on; one is stored by TMA while the next is written, and the last ones while the next
** tile is multiplied. Before a buffer is written, the barrier of the chunk before says that it has
** been read; or C's chunk is there, which was asked for after that.
*/
DEVICE void write_tile(const Output &output, const Unit &unit, unsigned shared, unsigned warpgroup,
                       unsigned first) {
  const bool is_leader = threadIdx.x % kWarpgroup == 0;
  int row = unit.m + first_row(), chunk = 0; /* of an atom */
  if constexpr (plan::kBias != plan::kNone) ptx::barrier<kWarpgroup>(1 + warpgroup);
#pragma unroll 1
  for (int i = 0; i < kChunksOfTile; i++) {
    const int column = unit.n + first_column(chunk);
    const unsigned ticket = ticket_after(first, i);
    const unsigned buffer = buffer_of(shared, warpgroup, ticket);
    if constexpr (plan::kReadsC) take_chunk(output, unit, shared, warpgroup, ticket, row, column);
#pragma unroll 1
    for (int j = 0; j < kPiecesOfChunk; j++)
      write_piece<plan::Sums>(buffer, i * kPiecesOfChunk + j, output, unit,
                              bias_of(shared, warpgroup));
    tma::fence_stores();
    if (!kLoadsC && is_leader) tma::wait_stores_read<plan::D::kBuffers - 2>();
    ptx::barrier<kWarpgroup>(1 + warpgroup);
    put_chunk(output, buffer, warpgroup, unit.batch, row, column);
    if (is_leader) tma::commit_stores(); /* an empty group counts too */
    if constexpr (kLoadsC && kChunksOfTile > plan::D::kBuffers) {
      const int next = i - 1 + plan::D::kBuffers; /* to the buffer of the chunk before */
      if (is_leader && i > 0 && next < kChunksOfTile) {
        tma::wait_stores_read<1>();
        load_chunk(output, unit, shared, warpgroup, ticket_after(first, next), next);
      }
    }
    chunk++;
    if (plan::kAtomsM > 1 && chunk == plan::D::kChunks) {
      chunk = 0;
      row += kRowsOfAtom;
    }
  }
}

/* The ticket of the next tile's first chunk. */
DEVICE unsigned next_ticket(unsigned first) {
  if constexpr (kChunksOfTile % kTickets == 0)
    return 0;
  else
    return ticket_after(first, kChunksOfTile);
}
