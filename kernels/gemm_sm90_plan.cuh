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
constexpr int kAtomsM = 1;  /* of a warpgroup */
constexpr int kValuesOfAtom = 128;  /* of a thread */
constexpr int kRegistersOfAtom = 128;
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
constexpr int kGroup = 16;  /* rows of tiles that clusters go down together */
constexpr int kSplits = 1;  /* at most: parts of a tile along k */
constexpr int kLeastStages = 4;  /* of a part */
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

  /* The first MMA's descriptor, in two words; units of 16 bytes to a warpgroup's first, and
  ** from there, which the lower word counts. */
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

  /* The first MMA's descriptor, in two words; units of 16 bytes to a warpgroup's first, and
  ** from there, which the lower word counts. */
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
  static constexpr int kBytesOfWrite = 16;  /* 16 are matrices' rows */

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

/* d = a * b, plus d where 'adds': by their descriptors' lower words, a is (64, 16), b (256, 16). */
DEVICE void mma(Register (&d)[kRegistersOfAtom], unsigned a, unsigned b, bool adds) {
  asm volatile(
      "{ .reg .pred adds; .reg .b64 a, b; setp.ne.b32 adds, %132, 0; "
      "mov.b64 a, {%128, %130}; mov.b64 b, {%129, %131}; "
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "
      "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, "
      "%38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, "
      "%56, %57, %58, %59, %60, %61, %62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, "
      "%74, %75, %76, %77, %78, %79, %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, "
      "%92, %93, %94, %95, %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
      "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, "
      "%123, %124, %125, %126, %127"
      "}, a, b, adds, 1, 1, 0, 0; }"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
        "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]),
        "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]),
        "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
        "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
        "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]),
        "+f"(d[62]), "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]),
        "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]),
        "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]),
        "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]),
        "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
        "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
        "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
        "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
        "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "r"(a), "r"(b), "n"(A::kDescriptorHigh), "n"(B::kDescriptorHigh), "r"((int)adds));
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

DEVICE Compute epilogue(Compute x, int m, int n) { return x; }

}  // namespace plan
