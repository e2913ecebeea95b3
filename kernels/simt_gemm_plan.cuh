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
constexpr int kBlocks = 2;  /* of a multiprocessor, at least: bounds registers */
constexpr int kUnroll = 4;  /* k whose products are written out */
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
  static constexpr int kSize = 1084;  /* of the tile in shared memory */
  static constexpr int kCopies = 4;  /* of elements, of a thread */
  static constexpr bool kAlongRows = false;  /* the contiguous mode */
  static constexpr int kVector = 4;  /* elements loaded at once */
  static constexpr int kStore = 1;  /* numbers at once, to shared memory */
  static constexpr int kLoad = 4;  /* and from there */
  static constexpr int kSums = 4;  /* rows of a thread's sums */
  /* 64:1 */
  static DEVICE constexpr unsigned row_offset(unsigned i) { return i; }
  /* 16:68 */
  static DEVICE constexpr unsigned k_offset(unsigned i) { return i * 68; }
  /* (2,64,2):(0,1,0) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 2 % 64; }
  /* (2,64,2):(4,0,8) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 2 * 4 + i / 128 * 8; }
  /* (4,1):(0,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned) { return 0; }
  /* (4,1):(1,0) */
  static DEVICE constexpr unsigned copy_k_step(unsigned i) { return i; }
  /* (2,2,2,2,4,4):(0,4,0,8,0,16) */
  static DEVICE constexpr unsigned sum(unsigned i) {
    return i / 2 % 2 * 4 + i / 8 % 2 * 8 + i / 64 * 16;
  }
  /* 4:1 */
  static DEVICE constexpr unsigned sum_step(unsigned i) { return i; }
  /* (2,2,2,2,4,4):(0,4,0,8,0,16) */
  static DEVICE constexpr unsigned factor(unsigned i) {
    return i / 2 % 2 * 4 + i / 8 % 2 * 8 + i / 64 * 16;
  }
  /* 4:1 */
  static DEVICE constexpr unsigned factor_step(unsigned i) { return i; }
};

struct B {
  using Element = lutile::f32;
  static constexpr bool kRounds = false;  /* f32 to tf32 */
  static constexpr int kSize = 1084;  /* of the tile in shared memory */
  static constexpr int kCopies = 4;  /* of elements, of a thread */
  static constexpr bool kAlongRows = false;  /* the contiguous mode */
  static constexpr int kVector = 4;  /* elements loaded at once */
  static constexpr int kStore = 1;  /* numbers at once, to shared memory */
  static constexpr int kLoad = 4;  /* and from there */
  static constexpr int kSums = 4;  /* rows of a thread's sums */
  /* 64:1 */
  static DEVICE constexpr unsigned row_offset(unsigned i) { return i; }
  /* 16:68 */
  static DEVICE constexpr unsigned k_offset(unsigned i) { return i * 68; }
  /* (2,64,2):(0,1,0) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 2 % 64; }
  /* (2,64,2):(4,0,8) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 2 * 4 + i / 128 * 8; }
  /* (4,1):(0,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned) { return 0; }
  /* (4,1):(1,0) */
  static DEVICE constexpr unsigned copy_k_step(unsigned i) { return i; }
  /* (2,2,2,2,4,4):(4,0,8,0,16,0) */
  static DEVICE constexpr unsigned sum(unsigned i) {
    return i % 2 * 4 + i / 4 % 2 * 8 + i / 16 % 4 * 16;
  }
  /* 4:1 */
  static DEVICE constexpr unsigned sum_step(unsigned i) { return i; }
  /* (2,2,2,2,4,4):(4,0,8,0,16,0) */
  static DEVICE constexpr unsigned factor(unsigned i) {
    return i % 2 * 4 + i / 4 % 2 * 8 + i / 16 % 4 * 16;
  }
  /* 4:1 */
  static DEVICE constexpr unsigned factor_step(unsigned i) { return i; }
};

DEVICE Value epilogue(Value x, int m, int n) { return x; }

}  // namespace plan
