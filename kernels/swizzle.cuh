/*
** Offsets in swizzled shared memory, in two parts: the thread's, worked out once, and the step's,
** known to the compiler.
*/
#pragma once

#include "ptx.cuh"

template <int kB, int kM, int kS>
DEVICE constexpr unsigned swizzle(unsigned i) {
  return i ^ (i >> kS & ((1u << kB) - 1) << kM);
}

/*
** The offset of a step from that of a thread. Bits in the mask are those that the swizzle changes;
** the others of a step begin where those of threads end, or are counted on from there. The plan
** checks that this is the layout's offset for every thread and step.
*/
template <unsigned kMask>
DEVICE constexpr unsigned place(unsigned thread, unsigned step) {
  return (thread ^ (step & kMask)) + (step & ~kMask);
}
