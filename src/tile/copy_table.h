/*
** The table of copy operations: one row for each, or for each family whose members move words of
** different widths.
*/
#ifndef LUTILE_TILE_COPY_TABLE_H
#define LUTILE_TILE_COPY_TABLE_H

#include <stdbool.h>

/* Who moves, and from where to where. */
typedef enum ltT_copy_way {
  LT_COPY_ANY,       /* each thread by itself, from anywhere to anywhere */
  LT_COPY_AUTO,      /* the same, in the widest words that both sides allow */
  LT_COPY_GLOBAL,    /* each thread by itself, between global memory and registers */
  LT_COPY_ASYNC,     /* each thread by itself, from global to shared memory, done later */
  LT_COPY_LOAD,      /* a warp together, from shared memory to registers */
  LT_COPY_STORE,     /* a warp together, from registers to shared memory */
  LT_COPY_REGISTERS, /* a warp together, among its registers */
  LT_COPY_TMA_LOAD,  /* one thread for all, from global to shared memory, by a descriptor */
  LT_COPY_TMA_STORE  /* the other way */
} ltT_copy_way;

/*
** Layouts are written in lutile's form and map (thread, bit) to a bit of what is moved. A name that
** ends in '<' takes a type, whose bits are W in the layouts.
*/
typedef struct ltT_copy_family {
  const char *name;
  const char *widths; /* of a name that ends in '<': the bits it may have; NULL: of any type */
  ltT_copy_way way;
  int word; /* bits that a thread reads or writes at once; 0: W */
  const char *source, *target;
  bool refers_to_target;    /* the reference layout is the target's, else the source's */
  bool fills_zeros;         /* writes zeros where the predicate is false */
  int packed_bits;          /* of elements that are read packed and written to bytes; else 0 */
  const char *moved_target; /* where the bits truly go, if CuTe's target layout leaves that out */
} ltT_copy_family;

/* Ends with a row whose name is NULL. */
extern const ltT_copy_family ltT_copy_families[];

#endif
