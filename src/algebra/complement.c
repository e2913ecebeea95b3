/*
** Complement: the rest of the codomain, up to a target.
** r is ordered (r(i - 1) < r(i)), disjoint from the layout but for 0, and fills up to the target.
** Source: CuTe's complement (layout.hpp).
*/
#include "complement.h"

/* Stable, by stride: few modes, and mostly sorted already. */
/* More modes than this are sorted in less than quadratic time. */
#define FEW_MODES 64

static int compare_strides(const void *x, const void *y) {
  int64_t a = ((const ltA_mode *)x)->stride.value, b = ((const ltA_mode *)y)->stride.value;
  return (a > b) - (a < b);
}

static void sort_by_stride(ltA_modes *modes) {
  if (modes->count > FEW_MODES) {
    ltA_sort(modes->items, modes->count, sizeof *modes->items, compare_strides);
    return;
  }
  for (size_t i = 1; i < modes->count; i++) {
    ltA_mode mode = modes->items[i];
    size_t at = i;
    for (; at > 0 && modes->items[at - 1].stride.value > mode.stride.value; at--)
      modes->items[at] = modes->items[at - 1];
    modes->items[at] = mode;
  }
}

static void *fail_strides(lt_arena *arena, ltA_view layout) {
  return ltA_fail(arena, LT_INVALID,
                  "complement: %v has a dynamic stride and more than one mode; with several, all "
                  "strides must be static",
                  ltA_view_layout(arena, layout));
}

/* Modes that a complement is defined for: integer strides, all static where there are several. */
static bool check_modes(lt_arena *arena, ltA_view layout, const ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    if (mode->basis != NULL)
      ltA_fail(arena, LT_INVALID, "complement: %v has scaled bases as strides",
               ltA_view_layout(arena, layout));
    else if (modes->count > 1 && !ltA_is_static_int(mode->stride))
      fail_strides(arena, layout);
    else if (mode->stride.value < 0 || (mode->stride.value == 0 && mode->shape.value > 1))
      ltA_fail(arena, LT_INVALID,
               "complement: stride %i of %v is not positive, so the layout is not one to one and "
               "ordered",
               mode->stride, ltA_view_layout(arena, layout));
  }
  return !ltA_failed(arena);
}

/* The gap before 'mode', which starts where the modes before it end. */
static lt_int gap_before(lt_arena *arena, ltA_view layout, const ltA_mode *mode, lt_int end) {
  lt_int gap = ltA_div(arena, mode->stride, end);
  if (gap.value == 0 && !ltA_failed(arena))
    ltA_fail(arena, LT_INVALID,
             "complement: %v is not one to one: stride %i lies within the %i covered before it; a "
             "stride from %i on would not",
             ltA_view_layout(arena, layout), mode->stride, end, end);
  return gap;
}

/* ceil(target / end), mode by mode with the divisor carried on. */
static void divide_target(const ltA_modes *target, lt_int end, ltA_modes *rest) {
  lt_arena *arena = rest->arena;
  for (size_t i = 0; i < target->count && !ltA_failed(arena); i++) {
    lt_int extent = target->items[i].shape;
    ltA_modes_append_extent(rest, ltA_ceil_div(arena, extent, end));
    if (extent.value != 0) end = ltA_ceil_div(arena, end, extent);
  }
}

/* The shapes with compact strides from 'end' on. */
static void append_compact(ltA_modes *result, const ltA_modes *shapes, lt_int end) {
  for (size_t i = 0; i < shapes->count; i++) {
    lt_int shape = shapes->items[i].shape;
    bool is_one = ltA_is_constant(shape, 1);
    ltA_modes_append(result, (ltA_mode){shape, is_one ? ltA_static(0) : end, NULL});
    if (!is_one && i + 1 < shapes->count) end = ltA_mul(result->arena, end, shape);
  }
}

/* Of a layout that stays at 0 the complement is all of the target. */
static void append_target(ltA_modes *result, const ltA_modes *target) {
  ltA_modes shapes;
  ltA_modes_begin(&shapes, result->arena);
  for (size_t i = 0; i < target->count; i++)
    ltA_modes_append_extent(&shapes, target->items[i].shape);
  append_compact(result, &shapes, ltA_static(1));
}

/* Drops what repeats: CuTe's filter. */
static void filter_modes(ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++)
    if (ltA_is_static_zero(&modes->items[i])) modes->items[i].shape = ltA_static(1);
  ltA_modes_coalesce(modes);
}

void ltA_complement_modes(ltA_view layout, ltA_modes *modes, const ltA_modes *target,
                          ltA_modes *result) {
  lt_arena *arena = result->arena;
  filter_modes(modes);
  if (modes->count == 1 && ltA_is_static_zero(&modes->items[0])) {
    append_target(result, target);
    return;
  }
  if (!check_modes(arena, layout, modes)) return;
  sort_by_stride(modes);
  lt_int end = ltA_static(1);
  for (size_t i = 0; i < modes->count; i++) {
    const ltA_mode *mode = &modes->items[i];
    ltA_modes_append(result, (ltA_mode){gap_before(arena, layout, mode, end), end, NULL});
    end = ltA_mul(arena, mode->stride, mode->shape);
  }
  if (end.value == 0) {
    ltA_fail(arena, LT_INVALID, "complement: %v has no elements", ltA_view_layout(arena, layout));
    return;
  }
  ltA_modes rest;
  ltA_modes_begin(&rest, arena);
  divide_target(target, end, &rest);
  append_compact(result, &rest, end);
  ltA_modes_coalesce(result);
}

/* The target's shape as a flat list; by default the cosize of what is left of the layout. */
static void flatten_target(lt_arena *arena, const lt_value *layout, const lt_value *target,
                           ltA_modes *shapes) {
  ltA_modes_begin(shapes, arena);
  const lt_value *shape =
      target != NULL ? ltA_shape_of(target) : lt_cosize(arena, lt_filter(arena, layout, NULL));
  if (ltA_failed(arena) || !ltA_check_shape(arena, "complement", shape)) return;
  ltA_modes_flatten(shapes, shape, shape);
  if (shapes->count == 0) ltA_fail(arena, LT_INVALID, "complement: target %v has no modes", shape);
}

const lt_value *lt_complement(lt_arena *arena, const lt_value *layout, const lt_value *target) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  if (layout->kind == LT_COMPOSED) layout = ltA_layout_b(layout);
  if (layout->kind != LT_LAYOUT)
    return ltA_fail(arena, LT_INVALID, "complement: %v is no layout", layout);
  ltA_modes modes, shapes, result;
  flatten_target(arena, layout, target, &shapes);
  ltA_modes_begin(&modes, arena);
  ltA_modes_begin(&result, arena);
  ltA_modes_flatten(&modes, ltA_shape(layout), ltA_stride(layout));
  if (modes.count == 0) ltA_fail(arena, LT_INVALID, "complement: %v has no modes", layout);
  if (ltA_failed(arena)) return NULL;
  ltA_complement_modes(ltA_view_of(layout), &modes, &shapes, &result);
  return ltA_keep(arena, mark, ltA_modes_to_layout(&result));
}
