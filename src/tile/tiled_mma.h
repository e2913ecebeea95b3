/*
** TiledMMA: an atom repeated over threads and values, and the parts of a tensor that each thread
** holds. All of it is composition of the public algebra.
*/
#ifndef LUTILE_TILE_TILED_MMA_H
#define LUTILE_TILE_TILED_MMA_H

#include "mma_atom.h"

/*
** Parts of a TiledMMA's value, a tuple: the atom's value; (ThrV,ThrM,ThrN,ThrK) -> thread; the
** permutation tilers of M, N and K, '_' where none was given.
*/
typedef enum ltT_tiled_mma_part {
  LT_MMA_ATOM,
  LT_MMA_THREADS,
  LT_MMA_PERMUTATION
} ltT_tiled_mma_part;

/* Which of the matrices: A is (M,K), B is (N,K), C is (M,N); the block scales of A and B as these. */
typedef enum ltT_matrix {
  LT_MATRIX_A,
  LT_MATRIX_B,
  LT_MATRIX_C,
  LT_MATRIX_SFA,
  LT_MATRIX_SFB
} ltT_matrix;

/* 'threads' (M,N,K) -> atom, NULL for one atom; 'permutation' of up to three tilers, or NULL. */
const lt_value *ltT_make_tiled_mma(lt_arena *arena, const lt_value *atom, const lt_value *threads,
                                   const lt_value *permutation);

const lt_value *ltT_mma_threads(const lt_value *mma); /* (ThrV,ThrM,ThrN,ThrK) -> thread */
/* The permutations in effect: an extent where none was given. */
const lt_value *ltT_permutation_mnk(lt_arena *arena, const lt_value *mma);
const lt_value *ltT_tile_shape(lt_arena *arena, const lt_value *mma);

/* 'layout' of the matrix as ((ThrV,(ThrM,ThrK)),(FrgV,(RestM,RestK,...))). */
const lt_value *ltT_thrfrg(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                           const lt_value *layout);
/* (thread, value) -> index in the column-major tile. */
const lt_value *ltT_layout_tv(lt_arena *arena, const lt_value *mma, ltT_matrix matrix);

/* Coordinate (ThrV,ThrM,ThrN,ThrK) of a thread. */
const lt_value *ltT_thr_vmnk(lt_arena *arena, const lt_value *mma, const lt_value *thread);
/* The part of the thread at 'vmnk', as a counting tensor (FrgV,RestM,RestK). */
const lt_value *ltT_partition(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                              const lt_value *vmnk, const lt_value *layout);
const lt_value *ltT_partition_shape(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                                    const lt_value *shape);
/* Layout of the registers for a part: for C compact, else after the part's stride order. */
const lt_value *ltT_fragment(lt_arena *arena, ltT_matrix matrix, const lt_value *part);

#endif
