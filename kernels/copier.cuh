/*
** Tiles of a matrix from global to shared memory, through cp.async or registers. 'Operand' is what
** a plan says of the matrix: lutile.plan.operand writes it.
*/
#pragma once

#include "ptx.cuh"
#include "swizzle.cuh"

constexpr int kAllSteps = -1;

/* One thread's part of the copies of A or B, tile after tile along k. */
template <class Operand>
struct Copier {
  static constexpr int kVectorBytes = Operand::kVector * Operand::kBytes;
  static constexpr int kVectorWords = kVectorBytes < 4 ? 1 : kVectorBytes / 4;

  const char *source; /* of the next vector */
  long long row_bytes, k_bytes;
  unsigned inside;  /* bit i: the row of vector i is inside the matrix */
  unsigned target;           /* shared address of vector 0 in stage 0 */
  int k;                     /* of vector 0, in the tile */
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
    inside = 0;
#pragma unroll
    for (int i = 0; i < Operand::kCopies; i++)
      if (row + (int)Operand::copy_row_step(i) < rows) inside |= 1u << i;
  }

  /* From the tile after the last of 'tiles' back to the first. */
  DEVICE void rewind(int tiles) { source -= tiles * Operand::kTileK * k_bytes; }

  static DEVICE bool takes_part() {
    return Operand::kCopyThreads == Operand::kThreads || threadIdx.x < Operand::kCopyThreads;
  }

  /* From vector i to the next; from the last, to the first of the next tile. */
  DEVICE void advance(int i) {
    int next = (i + 1) % Operand::kCopies;
    int rows = (int)Operand::copy_row_step(next) - (int)Operand::copy_row_step(i);
    int ks = (int)Operand::copy_k_step(next) - (int)Operand::copy_k_step(i);
    source += rows * row_bytes + (ks + (next == 0 ? Operand::kTileK : 0)) * k_bytes;
  }

  DEVICE bool is_inside(int i, int k_left) const {
    return (inside >> i & 1) && k + (int)Operand::copy_k_step(i) < k_left;
  }

  /*
  ** Which vectors are inside as the bits of one register, where loads leave few others, and rounding
  ** needs the predicates.
  */
  static constexpr bool kMasks = !Operand::kAsync || Operand::kRounds;

  DEVICE unsigned vectors_inside(int k_left) const {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < Operand::kCopies; i++)
      if (k + (int)Operand::copy_k_step(i) < k_left) bits |= 1u << i;
    return bits & inside;
  }

  DEVICE unsigned address(int i, int stage) const {
    return place<Operand::kStoreMask>(target, Operand::store_step(i)) +
           stage * Operand::kStageBytes;
  }

  /*
  ** The vectors that fall to a k-step (kAllSteps: all), of a tile with k_left elements from its start
  ** to the matrix's end, to a stage. kSteps is how many steps share them.
  */
  template <int kSteps>
  DEVICE void copy(int stage, int k_left, int step) {
    if (!takes_part()) return;
    const unsigned present = kMasks ? vectors_inside(k_left) : 0;
#pragma unroll
    for (int i = 0; i < Operand::kCopies; i++) {
      if (step != kAllSteps && i * kSteps / Operand::kCopies != step) continue;
      if constexpr (Operand::kAsync)
        ptx::copy_async<kVectorBytes>(address(i, stage), source,
                                      kMasks ? present >> i & 1 : is_inside(i, k_left));
      else
        load(i, present & 1u << i);
      advance(i);
    }
  }

  DEVICE void load(int i, bool is_there) {
    unsigned *words = staged + i * kVectorWords;
#pragma unroll
    for (int w = 0; w < kVectorWords; w++) words[w] = 0;
    if (is_there) ptx::load_global<kVectorBytes>(words, source);
  }

  /* What the last copy left in registers. */
  DEVICE void store(int stage) {
    if constexpr (!Operand::kAsync) {
      if (!takes_part()) return;
#pragma unroll
      for (int i = 0; i < Operand::kCopies; i++)
        ptx::store_shared<kVectorBytes>(address(i, stage), staged + i * kVectorWords);
    }
  }
};
