/*
** TiledCopy and its partitions. Source of the steps: CuTe's copy_atom.hpp.
*/
#include "tiled_copy.h"

static const lt_value *pair(lt_arena *arena, const lt_value *first, const lt_value *second) {
  if (ltA_failed(arena)) return NULL;
  return lt_tuple(arena, (const lt_value *[]){first, second}, 2);
}

static const lt_value *line(lt_arena *arena, const lt_value *extent) {
  return ltA_failed(arena) ? NULL : lt_make_layout(arena, extent, NULL);
}

/* The integer that 'x' (a shape, or a layout's mode) counts. */
static const lt_value *mode_size(lt_arena *arena, const lt_value *layout, size_t mode) {
  if (ltA_failed(arena)) return NULL;
  return ltA_from_int(arena, ltA_product(arena, ltA_element(ltA_shape(layout), mode)));
}

/* A tuple of 'n' times 'x'. */
static const lt_value *repeat(lt_arena *arena, const lt_value *x, size_t n) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  for (size_t i = 0; i < n; i++) ltA_append(&b, x);
  ltA_close(&b, open, n);
  return ltA_finish(&b);
}

/* ---- Tilers --------------------------------------------------------------------------------- */

static void append_tiler_shape(ltA_builder *b, const lt_value *tiler) {
  if (!ltA_is_tuple(tiler)) {
    ltA_append(b, ltA_shape_of(tiler));
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE), rank = ltA_rank(tiler);
  const lt_value *part = ltA_first(tiler);
  for (size_t i = 0; i < rank; i++, part = ltA_next(part)) append_tiler_shape(b, part);
  ltA_close(b, open, rank);
}

/* The shape of the tile: that of each layout in the tiler. */
static const lt_value *tiler_shape(lt_arena *arena, const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  append_tiler_shape(&b, tiler);
  return ltA_finish(&b);
}

static const lt_value *tiler_of(const lt_value *copy) { return lt_part(copy, LT_TILED_COPY_TILER); }

/* ---- Making --------------------------------------------------------------------------------- */

static bool check_threads(lt_arena *arena, const ltT_copy_choice *copy, const lt_value *tv) {
  const lt_value *threads = mode_size(arena, tv, 0);
  const lt_value *wanted = mode_size(arena, lt_part(copy->value, LT_COPY_REFERENCE), 0);
  if (ltA_failed(arena)) return false;
  if (threads->value % wanted->value == 0) return true;
  ltA_fail(arena, LT_INVALID, "%s: %v has %I threads, where %s works with %I together",
           copy->operation, tv, threads->value, copy->atom->name, wanted->value);
  return false;
}

static bool check_values(lt_arena *arena, const ltT_copy_choice *copy, const lt_value *tv) {
  const lt_value *values = mode_size(arena, tv, 1);
  const lt_value *wanted = mode_size(arena, lt_part(copy->value, LT_COPY_REFERENCE), 1);
  if (ltA_failed(arena)) return false;
  if (values->value % wanted->value == 0) return true;
  const ltT_type *type = ltT_type_of(copy->atom->element);
  ltA_fail(arena, LT_INVALID,
           "%s: a thread has %I bits (%I of %s), where %s moves %I (%I of %s): it takes a multiple "
           "of them",
           copy->operation, values->value * type->bits, values->value, type->name, copy->atom->name,
           wanted->value * type->bits, wanted->value, type->name);
  return false;
}

/* (thread, value) -> index as ((atom thread, atom value), (rest thread, rest value)) -> index. */
static const lt_value *divide_by_atom(lt_arena *arena, const lt_value *atom, const lt_value *tv) {
  const lt_value *reference = lt_part(atom, LT_COPY_REFERENCE);
  const lt_value *shape =
      pair(arena, mode_size(arena, reference, 0), mode_size(arena, reference, 1));
  return lt_zipped_divide(arena, tv, shape);
}

/* Modes must divide too: 4 of the values (6,4) would leave the mode of 6, and cover more. */
static bool check_division(lt_arena *arena, const ltT_copy_choice *copy, const lt_value *tv) {
  const lt_value *divided = divide_by_atom(arena, copy->value, tv);
  const lt_value *all = lt_size(arena, divided), *wanted = lt_size(arena, tv);
  const lt_value *values = mode_size(arena, lt_part(copy->value, LT_COPY_REFERENCE), 1);
  if (ltA_failed(arena)) return false;
  if (all->value == wanted->value) return true;
  ltA_fail(arena, LT_INVALID,
           "%s: the modes of %v, (thread, value), do not divide into the %I values that %s moves",
           copy->operation, tv, values->value, copy->atom->name);
  return false;
}

/* A static layout (thread, value) -> index, within the tile. */
static bool check_tv(lt_arena *arena, const ltT_copy_choice *copy, const lt_value *tv,
                     const lt_value *tiler) {
  if (ltA_failed(arena)) return false;
  if (!ltA_is_layout(tv) || lt_rank(tv) != 2 || !lt_is_static(tv) || !lt_is_static(tiler)) {
    ltA_fail(arena, LT_INVALID, "%s: %v over the tiler %v is no static layout (thread, value)",
             copy->operation, tv, tiler);
    return false;
  }
  const lt_value *tile = lt_size(arena, tiler_shape(arena, tiler)), *end = lt_cosize(arena, tv);
  if (ltA_failed(arena)) return false;
  if (ltA_is_integer(end) && end->value <= tile->value) return true;
  ltA_fail(arena, LT_INVALID, "%s: %v reaches index %I, where the tile %v has %I elements",
           copy->operation, tv, end->value - 1, tiler, tile->value);
  return false;
}

const lt_value *ltT_make_tiled_copy_impl(lt_arena *arena, const ltT_copy_choice *copy,
                                         const lt_value *tv, const lt_value *tiler) {
  if (!check_tv(arena, copy, tv, tiler) || !check_threads(arena, copy, tv) ||
      !check_values(arena, copy, tv) || !check_division(arena, copy, tv))
    return NULL;
  return lt_tuple(arena, (const lt_value *[]){copy->value, tv, tiler}, 3);
}

const lt_value *ltT_make_layout_tv(lt_arena *arena, const lt_value *threads,
                                   const lt_value *values) {
  const lt_value *tile = lt_raked_product(arena, threads, values); /* (m,n) -> thread + T * value */
  const lt_value *shape = pair(arena, lt_size(arena, threads), lt_size(arena, values));
  const lt_value *tv = lt_with_shape(arena, lt_right_inverse(arena, tile), shape);
  const lt_value *tiler = ltA_failed(arena) ? NULL : lt_product_each(arena, lt_shape(tile));
  return pair(arena, tiler, tv);
}

const lt_value *ltT_make_tiled_copy(lt_arena *arena, const ltT_copy_choice *copy,
                                    const lt_value *threads, const lt_value *values) {
  const lt_value *both = ltT_make_layout_tv(arena, threads, values);
  if (both == NULL) return NULL;
  return ltT_make_tiled_copy_impl(arena, copy, ltA_element(both, 1), ltA_element(both, 0));
}

/* Extents of a matrix's tile. */
static const lt_value *matrix_tile(lt_arena *arena, const lt_value *mma, ltT_matrix matrix) {
  static const size_t modes[3][2] = {
      [LT_MATRIX_A] = {0, 2}, [LT_MATRIX_B] = {1, 2}, [LT_MATRIX_C] = {0, 1}};
  const lt_value *mnk = ltT_tile_shape(arena, mma);
  if (mnk == NULL) return NULL;
  return pair(arena, ltA_element(mnk, modes[matrix][0]), ltA_element(mnk, modes[matrix][1]));
}

const lt_value *ltT_make_tiled_copy_mma(lt_arena *arena, const ltT_copy_choice *copy,
                                        const lt_value *mma, ltT_matrix matrix) {
  const lt_value *tv = ltT_layout_tv(arena, mma, matrix);
  return ltT_make_tiled_copy_impl(arena, copy, tv, matrix_tile(arena, mma, matrix));
}

/* ---- Tiles cut down to what is used --------------------------------------------------------- */

/* Mode 'i' of a coordinate in 'shape', as a function of the index in it. */
static const lt_value *select_mode(lt_arena *arena, const lt_value *shape, size_t i) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *zeros = repeat(arena, lt_integer(arena, 0), ltA_rank(shape));
  const lt_value *stride = lt_replace(arena, zeros, (int64_t)i, lt_integer(arena, 1));
  return ltA_failed(arena) ? NULL : lt_make_layout(arena, shape, stride);
}

/* For each mode of 'shape' the layout of the coordinates that 'used' takes in it. */
static const lt_value *used_tiler(lt_arena *arena, const lt_value *shape, const lt_value *used) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE), rank = ltA_rank(shape);
  for (size_t i = 0; i < rank; i++) {
    const lt_value *taken = lt_composition(arena, select_mode(arena, shape, i), used);
    taken = lt_filter(arena, taken, NULL);
    if (taken != NULL) ltA_append(&b, taken);
  }
  ltA_close(&b, open, rank);
  return ltA_finish(&b);
}

/* The TiledCopy of (thread, value) -> index in 'shape', over those of its elements alone. */
static const lt_value *cut_to_used(lt_arena *arena, const ltT_copy_choice *copy,
                                   const lt_value *shape, const lt_value *tv) {
  const lt_value *tiler = used_tiler(arena, shape, tv);
  const lt_value *tile_to_shape = lt_composition(arena, line(arena, shape), tiler);
  const lt_value *inverse = lt_left_inverse(arena, tile_to_shape);
  return ltT_make_tiled_copy_impl(arena, copy, lt_composition(arena, inverse, tv), tiler);
}

const lt_value *ltT_make_tiled_copy_C_atom(lt_arena *arena, const ltT_copy_choice *copy,
                                           const lt_value *mma) {
  const lt_value *tv = ltT_layout_tv(arena, mma, LT_MATRIX_C);
  if (tv == NULL) return NULL;
  const lt_value *values = mode_size(arena, lt_part(copy->value, LT_COPY_SOURCE), 1);
  const lt_value *held = mode_size(arena, tv, 1);
  if (ltA_failed(arena)) return NULL;
  if (values->value > held->value)
    return ltA_fail(arena, LT_INVALID,
                    "make_tiled_copy_C_atom: %s moves %I values a thread, where the accumulator %v "
                    "has %I",
                    copy->atom->name, values->value, tv, held->value);
  const lt_value *first = line(arena, pair(arena, mode_size(arena, tv, 0), values));
  return cut_to_used(arena, copy, matrix_tile(arena, mma, LT_MATRIX_C),
                     lt_composition(arena, tv, first));
}

/* 'layout' with a last mode 1:0, which takes all indices beyond its size to 0. */
static const lt_value *with_rest(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *rest = lt_make_layout(arena, lt_integer(arena, 1), lt_integer(arena, 0));
  if (rest == NULL) return NULL;
  return lt_make_layout_of(arena, (const lt_value *[]){layout, rest}, 2);
}

const lt_value *ltT_make_cotiled_copy(lt_arena *arena, const ltT_copy_choice *copy,
                                      const lt_value *tv, const lt_value *data) {
  if (ltA_failed(arena)) return NULL;
  if (!lt_is_static(tv) || !lt_is_static(data) || lt_rank(tv) != 2)
    return ltA_fail(arena, LT_INVALID,
                    "make_cotiled_copy: %v over %v is no static layout (thread, value)", tv, data);
  const lt_value *inverse = with_rest(arena, lt_left_inverse(arena, data));
  const lt_value *tv_data = lt_composition(arena, inverse, tv);
  const lt_value *there = lt_composition(arena, with_rest(arena, data), tv_data);
  const lt_value *wanted = lt_coalesce(arena, tv, NULL);
  const lt_value *found = lt_coalesce(arena, there, NULL);
  if (ltA_failed(arena)) return NULL;
  if (!lt_equal(wanted, found))
    return ltA_fail(arena, LT_INVALID,
                    "make_cotiled_copy: %v takes (thread, value) to offsets that %v does not have",
                    tv, data);
  return cut_to_used(arena, copy, lt_product_each(arena, lt_shape(data)), tv_data);
}

const lt_value *ltT_make_tiled_copy_like(lt_arena *arena, const ltT_copy_choice *copy,
                                         const lt_value *other, ltT_side side) {
  const lt_value *tv = ltT_copy_layout_tv(arena, other, side);
  return ltT_make_tiled_copy_impl(arena, copy, tv, tiler_of(other));
}

/* ---- Threads and values --------------------------------------------------------------------- */

const lt_value *ltT_tiled_copy_size(lt_arena *arena, const lt_value *copy) {
  return mode_size(arena, lt_part(copy, LT_TILED_COPY_TV), 0);
}

/* (thread, value) of one side of the atom -> those of its reference, as an index. */
static const lt_value *side_to_reference(lt_arena *arena, const lt_value *copy, ltT_side side) {
  const lt_value *atom = lt_part(copy, LT_TILED_COPY_ATOM);
  const lt_value *inverse = lt_right_inverse(arena, lt_part(atom, LT_COPY_REFERENCE));
  ltT_copy_part part = side == LT_SIDE_SOURCE ? LT_COPY_SOURCE : LT_COPY_TARGET;
  return lt_composition(arena, inverse, lt_part(atom, part));
}

/* (thread, value) -> index in the tile, for one side. */
static const lt_value *thread_values(lt_arena *arena, const lt_value *copy, ltT_side side) {
  const lt_value *atoms =
      divide_by_atom(arena, lt_part(copy, LT_TILED_COPY_ATOM), lt_part(copy, LT_TILED_COPY_TV));
  const lt_value *moved = lt_composition(
      arena, atoms, pair(arena, side_to_reference(arena, copy, side), lt_wildcard(arena)));
  const lt_value *one = lt_integer(arena, 1);
  const lt_value *profile = pair(arena, one, pair(arena, one, one));
  return lt_coalesce(arena, lt_zip(arena, moved), profile);
}

/* 'divided', ((TileM,TileN,...),(RestM,RestN,...)), as (thread, (FrgV,FrgX), (RestM,...)). */
static const lt_value *tile_to_thrfrg(lt_arena *arena, const lt_value *copy, ltT_side side,
                                      const lt_value *divided) {
  const lt_value *any = lt_wildcard(arena);
  const lt_value *tv = thread_values(arena, copy, side);
  const lt_value *parts = lt_composition(arena, divided, pair(arena, tv, any));
  return lt_slice(arena, pair(arena, pair(arena, any, any), any), parts);
}

const lt_value *ltT_tidfrg(lt_arena *arena, const lt_value *copy, ltT_side side,
                           const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *tiler = tiler_of(copy);
  if (lt_rank(layout) < lt_rank(tiler))
    return ltA_fail(arena, LT_INVALID, "tidfrg: %v has rank %z, where the tile %v has %z", layout,
                    lt_rank(layout), tiler, lt_rank(tiler));
  return tile_to_thrfrg(arena, copy, side, lt_zipped_divide(arena, layout, tiler));
}

const lt_value *ltT_copy_layout_tv(lt_arena *arena, const lt_value *copy, ltT_side side) {
  const lt_value *shape = pair(arena, tiler_shape(arena, tiler_of(copy)), lt_integer(arena, 1));
  const lt_value *parts = tile_to_thrfrg(arena, copy, side, line(arena, shape));
  const lt_value *any = lt_wildcard(arena);
  if (ltA_failed(arena)) return NULL;
  const lt_value *first = lt_tuple(arena, (const lt_value *[]){any, any, lt_integer(arena, 0)}, 3);
  return ltA_failed(arena) ? NULL : lt_slice(arena, first, parts);
}

const lt_value *ltT_copy_partition(lt_arena *arena, const lt_value *copy, ltT_side side,
                                   const lt_value *thread, const lt_value *layout) {
  const lt_value *parts = ltT_tidfrg(arena, copy, side, layout);
  if (parts == NULL) return NULL;
  const lt_value *any = lt_wildcard(arena), *rest = repeat(arena, any, lt_rank(layout));
  if (ltA_failed(arena)) return NULL;
  const lt_value *coordinate = lt_tuple(arena, (const lt_value *[]){thread, any, rest}, 3);
  return lt_slice_and_offset(arena, coordinate, parts);
}

/* ---- Retile --------------------------------------------------------------------------------- */

/* (m,n) of the tile -> which of a thread's runs of 'values' it is in. */
static const lt_value *runs_in_tile(lt_arena *arena, const lt_value *copy, lt_int values) {
  const lt_value *tv = lt_part(copy, LT_TILED_COPY_TV);
  const lt_value *inverse = lt_right_inverse(arena, tv);
  const lt_value *tile = lt_with_shape(arena, inverse, tiler_shape(arena, tiler_of(copy)));
  const lt_value *threads = mode_size(arena, tv, 0);
  if (ltA_failed(arena)) return NULL;
  lt_int run = ltA_mul(arena, ltA_int(threads), values);
  return ltA_failed(arena) ? NULL : lt_upcast(arena, tile, run.value);
}

/* (atom values, rest values) -> (value, m, n) of a fragment, whose 'runs' are in the tile. */
static const lt_value *values_in_order(lt_arena *arena, const lt_value *copy, const lt_value *v,
                                       const lt_value *runs) {
  const lt_value *reference = lt_part(lt_part(copy, LT_TILED_COPY_ATOM), LT_COPY_REFERENCE);
  const lt_value *inverse = lt_right_inverse(arena, runs);
  const lt_value *all = lt_logical_product(arena, line(arena, v), inverse);
  return lt_zipped_divide(arena, all, line(arena, mode_size(arena, reference, 1)));
}

/* A fragment that does not hold whole tiles would be covered more than once. */
static const lt_value *check_retiled(lt_arena *arena, const lt_value *retiled,
                                     const lt_value *fragment, const lt_value *tile) {
  const lt_value *size = lt_size(arena, retiled), *wanted = lt_size(arena, fragment);
  if (ltA_failed(arena)) return NULL;
  if (size->value == wanted->value) return retiled;
  return ltA_fail(arena, LT_INVALID,
                  "retile: %v is no fragment of the tiled copy: its modes must be multiples of %v",
                  fragment, tile);
}

const lt_value *ltT_retile(lt_arena *arena, const lt_value *copy, const lt_value *fragment) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *shape = ltA_shape_of(fragment);
  lt_int values = ltA_product(arena, ltA_is_tuple(shape) ? ltA_element(shape, 0) : shape);
  if (values.promise != 0)
    return ltA_fail(arena, LT_INVALID, "retile: mode 0 of %v, a thread's values, is dynamic",
                    fragment);
  const lt_value *v = ltA_from_int(arena, values), *any = lt_wildcard(arena);
  const lt_value *runs = runs_in_tile(arena, copy, values);
  const lt_value *order = values_in_order(arena, copy, v, runs);
  if (ltA_failed(arena)) return NULL;
  const lt_value *tile = lt_prepend(arena, lt_product_each(arena, lt_shape(runs)), v);
  const lt_value *tiles = lt_zipped_divide(arena, fragment, tile);
  const lt_value *retiled = lt_composition(arena, tiles, pair(arena, order, any));
  const lt_value *rest = repeat(arena, any, lt_rank(fragment));
  rest = lt_replace(arena, rest, 0, lt_integer(arena, 0));
  return check_retiled(arena, lt_slice(arena, pair(arena, any, rest), retiled), fragment, tile);
}
