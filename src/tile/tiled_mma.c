/*
** TiledMMA and its partitions. Source of the steps: CuTe's mma_atom.hpp.
*/
#include "tiled_mma.h"

/* The two of M, N, K (0, 1, 2) that a matrix has as its modes. */
static const int modes_of[][2] = {[LT_MATRIX_A] = {0, 2},
                                  [LT_MATRIX_B] = {1, 2},
                                  [LT_MATRIX_C] = {0, 1},
                                  [LT_MATRIX_SFA] = {0, 2},
                                  [LT_MATRIX_SFB] = {1, 2}};

static const lt_value *pair(lt_arena *arena, const lt_value *first, const lt_value *second) {
  if (ltA_failed(arena)) return NULL;
  return lt_tuple(arena, (const lt_value *[]){first, second}, 2);
}

/* ---- Making --------------------------------------------------------------------------------- */

static bool check_threads(lt_arena *arena, const lt_value *threads) {
  if (ltA_failed(arena)) return false;
  if (ltA_is_layout(threads) && lt_rank(threads) == 3) return true;
  ltA_fail(arena, LT_INVALID,
           "make_tiled_mma: thread layout %v has rank %z, where M, N and K make 3", threads,
           lt_rank(threads));
  return false;
}

/* A tile has each of its rows once, so that a layout which permutes them is one to one and onto. */
static bool check_bijection(lt_arena *arena, const lt_value *tiler) {
  if (!lt_is_layout(tiler) || lt_is_bijective(arena, tiler)) return !ltA_failed(arena);
  const lt_value *size = lt_size(arena, tiler);
  if (size == NULL) return false;
  ltA_fail(arena, LT_INVALID,
           "make_tiled_mma: permutation %v is no bijection: each of 0 to %I must come once", tiler,
           size->value - 1);
  return false;
}

/* Three tilers, each '_', a static integer or a layout. */
static bool check_permutation(lt_arena *arena, const lt_value *permutation) {
  if (ltA_failed(arena)) return false;
  bool fits = ltA_is_tuple(permutation) && permutation->value == 3;
  if (!fits || !lt_is_static(permutation)) {
    ltA_fail(arena, LT_INVALID,
             "make_tiled_mma: permutation %v is no tuple of static tilers of M, N, K", permutation);
    return false;
  }
  for (size_t i = 0; i < 3; i++)
    if (!check_bijection(arena, ltA_element(permutation, i))) return false;
  return true;
}

const lt_value *ltT_make_tiled_mma(lt_arena *arena, const lt_value *atom, const lt_value *threads,
                                   const lt_value *permutation) {
  if (ltA_failed(arena)) return NULL;
  if (threads == NULL) threads = lt_parse(arena, "(1,1,1):(0,0,0)");
  if (permutation == NULL) permutation = lt_tuple(arena, NULL, 0);
  if (ltA_failed(arena)) return NULL;
  if (lt_rank(threads) < 3) threads = lt_append_to(arena, threads, 3, NULL);
  if (lt_rank(permutation) < 3 && ltA_is_tuple(permutation))
    permutation = lt_append_to(arena, permutation, 3, lt_wildcard(arena));
  if (!check_threads(arena, threads) || !check_permutation(arena, permutation)) return NULL;
  const lt_value *vmnk = lt_tiled_product(arena, lt_part(atom, LT_ATOM_THREADS), threads);
  if (vmnk == NULL) return NULL;
  return lt_tuple(arena, (const lt_value *[]){atom, vmnk, permutation}, 3);
}

/* ---- Extents -------------------------------------------------------------------------------- */

const lt_value *ltT_mma_threads(const lt_value *mma) { return lt_part(mma, LT_MMA_THREADS); }

/* Extent of the atom in M, N or K. */
static const lt_value *atom_extent(const lt_value *mma, int mode) {
  return ltA_element(lt_part(lt_part(mma, LT_MMA_ATOM), LT_ATOM_SHAPE), (size_t)mode);
}

/* Threads side by side in M, N or K: a mode of the thread layout after ThrV. */
static lt_int thread_extent(lt_arena *arena, const lt_value *mma, int mode) {
  return ltA_product(arena, ltA_element(ltA_shape(ltT_mma_threads(mma)), (size_t)mode + 1));
}

static const lt_value *permutation_of(lt_arena *arena, const lt_value *mma, int mode) {
  const lt_value *permutation = ltA_element(lt_part(mma, LT_MMA_PERMUTATION), (size_t)mode);
  if (permutation->kind != LT_WILDCARD) return permutation;
  lt_int atom = ltA_int(atom_extent(mma, mode));
  return ltA_from_int(arena, ltA_mul(arena, atom, thread_extent(arena, mma, mode)));
}

const lt_value *ltT_permutation_mnk(lt_arena *arena, const lt_value *mma) {
  const lt_value *mnk[3];
  for (int i = 0; i < 3; i++) mnk[i] = permutation_of(arena, mma, i);
  return ltA_failed(arena) ? NULL : lt_tuple(arena, mnk, 3);
}

static const lt_value *tile_extent(lt_arena *arena, const lt_value *mma, int mode) {
  const lt_value *permutation = permutation_of(arena, mma, mode);
  return ltA_failed(arena) ? NULL : lt_size(arena, permutation);
}

const lt_value *ltT_tile_shape(lt_arena *arena, const lt_value *mma) {
  const lt_value *mnk[3];
  for (int i = 0; i < 3; i++) mnk[i] = tile_extent(arena, mma, i);
  return ltA_failed(arena) ? NULL : lt_tuple(arena, mnk, 3);
}

/* ---- Threads and fragments ------------------------------------------------------------------ */

/* n:1, as a tiler; static 1 gives 1:0. */
static const lt_value *line(lt_arena *arena, const lt_value *extent) {
  return ltA_failed(arena) ? NULL : lt_make_layout(arena, extent, NULL);
}

static const lt_value *thread_line(lt_arena *arena, const lt_value *mma, int mode) {
  return line(arena, ltA_from_int(arena, thread_extent(arena, mma, mode)));
}

const lt_value *ltT_thrfrg(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                           const lt_value *layout) {
  static const ltT_atom_part atom_layouts[] = {LT_ATOM_A, LT_ATOM_B, LT_ATOM_C, LT_ATOM_SCALE_A,
                                               LT_ATOM_SCALE_B};
  if (ltA_failed(arena)) return NULL;
  if (lt_rank(layout) < 2)
    return ltA_fail(arena, LT_INVALID, "thrfrg: %v has rank %z, where a matrix has 2 modes", layout,
                    lt_rank(layout));
  int i = modes_of[matrix][0], j = modes_of[matrix][1];
  const lt_value *permuted = lt_logical_divide(
      arena, layout, pair(arena, permutation_of(arena, mma, i), permutation_of(arena, mma, j)));
  const lt_value *tiled = lt_zipped_divide(
      arena, permuted,
      pair(arena, line(arena, atom_extent(mma, i)), line(arena, atom_extent(mma, j))));
  const lt_value *atom_tv = lt_part(lt_part(mma, LT_MMA_ATOM), atom_layouts[matrix]);
  if (atom_tv->kind == LT_WILDCARD)
    return ltA_fail(arena, LT_INVALID, "thrfrg: the atom has no block scales");
  /* ((ThrV,FrgV),(RestM,RestN)) */
  const lt_value *tv = lt_composition(arena, tiled, pair(arena, atom_tv, lt_wildcard(arena)));
  const lt_value *threads = pair(arena, thread_line(arena, mma, i), thread_line(arena, mma, j));
  return lt_zipped_divide(arena, tv, pair(arena, lt_wildcard(arena), threads));
}

/* thread -> (ThrV,ThrM,ThrN,ThrK), as an index into the thread layout's domain. */
static const lt_value *thread_to_vmnk(lt_arena *arena, const lt_value *mma) {
  const lt_value *threads = ltT_mma_threads(mma);
  const lt_value *rest = lt_complement(arena, threads, NULL);
  if (rest == NULL) return NULL;
  const lt_value *all = lt_make_layout_of(arena, (const lt_value *[]){threads, rest}, 2);
  const lt_value *line_of_threads =
      lt_make_layout(arena, pair(arena, lt_size(arena, threads), lt_integer(arena, 1)),
                     pair(arena, lt_integer(arena, 1), lt_integer(arena, 0)));
  return lt_composition(arena, line_of_threads, lt_right_inverse(arena, all));
}

/* (ThrM,ThrN) seen by a matrix with one of them alone: the other is broadcast. */
static const lt_value *broadcast(lt_arena *arena, const lt_value *mma, ltT_matrix matrix) {
  const lt_value *shape = pair(arena, ltA_from_int(arena, thread_extent(arena, mma, 0)),
                               ltA_from_int(arena, thread_extent(arena, mma, 1)));
  int64_t is_a = matrix == LT_MATRIX_A || matrix == LT_MATRIX_SFA;
  const lt_value *stride = pair(arena, lt_integer(arena, is_a), lt_integer(arena, !is_a));
  const lt_value *both = lt_make_layout(arena, shape, stride);
  const lt_value *any = lt_wildcard(arena);
  return pair(arena, pair(arena, any, pair(arena, both, any)), any);
}

const lt_value *ltT_layout_tv(lt_arena *arena, const lt_value *mma, ltT_matrix matrix) {
  const lt_value *shape = pair(arena, tile_extent(arena, mma, modes_of[matrix][0]),
                               tile_extent(arena, mma, modes_of[matrix][1]));
  const lt_value *layout = ltT_thrfrg(arena, mma, matrix, line(arena, shape));
  if (matrix != LT_MATRIX_C) layout = lt_composition(arena, layout, broadcast(arena, mma, matrix));
  return lt_composition(arena, layout, pair(arena, thread_to_vmnk(arena, mma), lt_wildcard(arena)));
}

/* ---- One thread's part ---------------------------------------------------------------------- */

const lt_value *ltT_thr_vmnk(lt_arena *arena, const lt_value *mma, const lt_value *thread) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *threads = ltT_mma_threads(mma);
  const lt_value *end = lt_cosize(arena, threads);
  if (end == NULL) return NULL;
  if (!ltA_is_integer(thread) || thread->value < 0 || thread->value >= end->value)
    return ltA_fail(arena, LT_INVALID, "get_slice: thread %v is not in 0 to %I of %v", thread,
                    end->value - 1, threads);
  return lt_get_flat_coord(arena, threads, thread);
}

/* ((thread), (_, (_,_,...))): all of a thread's values. */
static const lt_value *part_coordinate(lt_arena *arena, const lt_value *thread,
                                       const lt_value *divided) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *rest = ltA_element(ltA_element(ltA_shape_of(divided), 1), 1);
  const lt_value *any = lt_wildcard(arena);
  if (any == NULL) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  for (size_t i = 0; i < ltA_rank(rest); i++) ltA_append(&b, any);
  ltA_close(&b, open, ltA_rank(rest));
  return pair(arena, thread, pair(arena, any, ltA_finish(&b)));
}

const lt_value *ltT_partition(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                              const lt_value *vmnk, const lt_value *layout) {
  const lt_value *divided = ltT_thrfrg(arena, mma, matrix, layout);
  if (divided == NULL) return NULL;
  const int *modes = modes_of[matrix];
  const lt_value *thread = pair(arena, ltA_element(vmnk, 0),
                                pair(arena, ltA_element(vmnk, (size_t)modes[0] + 1),
                                     ltA_element(vmnk, (size_t)modes[1] + 1)));
  return lt_slice_and_offset(arena, part_coordinate(arena, thread, divided), divided);
}

const lt_value *ltT_partition_shape(lt_arena *arena, const lt_value *mma, ltT_matrix matrix,
                                    const lt_value *shape) {
  const lt_value *divided = ltT_thrfrg(arena, mma, matrix, line(arena, shape));
  const lt_value *coordinate = part_coordinate(arena, lt_integer(arena, 0), divided);
  const lt_value *part = ltA_failed(arena) ? NULL : lt_slice(arena, coordinate, divided);
  return part == NULL ? NULL : lt_shape(part);
}

const lt_value *ltT_fragment(lt_arena *arena, ltT_matrix matrix, const lt_value *part) {
  if (ltA_failed(arena)) return NULL;
  if (matrix == LT_MATRIX_C) return lt_make_layout(arena, lt_shape(part), NULL);
  return lt_make_fragment_like(arena, part);
}
