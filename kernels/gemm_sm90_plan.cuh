/*
** What lutile.plan.gemm_sm90 writes for f16: so that gemm_sm90.cu and what it includes can be read
** and compiled by themselves.
*/
#pragma once
#include "element.cuh"
#include "swizzle.cuh"
#include "tma.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

constexpr int kBlockM = 128;
constexpr int kBlockN = 256;
constexpr int kBlockK = 64;
constexpr int kSteps = 4;  /* of k, of a stage */
constexpr int kStepsOfGroup = 1;  /* whose MMAs are one group */
constexpr int kAtomsM = 1;  /* of a warpgroup */
constexpr int kValuesOfAtom = 128;  /* of a thread */
constexpr int kRegistersOfPiece = 32;  /* of a thread's sums */
constexpr int kPromote = 0;  /* stages whose sums are added up as f32, where not 0 */
constexpr int kStages = 4;
constexpr int kConsumers = 2;  /* warpgroups */
constexpr bool kPingPong = false;  /* consumers take turns with tiles, or share each */
constexpr int kThreads = 384;
constexpr int kProducerRegisters = 40;  /* 0: as many as the launch gave */
constexpr int kConsumerRegisters = 232;
constexpr int kClusterM = 1;  /* blocks on top of each other */
constexpr int kClusterN = 1;  /* blocks side by side */
constexpr int kCluster = 1;
constexpr int kGroup = 16;  /* rows of clusters' tiles that these go down together */
constexpr bool kBatched = true;  /* D has batches */
constexpr int kSplits = 1;  /* at most: parts of a tile along k */
constexpr int kLeastStages = 4;  /* of a part */
constexpr int kNotes = 0;  /* numbers of units in shared memory at once */
constexpr int kSkew = 0;  /* nanoseconds after which the second consumer starts */
constexpr int kSharedBytes = 229440;
constexpr bool kDependent = false;  /* starts while the grid before ends */
constexpr bool kReadsC = false;
constexpr bool kScales = false;
constexpr Bias kBias = kNone;

using Element = element::f16;  /* of C, D and the bias */
using Compute = float;
using Register = float;  /* of sums */

/* Of C or D: rows; batches. */
struct Strides {
  long long at[4];
};

/* Sw<3,4,3> o smem[16b] o ((8,16),(64,1)):((64,512),(1,0)) */
struct A {
  static constexpr int kStageBytes = 16384;
  static constexpr int kSlices = 1;  /* of a tile, each loaded by one block for all */
  static constexpr int kBoxes = 1;  /* of a slice */

  /* Boxes, those of slice 0 first: where they start in the tile, and bytes in a stage. */
  /* ((1,1),1):((0,0),0) */
  static DEVICE constexpr unsigned box_row(unsigned) { return 0; }
  /* ((1,1),1):((1,64),1) */
  static DEVICE constexpr unsigned box_k(unsigned) { return 0; }
  /* ((1,1),1):((0,0),0) times 2 */
  static DEVICE constexpr unsigned box(unsigned) { return 0; }

  /* A box of the matrix as TMA counts. */
  static DEVICE tma::Corner<3> corner(int row, int k, int batch) {
    return {{k, row, batch}};
  }

  /* The first MMA's descriptor, in two words: the lower one has the start, in units of 16
  ** bytes. Units to a warpgroup's first start, and from there. */
  static constexpr unsigned kDescriptor = 0x00010000, kDescriptorHigh = 0x40000040;
  /* 2:512 */
  static DEVICE constexpr unsigned start(unsigned i) { return i * 512; }
  /* (1,4):(0,2) */
  static DEVICE constexpr unsigned step(unsigned i) { return i * 2; }
};

/* Sw<3,4,3> o smem[16b] o ((8,32),(64,1)):((64,512),(1,0)) */
struct B {
  static constexpr int kStageBytes = 32768;
  static constexpr int kSlices = 1;  /* of a tile, each loaded by one block for all */
  static constexpr int kBoxes = 1;  /* of a slice */

  /* Boxes, those of slice 0 first: where they start in the tile, and bytes in a stage. */
  /* ((1,1),1):((0,0),0) */
  static DEVICE constexpr unsigned box_row(unsigned) { return 0; }
  /* ((1,1),1):((1,64),1) */
  static DEVICE constexpr unsigned box_k(unsigned) { return 0; }
  /* ((1,1),1):((0,0),0) times 2 */
  static DEVICE constexpr unsigned box(unsigned) { return 0; }

  /* A box of the matrix as TMA counts. */
  static DEVICE tma::Corner<3> corner(int row, int k, int batch) {
    return {{k, row, batch}};
  }

  /* The first MMA's descriptor, in two words: the lower one has the start, in units of 16
  ** bytes. Units to a warpgroup's first start, and from there. */
  static constexpr unsigned kDescriptor = 0x00010000, kDescriptorHigh = 0x40000040;
  /* 2:0 */
  static DEVICE constexpr unsigned start(unsigned) { return 0; }
  /* (1,4):(0,2) */
  static DEVICE constexpr unsigned step(unsigned i) { return i * 2; }
};

/* A chunk of the output: Sw<3,3,3> o 0 o ((8,8),(64,1)):((64,512),(1,0)) */
struct D {
  static constexpr int kChunkColumns = 64;
  static constexpr int kChunkElements = 4096;
  static constexpr int kChunks = 4;  /* of an atom */
  static constexpr int kValuesOfChunk = 32;  /* of a thread */
  static constexpr int kBuffers = 2;
  static constexpr int kBufferBytes = 8192;
  static constexpr int kWrites = 4;  /* of a thread for a chunk */
  static constexpr int kBytesOfWrite = 16;  /* 16: by stmatrix */

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

  static constexpr bool kByTma = true;  /* else by threads, so many elements at once: */
  static constexpr int kVector = 1;
  static constexpr bool kEndsInUnits = false;  /* rows end at multiples of 16 bytes */

  /* Boxes of a chunk: their first rows, and bytes in a buffer. */
  static constexpr int kBoxes = 1;
  /* 1:64 */
  static DEVICE constexpr unsigned box_row(unsigned) { return 0; }
  /* 1:0 times 2 */
  static DEVICE constexpr unsigned box(unsigned) { return 0; }

  /* A box of D as TMA counts; the offset of an element. */
  static DEVICE tma::Corner<3> corner(int row, int column, int batch) {
    return {{column, row, batch}};
  }
  static DEVICE long long offset(int row, int column, int batch, const Strides &strides) {
    return column + row * strides.at[0] + batch * strides.at[1];
  }
};

/*
** Sums of a thread: registers of PTX, of which C++ has a piece at once. As variables in loops they
** would take most of the time of compiling.
*/
struct Sums {
  static constexpr bool kReadsScaled = false, kReadsPairs = true;  /* there is read_scaled, read_pairs */

  /* Where a kernel starts: PTX knows names from there on. */
  static DEVICE void declare() { asm volatile(".reg .b32 sum<128>;"); }

  /* The sums of a piece, times alpha, as pairs of elements of the output. */
  static DEVICE void read_pairs(int piece, float alpha, unsigned (&d)[kRegistersOfPiece / 2]) {
    asm volatile(
        "{ .reg .pred p; .reg .f32 x<32>;"
        "setp.ge.u32 p, %16, 2; @p bra from2;"
        "setp.ge.u32 p, %16, 1; @p bra from1;"
        "mul.f32 x0, sum0, %17; mul.f32 x1, sum1, %17; mul.f32 x2, sum2, %17; "
        "mul.f32 x3, sum3, %17; mul.f32 x4, sum4, %17; mul.f32 x5, sum5, %17; "
        "mul.f32 x6, sum6, %17; mul.f32 x7, sum7, %17; mul.f32 x8, sum8, %17; "
        "mul.f32 x9, sum9, %17; mul.f32 x10, sum10, %17; mul.f32 x11, sum11, %17; "
        "mul.f32 x12, sum12, %17; mul.f32 x13, sum13, %17; mul.f32 x14, sum14, %17; "
        "mul.f32 x15, sum15, %17; mul.f32 x16, sum16, %17; mul.f32 x17, sum17, %17; "
        "mul.f32 x18, sum18, %17; mul.f32 x19, sum19, %17; mul.f32 x20, sum20, %17; "
        "mul.f32 x21, sum21, %17; mul.f32 x22, sum22, %17; mul.f32 x23, sum23, %17; "
        "mul.f32 x24, sum24, %17; mul.f32 x25, sum25, %17; mul.f32 x26, sum26, %17; "
        "mul.f32 x27, sum27, %17; mul.f32 x28, sum28, %17; mul.f32 x29, sum29, %17; "
        "mul.f32 x30, sum30, %17; mul.f32 x31, sum31, %17;"
        "bra done;"
        "from1:"
        "mul.f32 x0, sum32, %17; mul.f32 x1, sum33, %17; mul.f32 x2, sum34, %17; "
        "mul.f32 x3, sum35, %17; mul.f32 x4, sum36, %17; mul.f32 x5, sum37, %17; "
        "mul.f32 x6, sum38, %17; mul.f32 x7, sum39, %17; mul.f32 x8, sum40, %17; "
        "mul.f32 x9, sum41, %17; mul.f32 x10, sum42, %17; mul.f32 x11, sum43, %17; "
        "mul.f32 x12, sum44, %17; mul.f32 x13, sum45, %17; mul.f32 x14, sum46, %17; "
        "mul.f32 x15, sum47, %17; mul.f32 x16, sum48, %17; mul.f32 x17, sum49, %17; "
        "mul.f32 x18, sum50, %17; mul.f32 x19, sum51, %17; mul.f32 x20, sum52, %17; "
        "mul.f32 x21, sum53, %17; mul.f32 x22, sum54, %17; mul.f32 x23, sum55, %17; "
        "mul.f32 x24, sum56, %17; mul.f32 x25, sum57, %17; mul.f32 x26, sum58, %17; "
        "mul.f32 x27, sum59, %17; mul.f32 x28, sum60, %17; mul.f32 x29, sum61, %17; "
        "mul.f32 x30, sum62, %17; mul.f32 x31, sum63, %17;"
        "bra done;"
        "from2:"
        "setp.ge.u32 p, %16, 3; @p bra from3;"
        "mul.f32 x0, sum64, %17; mul.f32 x1, sum65, %17; mul.f32 x2, sum66, %17; "
        "mul.f32 x3, sum67, %17; mul.f32 x4, sum68, %17; mul.f32 x5, sum69, %17; "
        "mul.f32 x6, sum70, %17; mul.f32 x7, sum71, %17; mul.f32 x8, sum72, %17; "
        "mul.f32 x9, sum73, %17; mul.f32 x10, sum74, %17; mul.f32 x11, sum75, %17; "
        "mul.f32 x12, sum76, %17; mul.f32 x13, sum77, %17; mul.f32 x14, sum78, %17; "
        "mul.f32 x15, sum79, %17; mul.f32 x16, sum80, %17; mul.f32 x17, sum81, %17; "
        "mul.f32 x18, sum82, %17; mul.f32 x19, sum83, %17; mul.f32 x20, sum84, %17; "
        "mul.f32 x21, sum85, %17; mul.f32 x22, sum86, %17; mul.f32 x23, sum87, %17; "
        "mul.f32 x24, sum88, %17; mul.f32 x25, sum89, %17; mul.f32 x26, sum90, %17; "
        "mul.f32 x27, sum91, %17; mul.f32 x28, sum92, %17; mul.f32 x29, sum93, %17; "
        "mul.f32 x30, sum94, %17; mul.f32 x31, sum95, %17;"
        "bra done;"
        "from3:"
        "mul.f32 x0, sum96, %17; mul.f32 x1, sum97, %17; mul.f32 x2, sum98, %17; "
        "mul.f32 x3, sum99, %17; mul.f32 x4, sum100, %17; mul.f32 x5, sum101, %17; "
        "mul.f32 x6, sum102, %17; mul.f32 x7, sum103, %17; mul.f32 x8, sum104, %17; "
        "mul.f32 x9, sum105, %17; mul.f32 x10, sum106, %17; mul.f32 x11, sum107, %17; "
        "mul.f32 x12, sum108, %17; mul.f32 x13, sum109, %17; mul.f32 x14, sum110, %17; "
        "mul.f32 x15, sum111, %17; mul.f32 x16, sum112, %17; mul.f32 x17, sum113, %17; "
        "mul.f32 x18, sum114, %17; mul.f32 x19, sum115, %17; mul.f32 x20, sum116, %17; "
        "mul.f32 x21, sum117, %17; mul.f32 x22, sum118, %17; mul.f32 x23, sum119, %17; "
        "mul.f32 x24, sum120, %17; mul.f32 x25, sum121, %17; mul.f32 x26, sum122, %17; "
        "mul.f32 x27, sum123, %17; mul.f32 x28, sum124, %17; mul.f32 x29, sum125, %17; "
        "mul.f32 x30, sum126, %17; mul.f32 x31, sum127, %17;"
        "done:"
        "cvt.rn.f16x2.f32 %0, x1, x0; cvt.rn.f16x2.f32 %1, x3, x2; cvt.rn.f16x2.f32 %2, x5, x4; "
        "cvt.rn.f16x2.f32 %3, x7, x6; cvt.rn.f16x2.f32 %4, x9, x8; cvt.rn.f16x2.f32 %5, x11, x10; "
        "cvt.rn.f16x2.f32 %6, x13, x12; cvt.rn.f16x2.f32 %7, x15, x14; "
        "cvt.rn.f16x2.f32 %8, x17, x16; cvt.rn.f16x2.f32 %9, x19, x18; "
        "cvt.rn.f16x2.f32 %10, x21, x20; cvt.rn.f16x2.f32 %11, x23, x22; "
        "cvt.rn.f16x2.f32 %12, x25, x24; cvt.rn.f16x2.f32 %13, x27, x26; "
        "cvt.rn.f16x2.f32 %14, x29, x28; cvt.rn.f16x2.f32 %15, x31, x30;"
        "}"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]),
          "=r"(d[7]), "=r"(d[8]), "=r"(d[9]), "=r"(d[10]), "=r"(d[11]), "=r"(d[12]), "=r"(d[13]),
          "=r"(d[14]), "=r"(d[15])
        : "r"(piece), "f"(alpha));
  }
};

/*
** The sums of an atom of the warpgroup: a * b^T, plus what they are where 'adds'; by their
** descriptors' lower words, a is (64, 16), b (256, 16).
*/
DEVICE void mma(int atom, unsigned a, unsigned b, bool adds) {
  asm volatile(
      "{ .reg .pred adds; .reg .b64 a, b; setp.ne.b32 adds, %4, 0; "
      "mov.b64 a, {%0, %2}; mov.b64 b, {%1, %3}; "
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
      "sum0, sum1, sum2, sum3, sum4, sum5, sum6, sum7, sum8, sum9, sum10, sum11, sum12, sum13, "
      "sum14, sum15, sum16, sum17, sum18, sum19, sum20, sum21, sum22, sum23, sum24, sum25, sum26, "
      "sum27, sum28, sum29, sum30, sum31, sum32, sum33, sum34, sum35, sum36, sum37, sum38, sum39, "
      "sum40, sum41, sum42, sum43, sum44, sum45, sum46, sum47, sum48, sum49, sum50, sum51, sum52, "
      "sum53, sum54, sum55, sum56, sum57, sum58, sum59, sum60, sum61, sum62, sum63, sum64, sum65, "
      "sum66, sum67, sum68, sum69, sum70, sum71, sum72, sum73, sum74, sum75, sum76, sum77, sum78, "
      "sum79, sum80, sum81, sum82, sum83, sum84, sum85, sum86, sum87, sum88, sum89, sum90, sum91, "
      "sum92, sum93, sum94, sum95, sum96, sum97, sum98, sum99, sum100, sum101, sum102, sum103, "
      "sum104, sum105, sum106, sum107, sum108, sum109, sum110, sum111, sum112, sum113, sum114, "
      "sum115, sum116, sum117, sum118, sum119, sum120, sum121, sum122, sum123, sum124, sum125, "
      "sum126, sum127"
      "}, a, b, adds, 1, 1, 0, 0; }" ::"r"(a), "r"(b),
      "n"(A::kDescriptorHigh), "n"(B::kDescriptorHigh), "r"((int)adds));
}

/* Coordinates in the tile of an accumulator: the thread's first, and value i from there. */
/* (4,8,8):(0,1,16) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 * 16; }
/* (4,8,8):(2,0,0) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 2; }
/* ((2,2,32),(1,1)):((0,8,0),(0,0)) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 2 % 2 * 8; }
/* ((2,2,32),(1,1)):((1,0,8),(0,0)) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 2 + i / 4 * 8; }
/* The value of a piece that is written as its i-th one. */
/* 128:1 */
DEVICE constexpr unsigned run_value(unsigned i) { return i; }

DEVICE Compute epilogue(Compute x, int m, int n) { return x; }

}  // namespace plan
