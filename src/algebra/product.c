/*
** Products: a layout of repetitions of a block. Source: CuTe's logical_product and its
** rearrangements (layout.hpp).
**
** Mode 0 of logical_product(B, T) is B; mode 1 is complement(B, size(B) * cosize(T)) o T: copies of B,
** one for each element of T, ordered as T orders them. They are disjoint where the strides of B nest;
** else there may be fewer places between its modes than copies, and the last mode of places runs on.
*/
#include "arrange.h"
#include "complement.h"
#include "composed.h"
#include "composition.h"

/*
** Whether the repetitions must be exact together (logical_product of two layouts), or each leaf of
** the tiler by itself, as CuTe's products mode by mode and by rank have it.
*/
typedef enum strictness { TOGETHER, LEAF_BY_LEAF } strictness;

/* Strides must be integers: cosizes and complements know no coordinates. */
static bool flatten_integers(ltA_modes *modes, lt_arena *arena, ltA_view view) {
  ltA_modes_begin(modes, arena);
  ltA_modes_flatten(modes, view.shape, view.stride);
  if (modes->count == 0)
    ltA_fail(arena, LT_INVALID, "logical_product: %v has no modes", ltA_view_layout(arena, view));
  for (size_t i = 0; i < modes->count; i++)
    if (modes->items[i].basis != NULL)
      ltA_fail(arena, LT_INVALID, "logical_product: %v has scaled bases as strides",
               ltA_view_layout(arena, view));
  return !ltA_failed(arena);
}

/* complement(block, size(block) * cosize(tiler)): where the repetitions may go. */
static bool find_places(lt_arena *arena, ltA_view block, ltA_view tiler, ltA_modes *places) {
  ltA_modes modes, repetitions, target;
  ltA_modes_begin(places, arena);
  ltA_modes_begin(&target, arena);
  if (!flatten_integers(&modes, arena, block) || !flatten_integers(&repetitions, arena, tiler))
    return false;
  lt_int room = ltA_mul(arena, ltA_modes_size(&modes), ltA_modes_cosize(&repetitions));
  ltA_modes_append(&target, (ltA_mode){room, ltA_static(0), NULL});
  if (!ltA_failed(arena)) ltA_complement_modes(block, &modes, &target, places);
  return !ltA_failed(arena);
}

/* (block, places o tiler) */
static void repeat_by_layout(ltA_layout_builder *result, ltA_view block, ltA_view tiler,
                             strictness strict) {
  lt_arena *arena = result->shape.arena;
  ltA_modes places;
  if (!find_places(arena, block, tiler, &places)) return;
  ltA_place open = ltA_layout_open(result);
  ltA_layout_append(result, block);
  ltA_composition c;
  ltA_composition_begin_modes(&c, result, "logical_product", &places);
  ltA_compose_tree(&c, tiler.shape, tiler.stride);
  bool is_settled = ltA_failed(arena) || ltA_composition_is_exact(&c) ||
                    (c.doubt == LTA_CARRY && strict == LEAF_BY_LEAF);
  if (!is_settled) ltA_composition_settle(&c, tiler);
  ltA_layout_close(result, open, 2);
}

static void repeat_any(ltA_layout_builder *result, ltA_view block, const lt_value *tiler,
                       strictness strict);

/* Mode by mode; modes past the tiler stay as they are. */
static void repeat_by_mode(ltA_layout_builder *result, ltA_view block, const lt_value *tiler) {
  lt_arena *arena = result->shape.arena;
  size_t rank = ltA_rank(block.shape);
  if (ltA_rank(tiler) > rank) {
    ltA_fail(arena, LT_INVALID, "logical_product: tiler %v has %z modes, more than the %z of %v",
             tiler, ltA_rank(tiler), rank, ltA_view_layout(arena, block));
    return;
  }
  ltA_place open = ltA_layout_open(result);
  const lt_value *tile = ltA_first(tiler);
  ltA_view mode = rank > 0 ? ltA_view_mode(block, 0) : block;
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++, mode = ltA_view_next(mode)) {
    if (i >= ltA_rank(tiler)) {
      ltA_layout_append(result, mode);
      continue;
    }
    repeat_any(result, mode, tile, LEAF_BY_LEAF);
    tile = ltA_next(tile);
  }
  ltA_layout_close(result, open, rank);
}

static void repeat_by_integer(ltA_layout_builder *result, ltA_view block, const lt_value *n,
                              strictness strict) {
  if (!ltA_check_shape(result->shape.arena, "logical_product", n)) return;
  lt_value stride = ltA_compact_stride(n);
  repeat_by_layout(result, block, (ltA_view){n, &stride}, strict);
}

static void repeat_any(ltA_layout_builder *result, ltA_view block, const lt_value *tiler,
                       strictness strict) {
  switch (tiler->kind) {
    case LT_LAYOUT: repeat_by_layout(result, block, ltA_view_of(tiler), strict); break;
    case LT_TUPLE: repeat_by_mode(result, block, tiler); break;
    case LT_WILDCARD: ltA_layout_append(result, block); break;
    case LT_INTEGER: repeat_by_integer(result, block, tiler, strict); break;
    default: ltA_fail(result->shape.arena, LT_INVALID, "logical_product: %v is no tiler", tiler);
  }
}

static const lt_value *repeat_layout(lt_arena *arena, const lt_value *block, const lt_value *tiler,
                                     strictness strict) {
  ltA_mark mark = ltA_get_mark(arena);
  ltA_layout_builder result;
  ltA_layout_begin(&result, arena);
  repeat_any(&result, ltA_view_of(block), tiler, strict);
  return ltA_keep(arena, mark, ltA_layout_finish(&result));
}

const lt_value *lt_logical_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  if (block->kind == LT_COMPOSED)
    return ltA_with_layout_b(arena, block, lt_logical_product(arena, ltA_layout_b(block), tiler));
  if (block->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "logical_product: %v is no layout", block);
  if (tiler->kind == LT_COMPOSED) return ltA_logical_product_composed(arena, block, tiler);
  return repeat_layout(arena, block, tiler, TOGETHER);
}

static const lt_value *product(lt_arena *arena, const char *operation, const lt_value *block,
                               const lt_value *tiler, ltA_arrangement arrangement) {
  const lt_value *repeated = lt_logical_product(arena, block, tiler);
  return ltA_arrange(arena, operation, repeated, tiler, arrangement);
}

const lt_value *lt_zipped_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  return product(arena, "zipped_product", block, tiler, LTA_ZIPPED);
}

const lt_value *lt_tiled_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  return product(arena, "tiled_product", block, tiler, LTA_TILED);
}

const lt_value *lt_flat_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  return product(arena, "flat_product", block, tiler, LTA_FLAT);
}

/* ---- Rank-sensitive products ------------------------------------------------------------------
 */

/*
** ((first_i, second_i), ...) of the modes of two layouts of one rank; of an integer layout and any
** other, ((first, second)). Source: CuTe's zip (tuple_algorithms.hpp).
*/
static const lt_value *zip_modes(lt_arena *arena, const char *operation, const lt_value *first,
                                 const lt_value *second) {
  if (ltA_failed(arena)) return NULL;
  bool is_whole = !ltA_is_tuple(ltA_shape(first));
  size_t rank = lt_rank(first);
  if (!is_whole && (!ltA_is_tuple(ltA_shape(second)) || rank != lt_rank(second)))
    return ltA_fail(arena, LT_INVALID, "%s: the modes of %v and %v do not pair up", operation,
                    first, second);
  ltA_view a = ltA_view_of(first), b = ltA_view_of(second);
  if (!is_whole && rank > 0) {
    a = ltA_view_mode(a, 0);
    b = ltA_view_mode(b, 0);
  }
  ltA_layout_builder pairs;
  ltA_layout_begin(&pairs, arena);
  ltA_place all = ltA_layout_open(&pairs);
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++) {
    ltA_place pair = ltA_layout_open(&pairs);
    ltA_layout_append(&pairs, a);
    ltA_layout_append(&pairs, b);
    ltA_layout_close(&pairs, pair, 2);
    if (i + 1 == rank) break;
    a = ltA_view_next(a);
    b = ltA_view_next(b);
  }
  ltA_layout_close(&pairs, all, rank);
  const lt_value *result = ltA_layout_finish(&pairs);
  return result != NULL && ltA_check_limits(arena, result) ? result : NULL;
}

/* Block and repetition, each padded with 1:0 to one rank. */
static const lt_value *repeat_padded(lt_arena *arena, const lt_value *block,
                                     const lt_value *tiler) {
  size_t rank = lt_rank(block) > lt_rank(tiler) ? lt_rank(block) : lt_rank(tiler);
  block = lt_append_to(arena, block, (int64_t)rank, NULL);
  tiler = lt_append_to(arena, tiler, (int64_t)rank, NULL);
  if (ltA_failed(arena)) return NULL;
  return repeat_layout(arena, block, tiler, LEAF_BY_LEAF);
}

static const lt_value *zipped_by_rank(lt_arena *arena, const char *operation, const lt_value *block,
                                      const lt_value *tiler, bool block_first) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  if (block->kind == LT_COMPOSED)
    return ltA_with_layout_b(
        arena, block, zipped_by_rank(arena, operation, ltA_layout_b(block), tiler, block_first));
  if (block->kind != LT_LAYOUT || tiler->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "%s: %v and %v are not both layouts", operation, block,
                    tiler);
  const lt_value *repeated = repeat_padded(arena, block, tiler);
  if (ltA_failed(arena)) return NULL;
  const lt_value *blocks = ltA_mode_of(arena, repeated, 0);
  const lt_value *repetitions = ltA_mode_of(arena, repeated, 1);
  const lt_value *result = block_first ? zip_modes(arena, operation, blocks, repetitions)
                                       : zip_modes(arena, operation, repetitions, blocks);
  return ltA_keep(arena, mark, result);
}

const lt_value *lt_blocked_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  return zipped_by_rank(arena, "blocked_product", block, tiler, true);
}

const lt_value *lt_raked_product(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  return zipped_by_rank(arena, "raked_product", block, tiler, false);
}

/* ---- tile_to_shape ----------------------------------------------------------------------------
 */

/* The first mode of the target that is no multiple of the block's. */
static void fail_block(lt_arena *arena, const lt_value *block, const lt_value *target,
                       const lt_value *block_shape) {
  const lt_value *size = ltA_first(block_shape);
  size_t mode = 0;
  for (const lt_value *extent = ltA_first(target); extent < ltA_next(target); extent++, size++) {
    int64_t below, above;
    if (size->value > 0 && extent->value % size->value != 0) {
      ltA_nearest_multiples(size->value, extent->value, &below, &above);
      ltA_fail(arena, LT_INVALID,
               "tile_to_shape: mode %z of block %v, %i, does not divide %i of the shape %v; the "
               "nearest sizes that it would: %I and %I",
               mode, block, ltA_int(size), ltA_int(extent), target, below, above);
    }
    mode++;
  }
  ltA_fail(arena, LT_INVALID, "tile_to_shape: block %v does not divide the shape %v", block,
           target);
}

static bool check_block_divides(lt_arena *arena, const lt_value *block, const lt_value *target,
                                const lt_value *block_shape) {
  if (!lt_is_static(target)) return !ltA_failed(arena);
  if (!lt_is_static(block_shape))
    ltA_fail(arena, LT_INVALID, "tile_to_shape: block %v of dynamic shape in the static shape %v",
             block, target);
  else if (!lt_evenly_divides(arena, target, block_shape))
    fail_block(arena, block, target, block_shape);
  return !ltA_failed(arena);
}

static const lt_value *fill_shape(lt_arena *arena, const lt_value *block, const lt_value *shape,
                                  const lt_value *order) {
  size_t rank = ltA_rank(shape);
  if (lt_rank(block) > rank)
    return ltA_fail(arena, LT_INVALID,
                    "tile_to_shape: block %v has %z modes, more than the %z of %v", block,
                    lt_rank(block), rank, shape);
  block = lt_append_to(arena, block, (int64_t)rank, NULL);
  if (ltA_failed(arena)) return NULL;
  const lt_value *block_shape = lt_product_each(arena, ltA_shape(block));
  const lt_value *target = lt_product_each(arena, shape);
  if (ltA_failed(arena) || !check_block_divides(arena, block, target, block_shape)) return NULL;
  const lt_value *repetitions = lt_ceil_div(arena, target, block_shape);
  return lt_blocked_product(arena, block, lt_make_ordered_layout(arena, repetitions, order));
}

const lt_value *lt_tile_to_shape(lt_arena *arena, const lt_value *block, const lt_value *shape,
                                 const lt_value *order) {
  if (ltA_failed(arena)) return NULL;
  if (order == NULL) order = lt_layout_left(arena);
  if (block->kind == LT_COMPOSED)
    return ltA_with_layout_b(arena, block,
                             lt_tile_to_shape(arena, ltA_layout_b(block), shape, order));
  if (block->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "tile_to_shape: %v is no layout", block);
  shape = ltA_shape_of(shape);
  if (!ltA_check_shape(arena, "tile_to_shape", shape)) return NULL;
  return fill_shape(arena, block, shape, order);
}
