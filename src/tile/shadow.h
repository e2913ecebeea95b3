/*
** Shadow memory: what a launch knows about the bytes of its registers and shared memory, to find
** reads of what was never written or is still in flight, and races: two threads at one byte between
** barriers, one of them writing.
*/
#ifndef LUTILE_TILE_SHADOW_H
#define LUTILE_TILE_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "order.h"

/* A place in a script. */
typedef struct ltT_site {
  char file[64];
  int line;
} ltT_site;

/* Who accesses memory now; one for each launch, which keeps it up to date. */
typedef struct ltT_actor {
  bool is_active;      /* false once the launch is over */
  int extent[3];       /* of the block */
  uint32_t epoch;      /* barriers of the block so far, and 1 */
  uint32_t warp_epoch; /* barriers of the thread's warp */
  uint16_t site;       /* where in the script */
  const ltT_order *order;
  const ltT_site *sites;
} ltT_actor;

/* How an access goes on after the instruction; all 0: it does not. */
typedef struct ltT_flight {
  uint32_t group; /* of the thread's cp.async, counted from 1; 0: none */
  int agent;      /* the mbarrier on which it completes; 0: none */
  uint32_t phase; /* the phase of that, counted from 1 */
  uint32_t store; /* of a read: the thread's group of TMA stores; 0: none */
} ltT_flight;

/* One access to a byte of shared memory. */
typedef struct ltT_stamp {
  uint32_t epoch; /* 0: none yet */
  uint32_t warp_epoch;
  uint32_t clock;          /* of the agent */
  unsigned agent : 15;     /* a thread, or an mbarrier: see ltT_order */
  unsigned is_several : 1; /* other threads read it too */
  unsigned site : 16;
} ltT_stamp;

/* The last write and read of a byte. */
typedef struct ltT_cell {
  ltT_stamp write, read;
  uint32_t group;  /* of cp.async of the thread that wrote; 0: none */
  uint32_t store;  /* of TMA stores that read it last; 0: none */
  uint32_t storer; /* the thread of that */
} ltT_cell;

typedef struct ltT_shadow {
  const ltT_actor *actor;
  ltT_cell *cells;  /* of shared memory; else NULL */
  uint8_t *written; /* of registers: whether each byte was written */
} ltT_shadow;

typedef enum ltT_access { LT_READ, LT_WRITE } ltT_access;

typedef enum ltT_finding { LT_FINE, LT_UNWRITTEN, LT_RACE, LT_IN_FLIGHT } ltT_finding;

/* What an access ran into: the other one of a race, or the write in flight. */
typedef struct ltT_clash {
  ltT_access access, other_access;
  ltT_stamp other;
} ltT_clash;

/* Bytes of memory that a shadow of 'size' bytes needs; 'is_shared' says which kind. */
size_t ltT_shadow_size(size_t size, bool is_shared);
/* A shadow in 'place', aligned for pointers, that has seen nothing. */
ltT_shadow *ltT_new_shadow(void *place, size_t size, bool is_shared, const ltT_actor *actor);

/*
** Notes a thread's access to bytes 'begin' to 'end' - 1, and tells what is wrong with it. 'flight'
** says how it goes on.
*/
ltT_finding ltT_note(ltT_shadow *shadow, int thread, const ltT_flight *flight, size_t begin,
                     size_t end, ltT_access access, ltT_clash *clash);

#endif
