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

/* The rest of the tiler in the coalesced shape of the layout. */
static void append_rest(lt_arena *arena, const lt_value *layout, const lt_value *tiler,
                        ltA_modes *rest) {
  ltA_modes target, modes;
  ltA_modes_begin(&target, arena);
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&target, ltA_shape(layout), ltA_stride(layout));
  ltA_modes_flatten(&modes, ltA_shape(tiler), ltA_stride(tiler));
  if (target.count == 0 || modes.count == 0)
    ltA_fail(arena, LT_INVALID, "logical_divide: %v by %v: a layout without modes", layout, tiler);
  if (ltA_failed(arena)) return;
  ltA_modes_coalesce(&target);
  ltA_complement_modes(tiler, &modes, &target, rest);
}

/* The form by rule where it is exact or rounds up, else an exact one, else an error. */
static const lt_value *settle_divide(ltA_composition *c, const lt_value *tiler,
                                     const ltA_modes *rest, const lt_value *by_rule) {
  const lt_value *modes[] = {tiler, ltA_modes_to_layout(rest)};
  const lt_value *b = lt_make_layout_of(c->arena, modes, 2);
  if (ltA_failed(c->arena)) return NULL;
  if (ltA_composition_covers(c, b)) return by_rule;
  return ltA_composition_settle(c, b, by_rule);
}

static const lt_value *divide_by_layout(lt_arena *arena, const lt_value *layout,
                                        const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  ltA_modes rest;
  ltA_modes_begin(&rest, arena);
  append_rest(arena, layout, tiler, &rest);
  ltA_composition c;
  ltA_composition_begin(&c, arena, "logical_divide", layout);
  size_t open_shape = ltA_open(&c.shapes, LT_TUPLE);
  size_t open_stride = ltA_open(&c.strides, LT_TUPLE);
  ltA_compose_tree(&c, ltA_shape(tiler), ltA_stride(tiler));
  ltA_compose_modes(&c, &rest);
  ltA_close(&c.shapes, open_shape, 2);
  ltA_close(&c.strides, open_stride, 2);
  const lt_value *result = ltA_composition_finish(&c);
  if (result == NULL || c.doubt == LTA_EXACT) return result;
  return settle_divide(&c, tiler, &rest, result);
}

/* Mode by mode; modes past the tiler stay as they are. */
static const lt_value *divide_by_mode(lt_arena *arena, const lt_value *layout,
                                      const lt_value *tiler) {
  size_t rank = lt_rank(layout);
  if (ltA_rank(tiler) > rank)
    return ltA_fail(arena, LT_INVALID,
                    "logical_divide: tiler %v has %z modes, more than the %z of %v", tiler,
                    ltA_rank(tiler), rank, layout);
  ltA_join join;
  ltA_join_begin(&join, arena);
  const lt_value *tile = ltA_first(tiler);
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++) {
    const lt_value *mode = ltA_mode_of(arena, layout, i);
    if (i < ltA_rank(tiler)) {
      mode = lt_logical_divide(arena, mode, tile);
      tile = ltA_next(tile);
    }
    ltA_join_append(&join, mode);
  }
  return ltA_join_finish(&join);
}

static const lt_value *divide_layout(lt_arena *arena, const lt_value *layout,
                                     const lt_value *tiler) {
  switch (tiler->kind) {
    case LT_LAYOUT: return divide_by_layout(arena, layout, tiler);
    case LT_TUPLE: return divide_by_mode(arena, layout, tiler);
    case LT_WILDCARD: return layout;
    case LT_INTEGER: return divide_by_layout(arena, layout, lt_make_layout(arena, tiler, NULL));
    default: return ltA_fail(arena, LT_INVALID, "logical_divide: %v is no tiler", tiler);
  }
}

const lt_value *lt_logical_divide(lt_arena *arena, const lt_value *layout, const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  if (layout->kind == LT_COMPOSED)
    return ltA_with_layout_b(arena, layout, lt_logical_divide(arena, ltA_layout_b(layout), tiler));
  if (layout->kind == LT_TENSOR)
    return ltA_with_tensor_layout(arena, layout,
                                  lt_logical_divide(arena, ltA_tensor_layout(layout), tiler));
  if (layout->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "logical_divide: %v is no layout", layout);
  if (ltA_failed(arena)) return NULL;
  return ltA_keep(arena, mark, divide_layout(arena, layout, tiler));
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
