/*
** Warpgroup MMAs (sm_90a): operands in shared memory by descriptors, sums in registers. Source: PTX
** ISA, "wgmma".
**
** An MMA runs asynchronously. Between 'fence' and the wait for its group, its registers are its own.
*/
#pragma once

#include "ptx.cuh"

namespace wgmma {

enum Major { kMajorK, kMajorMN };

/*
** An address as the units of 16 bytes that a descriptor's start counts in. That has 14 bits; in a
** cluster, addresses have the block's rank above those, where other fields of the descriptor are.
*/
DEVICE unsigned units(unsigned address) { return (address & 0x3ffff) / 16; }

/* Orders this warpgroup's accesses to the sums before the MMAs that follow. */
DEVICE void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

/* Ends this warpgroup's group of MMAs. */
DEVICE void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

/* Waits until at most kPending groups are under way. */
template <int kPending>
DEVICE void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/* Registers between asynchronous MMAs: keeps the compiler from moving their values. */
template <int kCount>
DEVICE void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; i++) asm volatile("" : "+f"(d[i])::"memory");
}

/* Registers by operand number, ten each, and the variables behind them. */
#define TEN(t)                                                                                     \
  "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t \
  "9"
#define FOUR_VALUES(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define VALUES_16(i) FOUR_VALUES(i), FOUR_VALUES(i + 4), FOUR_VALUES(i + 8), FOUR_VALUES(i + 12)
#define VALUES_64(i) VALUES_16(i), VALUES_16(i + 16), VALUES_16(i + 32), VALUES_16(i + 48)

#define REGISTERS_64 \
  TEN() ", " TEN(1) ", " TEN(2) ", " TEN(3) ", " TEN(4) ", " TEN(5) ", %60, %61, " \
  "%62, %63"
#define REGISTERS_128 \
  TEN() ", " TEN(1) ", " TEN(2) ", " TEN(3) ", " TEN(4) ", " TEN(5) ", " TEN(6) ", " TEN(7) \
  ", " TEN(8) ", " TEN(9) ", " TEN(10) ", " TEN(11) ", %120, %121, %122, %123, %124, %125, " \
  "%126, %127"

/*
** d = a * b, plus d where 'adds': a is (64, 16), b is (kN, 16). a, b, p, ta, tb are the numbers of
** the operands behind the registers.
*/
#define WGMMA(name, shape, types, count, registers, values, a, b, p, ta, tb)                    \
  template <Major kMajorA, Major kMajorB>                                                       \
  DEVICE void name(float(&d)[count], unsigned long long desc_a, unsigned long long desc_b,      \
                   bool adds) {                                                                 \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " p ", 0; wgmma.mma_async.sync.aligned." shape \
                 "." types " {" registers "}, " a ", " b ", p, 1, 1, " ta ", " tb "; }"         \
                 : values                                                                       \
                 : "l"(desc_a), "l"(desc_b), "r"((int)adds), "n"((int)kMajorA),                 \
                   "n"((int)kMajorB));                                                          \
  }
#define WGMMA_64x128(name, types)                                                              \
  WGMMA(name, "m64n128k16", types, 64, REGISTERS_64, VALUES_64(0), "%64", "%65", "%66", "%67", \
        "%68")
#define VALUES_128 VALUES_64(0), VALUES_64(64)
#define WGMMA_64x256(name, types)                                                                  \
  WGMMA(name, "m64n256k16", types, 128, REGISTERS_128, VALUES_128, "%128", "%129", "%130", "%131", \
        "%132")

/* clang-format off: it takes these for one declaration. */
WGMMA_64x128(SM90_64x128x16_F32F16F16_SS, "f32.f16.f16")
WGMMA_64x128(SM90_64x128x16_F32BF16BF16_SS, "f32.bf16.bf16")
WGMMA_64x256(SM90_64x256x16_F32F16F16_SS, "f32.f16.f16")
WGMMA_64x256(SM90_64x256x16_F32BF16BF16_SS, "f32.bf16.bf16")
/* clang-format on */

#undef WGMMA_64x256
#undef WGMMA_64x128
#undef WGMMA
#undef VALUES_128
#undef REGISTERS_128
#undef REGISTERS_64
#undef VALUES_64
#undef VALUES_16
#undef FOUR_VALUES
#undef TEN

}  // namespace wgmma
