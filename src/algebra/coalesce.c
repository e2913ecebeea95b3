/*
** Simplification: coalesce, filter and the nullspace.
** r(i) == layout(i) for all i < size(layout); filter also drops what repeats.
*/
#include "composed.h"
#include "flat.h"

/* ---- Shapes -----------------------------------------------------------------------------------
 */

/*
** Products of neighbouring leaves that are both static or both dynamic. Source: CuTe's
** coalesce(Shape).
*/
static const lt_value *coalesce_shape(lt_arena *arena, const lt_value *shape) {
  ltA_modes extents;
  ltA_modes_begin(&extents, arena);
  for (const lt_value *leaf = shape; leaf < ltA_next(shape); leaf++) {
    if (leaf->kind == LT_TUPLE) continue;
    if (leaf->kind != LT_INTEGER)
      return ltA_fail(arena, LT_INVALID, "coalesce: %v is no shape", shape);
    ltA_modes_append_extent(&extents, ltA_int(leaf));
  }
  const lt_value *layout = ltA_modes_to_layout(&extents);
  return layout == NULL ? NULL : ltA_shape(layout);
}

/* ---- Layouts ----------------------------------------------------------------------------------
 */

/* The whole layout as flat modes; a rank-0 layout has none, which no simplification is defined for.
 */
static bool flatten_layout(lt_arena *arena, const char *operation, ltA_view layout,
                           ltA_modes *modes) {
  ltA_modes_begin(modes, arena);
  ltA_modes_flatten(modes, layout.shape, layout.stride);
  if (modes->count == 0)
    ltA_fail(arena, LT_INVALID, "%s: %v has no modes", operation, ltA_view_layout(arena, layout));
  return !ltA_failed(arena);
}

/* What is done to the modes of a layout, or to those at a leaf of a profile. */
typedef void simplification(ltA_modes *modes);

static void filter_modes(ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++)
    if (ltA_is_static_zero(&modes->items[i])) modes->items[i].shape = ltA_static(1);
  ltA_modes_coalesce(modes);
}

static const lt_value *simplify_whole(lt_arena *arena, const char *operation,
                                      simplification *simplify, const lt_value *layout) {
  ltA_modes modes;
  if (!flatten_layout(arena, operation, ltA_view_of(layout), &modes)) return NULL;
  simplify(&modes);
  return ltA_modes_to_layout(&modes);
}

/* At the leaves of 'profile'; modes past the profile stay as they are. */
static void append_simplified(ltA_layout_builder *result, const char *operation,
                              simplification *simplify, ltA_view layout, const lt_value *profile) {
  lt_arena *arena = result->shape.arena;
  if (!ltA_is_tuple(profile)) {
    ltA_modes modes;
    if (!flatten_layout(arena, operation, layout, &modes)) return;
    simplify(&modes);
    ltA_modes_append_to(&modes, result);
    return;
  }
  size_t rank = ltA_rank(layout.shape);
  if (ltA_rank(profile) > rank) {
    ltA_fail(arena, LT_INVALID, "%s: profile %v has %z modes, more than the %z of %v", operation,
             profile, ltA_rank(profile), rank, ltA_view_layout(arena, layout));
    return;
  }
  ltA_place open = ltA_layout_open(result);
  const lt_value *guide = ltA_first(profile), *guides_end = ltA_next(profile);
  ltA_view mode = rank > 0 ? ltA_view_mode(layout, 0) : layout;
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++, mode = ltA_view_next(mode)) {
    if (guide == guides_end) {
      ltA_layout_append(result, mode);
      continue;
    }
    append_simplified(result, operation, simplify, mode, guide);
    guide = ltA_next(guide);
  }
  ltA_layout_close(result, open, rank);
}

static const lt_value *simplify_by_profile(lt_arena *arena, const char *operation,
                                           simplification *simplify, const lt_value *layout,
                                           const lt_value *profile) {
  ltA_layout_builder result;
  ltA_layout_begin(&result, arena);
  append_simplified(&result, operation, simplify, ltA_view_of(layout), profile);
  return ltA_layout_finish(&result);
}

/* ---- Public -----------------------------------------------------------------------------------
 */

static const lt_value *simplify_any(lt_arena *arena, const char *operation,
                                    simplification *simplify, const lt_value *x,
                                    const lt_value *profile) {
  if (x->kind == LT_COMPOSED)
    return ltA_with_layout_b(arena, x,
                             simplify_any(arena, operation, simplify, ltA_layout_b(x), profile));
  if (x->kind != LT_LAYOUT) return ltA_fail(arena, LT_INVALID, "%s: %v is no layout", operation, x);
  ltA_mark mark = ltA_get_mark(arena);
  if (profile == NULL) return ltA_keep(arena, mark, simplify_whole(arena, operation, simplify, x));
  const lt_value *guide = ltA_shape_of(profile);
  return ltA_keep(arena, mark, simplify_by_profile(arena, operation, simplify, x, guide));
}

const lt_value *lt_coalesce(lt_arena *arena, const lt_value *x, const lt_value *profile) {
  if (ltA_failed(arena)) return NULL;
  if (profile == NULL && (x->kind == LT_TUPLE || x->kind == LT_INTEGER))
    return coalesce_shape(arena, x);
  return simplify_any(arena, "coalesce", ltA_modes_coalesce, x, profile);
}

const lt_value *lt_filter(lt_arena *arena, const lt_value *layout, const lt_value *profile) {
  if (ltA_failed(arena)) return NULL;
  return simplify_any(arena, "filter", filter_modes, layout, profile);
}

/*
** The indices of the domain that static 0 strides send to 0: layout(r(i)) == 0 for all i.
** A composed layout is not looked into.
*/
const lt_value *lt_nullspace(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  ltA_modes kept;
  ltA_modes_begin(&kept, arena);
  if (layout->kind == LT_LAYOUT) {
    ltA_modes modes;
    if (!flatten_layout(arena, "nullspace", ltA_view_of(layout), &modes)) return NULL;
    lt_int stride = ltA_static(1);
    for (size_t i = 0; i < modes.count; i++) {
      bool is_one = ltA_is_constant(modes.items[i].shape, 1);
      lt_int compact = is_one ? ltA_static(0) : stride;
      if (ltA_is_static_zero(&modes.items[i]))
        ltA_modes_append(&kept, (ltA_mode){modes.items[i].shape, compact, NULL});
      if (!is_one) stride = ltA_mul(arena, stride, modes.items[i].shape);
    }
  } else if (layout->kind != LT_COMPOSED) {
    return ltA_fail(arena, LT_INVALID, "nullspace: %v is no layout", layout);
  }
  if (kept.count == 0) ltA_modes_append(&kept, (ltA_mode){ltA_static(1), ltA_static(0), NULL});
  return ltA_modes_to_layout(&kept);
}
