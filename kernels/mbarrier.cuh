/*
** Barriers in shared memory (compute capability 9.0 and newer): phases that end when all arrivals and all
** announced bytes are there. Addresses are those of 'shared_address'. Source: PTX ISA, "mbarrier".
*/
#pragma once

#include "ptx.cuh"

namespace mbarrier {

constexpr unsigned kBytes = 8; /* of a barrier, and its alignment */

/*
** Some barriers, one behind the other, by one thread, before any other use: see 'fence_init'. Four in
** one asm, for compilers take long over each. Several threads would take longer: the instruction is
** one for a whole warp.
*/
template <int kCount>
DEVICE void init(unsigned first, unsigned arrivals) {
#pragma unroll
  for (int i = 0; i < kCount / 4; i++)
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1; mbarrier.init.shared::cta.b64 [%0 + 8], %1;"
        " mbarrier.init.shared::cta.b64 [%0 + 16], %1; mbarrier.init.shared::cta.b64 [%0 + 24], %1;" ::
            "r"(first + 4 * i * kBytes),
        "r"(arrivals)
        : "memory");
#pragma unroll
  for (int i = kCount / 4 * 4; i < kCount; i++)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(first + i * kBytes), "r"(arrivals)
                 : "memory");
}

/* Makes this thread's inits visible to the cluster and to TMA, together with a barrier behind it. */
DEVICE void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

/* Arrives, and announces bytes that asynchronous copies will bring in this phase. */
DEVICE void arrive_expecting(unsigned barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

/* Arrives with release: what this thread did before is done for whoever waits. */
DEVICE void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

/*
** At the barrier of that offset in a block of the cluster. Releases within the block only: across the
** cluster that is a fence of all memory each time. It tells of reads by asynchronous MMAs, which
** their own wait has ended.
*/
DEVICE void arrive_at(unsigned barrier, unsigned block) {
  asm volatile(
      "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;"
      " mbarrier.arrive.shared::cluster.b64 _, [remote]; }" ::"r"(barrier),
      "r"(block)
      : "memory");
}

/* Waits, with acquire, until the phase of this parity is over; the one before the first counts. */
DEVICE void wait(unsigned barrier, unsigned parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

}  // namespace mbarrier
