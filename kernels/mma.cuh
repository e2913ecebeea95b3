/*
** What goes with MMAs of warps, which plans write themselves.
*/
#pragma once

#include "ptx.cuh"

namespace mma {

using Word = unsigned;

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
