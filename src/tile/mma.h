/*
** Executing an MMA atom on the host, over the register fragments of all its threads.
*/
#ifndef LUTILE_TILE_MMA_H
#define LUTILE_TILE_MMA_H

#include "mma_atom.h"

/*
** The fragments that one thread brings to d = a * b + c; of atoms with block scales also those of a
** and b, else without a buffer.
*/
typedef struct ltT_fragments {
  lt_tensor d, a, b, c;
  lt_tensor scale_a, scale_b;
} ltT_fragments;

/*
** Runs the atom for every M, N and K of the fragments, whose shapes are (V,M,K), (V,N,K) and
** (V,M,N), or shorter as CuTe's gemm takes them. 'threads' are the fragments of the atom's
** threads, in the order of ThrV. False with the error set, and '*culprit' the thread at fault.
*/
bool ltT_mma(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
             ltT_fragments *threads, size_t *culprit);

/* Threads of the atom. */
int64_t ltT_mma_size(const lt_value *atom_value);

#endif
