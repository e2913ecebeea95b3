/*
** Tiles of a matrix from global to shared memory, through cp.async or registers. 'Operand' is what
** a plan says of the matrix: lutile.plan.operand writes it.
*/
#pragma once

#include "ptx.cuh"
#include "swizzle.cuh"

constexpr int kAllSteps = -1; /* instead of a step */

/* One thread's part of the copies of A or B, tile after tile along k. */
template <class Operand>
struct Copier {
  static constexpr int kVectorBytes = Operand::kVector * Operand::kBytes;
  static constexpr int kVectorWords = kVectorBytes < 4 ? 1 : kVectorBytes / 4;

  const char *source; /* of vector 0 of the next tile */
  long long row_bytes, k_bytes;
  int rows_left;   /* from vector 0 to the matrix's end */
  unsigned target; /* shared address of vector 0 in stage 0 */
  int k;           /* of vector 0, in the tile */
  unsigned staged[Operand::kAsync ? 1 : Operand::kCopies * kVectorWords];

  DEVICE Copier(const char *matrix, long long row_stride, long long k_stride, int first_row,
                int rows, unsigned shared) {
    unsigned thread = threadIdx.x;
    row_bytes = (Operand::kUnit == 0 ? 1 : row_stride) * Operand::kBytes;
    k_bytes = (Operand::kUnit == 1 ? 1 : k_stride) * Operand::kBytes;
    int row = first_row + (int)Operand::copy_row(thread);
    k = (int)Operand::copy_k(thread);
    source = matrix + row * row_bytes + k * k_bytes;
    target = shared + Operand::store(thread);
    rows_left = rows - row;
  }

  DEVICE void advance() { source += Operand::kTileK * k_bytes; }

  static DEVICE bool takes_part() {
    return Operand::kCopyThreads == Operand::kThreads || threadIdx.x < Operand::kCopyThreads;
  }

  DEVICE const char *source_of(int i) const {
    return source + (int)Operand::copy_row_step(i) * row_bytes +
           (int)Operand::copy_k_step(i) * k_bytes;
  }

  DEVICE unsigned target_of(int i, int stage) const {
    return place<Operand::kStoreMask>(target, Operand::store_step(i)) +
           stage * Operand::kStageBytes;
  }

  /*
  ** The vectors that fall to one of kSharing steps (kAllSteps: all), of a tile with k_left elements
  ** from its start to the matrix's end, to a stage.
  */
  template <int kSharing, int kUnrolled = Operand::kCopies>
  DEVICE void copy(int stage, int k_left, int step) {
    if (!takes_part()) return;
    /* Hidden: the compiler would compare rows before the loop over tiles; predicates are few. */
    const int rows = ptx::hide(rows_left);
#pragma unroll kUnrolled
    for (int i = 0; i < Operand::kCopies; i++) {
      if (step != kAllSteps && i * kSharing / Operand::kCopies != step) continue;
      if constexpr (Operand::kAsync)
        ptx::copy_async<kVectorBytes>(target_of(i, stage), source_of(i), is_inside(i, rows, k_left));
      else
        load(staged + i * kVectorWords, i, is_inside(i, rows, k_left));
    }
  }

  /* Vectors of a whole tile to a stage by a few registers at a time, which other threads wait for. */
  DEVICE void move(int stage, int k_left) const {
    constexpr int kAtOnce = Operand::kCopies % 4 == 0 ? 4 : 1;
    if (!takes_part()) return;
#pragma unroll 1
    for (int first = 0; first < Operand::kCopies; first += kAtOnce) {
      unsigned words[kAtOnce * kVectorWords];
#pragma unroll
      for (int i = 0; i < kAtOnce; i++)
        load(words + i * kVectorWords, first + i, is_inside(first + i, rows_left, k_left));
#pragma unroll
      for (int i = 0; i < kAtOnce; i++)
        ptx::store_shared<kVectorBytes>(target_of(first + i, stage), words + i * kVectorWords);
    }
  }

  /*
  ** By '&': of '&&', NVVM for compute capability 10.0 and on makes bytes that depend on bytes, for
  ** which ptxas takes twice as long and spills.
  */
  DEVICE bool is_inside(int i, int rows, int k_left) const {
    return ((int)Operand::copy_row_step(i) < rows) & (k + (int)Operand::copy_k_step(i) < k_left);
  }

  DEVICE void load(unsigned *words, int i, bool is_inside) const {
#pragma unroll
    for (int w = 0; w < kVectorWords; w++) words[w] = 0;
    if (is_inside) ptx::load_global<kVectorBytes>(words, source_of(i));
  }

  /* What the last copy left in registers. */
  DEVICE void store(int stage) {
    if constexpr (!Operand::kAsync) {
      if (!takes_part()) return;
#pragma unroll
      for (int i = 0; i < Operand::kCopies; i++)
        ptx::store_shared<kVectorBytes>(target_of(i, stage), staged + i * kVectorWords);
    }
  }
};
