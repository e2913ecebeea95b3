/*
** TiledCopy: a copy atom repeated over threads and values, and the parts of a tensor that each
** thread reads and writes. All of it is composition of the public algebra.
*/
#ifndef LUTILE_TILE_TILED_COPY_H
#define LUTILE_TILE_TILED_COPY_H

#include "copy_atom.h"
#include "tiled_mma.h"

/*
** Parts of a TiledCopy's value, a tuple: the atom's value; (thread, value) -> index in the
** column-major tile; the tiler that takes the tile out of a tensor.
*/
typedef enum ltT_tiled_copy_part {
  LT_TILED_COPY_ATOM,
  LT_TILED_COPY_TV,
  LT_TILED_COPY_TILER
} ltT_tiled_copy_part;

typedef enum ltT_side { LT_SIDE_SOURCE, LT_SIDE_TARGET } ltT_side;

/* An atom and its value. */
typedef struct ltT_copy_choice {
  const char *operation; /* for messages: the function that makes the TiledCopy */
  const ltT_copy_atom *atom;
  const lt_value *value;
} ltT_copy_choice;

/* ---- Making --------------------------------------------------------------------------------- */

/* Of (thread, value) -> index in the tile, and a tiler whose shape is the tile's. */
const lt_value *ltT_make_tiled_copy_impl(lt_arena *arena, const ltT_copy_choice *copy,
                                         const lt_value *tv, const lt_value *tiler);
/*
** Of layouts of threads and of values, both (m, n, ...) -> index: each thread has a block of
** 'values'. ltT_make_layout_tv gives the tuple (tiler, (thread, value) -> index in the tile).
*/
const lt_value *ltT_make_layout_tv(lt_arena *arena, const lt_value *threads,
                                   const lt_value *values);
const lt_value *ltT_make_tiled_copy(lt_arena *arena, const ltT_copy_choice *copy,
                                    const lt_value *threads, const lt_value *values);
/* Of what each thread holds of a matrix of a TiledMMA. */
const lt_value *ltT_make_tiled_copy_mma(lt_arena *arena, const ltT_copy_choice *copy,
                                        const lt_value *mma, ltT_matrix matrix);
/* The same for C, cut to the values of one copy atom. */
const lt_value *ltT_make_tiled_copy_C_atom(lt_arena *arena, const ltT_copy_choice *copy,
                                           const lt_value *mma);
/*
** Of (thread, value) -> offset in memory, where 'data' maps coordinates to those offsets: threads
** that own offsets, whatever the coordinates.
*/
const lt_value *ltT_make_cotiled_copy(lt_arena *arena, const ltT_copy_choice *copy,
                                      const lt_value *tv, const lt_value *data);
/* Of what another TiledCopy reads or writes. */
const lt_value *ltT_make_tiled_copy_like(lt_arena *arena, const ltT_copy_choice *copy,
                                         const lt_value *other, ltT_side side);

/* ---- Parts ---------------------------------------------------------------------------------- */

/* Number of threads. */
const lt_value *ltT_tiled_copy_size(lt_arena *arena, const lt_value *copy);
/* (thread, value) -> index in the tile, in the order in which the atom reads or writes. */
const lt_value *ltT_copy_layout_tv(lt_arena *arena, const lt_value *copy, ltT_side side);
/* 'layout' as (thread, (FrgV,FrgX), (RestM,RestN,...)). */
const lt_value *ltT_tidfrg(lt_arena *arena, const lt_value *copy, ltT_side side,
                           const lt_value *layout);
/* A thread's part of 'layout', as a counting tensor ((FrgV,FrgX),RestM,RestN,...). */
const lt_value *ltT_copy_partition(lt_arena *arena, const lt_value *copy, ltT_side side,
                                   const lt_value *thread, const lt_value *layout);
/* A fragment, values first, as ((FrgV,FrgX),RestM,RestN,...). */
const lt_value *ltT_retile(lt_arena *arena, const lt_value *copy, const lt_value *fragment);

#endif
