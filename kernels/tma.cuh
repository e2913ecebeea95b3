/*
** Bulk tensor copies between global and shared memory (compute capability 9.0 and newer). One thread issues
** a copy of a whole box; what lies outside of the tensor is read as zero and not written, but that
** lines are written up to the next 16 bytes. Source: PTX ISA, "cp.async.bulk.tensor"; the last as
** measured on H200.
*/
#pragma once

#include "ptx.cuh"

namespace tma {

/* What cuTensorMapEncodeTiled writes: a kernel parameter by value, or in global memory. */
struct alignas(64) Map {
  unsigned long long words[16];
};

/* Coordinates of a box in a tensor of kRank modes, 2 to 5, the contiguous one first. */
template <int kRank>
struct Corner {
  int at[kRank];

  DEVICE int get(int i) const { return i < kRank ? at[i] : 0; }
};

/* Fetches the descriptor ahead of the first copy. */
DEVICE void prefetch(const Map &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/* A map in global memory, which the host or another kernel has written, before its first copy. */
DEVICE void acquire(const Map &map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.sys [%0], 128;" ::"l"(&map) : "memory");
}

/* COPY(its number, operands) for the number of modes; the operands are those of TMA_AT. */
#define TMA_BY_RANK(COPY)            \
  if constexpr (kRank == 2)          \
    COPY("2", "%0, %1");             \
  else if constexpr (kRank == 3)     \
    COPY("3", "%0, %1, %2");         \
  else if constexpr (kRank == 4)     \
    COPY("4", "%0, %1, %2, %3");     \
  else                               \
    COPY("5", "%0, %1, %2, %3, %4"); \
  static_assert(kRank >= 2 && kRank <= 5, "")
#define TMA_AT \
  "r"(at.get(0)), "r"(at.get(1)), "r"(at.get(2)), "r"(at.get(3)), "r"(at.get(4)), "l"(&map)

/*
** The state space of this block's shared memory in a copy. '.shared::cta' is of PTX 8.6, which not all
** compilers for 9.0 know; for 12.0 ptxas makes a call of a copy to '.shared::cluster', beside which it
** drops setmaxnreg.
*/
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#define TMA_TARGET ".shared::cta"
#else
#define TMA_TARGET ".shared::cluster"
#endif

/*
** To this block's shared memory; the bytes count at the mbarrier, whose wait orders the reads. The
** target must not be in use: waits for its readers come first.
*/
template <int kRank>
DEVICE void load(unsigned target, const Map &map, Corner<kRank> at, unsigned barrier) {
#define TMA_LOAD(rank, list)                                                         \
  asm volatile("cp.async.bulk.tensor." rank                                          \
               "d" TMA_TARGET ".global.mbarrier::complete_tx::bytes [%6], [%5, {" list \
               "}], [%7];" ::TMA_AT,                                                 \
               "r"(target), "r"(barrier)                                             \
               : "memory")
  TMA_BY_RANK(TMA_LOAD);
#undef TMA_LOAD
}

/* To the same place in each block of the cluster whose bit is set, and at its mbarrier. */
template <int kRank>
DEVICE void load_to_blocks(unsigned target, const Map &map, Corner<kRank> at, unsigned barrier,
                           unsigned short blocks) {
#define TMA_LOAD(rank, list)                                                              \
  asm volatile("cp.async.bulk.tensor." rank                                               \
               "d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster" \
               " [%6], [%5, {" list "}], [%7], %8;" ::TMA_AT,                             \
               "r"(target), "r"(barrier), "h"(blocks)                                     \
               : "memory")
  TMA_BY_RANK(TMA_LOAD);
#undef TMA_LOAD
}

/*
** From shared memory: in each thread that wrote there, 'fence_stores', then a barrier, then this in
** one thread.
*/
template <int kRank>
DEVICE void store(const Map &map, Corner<kRank> at, unsigned source) {
#define TMA_STORE(rank, list)                                                             \
  asm volatile("cp.async.bulk.tensor." rank "d.global.shared::cta.bulk_group [%5, {" list \
               "}], [%6];" ::TMA_AT,                                                      \
               "r"(source)                                                                \
               : "memory")
  TMA_BY_RANK(TMA_STORE);
#undef TMA_STORE
}
#undef TMA_AT
#undef TMA_BY_RANK

/* Orders this thread's stores to shared memory before asynchronous copies that read them. */
DEVICE void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* Ends this thread's group of stores. */
DEVICE void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

/* Waits until at most kPending of this thread's groups have still to read shared memory. */
template <int kPending>
DEVICE void wait_stores_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

}  // namespace tma
