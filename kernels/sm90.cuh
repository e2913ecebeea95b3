/*
** PTX instructions of compute capability 9.0 and newer beside copies and MMAs, one a function: registers of
** warpgroups, clusters, grids that follow on each other, barriers among some warps, matrices to
** shared memory, counters in global memory.
*/
#pragma once

#include "ptx.cuh"

namespace sm90 {

/*
** Gives registers up, or takes them: by all warps of a warpgroup. Taking waits until as many are
** free.
*/
template <int kCount>
DEVICE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
DEVICE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

/*
** What all lanes of a warp have, as a value of which the compiler knows that: what follows from it
** is computed once for the warp, in uniform registers, as descriptors of MMAs are.
*/
DEVICE unsigned uniform(unsigned x) { return __shfl_sync(0xffffffff, x, 0); }

DEVICE unsigned block_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/* All threads of the cluster; what they did before is seen behind it. */
DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

/* ---- Grids that were launched as dependent on the one before --------------------------------- */

/* Waits until the grid before is done, and its writes are seen. */
DEVICE void wait_for_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

/* The grid behind may start where there is room; it waits for this one before it reads. */
DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;"); }

/* A barrier that says whether any thread came with true. */
template <int kThreads>
DEVICE bool barrier_or(int number, bool mine) {
  int any;
  asm volatile(
      "{ .reg .pred mine, any; setp.ne.b32 mine, %3, 0;"
      " barrier.red.or.pred any, %1, %2, mine; selp.b32 %0, 1, 0, any; }"
      : "=r"(any)
      : "r"(number), "n"(kThreads), "r"((int)mine)
      : "memory");
  return any;
}

/* ---- Matrices to shared memory --------------------------------------------------------------- */

/*
** Four matrices of 8 rows of 16 bytes: lane 8 * i + r has the address of row r of matrix i, and lane
** 4 * r + c has word c of row r. The warp's lanes take part together.
*/
DEVICE void store_matrices(unsigned address, const unsigned *words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

/* ---- Among blocks, through global memory ------------------------------------------------------ */

/* Orders what came before, of this thread and of those it has met at barriers, before the rest. */
DEVICE void fence_device() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }

/* Adds 1; gives the number before. */
DEVICE unsigned count(unsigned *counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}

/* 16 bytes that another block has written, so not from L1. */
DEVICE void load_shared_by_blocks(unsigned *words, const void *source) {
  asm volatile("ld.global.cg.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
               : "l"(source)
               : "memory");
}

}  // namespace sm90
