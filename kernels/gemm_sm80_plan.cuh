/*
** What lutile.plan.gemm_sm80 writes for f16: so that gemm_sm80.cu can be read and compiled by itself.
*/
#pragma once
#include "element.cuh"
#include "fragment.cuh"
#include "mma.cuh"
#include "swizzle.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

constexpr int kBlockM = 64;
constexpr int kBlockN = 64;
constexpr int kBlockK = 32;
constexpr int kAtomK = 16;
constexpr int kSteps = 2;
constexpr int kStages = 3;
constexpr int kThreads = 128;
constexpr int kBlocks = 1;  /* of a multiprocessor, at least: bounds registers */
constexpr bool kDoubles = true;  /* registers of two k-steps at a time */
constexpr int kEarlyA = 8;  /* words of a k-step, loaded before it */
constexpr int kEarlyB = 4;
constexpr int kRegistersOfPiece = 8;  /* of a thread's sums */
constexpr int kPieces = 4;
constexpr int kGroup = 8;  /* rows of tiles that blocks go down together */
constexpr int kRun = 2;  /* of neighbouring values, written at once */
constexpr bool kReadsC = false;
constexpr bool kScales = false;  /* alpha is times a number in memory for A and for B */
constexpr Bias kBias = kNone;
constexpr bool kAsync = true;

using Word = unsigned;
using Register = Word;  /* of sums */
using Accumulator = element::f32;
using Element = element::f16;  /* of C, D and the bias */
using Compute = float;

struct A {
  using Word = unsigned;  /* a register */
  static constexpr int kBytes = 2;  /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 128;
  static constexpr int kUnit = 1;  /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8;  /* elements of a copy */
  static constexpr int kCopies = 2;  /* of a thread for a tile */
  static constexpr int kCopyThreads = 128;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 4096;

  /* Coordinates of a copy: the thread's first, and from there. */
  /* (4,32):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 4; }
  /* (4,32):(8,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 4 * 8; }
  /* (2,1):(32,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 32; }
  /* (2,1):(0,32) */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }

  /* Bytes in a stage at which it arrives. */
  static constexpr int kStoreMask = 48;
  /* Sw<2,3,3> o 0 o (4,32):(8,32) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) { return swizzle<2, 4, 3>(i * 16); }
  /* Sw<2,3,3> o 0 o (2,1):(1024,0) times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<2, 4, 3>(i * 2048); }

  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */
  static constexpr Load kLoad = kMatrices;
  static constexpr int kWords = 8;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),(2,2)):(32,(256,8),(512,0)) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 64 + i / 16 % 2 * 16 + i / 32 % 2 * 1024);
  }
  /* Sw<2,3,3> o 0 o (2,2):(1024,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 2 * 2048 + i / 2 * 32);
  }
};

struct B {
  using Word = unsigned;  /* a register */
  static constexpr int kBytes = 2;  /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 128;
  static constexpr int kUnit = 1;  /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8;  /* elements of a copy */
  static constexpr int kCopies = 2;  /* of a thread for a tile */
  static constexpr int kCopyThreads = 128;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 4096;

  /* Coordinates of a copy: the thread's first, and from there. */
  /* (4,32):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 4; }
  /* (4,32):(8,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 4 * 8; }
  /* (2,1):(32,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 32; }
  /* (2,1):(0,32) */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }

  /* Bytes in a stage at which it arrives. */
  static constexpr int kStoreMask = 48;
  /* Sw<2,3,3> o 0 o (4,32):(8,32) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) { return swizzle<2, 4, 3>(i * 16); }
  /* Sw<2,3,3> o 0 o (2,1):(1024,0) times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<2, 4, 3>(i * 2048); }

  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */
  static constexpr Load kLoad = kMatrices;
  static constexpr int kWords = 8;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),(2,2)):(32,(8,512),(0,256)) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 64 + i / 8 % 2 * 16 + i / 16 % 2 * 1024 + i / 64 * 512);
  }
  /* Sw<2,3,3> o 0 o (2,2):(1024,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 2 * 2048 + i / 2 * 32);
  }
};

/*
** Sums of a thread: registers of PTX, of which C++ has a piece at once. As variables in loops they
** would take most of the time of compiling.
*/
struct Sums {
  /* Where a kernel starts: PTX knows names from there on. */
  static DEVICE void declare() { asm volatile(".reg .b32 sum<32>;"); }

  /* All are 0. */
  static DEVICE void clear() {
    asm volatile(
        "mov.b32 sum0, 0; mov.b32 sum1, 0; mov.b32 sum2, 0; mov.b32 sum3, 0; mov.b32 sum4, 0; "
        "mov.b32 sum5, 0; mov.b32 sum6, 0; mov.b32 sum7, 0; mov.b32 sum8, 0; mov.b32 sum9, 0; "
        "mov.b32 sum10, 0; mov.b32 sum11, 0; mov.b32 sum12, 0; mov.b32 sum13, 0; mov.b32 sum14, 0; "
        "mov.b32 sum15, 0; mov.b32 sum16, 0; mov.b32 sum17, 0; mov.b32 sum18, 0; mov.b32 sum19, 0; "
        "mov.b32 sum20, 0; mov.b32 sum21, 0; mov.b32 sum22, 0; mov.b32 sum23, 0; mov.b32 sum24, 0; "
        "mov.b32 sum25, 0; mov.b32 sum26, 0; mov.b32 sum27, 0; mov.b32 sum28, 0; mov.b32 sum29, 0; "
        "mov.b32 sum30, 0; mov.b32 sum31, 0;");
  }

  /* The sums of a piece. */
  static DEVICE void read(int piece, Register (&d)[kRegistersOfPiece]) {
    asm volatile(
        "{ .reg .pred p;"
        "setp.ge.u32 p, %8, 2; @p bra from2;"
        "setp.ge.u32 p, %8, 1; @p bra from1;"
        "mov.b32 %0, sum0; mov.b32 %1, sum1; mov.b32 %2, sum2; mov.b32 %3, sum3; mov.b32 %4, sum4; "
        "mov.b32 %5, sum5; mov.b32 %6, sum6; mov.b32 %7, sum7;"
        "bra done;"
        "from1:"
        "mov.b32 %0, sum8; mov.b32 %1, sum9; mov.b32 %2, sum10; mov.b32 %3, sum11; "
        "mov.b32 %4, sum12; mov.b32 %5, sum13; mov.b32 %6, sum14; mov.b32 %7, sum15;"
        "bra done;"
        "from2:"
        "setp.ge.u32 p, %8, 3; @p bra from3;"
        "mov.b32 %0, sum16; mov.b32 %1, sum17; mov.b32 %2, sum18; mov.b32 %3, sum19; "
        "mov.b32 %4, sum20; mov.b32 %5, sum21; mov.b32 %6, sum22; mov.b32 %7, sum23;"
        "bra done;"
        "from3:"
        "mov.b32 %0, sum24; mov.b32 %1, sum25; mov.b32 %2, sum26; mov.b32 %3, sum27; "
        "mov.b32 %4, sum28; mov.b32 %5, sum29; mov.b32 %6, sum30; mov.b32 %7, sum31;"
        "done: }"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]),
          "=r"(d[7])
        : "r"(piece));
  }
};

/*
** MMAs of a k-step: early or late rows of atoms (quarter / 2) by early or late columns (% 2), of
** which a and b are the registers.
*/
DEVICE void multiply(int quarter, const Word *a, const Word *b) {
  if (quarter == 0)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum0, sum1, sum2, sum3}, {%0, %1, %2, %3}, {%8, %9}, {sum0, sum1, sum2, sum3};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum4, sum5, sum6, sum7}, {%4, %5, %6, %7}, {%8, %9}, {sum4, sum5, sum6, sum7};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum12, sum13, sum14, sum15}, {%4, %5, %6, %7}, {%10, %11}, {sum12, sum13, sum14, sum15};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum8, sum9, sum10, sum11}, {%0, %1, %2, %3}, {%10, %11}, {sum8, sum9, sum10, sum11};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
          "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
  if (quarter == 1)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum16, sum17, sum18, sum19}, {%0, %1, %2, %3}, {%8, %9}, {sum16, sum17, sum18, sum19};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum20, sum21, sum22, sum23}, {%4, %5, %6, %7}, {%8, %9}, {sum20, sum21, sum22, sum23};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum28, sum29, sum30, sum31}, {%4, %5, %6, %7}, {%10, %11}, {sum28, sum29, sum30, sum31};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum24, sum25, sum26, sum27}, {%0, %1, %2, %3}, {%10, %11}, {sum24, sum25, sum26, sum27};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(a[4]), "r"(a[5]), "r"(a[6]), "r"(a[7]),
          "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
/* (4,8,2,2):(0,1,16,0) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 % 2 * 16; }
/* (4,8,2,2):(2,0,0,8) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 2 + i / 64 * 8; }
/* ((2,2),(2,4)):((0,8),(32,0)) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 2 % 2 * 8 + i / 4 % 2 * 32; }
/* ((2,2),(2,4)):((1,0),(0,16)) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 2 + i / 8 * 16; }
/* The value of a piece that is written as its i-th one. */
/* 32:1 */
DEVICE constexpr unsigned run_value(unsigned i) { return i; }

DEVICE Compute epilogue(Compute x, int m, int n) { return x; }

}  // namespace plan
