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

/*
** Where the machine has no fp8 in mma.sync, only in instructions of a warpgroup or of tensor memory
** (9.0 to 11.x), the compiler makes an fp8 atom of two f16 ones, and moves registers about for each.
** So it is two of f16 here: the low pairs of all words, then the high ones. Both operands have their
** k in this order, and f16 holds every fp8 number.
*/
#if __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200
#define UNPACK_FP8(type)                                                                         \
  DEVICE Word unpack_##type(Word pairs, int i) {                                                 \
    Word halves;                                                                                 \
    asm("cvt.rn.f16x2." #type "x2 %0, %1;" : "=r"(halves) : "h"((unsigned short)(pairs >> 16 * i))); \
    return halves;                                                                               \
  }
UNPACK_FP8(e4m3)
UNPACK_FP8(e5m2)

#define MMA_FP8(name, type_a, type_b)                                                            \
  DEVICE void name(Word *d, const Word *a, const Word *b) {                                      \
    _Pragma("unroll") for (int i = 0; i < 2; i++) {                                              \
      Word halves_a[4], halves_b[2];                                                             \
      for (int w = 0; w < 4; w++) halves_a[w] = unpack_##type_a(a[w], i);                        \
      for (int w = 0; w < 2; w++) halves_b[w] = unpack_##type_b(b[w], i);                        \
      SM80_16x8x16_F32F16F16F32_TN(d, halves_a, halves_b);                                       \
    }                                                                                            \
  }
#else
#define MMA_FP8(name, type_a, type_b)                                                            \
  MMA_4_4_2(name, "m16n8k32.row.col.f32." #type_a "." #type_b ".f32")
#endif
MMA_FP8(SM89_16x8x32_F32E4M3E4M3F32_TN, e4m3, e4m3)
MMA_FP8(SM89_16x8x32_F32E4M3E5M2F32_TN, e4m3, e5m2)
MMA_FP8(SM89_16x8x32_F32E5M2E4M3F32_TN, e5m2, e4m3)
MMA_FP8(SM89_16x8x32_F32E5M2E5M2F32_TN, e5m2, e5m2)

MMA_WIDE_4_4_2(SM90_16x8x8_F64F64F64F64_TN, "m16n8k8.row.col.f64.f64.f64.f64")

}  // namespace mma
