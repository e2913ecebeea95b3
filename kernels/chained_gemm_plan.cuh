/*
** What lutile.plan.chained_gemm writes for f16 and 256 columns: so that chained_gemm.cu can be read and
** compiled by itself.
*/
#pragma once
#include "element.cuh"
#include "fragment.cuh"
#include "swizzle.cuh"

namespace plan {

enum Bias { kNone, kPerRow, kPerColumn };

constexpr int kBlockM = 64;  /* of a group */
constexpr int kColumns = 256;  /* n or more */
constexpr int kBlockK = 32;
constexpr int kAtomK = 16;
constexpr int kSteps = 2;
constexpr int kStages = 4;
constexpr int kThreads = 128;  /* of a group */
constexpr int kGroups = 2;
constexpr int kBlocks = 1;  /* of a multiprocessor, at least: bounds registers */
constexpr bool kAsync = true;
constexpr bool kStaysB = true;  /* in shared memory, all of it */
constexpr int kWordsOfGroup = 16;  /* of B, for a group of columns in a k-step */
constexpr int kRegistersOfTile = 8;  /* of P, for a tile along k */
constexpr int kRegistersOfPiece = 8;  /* of a thread's sums */
constexpr int kPieces = 16;
constexpr int kRun = 4;  /* of neighbouring values, written at once */
constexpr bool kReadsC = false;
constexpr Bias kBias = kNone;

using Word = unsigned;
using Register = Word;  /* of sums */
using Accumulator = element::f32;
using Element = element::f32;  /* of D */
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
  static constexpr int kWords = 4;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),4):(32,(256,8),512) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 64 + i / 16 % 2 * 16 + i / 32 * 1024);
  }
  /* Sw<2,3,3> o 0 o 2:16 times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) { return swizzle<2, 4, 3>(i * 32); }
};

struct B {
  using Word = unsigned;  /* a register */
  static constexpr int kBytes = 2;  /* of an element */
  static constexpr int kTileK = 32;
  static constexpr int kThreads = 128;
  static constexpr int kUnit = 1;  /* the contiguous mode: 0 is rows, 1 is k, -1 neither */
  static constexpr int kVector = 8;  /* elements of a copy */
  static constexpr int kCopies = 8;  /* of a thread for a tile */
  static constexpr int kCopyThreads = 128;
  static constexpr bool kAsync = true;
  static constexpr int kStageBytes = 16384;

  /* Coordinates of a copy: the thread's first, and from there. */
  /* (4,32):(0,1) */
  static DEVICE constexpr unsigned copy_row(unsigned i) { return i / 4; }
  /* (4,32):(8,0) */
  static DEVICE constexpr unsigned copy_k(unsigned i) { return i % 4 * 8; }
  /* (8,1):(32,0) */
  static DEVICE constexpr unsigned copy_row_step(unsigned i) { return i * 32; }
  /* (8,1):(0,32) */
  static DEVICE constexpr unsigned copy_k_step(unsigned) { return 0; }

  /* Bytes in a stage at which it arrives. */
  static constexpr int kStoreMask = 48;
  /* Sw<2,3,3> o 0 o (4,32):(8,32) times 2 */
  static DEVICE constexpr unsigned store(unsigned i) { return swizzle<2, 4, 3>(i * 16); }
  /* Sw<2,3,3> o 0 o (8,1):(1024,0) times 2 */
  static DEVICE constexpr unsigned store_step(unsigned i) { return swizzle<2, 4, 3>(i * 2048); }

  /* Loads to registers: words of a k-step, words of one load, bytes in a stage. */
  static constexpr Load kLoad = kMatrices;
  static constexpr int kWords = 64;
  static constexpr int kWordsOfLoad = 4;
  static constexpr bool kRounds = false;
  static constexpr int kLoadMask = 48;
  /* Sw<2,3,3> o 0 o (8,(2,2),4):(32,(8,256),0) times 2 */
  static DEVICE constexpr unsigned load(unsigned i) {
    return swizzle<2, 4, 3>(i % 8 * 64 + i / 8 % 2 * 16 + i / 16 % 2 * 512);
  }
  /* Sw<2,3,3> o 0 o (16,2):(512,16) times 2 */
  static DEVICE constexpr unsigned load_step(unsigned i) {
    return swizzle<2, 4, 3>(i % 16 * 1024 + i / 16 * 32);
  }
  /* The same for rows that threads get by fours, of which half cross. */
  /* Sw<2,3,3> o 0 o ((2,4),(2,2),4):((32,128),(8,64),0) times 2 */
  static DEVICE constexpr unsigned by_fours(unsigned i) {
    return swizzle<2, 4, 3>(i % 2 * 64 + i / 2 % 4 * 256 + i / 8 % 2 * 16 + i / 16 % 2 * 128);
  }
  static DEVICE unsigned load_by_fours(unsigned i) { return by_fours(i ^ (i & 4) << 2); }
};

/*
** Sums of a thread: registers of PTX, of which C++ has a piece at once. As variables in loops they
** would take most of the time of compiling.
*/
struct Sums {
  /* Where a kernel starts: PTX knows names from there on. */
  static DEVICE void declare() { asm volatile(".reg .b32 sum<128>;"); }

  /* All are 0. */
  static DEVICE void clear() {
    asm volatile(
        "mov.b32 sum0, 0; mov.b32 sum1, 0; mov.b32 sum2, 0; mov.b32 sum3, 0; mov.b32 sum4, 0; "
        "mov.b32 sum5, 0; mov.b32 sum6, 0; mov.b32 sum7, 0; mov.b32 sum8, 0; mov.b32 sum9, 0; "
        "mov.b32 sum10, 0; mov.b32 sum11, 0; mov.b32 sum12, 0; mov.b32 sum13, 0; mov.b32 sum14, 0; "
        "mov.b32 sum15, 0; mov.b32 sum16, 0; mov.b32 sum17, 0; mov.b32 sum18, 0; mov.b32 sum19, 0; "
        "mov.b32 sum20, 0; mov.b32 sum21, 0; mov.b32 sum22, 0; mov.b32 sum23, 0; mov.b32 sum24, 0; "
        "mov.b32 sum25, 0; mov.b32 sum26, 0; mov.b32 sum27, 0; mov.b32 sum28, 0; mov.b32 sum29, 0; "
        "mov.b32 sum30, 0; mov.b32 sum31, 0; mov.b32 sum32, 0; mov.b32 sum33, 0; mov.b32 sum34, 0; "
        "mov.b32 sum35, 0; mov.b32 sum36, 0; mov.b32 sum37, 0; mov.b32 sum38, 0; mov.b32 sum39, 0; "
        "mov.b32 sum40, 0; mov.b32 sum41, 0; mov.b32 sum42, 0; mov.b32 sum43, 0; mov.b32 sum44, 0; "
        "mov.b32 sum45, 0; mov.b32 sum46, 0; mov.b32 sum47, 0; mov.b32 sum48, 0; mov.b32 sum49, 0; "
        "mov.b32 sum50, 0; mov.b32 sum51, 0; mov.b32 sum52, 0; mov.b32 sum53, 0; mov.b32 sum54, 0; "
        "mov.b32 sum55, 0; mov.b32 sum56, 0; mov.b32 sum57, 0; mov.b32 sum58, 0; mov.b32 sum59, 0; "
        "mov.b32 sum60, 0; mov.b32 sum61, 0; mov.b32 sum62, 0; mov.b32 sum63, 0; mov.b32 sum64, 0; "
        "mov.b32 sum65, 0; mov.b32 sum66, 0; mov.b32 sum67, 0; mov.b32 sum68, 0; mov.b32 sum69, 0; "
        "mov.b32 sum70, 0; mov.b32 sum71, 0; mov.b32 sum72, 0; mov.b32 sum73, 0; mov.b32 sum74, 0; "
        "mov.b32 sum75, 0; mov.b32 sum76, 0; mov.b32 sum77, 0; mov.b32 sum78, 0; mov.b32 sum79, 0; "
        "mov.b32 sum80, 0; mov.b32 sum81, 0; mov.b32 sum82, 0; mov.b32 sum83, 0; mov.b32 sum84, 0; "
        "mov.b32 sum85, 0; mov.b32 sum86, 0; mov.b32 sum87, 0; mov.b32 sum88, 0; mov.b32 sum89, 0; "
        "mov.b32 sum90, 0; mov.b32 sum91, 0; mov.b32 sum92, 0; mov.b32 sum93, 0; mov.b32 sum94, 0; "
        "mov.b32 sum95, 0; mov.b32 sum96, 0; mov.b32 sum97, 0; mov.b32 sum98, 0; mov.b32 sum99, 0; "
        "mov.b32 sum100, 0; mov.b32 sum101, 0; mov.b32 sum102, 0; mov.b32 sum103, 0; "
        "mov.b32 sum104, 0; mov.b32 sum105, 0; mov.b32 sum106, 0; mov.b32 sum107, 0; "
        "mov.b32 sum108, 0; mov.b32 sum109, 0; mov.b32 sum110, 0; mov.b32 sum111, 0; "
        "mov.b32 sum112, 0; mov.b32 sum113, 0; mov.b32 sum114, 0; mov.b32 sum115, 0; "
        "mov.b32 sum116, 0; mov.b32 sum117, 0; mov.b32 sum118, 0; mov.b32 sum119, 0; "
        "mov.b32 sum120, 0; mov.b32 sum121, 0; mov.b32 sum122, 0; mov.b32 sum123, 0; "
        "mov.b32 sum124, 0; mov.b32 sum125, 0; mov.b32 sum126, 0; mov.b32 sum127, 0;");
  }

  /* The sums of a piece. */
  static DEVICE void read(int piece, Register (&d)[kRegistersOfPiece]) {
    asm volatile(
        "{ .reg .pred p;"
        "setp.ge.u32 p, %8, 8; @p bra from8;"
        "setp.ge.u32 p, %8, 4; @p bra from4;"
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
        "bra done;"
        "from4:"
        "setp.ge.u32 p, %8, 6; @p bra from6;"
        "setp.ge.u32 p, %8, 5; @p bra from5;"
        "mov.b32 %0, sum32; mov.b32 %1, sum33; mov.b32 %2, sum34; mov.b32 %3, sum35; "
        "mov.b32 %4, sum36; mov.b32 %5, sum37; mov.b32 %6, sum38; mov.b32 %7, sum39;"
        "bra done;"
        "from5:"
        "mov.b32 %0, sum40; mov.b32 %1, sum41; mov.b32 %2, sum42; mov.b32 %3, sum43; "
        "mov.b32 %4, sum44; mov.b32 %5, sum45; mov.b32 %6, sum46; mov.b32 %7, sum47;"
        "bra done;"
        "from6:"
        "setp.ge.u32 p, %8, 7; @p bra from7;"
        "mov.b32 %0, sum48; mov.b32 %1, sum49; mov.b32 %2, sum50; mov.b32 %3, sum51; "
        "mov.b32 %4, sum52; mov.b32 %5, sum53; mov.b32 %6, sum54; mov.b32 %7, sum55;"
        "bra done;"
        "from7:"
        "mov.b32 %0, sum56; mov.b32 %1, sum57; mov.b32 %2, sum58; mov.b32 %3, sum59; "
        "mov.b32 %4, sum60; mov.b32 %5, sum61; mov.b32 %6, sum62; mov.b32 %7, sum63;"
        "bra done;"
        "from8:"
        "setp.ge.u32 p, %8, 12; @p bra from12;"
        "setp.ge.u32 p, %8, 10; @p bra from10;"
        "setp.ge.u32 p, %8, 9; @p bra from9;"
        "mov.b32 %0, sum64; mov.b32 %1, sum65; mov.b32 %2, sum66; mov.b32 %3, sum67; "
        "mov.b32 %4, sum68; mov.b32 %5, sum69; mov.b32 %6, sum70; mov.b32 %7, sum71;"
        "bra done;"
        "from9:"
        "mov.b32 %0, sum72; mov.b32 %1, sum73; mov.b32 %2, sum74; mov.b32 %3, sum75; "
        "mov.b32 %4, sum76; mov.b32 %5, sum77; mov.b32 %6, sum78; mov.b32 %7, sum79;"
        "bra done;"
        "from10:"
        "setp.ge.u32 p, %8, 11; @p bra from11;"
        "mov.b32 %0, sum80; mov.b32 %1, sum81; mov.b32 %2, sum82; mov.b32 %3, sum83; "
        "mov.b32 %4, sum84; mov.b32 %5, sum85; mov.b32 %6, sum86; mov.b32 %7, sum87;"
        "bra done;"
        "from11:"
        "mov.b32 %0, sum88; mov.b32 %1, sum89; mov.b32 %2, sum90; mov.b32 %3, sum91; "
        "mov.b32 %4, sum92; mov.b32 %5, sum93; mov.b32 %6, sum94; mov.b32 %7, sum95;"
        "bra done;"
        "from12:"
        "setp.ge.u32 p, %8, 14; @p bra from14;"
        "setp.ge.u32 p, %8, 13; @p bra from13;"
        "mov.b32 %0, sum96; mov.b32 %1, sum97; mov.b32 %2, sum98; mov.b32 %3, sum99; "
        "mov.b32 %4, sum100; mov.b32 %5, sum101; mov.b32 %6, sum102; mov.b32 %7, sum103;"
        "bra done;"
        "from13:"
        "mov.b32 %0, sum104; mov.b32 %1, sum105; mov.b32 %2, sum106; mov.b32 %3, sum107; "
        "mov.b32 %4, sum108; mov.b32 %5, sum109; mov.b32 %6, sum110; mov.b32 %7, sum111;"
        "bra done;"
        "from14:"
        "setp.ge.u32 p, %8, 15; @p bra from15;"
        "mov.b32 %0, sum112; mov.b32 %1, sum113; mov.b32 %2, sum114; mov.b32 %3, sum115; "
        "mov.b32 %4, sum116; mov.b32 %5, sum117; mov.b32 %6, sum118; mov.b32 %7, sum119;"
        "bra done;"
        "from15:"
        "mov.b32 %0, sum120; mov.b32 %1, sum121; mov.b32 %2, sum122; mov.b32 %3, sum123; "
        "mov.b32 %4, sum124; mov.b32 %5, sum125; mov.b32 %6, sum126; mov.b32 %7, sum127;"
        "done: }"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]),
          "=r"(d[7])
        : "r"(piece));
  }
};

/*
** Sums as operand A of a next product, rounded to its type: value i is the accumulator that
** acc .. (~C .. A) gives, ((2,2,2),1,16):((1,2,4),0,8).
*/
struct P {
  static DEVICE void declare() { asm volatile(".reg .b32 p<64>;"); }

  static DEVICE void convert() {
    asm volatile(
        "cvt.rn.f16x2.f32 p0, sum1, sum0; cvt.rn.f16x2.f32 p1, sum3, sum2; "
        "cvt.rn.f16x2.f32 p2, sum5, sum4; cvt.rn.f16x2.f32 p3, sum7, sum6; "
        "cvt.rn.f16x2.f32 p4, sum9, sum8; cvt.rn.f16x2.f32 p5, sum11, sum10; "
        "cvt.rn.f16x2.f32 p6, sum13, sum12; cvt.rn.f16x2.f32 p7, sum15, sum14; "
        "cvt.rn.f16x2.f32 p8, sum17, sum16; cvt.rn.f16x2.f32 p9, sum19, sum18; "
        "cvt.rn.f16x2.f32 p10, sum21, sum20; cvt.rn.f16x2.f32 p11, sum23, sum22; "
        "cvt.rn.f16x2.f32 p12, sum25, sum24; cvt.rn.f16x2.f32 p13, sum27, sum26; "
        "cvt.rn.f16x2.f32 p14, sum29, sum28; cvt.rn.f16x2.f32 p15, sum31, sum30; "
        "cvt.rn.f16x2.f32 p16, sum33, sum32; cvt.rn.f16x2.f32 p17, sum35, sum34; "
        "cvt.rn.f16x2.f32 p18, sum37, sum36; cvt.rn.f16x2.f32 p19, sum39, sum38; "
        "cvt.rn.f16x2.f32 p20, sum41, sum40; cvt.rn.f16x2.f32 p21, sum43, sum42; "
        "cvt.rn.f16x2.f32 p22, sum45, sum44; cvt.rn.f16x2.f32 p23, sum47, sum46; "
        "cvt.rn.f16x2.f32 p24, sum49, sum48; cvt.rn.f16x2.f32 p25, sum51, sum50; "
        "cvt.rn.f16x2.f32 p26, sum53, sum52; cvt.rn.f16x2.f32 p27, sum55, sum54; "
        "cvt.rn.f16x2.f32 p28, sum57, sum56; cvt.rn.f16x2.f32 p29, sum59, sum58; "
        "cvt.rn.f16x2.f32 p30, sum61, sum60; cvt.rn.f16x2.f32 p31, sum63, sum62; "
        "cvt.rn.f16x2.f32 p32, sum65, sum64; cvt.rn.f16x2.f32 p33, sum67, sum66; "
        "cvt.rn.f16x2.f32 p34, sum69, sum68; cvt.rn.f16x2.f32 p35, sum71, sum70; "
        "cvt.rn.f16x2.f32 p36, sum73, sum72; cvt.rn.f16x2.f32 p37, sum75, sum74; "
        "cvt.rn.f16x2.f32 p38, sum77, sum76; cvt.rn.f16x2.f32 p39, sum79, sum78; "
        "cvt.rn.f16x2.f32 p40, sum81, sum80; cvt.rn.f16x2.f32 p41, sum83, sum82; "
        "cvt.rn.f16x2.f32 p42, sum85, sum84; cvt.rn.f16x2.f32 p43, sum87, sum86; "
        "cvt.rn.f16x2.f32 p44, sum89, sum88; cvt.rn.f16x2.f32 p45, sum91, sum90; "
        "cvt.rn.f16x2.f32 p46, sum93, sum92; cvt.rn.f16x2.f32 p47, sum95, sum94; "
        "cvt.rn.f16x2.f32 p48, sum97, sum96; cvt.rn.f16x2.f32 p49, sum99, sum98; "
        "cvt.rn.f16x2.f32 p50, sum101, sum100; cvt.rn.f16x2.f32 p51, sum103, sum102; "
        "cvt.rn.f16x2.f32 p52, sum105, sum104; cvt.rn.f16x2.f32 p53, sum107, sum106; "
        "cvt.rn.f16x2.f32 p54, sum109, sum108; cvt.rn.f16x2.f32 p55, sum111, sum110; "
        "cvt.rn.f16x2.f32 p56, sum113, sum112; cvt.rn.f16x2.f32 p57, sum115, sum114; "
        "cvt.rn.f16x2.f32 p58, sum117, sum116; cvt.rn.f16x2.f32 p59, sum119, sum118; "
        "cvt.rn.f16x2.f32 p60, sum121, sum120; cvt.rn.f16x2.f32 p61, sum123, sum122; "
        "cvt.rn.f16x2.f32 p62, sum125, sum124; cvt.rn.f16x2.f32 p63, sum127, sum126;");
  }

  /* The registers of a piece, which is a tile along k. */
  static DEVICE void read(int piece, Register (&d)[kRegistersOfTile]) {
    asm volatile(
        "{ .reg .pred p;"
        "setp.ge.u32 p, %8, 4; @p bra from4;"
        "setp.ge.u32 p, %8, 2; @p bra from2;"
        "setp.ge.u32 p, %8, 1; @p bra from1;"
        "mov.b32 %0, p0; mov.b32 %1, p1; mov.b32 %2, p2; mov.b32 %3, p3; mov.b32 %4, p4; "
        "mov.b32 %5, p5; mov.b32 %6, p6; mov.b32 %7, p7;"
        "bra done;"
        "from1:"
        "mov.b32 %0, p8; mov.b32 %1, p9; mov.b32 %2, p10; mov.b32 %3, p11; mov.b32 %4, p12; "
        "mov.b32 %5, p13; mov.b32 %6, p14; mov.b32 %7, p15;"
        "bra done;"
        "from2:"
        "setp.ge.u32 p, %8, 3; @p bra from3;"
        "mov.b32 %0, p16; mov.b32 %1, p17; mov.b32 %2, p18; mov.b32 %3, p19; mov.b32 %4, p20; "
        "mov.b32 %5, p21; mov.b32 %6, p22; mov.b32 %7, p23;"
        "bra done;"
        "from3:"
        "mov.b32 %0, p24; mov.b32 %1, p25; mov.b32 %2, p26; mov.b32 %3, p27; mov.b32 %4, p28; "
        "mov.b32 %5, p29; mov.b32 %6, p30; mov.b32 %7, p31;"
        "bra done;"
        "from4:"
        "setp.ge.u32 p, %8, 6; @p bra from6;"
        "setp.ge.u32 p, %8, 5; @p bra from5;"
        "mov.b32 %0, p32; mov.b32 %1, p33; mov.b32 %2, p34; mov.b32 %3, p35; mov.b32 %4, p36; "
        "mov.b32 %5, p37; mov.b32 %6, p38; mov.b32 %7, p39;"
        "bra done;"
        "from5:"
        "mov.b32 %0, p40; mov.b32 %1, p41; mov.b32 %2, p42; mov.b32 %3, p43; mov.b32 %4, p44; "
        "mov.b32 %5, p45; mov.b32 %6, p46; mov.b32 %7, p47;"
        "bra done;"
        "from6:"
        "setp.ge.u32 p, %8, 7; @p bra from7;"
        "mov.b32 %0, p48; mov.b32 %1, p49; mov.b32 %2, p50; mov.b32 %3, p51; mov.b32 %4, p52; "
        "mov.b32 %5, p53; mov.b32 %6, p54; mov.b32 %7, p55;"
        "bra done;"
        "from7:"
        "mov.b32 %0, p56; mov.b32 %1, p57; mov.b32 %2, p58; mov.b32 %3, p59; mov.b32 %4, p60; "
        "mov.b32 %5, p61; mov.b32 %6, p62; mov.b32 %7, p63;"
        "done: }"
        : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]),
          "=r"(d[7])
        : "r"(piece));
  }
};

/* MMAs of a k-step for a group of columns: a are registers of all rows, b those of the group. */
DEVICE void multiply(int group, const Word *a, const Word *b) {
  if (group == 0)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum0, sum1, sum2, sum3}, {%0, %1, %2, %3}, {%4, %5}, {sum0, sum1, sum2, sum3};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum4, sum5, sum6, sum7}, {%0, %1, %2, %3}, {%6, %7}, {sum4, sum5, sum6, sum7};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum8, sum9, sum10, sum11}, {%0, %1, %2, %3}, {%8, %9}, {sum8, sum9, sum10, sum11};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum12, sum13, sum14, sum15}, {%0, %1, %2, %3}, {%10, %11}, {sum12, sum13, sum14, sum15};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum16, sum17, sum18, sum19}, {%0, %1, %2, %3}, {%12, %13}, {sum16, sum17, sum18, sum19};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum20, sum21, sum22, sum23}, {%0, %1, %2, %3}, {%14, %15}, {sum20, sum21, sum22, sum23};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum24, sum25, sum26, sum27}, {%0, %1, %2, %3}, {%16, %17}, {sum24, sum25, sum26, sum27};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum28, sum29, sum30, sum31}, {%0, %1, %2, %3}, {%18, %19}, {sum28, sum29, sum30, sum31};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "r"(b[8]), "r"(b[9]), "r"(b[10]),
          "r"(b[11]), "r"(b[12]), "r"(b[13]), "r"(b[14]), "r"(b[15]));
  if (group == 1)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum32, sum33, sum34, sum35}, {%0, %1, %2, %3}, {%4, %5}, {sum32, sum33, sum34, sum35};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum36, sum37, sum38, sum39}, {%0, %1, %2, %3}, {%6, %7}, {sum36, sum37, sum38, sum39};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum40, sum41, sum42, sum43}, {%0, %1, %2, %3}, {%8, %9}, {sum40, sum41, sum42, sum43};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum44, sum45, sum46, sum47}, {%0, %1, %2, %3}, {%10, %11}, {sum44, sum45, sum46, sum47};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum48, sum49, sum50, sum51}, {%0, %1, %2, %3}, {%12, %13}, {sum48, sum49, sum50, sum51};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum52, sum53, sum54, sum55}, {%0, %1, %2, %3}, {%14, %15}, {sum52, sum53, sum54, sum55};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum56, sum57, sum58, sum59}, {%0, %1, %2, %3}, {%16, %17}, {sum56, sum57, sum58, sum59};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum60, sum61, sum62, sum63}, {%0, %1, %2, %3}, {%18, %19}, {sum60, sum61, sum62, sum63};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "r"(b[8]), "r"(b[9]), "r"(b[10]),
          "r"(b[11]), "r"(b[12]), "r"(b[13]), "r"(b[14]), "r"(b[15]));
  if (group == 2)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum64, sum65, sum66, sum67}, {%0, %1, %2, %3}, {%4, %5}, {sum64, sum65, sum66, sum67};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum68, sum69, sum70, sum71}, {%0, %1, %2, %3}, {%6, %7}, {sum68, sum69, sum70, sum71};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum72, sum73, sum74, sum75}, {%0, %1, %2, %3}, {%8, %9}, {sum72, sum73, sum74, sum75};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum76, sum77, sum78, sum79}, {%0, %1, %2, %3}, {%10, %11}, {sum76, sum77, sum78, sum79};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum80, sum81, sum82, sum83}, {%0, %1, %2, %3}, {%12, %13}, {sum80, sum81, sum82, sum83};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum84, sum85, sum86, sum87}, {%0, %1, %2, %3}, {%14, %15}, {sum84, sum85, sum86, sum87};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum88, sum89, sum90, sum91}, {%0, %1, %2, %3}, {%16, %17}, {sum88, sum89, sum90, sum91};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum92, sum93, sum94, sum95}, {%0, %1, %2, %3}, {%18, %19}, {sum92, sum93, sum94, sum95};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "r"(b[8]), "r"(b[9]), "r"(b[10]),
          "r"(b[11]), "r"(b[12]), "r"(b[13]), "r"(b[14]), "r"(b[15]));
  if (group == 3)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum96, sum97, sum98, sum99}, {%0, %1, %2, %3}, {%4, %5}, {sum96, sum97, sum98, sum99};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum100, sum101, sum102, sum103}, {%0, %1, %2, %3}, {%6, %7}, {sum100, sum101, sum102, sum103};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum104, sum105, sum106, sum107}, {%0, %1, %2, %3}, {%8, %9}, {sum104, sum105, sum106, sum107};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum108, sum109, sum110, sum111}, {%0, %1, %2, %3}, {%10, %11}, {sum108, sum109, sum110, sum111};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum112, sum113, sum114, sum115}, {%0, %1, %2, %3}, {%12, %13}, {sum112, sum113, sum114, sum115};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum116, sum117, sum118, sum119}, {%0, %1, %2, %3}, {%14, %15}, {sum116, sum117, sum118, sum119};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum120, sum121, sum122, sum123}, {%0, %1, %2, %3}, {%16, %17}, {sum120, sum121, sum122, sum123};"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{sum124, sum125, sum126, sum127}, {%0, %1, %2, %3}, {%18, %19}, {sum124, sum125, sum126, sum127};"
        ::"r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),
          "r"(b[4]), "r"(b[5]), "r"(b[6]), "r"(b[7]), "r"(b[8]), "r"(b[9]), "r"(b[10]),
          "r"(b[11]), "r"(b[12]), "r"(b[13]), "r"(b[14]), "r"(b[15]));
}

/* Coordinates in the tile of D of an accumulator: the thread's first, and value i from there. */
/* (4,8,4):(0,1,16) */
DEVICE constexpr unsigned c_row(unsigned i) { return i / 4 % 8 + i / 32 * 16; }
/* (4,8,4):(4,0,0) */
DEVICE constexpr unsigned c_column(unsigned i) { return i % 4 * 4; }
/* (2,2,2,16):(0,0,8,0) */
DEVICE constexpr unsigned c_row_step(unsigned i) { return i / 4 % 2 * 8; }
/* (2,2,2,16):(1,2,0,16) */
DEVICE constexpr unsigned c_column_step(unsigned i) { return i % 4 + i / 8 * 16; }
/* The value of a piece that is written as its i-th one. */
/* (2,2,2):(1,4,2) */
DEVICE constexpr unsigned run_value(unsigned i) {
    return i % 2 + i / 2 % 2 * 4 + i / 4 * 2;
  }

DEVICE Compute epilogue(Compute x, int, int) { return x; }

}  // namespace plan
