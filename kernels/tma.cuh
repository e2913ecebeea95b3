/*
** Bulk tensor copies between global and shared memory (compute capability 9.0). One thread issues
** a copy of a whole box; what lies outside of the tensor is read as zero and not written, but that
** lines are written up to the next 16 bytes. Source: PTX ISA, "cp.async.bulk.tensor"; the last as
** measured on H200.
*/
#pragma once

#include "ptx.cuh"

namespace tma {

/* What cuTensorMapEncodeTiled writes: a kernel parameter, by value. */
struct alignas(64) Map {
  unsigned long long words[16];
};

/* Coordinates of a box in a tensor of three modes, the contiguous one first. */
struct Corner {
  int x, y, z;
};

/* Fetches the descriptor ahead of the first copy. */
DEVICE void prefetch(const Map &map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

/*
** To this block's shared memory; the bytes count at the mbarrier, whose wait orders the reads. The
** target must not be in use: waits for its readers come first.
*/
DEVICE void load(unsigned target, const Map &map, Corner at, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3, %4}], [%5];" ::"r"(target),
      "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(barrier)
      : "memory");
}

/* To the same place in each block of the cluster whose bit is set, and at its mbarrier. */
DEVICE void load_to_blocks(unsigned target, const Map &map, Corner at, unsigned barrier,
                           unsigned short blocks) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3, %4}], [%5], %6;" ::"r"(target),
      "l"(&map), "r"(at.x), "r"(at.y), "r"(at.z), "r"(barrier), "h"(blocks)
      : "memory");
}

/*
** From shared memory: in each thread that wrote there, 'fence_stores', then a barrier, then this in
** one thread.
*/
DEVICE void store(const Map &map, Corner at, unsigned source) {
  asm volatile(
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];" ::"l"(&map),
      "r"(at.x), "r"(at.y), "r"(at.z), "r"(source)
      : "memory");
}

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
