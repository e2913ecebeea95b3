/*
** PTX instructions of compute capability 9.0 beside copies and MMAs, one a function: registers of
** warpgroups, clusters, barriers among some warps, matrices to shared memory.
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

/* A barrier of whole warps; number 0 is __syncthreads. */
template <int kThreads>
DEVICE void barrier(int number) {
  asm volatile("barrier.sync %0, %1;" ::"r"(number), "n"(kThreads) : "memory");
}

/*
** Four matrices of 8 rows of 16 bytes: lane 8 * i + r has the address of row r of matrix i, and lane
** 4 * r + c has word c of row r. The warp's lanes take part together.
*/
DEVICE void store_matrices(unsigned address, const unsigned *words) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
               : "memory");
}

}  // namespace sm90
