/*
** TMA: tiles of a tensor in global memory, copied to and from shared memory by one instruction that
** a descriptor of the tensor drives.
*/
#ifndef LUTILE_TILE_TMA_H
#define LUTILE_TILE_TMA_H

#include "tiled_copy.h"

/* Dimensions of a descriptor. */
#define LTT_TMA_RANK 5

/*
** Parts of a TMA copy's value, a tuple: those of a TiledCopy, whose threads are the blocks of a
** cluster and whose atom moves one box; and the descriptor's, a tuple of its own.
*/
enum { LT_TILED_COPY_TMA = LT_TILED_COPY_TILER + 1 };

typedef enum ltT_tma_part {
  LT_TMA_BASIS,   /* box coordinate -> modes of the tensor, a layout with scaled bases */
  LT_TMA_COORD,   /* strides that take a coordinate of the tensor to one of the descriptor */
  LT_TMA_SHAPE,   /* extents of the tensor, as the descriptor sees it */
  LT_TMA_STRIDE,  /* in elements; the first is 1 */
  LT_TMA_BOX,     /* extents of the box */
  LT_TMA_SWIZZLE, /* Sw<B,M,S> on byte addresses */
  LT_TMA_PARTS
} ltT_tma_part;

/* What a descriptor is made for. */
typedef struct ltT_tma_request {
  ltT_copy_atom *atom;     /* the operation, of the tensor's element type; gets its word */
  const lt_value *tensor;  /* layout in global memory */
  int64_t offset;          /* of the tensor from its memory's start, in elements */
  const lt_value *smem;    /* layout of the tile in shared memory */
  const lt_value *tiler;   /* of the tensor, NULL: the shape of 'smem' */
  const lt_value *cluster; /* blocks that share the loaded tile, NULL: one */
} ltT_tma_request;

/* The operation of CuTe's name for elements of a type; an error names those there are. */
bool ltT_tma_operation(lt_arena *arena, const char *name, lt_element element, ltT_copy_atom *atom);

/* The TMA copy's value, or an error that says what TMA cannot express. */
const lt_value *ltT_make_tma_copy(lt_arena *arena, const ltT_tma_request *request);

/* Coordinates of the descriptor for a tensor of this shape, as a counting tensor. */
const lt_value *ltT_tma_tensor(lt_arena *arena, const lt_value *tma, const lt_value *shape);

/*
** 'x', (tile, rest...), as ((box, boxes), rest...) for the block at 'coord' of 'blocks', which takes
** coordinates of the cluster to numbers. 'smem' is the layout of the tile in shared memory.
*/
const lt_value *ltT_tma_partition(lt_arena *arena, const lt_value *tma, const lt_value *coord,
                                  const lt_value *blocks, const lt_value *smem, const lt_value *x);

static inline const lt_value *ltT_tma_part_of(const lt_value *tma, ltT_tma_part part) {
  return lt_part(lt_part(tma, LT_TILED_COPY_TMA), part);
}

/* ---- Host ----------------------------------------------------------------------------------- */

/*
** Copies the boxes that 'coordinates', a counting tensor, names: from 'global' to 'shared' by a
** load, the other way by a store. What lies outside of the tensor is loaded as 0 and not stored.
*/
bool ltT_run_tma(lt_arena *arena, const char *operation, const ltT_copy_atom *atom,
                 const lt_value *tma, const lt_value *coordinates, lt_tensor *global,
                 lt_tensor *shared);

#endif
