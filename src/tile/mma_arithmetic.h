/*
** The arithmetic of MMA atoms, on tiles of doubles.
*/
#ifndef LUTILE_TILE_MMA_ARITHMETIC_H
#define LUTILE_TILE_MMA_ARITHMETIC_H

#include "mma_atom.h"

/* A complex product is real products of planes: re, im, and what their sums and signs make. */
#define LTT_MAX_PLANES 4

/* Extents of fragments in atoms. */
typedef struct ltT_counts {
  int64_t m, n, k;
} ltT_counts;

/* Tiles of one matrix: plane by plane, each [tile][column][row] of doubles. */
typedef struct ltT_tiles {
  double *planes[LTT_MAX_PLANES];
  int planes_used;
  int64_t rows, columns; /* of an atom's tile */
  int64_t count;
  const int64_t *positions; /* (thread, value) -> row + rows * column */
  int64_t threads, values;
} ltT_tiles;

/* Tiles of rows x columns, whose (thread, value) are where 'layout' says; without planes. */
bool ltT_new_tiles(lt_arena *arena, ltT_tiles *x, int64_t rows, int64_t columns, lt_element element,
                   const lt_value *layout);
bool ltT_allocate_planes(lt_arena *arena, ltT_tiles *x, int64_t count);

/* The number in register element 'i' of an operand, as the planes have it: up to 3 parts. */
void ltT_load_operand(const ltT_operand *operand, const uint8_t *bytes, int64_t i, double *parts);

/* c += a * b for all atoms: tiles [k][m] of a, [k][n] of b, [n][m] of c. */
void ltT_multiply_tiles(const ltT_mma_atom *atom, const ltT_counts *n, ltT_tiles *c, ltT_tiles *a,
                        ltT_tiles *b);

#endif
