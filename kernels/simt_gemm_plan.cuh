/*
** What lutile.plan.simt_gemm writes for f32: so that simt_gemm.cu can be read and compiled by itself.
*/
#pragma once
#include "number.cuh"
#include "ptx.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

constexpr int kBlockM = 64;
constexpr int kBlockN = 64;
constexpr int kBlockK = 16;
constexpr int kThreads = 256;
constexpr int kRows = 4;  /* of a thread's sums */
constexpr int kColumns = 4;
constexpr int kGroup = 8;  /* rows of tiles that blocks go down together */
constexpr bool kReadsC = false;
constexpr bool kScales = false;  /* alpha is times a number in memory for A and for B */
constexpr Bias kBias = kNone;

using Accumulator = lutile::f32;
using Element = lutile::f32;  /* of C, D and the bias */
using Compute = lutile::f32;  /* of alpha and beta */
using Value = lutile::f32;  /* of what the epilogue takes and gives */

struct A {
  using Element = lutile::f32;
  static constexpr bool kRounds = false;  /* f32 to tf32 */
  static constexpr int kSize = 1054;  /* of the tile in shared memory */
  static constexpr int kCopies = 4;  /* of elements, of a thread */
  /* 64:1 */
  static DEVICE constexpr unsigned row_offset(unsigned i) { return i; }
  /* 16:66 */
  static DEVICE constexpr unsigned k_offset(unsigned i) { return i * 66; }
  /* (16,16):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 16; }
  /* (16,16):(1,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 16; }
  /* 4:16 */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 16; }
  /* 4:0 */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }
};

struct B {
  using Element = lutile::f32;
  static constexpr bool kRounds = false;  /* f32 to tf32 */
  static constexpr int kSize = 1054;  /* of the tile in shared memory */
  static constexpr int kCopies = 4;  /* of elements, of a thread */
  /* 64:1 */
  static DEVICE constexpr unsigned row_offset(unsigned i) { return i; }
  /* 16:66 */
  static DEVICE constexpr unsigned k_offset(unsigned i) { return i * 66; }
  /* (16,16):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 16; }
  /* (16,16):(1,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 16; }
  /* 4:16 */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 16; }
  /* 4:0 */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }
};

/* Rows and columns in the tile of a thread's sums: the first, and those of others from there. */
/* (16,16):(0,1) */
DEVICE constexpr unsigned row(unsigned i) { return i / 16; }
/* (16,16):(1,0) */
DEVICE constexpr unsigned column(unsigned i) { return i % 16; }
/* 4:16 */
DEVICE constexpr unsigned row_step(unsigned i) { return i * 16; }
/* 4:16 */
DEVICE constexpr unsigned column_step(unsigned i) { return i * 16; }

DEVICE Value epilogue(Value x, int m, int n) { return x; }

}  // namespace plan
