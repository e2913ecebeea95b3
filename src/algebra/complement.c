/*
** Complement: the rest of the codomain, up to a target.
** r is ordered (r(i - 1) < r(i)), disjoint from the layout but for 0, and fills up to the target.
** Source: CuTe's complement (layout.hpp).
*/
#include "composed.h"
#include "flat.h"

/* Stable, by stride: few modes, and mostly sorted already. */
static void sort_by_stride(ltA_modes *modes) {
  for (size_t i = 1; i < modes->count; i++) {
    ltA_mode mode = modes->items[i];
    size_t at = i;
    for (; at > 0 && modes->items[at - 1].stride.value > mode.stride.value; at--)
      modes->items[at] = modes->items[at - 1];
    modes->items[at] = mode;
  }
}

static void *fail_strides(lt_arena *arena, const lt_value *layout) {
  return ltA_fail(arena, LT_INVALID,
                  "complement: %v has a dynamic stride and more than one mode; with several, all "
                  "strides must be static",
                  layout);
}

/* Modes that a complement is defined for: integer strides, all static where there are several. */
static bool check_modes(lt_arena *arena, const lt_value *layout, const ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    if (mode->basis != NULL)
      ltA_fail(arena, LT_INVALID, "complement: %v has scaled bases as strides", layout);
    else if (modes->count > 1 && !ltA_is_static_int(mode->stride))
      fail_strides(arena, layout);
    else if (mode->stride.value <= 0 && mode->shape.value > 1)
      ltA_fail(arena, LT_INVALID,
               "complement: stride %i of %v is not positive, so the layout is not one to one and "
               "ordered",
               mode->stride, layout);
  }
  return !ltA_failed(arena);
}

/* The gap before 'mode', which starts where the modes before it end. */
static lt_int gap_before(lt_arena *arena, const lt_value *layout, const ltA_mode *mode,
                         lt_int end) {
  lt_int gap = ltA_div(arena, mode->stride, end);
  if (gap.value == 0 && mode->shape.value > 1)
    ltA_fail(arena, LT_INVALID,
             "complement: %v is not one to one: stride %i lies within the %i covered before it",
             layout, mode->stride, end);
  return gap;
}

/* What is left of the target past 'end', with compact strides from there on. */
static void append_rest(ltA_modes *result, const lt_value *target, lt_int end) {
  lt_arena *arena = result->arena;
  const lt_value *rest = lt_ceil_div(arena, target, ltA_from_int(arena, end));
  rest = lt_coalesce(arena, rest, NULL);
  const lt_value *strides = lt_compact_col_major(arena, rest, ltA_from_int(arena, end));
  if (!ltA_failed(arena)) ltA_modes_flatten(result, rest, strides);
}

static const lt_value *complement_modes(lt_arena *arena, const lt_value *layout, ltA_modes *modes,
                                        const lt_value *target) {
  if (modes->count == 1 && ltA_is_static_zero(&modes->items[0]))
    return lt_make_layout(arena, lt_coalesce(arena, target, NULL), NULL);
  if (!check_modes(arena, layout, modes)) return NULL;
  sort_by_stride(modes);
  ltA_modes result;
  ltA_modes_begin(&result, arena);
  lt_int end = ltA_static(1);
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    ltA_modes_append(&result, (ltA_mode){gap_before(arena, layout, mode, end), end, NULL});
    end = ltA_mul(arena, mode->stride, mode->shape);
  }
  append_rest(&result, target, end);
  if (ltA_failed(arena)) return NULL;
  ltA_modes_coalesce(&result);
  return ltA_modes_to_layout(&result);
}

const lt_value *lt_complement(lt_arena *arena, const lt_value *layout, const lt_value *target) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  if (layout->kind == LT_COMPOSED) layout = ltA_layout_b(layout);
  if (layout->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "complement: %v is no layout", layout);
  const lt_value *filtered = lt_filter(arena, layout, NULL);
  const lt_value *shape = target != NULL ? ltA_shape_of(target) : lt_cosize(arena, filtered);
  if (ltA_failed(arena) || !ltA_check_shape(arena, "complement", shape)) return NULL;
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&modes, ltA_shape(filtered), ltA_stride(filtered));
  return ltA_keep(arena, mark, complement_modes(arena, layout, &modes, shape));
}
