/*
** Warpgroup MMAs (sm_90a): operands in shared memory by descriptors, sums in registers. A plan
** writes the MMA itself, for its types and shape. Source: PTX ISA, "wgmma".
**
** An MMA runs asynchronously. Between 'fence' and the wait for its group, its registers are its own.
*/
#pragma once

#include "element.cuh"
#include "ptx.cuh"

namespace wgmma {

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

/* ---- Registers of sums: float, int, or unsigned for two f16 ---------------------------------- */

template <class Register>
constexpr int kValues = 1;
template <>
constexpr int kValues<unsigned> = 2;

/* Sum i of some registers. */
DEVICE float value(const float *d, int i) { return d[i]; }
DEVICE int value(const int *d, int i) { return d[i]; }
DEVICE float value(const unsigned *d, int i) {
  return element::f16::decode((unsigned short)(d[i / 2] >> i % 2 * 16));
}

DEVICE unsigned bits(float d) { return __float_as_uint(d); }
DEVICE unsigned bits(int d) { return (unsigned)d; }
DEVICE unsigned bits(unsigned d) { return d; }

DEVICE void set_bits(float &d, unsigned bits) { d = __uint_as_float(bits); }
DEVICE void set_bits(int &d, unsigned bits) { d = (int)bits; }
DEVICE void set_bits(unsigned &d, unsigned bits) { d = bits; }

DEVICE void add(float &d, float x) { d += x; }
DEVICE void add(int &d, int x) { d += x; }
DEVICE void add(unsigned &d, unsigned x) {
  d = element::f16::encode_pair(value(&d, 0) + value(&x, 0), value(&d, 1) + value(&x, 1));
}

}  // namespace wgmma
