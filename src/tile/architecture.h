/*
** What the architectures of GPUs allow a block to have.
*/
#ifndef LUTILE_TILE_ARCHITECTURE_H
#define LUTILE_TILE_ARCHITECTURE_H

#include <stddef.h>

#define LTT_MAX_REGISTERS 255 /* of a thread, 32 bits each */

/* Bytes of shared memory that a block can have on sm_'architecture'; 0 for one not known. */
size_t ltT_shared_capacity(int architecture);
/* The most of any. */
size_t ltT_largest_shared_capacity(void);
/* The i-th architecture known; 0 beyond the last. */
int ltT_architecture_at(size_t i);

#endif
