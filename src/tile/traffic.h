/*
** Memory traffic as the hardware counts it: accesses of a warp's threads joined to requests;
** wavefronts and bank conflicts of shared memory, sectors of global memory.
*/
#ifndef LUTILE_TILE_TRAFFIC_H
#define LUTILE_TILE_TRAFFIC_H

#include "tensor.h"

#define LTT_WARP 32

/* What the accesses of one line of the script came to. */
typedef struct ltT_tally {
  int64_t requests;   /* instructions of a warp */
  int64_t wavefronts; /* of shared memory: passes over its 32 banks, */
  int64_t least;      /* and how many would do without conflicts */
  int64_t sectors;    /* of global memory: 32 bytes each, */
  int64_t needed;     /* and how many the bytes would fill */
  int64_t bytes;
} ltT_tally;

typedef struct ltT_traffic ltT_traffic;

/* For blocks of 'threads' threads and places of a script numbered below 'sites'; NULL without
** memory. */
ltT_traffic *ltT_new_traffic(const lt_allocator *allocator, int threads, int sites);
void ltT_free_traffic(ltT_traffic *traffic);

/*
** A thread's access to 'width' bytes at 'offset' of a buffer. The n-th access of each thread of a
** warp at one place is one request. False without memory.
*/
bool ltT_record(ltT_traffic *traffic, int thread, int site, const ltT_buffer *buffer, size_t offset,
                int width, ltT_access access);
/* Counts the requests that are not complete: threads of the warp took no part in them. */
void ltT_settle(ltT_traffic *traffic);

/* What was counted at a place, in one kind of memory. */
ltT_tally ltT_tally_of(const ltT_traffic *traffic, int site, ltT_space space, ltT_access access);

/*
** Accesses to 'n' elements of a tensor, by the thread that its counter tells of: neighbours are
** taken together as far as 't->vector', 16 bytes and alignment allow. False without memory.
*/
bool ltT_record_elements(const lt_tensor *t, const int64_t *offsets, size_t n, ltT_access access);

/*
** A thread's registers: 'bytes' more at a place; 'continues' where it has been at no other place
** since the last ones there. Visits of a place take turns, places add up.
*/
void ltT_record_registers(ltT_traffic *traffic, int thread, int site, size_t bytes, bool continues);
/* The most that any thread has had, in bytes. */
size_t ltT_register_bytes(const ltT_traffic *traffic);

#endif
