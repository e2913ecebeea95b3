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
  static constexpr bool kReadsScaled = true;  /* there is read_scaled */

  /* Where a kernel starts: PTX knows names from there on. */
  static DEVICE void declare() { asm volatile(".reg .b32 sum<128>;"); }

  /* The sums of a piece, times alpha. */
  static DEVICE void read_scaled(int piece, float alpha, float (&d)[kRegistersOfPiece]) {
    asm volatile(
        "{ .reg .pred p;"
        "setp.ge.u32 p, %32, 2; @p bra from2;"
        "setp.ge.u32 p, %32, 1; @p bra from1;"
        "mul.f32 %0, sum0, %33; mul.f32 %1, sum1, %33; mul.f32 %2, sum2, %33; "
        "mul.f32 %3, sum3, %33; mul.f32 %4, sum4, %33; mul.f32 %5, sum5, %33; "
        "mul.f32 %6, sum6, %33; mul.f32 %7, sum7, %33; mul.f32 %8, sum8, %33; "
        "mul.f32 %9, sum9, %33; mul.f32 %10, sum10, %33; mul.f32 %11, sum11, %33; "
        "mul.f32 %12, sum12, %33; mul.f32 %13, sum13, %33; mul.f32 %14, sum14, %33; "
        "mul.f32 %15, sum15, %33; mul.f32 %16, sum16, %33; mul.f32 %17, sum17, %33; "
        "mul.f32 %18, sum18, %33; mul.f32 %19, sum19, %33; mul.f32 %20, sum20, %33; "
        "mul.f32 %21, sum21, %33; mul.f32 %22, sum22, %33; mul.f32 %23, sum23, %33; "
        "mul.f32 %24, sum24, %33; mul.f32 %25, sum25, %33; mul.f32 %26, sum26, %33; "
        "mul.f32 %27, sum27, %33; mul.f32 %28, sum28, %33; mul.f32 %29, sum29, %33; "
        "mul.f32 %30, sum30, %33; mul.f32 %31, sum31, %33;"
        "bra done;"
        "from1:"
        "mul.f32 %0, sum32, %33; mul.f32 %1, sum33, %33; mul.f32 %2, sum34, %33; "
        "mul.f32 %3, sum35, %33; mul.f32 %4, sum36, %33; mul.f32 %5, sum37, %33; "
        "mul.f32 %6, sum38, %33; mul.f32 %7, sum39, %33; mul.f32 %8, sum40, %33; "
        "mul.f32 %9, sum41, %33; mul.f32 %10, sum42, %33; mul.f32 %11, sum43, %33; "
        "mul.f32 %12, sum44, %33; mul.f32 %13, sum45, %33; mul.f32 %14, sum46, %33; "
        "mul.f32 %15, sum47, %33; mul.f32 %16, sum48, %33; mul.f32 %17, sum49, %33; "
        "mul.f32 %18, sum50, %33; mul.f32 %19, sum51, %33; mul.f32 %20, sum52, %33; "
        "mul.f32 %21, sum53, %33; mul.f32 %22, sum54, %33; mul.f32 %23, sum55, %33; "
        "mul.f32 %24, sum56, %33; mul.f32 %25, sum57, %33; mul.f32 %26, sum58, %33; "
        "mul.f32 %27, sum59, %33; mul.f32 %28, sum60, %33; mul.f32 %29, sum61, %33; "
        "mul.f32 %30, sum62, %33; mul.f32 %31, sum63, %33;"
        "bra done;"
        "from2:"
        "setp.ge.u32 p, %32, 3; @p bra from3;"
        "mul.f32 %0, sum64, %33; mul.f32 %1, sum65, %33; mul.f32 %2, sum66, %33; "
        "mul.f32 %3, sum67, %33; mul.f32 %4, sum68, %33; mul.f32 %5, sum69, %33; "
        "mul.f32 %6, sum70, %33; mul.f32 %7, sum71, %33; mul.f32 %8, sum72, %33; "
        "mul.f32 %9, sum73, %33; mul.f32 %10, sum74, %33; mul.f32 %11, sum75, %33; "
        "mul.f32 %12, sum76, %33; mul.f32 %13, sum77, %33; mul.f32 %14, sum78, %33; "
        "mul.f32 %15, sum79, %33; mul.f32 %16, sum80, %33; mul.f32 %17, sum81, %33; "
        "mul.f32 %18, sum82, %33; mul.f32 %19, sum83, %33; mul.f32 %20, sum84, %33; "
        "mul.f32 %21, sum85, %33; mul.f32 %22, sum86, %33; mul.f32 %23, sum87, %33; "
        "mul.f32 %24, sum88, %33; mul.f32 %25, sum89, %33; mul.f32 %26, sum90, %33; "
        "mul.f32 %27, sum91, %33; mul.f32 %28, sum92, %33; mul.f32 %29, sum93, %33; "
        "mul.f32 %30, sum94, %33; mul.f32 %31, sum95, %33;"
        "bra done;"
        "from3:"
        "mul.f32 %0, sum96, %33; mul.f32 %1, sum97, %33; mul.f32 %2, sum98, %33; "
        "mul.f32 %3, sum99, %33; mul.f32 %4, sum100, %33; mul.f32 %5, sum101, %33; "
        "mul.f32 %6, sum102, %33; mul.f32 %7, sum103, %33; mul.f32 %8, sum104, %33; "
        "mul.f32 %9, sum105, %33; mul.f32 %10, sum106, %33; mul.f32 %11, sum107, %33; "
        "mul.f32 %12, sum108, %33; mul.f32 %13, sum109, %33; mul.f32 %14, sum110, %33; "
        "mul.f32 %15, sum111, %33; mul.f32 %16, sum112, %33; mul.f32 %17, sum113, %33; "
        "mul.f32 %18, sum114, %33; mul.f32 %19, sum115, %33; mul.f32 %20, sum116, %33; "
        "mul.f32 %21, sum117, %33; mul.f32 %22, sum118, %33; mul.f32 %23, sum119, %33; "
        "mul.f32 %24, sum120, %33; mul.f32 %25, sum121, %33; mul.f32 %26, sum122, %33; "
        "mul.f32 %27, sum123, %33; mul.f32 %28, sum124, %33; mul.f32 %29, sum125, %33; "
        "mul.f32 %30, sum126, %33; mul.f32 %31, sum127, %33;"
        "done: }"
        : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]),
          "=f"(d[7]), "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]),
          "=f"(d[14]), "=f"(d[15]), "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]),
          "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]), "=f"(d[24]), "=f"(d[25]),
          "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31])
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
