/*
** Divides: a layout as tiles and the layout of the tiles. Source: CuTe's logical_divide and its
** rearrangements (layout.hpp).
**
** Mode 0 of logical_divide(L, T) is L o T; mode 1 is L o complement(T): every element of L is in
** the result once. A tiler that does not divide L rounds L's modes up, and the result has
** coordinates past L's own beside them.
*/
#include "arrange.h"
#include "complement.h"
#include "composed.h"
#include "composition.h"

/* A divide in progress: the tiler and the rest of it in the coalesced shape of the layout. */
typedef struct division {
  ltA_layout_builder *result;
  ltA_view layout;
  ltA_view tiler;
  ltA_modes rest;
} division;

static lt_arena *arena_of(const division *d) { return d->result->shape.arena; }

static void find_rest(division *d) {
  lt_arena *arena = arena_of(d);
  ltA_modes target, modes;
  ltA_modes_begin(&target, arena);
  ltA_modes_begin(&modes, arena);
  ltA_modes_begin(&d->rest, arena);
  ltA_modes_flatten(&target, d->layout.shape, d->layout.stride);
  ltA_modes_flatten(&modes, d->tiler.shape, d->tiler.stride);
  if (target.count == 0 || modes.count == 0) {
    ltA_fail(arena, LT_INVALID, "logical_divide: %v by %v: a layout without modes",
             ltA_view_layout(arena, d->layout), ltA_view_layout(arena, d->tiler));
    return;
  }
  if (target.count > 1 && ltA_has_no_elements(d->layout.shape)) {
    ltA_fail(arena, LT_INVALID, "logical_divide: %v by %v: several modes, but no elements to tile",
             ltA_view_layout(arena, d->layout), ltA_view_layout(arena, d->tiler));
    return;
  }
  ltA_modes_coalesce(&target);
  ltA_complement_modes(d->tiler, &modes, &target, &d->rest);
}

/* The form by rule stays where it rounds up; else an exact one takes its place, or it fails. */
static void settle_division(division *d, ltA_composition *c) {
  lt_arena *arena = arena_of(d);
  const lt_value *modes[] = {ltA_view_layout(arena, d->tiler), ltA_modes_to_layout(&d->rest)};
  const lt_value *b = ltA_failed(arena) ? NULL : lt_make_layout_of(arena, modes, 2);
  if (b == NULL || ltA_composition_covers(c, ltA_view_of(b))) return;
  ltA_composition_settle(c, ltA_view_of(b));
}

/* (layout o tiler, layout o rest) */
static void divide_by_layout(ltA_layout_builder *result, ltA_view layout, ltA_view tiler) {
  division d;
  d.result = result;
  d.layout = layout;
  d.tiler = tiler;
  find_rest(&d);
  if (ltA_failed(arena_of(&d))) return;
  ltA_composition c;
  ltA_composition_begin(&c, result, "logical_divide", layout);
  ltA_place open = ltA_layout_open(result);
  ltA_compose_tree(&c, tiler.shape, tiler.stride);
  ltA_compose_modes(&c, &d.rest);
  ltA_layout_close(result, open, 2);
  if (!ltA_failed(arena_of(&d)) && !ltA_composition_is_exact(&c)) settle_division(&d, &c);
}

static void divide_any(ltA_layout_builder *result, ltA_view layout, const lt_value *tiler);

/* Mode by mode; modes past the tiler stay as they are. */
static void divide_by_mode(ltA_layout_builder *result, ltA_view layout, const lt_value *tiler) {
  lt_arena *arena = result->shape.arena;
  size_t rank = ltA_rank(layout.shape);
  if (ltA_rank(tiler) > rank) {
    ltA_fail(arena, LT_INVALID, "logical_divide: tiler %v has %z modes, more than the %z of %v",
             tiler, ltA_rank(tiler), rank, ltA_view_layout(arena, layout));
    return;
  }
  ltA_place open = ltA_layout_open(result);
  const lt_value *tile = ltA_first(tiler);
  ltA_view mode = rank > 0 ? ltA_view_mode(layout, 0) : layout;
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++, mode = ltA_view_next(mode)) {
    if (i >= ltA_rank(tiler)) {
      ltA_layout_append(result, mode);
      continue;
    }
    divide_any(result, mode, tile);
    tile = ltA_next(tile);
  }
  ltA_layout_close(result, open, rank);
}

static void divide_by_integer(ltA_layout_builder *result, ltA_view layout, const lt_value *n) {
  if (!ltA_check_shape(result->shape.arena, "logical_divide", n)) return;
  lt_value stride = ltA_compact_stride(n);
  divide_by_layout(result, layout, (ltA_view){n, &stride});
}

static void divide_any(ltA_layout_builder *result, ltA_view layout, const lt_value *tiler) {
  switch (tiler->kind) {
    case LT_LAYOUT: divide_by_layout(result, layout, ltA_view_of(tiler)); break;
    case LT_TUPLE: divide_by_mode(result, layout, tiler); break;
    case LT_WILDCARD: ltA_layout_append(result, layout); break;
    case LT_INTEGER: divide_by_integer(result, layout, tiler); break;
    default: ltA_fail(result->shape.arena, LT_INVALID, "logical_divide: %v is no tiler", tiler);
  }
}

const lt_value *lt_logical_divide(lt_arena *arena, const lt_value *layout, const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  if (layout->kind == LT_COMPOSED)
    return ltA_with_layout_b(arena, layout, lt_logical_divide(arena, ltA_layout_b(layout), tiler));
  if (layout->kind == LT_TENSOR)
    return ltA_with_tensor_layout(arena, layout,
                                  lt_logical_divide(arena, ltA_tensor_layout(layout), tiler));
  if (layout->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "logical_divide: %v is no layout", layout);
  ltA_mark mark = ltA_get_mark(arena);
  ltA_layout_builder result;
  ltA_layout_begin(&result, arena);
  divide_any(&result, ltA_view_of(layout), tiler);
  return ltA_keep(arena, mark, ltA_layout_finish(&result));
}

static const lt_value *divide(lt_arena *arena, const char *operation, const lt_value *layout,
                              const lt_value *tiler, ltA_arrangement arrangement) {
  const lt_value *divided = lt_logical_divide(arena, layout, tiler);
  return ltA_arrange(arena, operation, divided, tiler, arrangement);
}

const lt_value *lt_zipped_divide(lt_arena *arena, const lt_value *layout, const lt_value *tiler) {
  return divide(arena, "zipped_divide", layout, tiler, LTA_ZIPPED);
}

const lt_value *lt_tiled_divide(lt_arena *arena, const lt_value *layout, const lt_value *tiler) {
  return divide(arena, "tiled_divide", layout, tiler, LTA_TILED);
}

const lt_value *lt_flat_divide(lt_arena *arena, const lt_value *layout, const lt_value *tiler) {
  return divide(arena, "flat_divide", layout, tiler, LTA_FLAT);
}
