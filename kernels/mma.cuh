/*
** Warp-wide matrix products, d += a * b on registers, under CuTe's names of the atoms. Registers
** hold values in the order of the atom's layouts, as many as fit into one.
*/
#pragma once

#include "ptx.cuh"

namespace mma {

using Word = unsigned;
using Wide = unsigned long long; /* an f64 */

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
#define MMA_2_4_2(name, instruction)                                                             \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    asm("mma.sync.aligned." instruction " {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"       \
        : "+r"(d[0]), "+r"(d[1])                                                                 \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                     \
  }
#define MMA_2_2_1(name, instruction)                                                             \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    asm("mma.sync.aligned." instruction " {%0, %1}, {%2, %3}, {%4}, {%0, %1};"                   \
        : "+r"(d[0]), "+r"(d[1])                                                                 \
        : "r"(a[0]), "r"(a[1]), "r"(b[0]));                                                      \
  }
#define MMA_2_1_1(name, instruction)                                                             \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    asm("mma.sync.aligned." instruction " {%0, %1}, {%2}, {%3}, {%0, %1};"                       \
        : "+r"(d[0]), "+r"(d[1])                                                                 \
        : "r"(a[0]), "r"(b[0]));                                                                 \
  }
#define MMA_WIDE_2_1_1(name, instruction)                                                        \
  DEVICE void name(Wide *d, const Wide *a, const Wide *b) {                                      \
    asm("mma.sync.aligned." instruction " {%0, %1}, {%2}, {%3}, {%0, %1};"                       \
        : "+l"(d[0]), "+l"(d[1])                                                                 \
        : "l"(a[0]), "l"(b[0]));                                                                 \
  }
#define MMA_WIDE_4_4_2(name, instruction)                                                        \
  DEVICE void name(Wide *d, const Wide *a, const Wide *b) {                                      \
    asm("mma.sync.aligned." instruction                                                          \
        " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                       \
        : "+l"(d[0]), "+l"(d[1]), "+l"(d[2]), "+l"(d[3])                                         \
        : "l"(a[0]), "l"(a[1]), "l"(a[2]), "l"(a[3]), "l"(b[0]), "l"(b[1]));                     \
  }

MMA_2_2_1(SM75_16x8x8_F16F16F16F16_TN, "m16n8k8.row.col.f16.f16.f16.f16")
MMA_4_2_1(SM75_16x8x8_F32F16F16F32_TN, "m16n8k8.row.col.f32.f16.f16.f32")
MMA_2_1_1(SM75_8x8x16_S32S8S8S32_TN, "m8n8k16.row.col.s32.s8.s8.s32")

MMA_4_2_1(SM80_16x8x8_F32BF16BF16F32_TN, "m16n8k8.row.col.f32.bf16.bf16.f32")
MMA_4_4_2(SM80_16x8x8_F32TF32TF32F32_TN, "m16n8k8.row.col.f32.tf32.tf32.f32")
MMA_2_4_2(SM80_16x8x16_F16F16F16F16_TN, "m16n8k16.row.col.f16.f16.f16.f16")
MMA_4_4_2(SM80_16x8x16_F32F16F16F32_TN, "m16n8k16.row.col.f32.f16.f16.f32")
MMA_4_4_2(SM80_16x8x16_F32BF16BF16F32_TN, "m16n8k16.row.col.f32.bf16.bf16.f32")
MMA_WIDE_2_1_1(SM80_8x8x4_F64F64F64F64_TN, "m8n8k4.row.col.f64.f64.f64.f64")
MMA_4_4_2(SM80_16x8x32_S32S8S8S32_TN, "m16n8k32.row.col.s32.s8.s8.s32")
MMA_4_4_2(SM80_16x8x32_S32S8U8S32_TN, "m16n8k32.row.col.s32.s8.u8.s32")
MMA_4_4_2(SM80_16x8x32_S32U8S8S32_TN, "m16n8k32.row.col.s32.u8.s8.s32")
MMA_4_4_2(SM80_16x8x32_S32U8U8S32_TN, "m16n8k32.row.col.s32.u8.u8.s32")

MMA_4_4_2(SM89_16x8x32_F32E4M3E4M3F32_TN, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
MMA_4_4_2(SM89_16x8x32_F32E4M3E5M2F32_TN, "m16n8k32.row.col.f32.e4m3.e5m2.f32")
MMA_4_4_2(SM89_16x8x32_F32E5M2E4M3F32_TN, "m16n8k32.row.col.f32.e5m2.e4m3.f32")
MMA_4_4_2(SM89_16x8x32_F32E5M2E5M2F32_TN, "m16n8k32.row.col.f32.e5m2.e5m2.f32")

MMA_WIDE_4_4_2(SM90_16x8x8_F64F64F64F64_TN, "m16n8k8.row.col.f64.f64.f64.f64")

}  // namespace mma
