/*
** mbarriers: barriers in shared memory at which threads arrive, and copies by TMA complete.
*/
#ifndef LUTILE_LUA_MBARRIERS_H
#define LUTILE_LUA_MBARRIERS_H

#include "host.h"

typedef struct ltL_mbarrier {
  int number;       /* in its block, */
  lua_Integer slot; /* and among the block's buffers of shared memory */
  uint32_t count;   /* arrivals of a phase; 0: not initialized */
  uint32_t pending; /* arrivals that this phase lacks */
  int64_t bytes;    /* and bytes of copies, which may come before they are expected */
  uint32_t phase;   /* how many are complete */
  int initializer;  /* the thread, */
  uint32_t epoch;   /* and when: the others must know of it by a barrier of the block */
} ltL_mbarrier;

/* The mbarrier at 'index', initialized as far as the running thread can know; raises otherwise. */
ltL_mbarrier *ltL_check_mbarrier(lua_State *L, ltL_launch *H, const char *function, int index);
/* How copies that complete on it write shared memory. */
ltT_flight ltL_flight_of(const ltL_launch *H, const ltL_mbarrier *b);
/* A copy of so many bytes has completed on it. */
void ltL_complete_bytes(ltL_launch *H, ltL_mbarrier *b, int64_t bytes);

#endif
