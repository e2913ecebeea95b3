/*
** Warp-wide matrix products, d += a * b on registers, under CuTe's names of the atoms. Registers
** hold values in the order of the atom's layouts, as many as fit into one. Those of gemm_sm80 and
** gemm_sm120 are in their plans.
*/
#pragma once

#include "ptx.cuh"

namespace mma {

using Word = unsigned;

/* By the number of registers of d, a and b. */
#define MMA_4_4_2(name, instruction)                                                             \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    asm("mma.sync.aligned." instruction                                                          \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                       \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                         \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                     \
  }
#define MMA_4_2_1(name, instruction)                                                             \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    asm("mma.sync.aligned." instruction " {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"   \
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                         \
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                      \
  }

MMA_4_2_1(SM75_16x8x8_F32F16F16F32_TN, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_4_4_2(SM80_16x8x16_F32F16F16F32_TN, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_4_4_2(SM80_16x8x16_F32BF16BF16F32_TN, "m16n8k16.row.col.f32.bf16.bf16.f32")

/*
** Pair i of four fp8 numbers as two of f16, which holds every fp8 number (compute capability 8.9):
** for MMAs of f16 in place of those of fp8.
*/
#define UNPACK_FP8(type)                                                                         \
  DEVICE Word unpack_##type(Word pairs, int i) {                                                 \
    Word halves;                                                                                 \
    asm("cvt.rn.f16x2." #type "x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)(pairs >> 16 * i))); \
    return halves;                                                                               \
  }
UNPACK_FP8(e4m3)
UNPACK_FP8(e5m2)

}  // namespace mma
