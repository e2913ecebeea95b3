/*
** What orders the accesses of a block's threads beside the barriers of the block and of warps:
** groups of asynchronous copies that were waited for, and mbarriers, as vector clocks.
*/
#ifndef LUTILE_TILE_ORDER_H
#define LUTILE_TILE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "lutile.h"

#define LTT_MAX_THREADS 1024 /* of a block, as CUDA has it */
#define LTT_MAX_BARRIERS 64  /* of a block, that are told apart */

/* A thread's groups of copies, counted from 1. */
typedef struct ltT_groups {
  uint32_t committed;      /* so far */
  uint32_t waited;         /* those that are done for the thread itself, */
  uint32_t warp_published; /* the other threads of its warp, after a barrier of the warp, */
  uint32_t published;      /* and those of the block, after a barrier */
} ltT_groups;

/*
** Who writes memory is an agent: a thread, or an mbarrier on behalf of the copies that complete on
** it. An agent's clock goes on with each arrival, or phase.
*/
typedef struct ltT_order {
  lt_allocator allocator;
  int threads;
  ltT_groups groups[LTT_MAX_THREADS]; /* of cp.async */
  ltT_groups stores[LTT_MAX_THREADS]; /* of TMA stores, which read shared memory */
  uint32_t *clocks;                   /* of the threads; NULL before there is an mbarrier */
  uint32_t
      *known; /* [thread][agent]: the agent's accesses up to this clock are before the thread */
  uint32_t *gathered, *completed; /* [barrier][agent]: of arrivals; of those in complete phases */
} ltT_order;

/* For blocks of 'threads' threads; NULL without memory. */
ltT_order *ltT_new_order(const lt_allocator *allocator, int threads);
void ltT_free_order(ltT_order *order);
/* Forgets the last block. */
void ltT_restart_order(ltT_order *order);
/* Makes the clocks; false without memory. */
bool ltT_start_clocks(ltT_order *order);

static inline int ltT_barrier_agent(const ltT_order *order, int barrier) {
  return order->threads + barrier;
}

/* A barrier of 'count' threads from 'first' on: all of them if 'is_block', else of one warp. */
void ltT_meet(ltT_order *order, int first, int count, bool is_block);

/* A thread closes a group; it waits until at most its last 'pending' ones are not done. */
void ltT_commit_group(ltT_groups *groups);
void ltT_wait_groups(ltT_groups *groups, uint32_t pending);
/* Whether group 'group' of thread 'agent' is done, as far as 'thread' can know. */
bool ltT_group_is_done(const ltT_groups *all, int agent, uint32_t group, int thread);

/* mbarriers: a thread arrives; a phase completes, the 'phase'-th; a thread has waited for it. */
void ltT_arrive(ltT_order *order, int thread, int barrier);
void ltT_complete_phase(ltT_order *order, int barrier, uint32_t phase);
void ltT_wait_phase(ltT_order *order, int thread, int barrier);
/* Whether the agent's accesses at 'clock' are before what the thread does now. */
bool ltT_is_known(const ltT_order *order, int thread, int agent, uint32_t clock);

#endif
