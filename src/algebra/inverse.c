/*
** Inverses of layouts. Sources: CuTe's right_inverse and left_inverse (layout.hpp).
*/
#include "inverse.h"
#include "composed.h"

/* A mode and the index that it starts at: the product of the shapes before it. */
typedef struct placed_mode {
  ltA_mode mode;
  lt_int start;
} placed_mode;

typedef struct placed_modes {
  placed_mode *items;
  size_t count;
  placed_mode initial[16];
} placed_modes;

/* More modes than this are sorted in less than quadratic time; equal strides as they come. */
#define FEW_MODES 64

static int compare_strides(const void *x, const void *y) {
  int64_t a = ((const placed_mode *)x)->mode.stride.value;
  int64_t b = ((const placed_mode *)y)->mode.stride.value;
  return (a > b) - (a < b);
}

/* By stride, in the order that CuTe's exchange sort leaves equal strides in. */
static void sort_by_stride(placed_modes *modes) {
  if (modes->count > FEW_MODES) {
    ltA_sort(modes->items, modes->count, sizeof *modes->items, compare_strides);
    return;
  }
  for (size_t i = 0; i < modes->count; i++)
    for (size_t j = i + 1; j < modes->count; j++)
      if (modes->items[j].mode.stride.value < modes->items[i].mode.stride.value) {
        placed_mode swapped = modes->items[i];
        modes->items[i] = modes->items[j];
        modes->items[j] = swapped;
      }
}

static bool check_strides(lt_arena *arena, const char *operation, const lt_value *layout,
                          const ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++)
    if (modes->items[i].basis != NULL)
      ltA_fail(arena, LT_INVALID, "%s: %v has scaled bases as strides", operation, layout);
  if (modes->count == 0) ltA_fail(arena, LT_INVALID, "%s: %v has no modes", operation, layout);
  return !ltA_failed(arena);
}

/* The coalesced modes with a static stride, placed and sorted. */
static bool place_modes(lt_arena *arena, const ltA_modes *modes, placed_modes *placed) {
  placed->count = 0;
  placed->items = placed->initial;
  if (modes->count > sizeof placed->initial / sizeof placed->initial[0])
    placed->items = ltA_new_bytes(arena, modes->count * sizeof *placed->items);
  if (placed->items == NULL) return false;
  lt_int start = ltA_static(1);
  for (size_t i = 0; i < modes->count; i++) {
    if (ltA_is_static_int(modes->items[i].stride))
      placed->items[placed->count++] = (placed_mode){modes->items[i], start};
    start = ltA_mul(arena, start, modes->items[i].shape);
  }
  sort_by_stride(placed);
  return !ltA_failed(arena);
}

static bool flatten_coalesced(lt_arena *arena, const char *operation, const lt_value *layout,
                              ltA_modes *modes) {
  ltA_modes_begin(modes, arena);
  ltA_modes_flatten(modes, ltA_shape(layout), ltA_stride(layout));
  if (!check_strides(arena, operation, layout, modes)) return false;
  ltA_modes_coalesce(modes);
  return !ltA_failed(arena);
}

/*
** Chains the modes whose strides continue each other from 1 on: the offsets 0, 1, 2, ... and the
** indices that give them. layout(r(i)) == i for all i < size(r).
*/
static const lt_value *right_inverse_layout(lt_arena *arena, const lt_value *layout) {
  ltA_modes modes;
  placed_modes placed;
  if (!flatten_coalesced(arena, "right_inverse", layout, &modes)) return NULL;
  if (!place_modes(arena, &modes, &placed)) return NULL;
  ltA_modes result;
  ltA_modes_begin(&result, arena);
  lt_int reached = ltA_static(1);
  for (size_t i = 0; i < placed.count; i++) {
    const placed_mode *next = &placed.items[i];
    if (!ltA_is_constant(reached, next->mode.stride.value)) continue;
    ltA_modes_append(&result, (ltA_mode){next->mode.shape, next->start, NULL});
    reached = ltA_mul(arena, next->mode.shape, next->mode.stride);
  }
  if (result.count == 0) ltA_modes_append(&result, (ltA_mode){ltA_static(1), ltA_static(0), NULL});
  ltA_modes_coalesce(&result);
  return ltA_modes_to_layout(&result);
}

/* ---- Left inverse -----------------------------------------------------------------------------
 */

static bool check_static_strides(lt_arena *arena, const lt_value *layout, const ltA_modes *modes) {
  for (size_t i = 0; i < modes->count; i++)
    if (!ltA_is_static_int(modes->items[i].stride))
      ltA_fail(arena, LT_INVALID, "left_inverse: %v has a dynamic stride; all must be static",
               layout);
    else if (modes->items[i].stride.value < 0)
      ltA_fail(arena, LT_INVALID, "left_inverse: %v has the negative stride %i", layout,
               modes->items[i].stride);
  return !ltA_failed(arena);
}

/* Layouts with more elements than this are decided by the rule alone. */
#define MAX_PROVABLE ((int64_t)1 << 20)

/* Why CuTe's rule has no left inverse, or one that is in doubt. */
typedef enum left_doubt {
  LEFT_EXACT,
  LEFT_STRIDES, /* a stride is no multiple of the next smaller one: no result */
  LEFT_OVERRUN  /* a mode runs past the next larger stride: the result may be wrong */
} left_doubt;

/*
** Offsets as digits between the sorted strides, which must be multiples of each other: where the
** modes also stay below the next stride, each digit is the coordinate of one mode. Source: CuTe.
*/
static left_doubt apply_left_rule(const placed_modes *placed, ltA_modes *result) {
  left_doubt doubt = LEFT_EXACT;
  const placed_mode *before = NULL;
  for (size_t i = 0; i < placed->count; i++) {
    const placed_mode *next = &placed->items[i];
    int64_t stride = next->mode.stride.value;
    int64_t reached = before == NULL ? 1 : before->mode.stride.value;
    if (stride == 0) continue;
    if (stride % reached != 0) return LEFT_STRIDES;
    lt_int step = before == NULL ? ltA_static(0) : before->start;
    ltA_modes_append(result, (ltA_mode){ltA_static(stride / reached), step, NULL});
    if (before != NULL && before->mode.shape.value > stride / reached) doubt = LEFT_OVERRUN;
    before = next;
  }
  const placed_mode *last = &placed->items[placed->count - 1];
  lt_int step = before == NULL ? ltA_static(0) : before->start;
  ltA_modes_append(result, (ltA_mode){last->mode.shape, step, NULL});
  ltA_modes_coalesce(result);
  return doubt;
}

/*
** Proves the rule's result by evaluation, or searches another one. A layout that is not one to one
** may have a left inverse, too: layout(r(layout(i))) == layout(i) is all that is asked.
*/
static bool settle_left_inverse(lt_arena *arena, const lt_value *layout, left_doubt doubt,
                                ltA_modes *result) {
  if (ltA_failed(arena)) return false;
  int64_t size = ltA_product(arena, ltA_shape(layout)).value;
  if (size > MAX_PROVABLE) return false;
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&modes, ltA_shape(layout), ltA_stride(layout));
  if (ltA_failed(arena)) return false;
  ltA_modes_coalesce_x(&modes);
  if (doubt == LEFT_OVERRUN && ltA_is_left_inverse(&modes, size, result)) return true;
  return lt_is_static(layout) && ltA_search_left_inverse(&modes, size, result);
}

/* The mode whose stride is no multiple of the one before, or is run into by it. */
static const placed_mode *find_left_fault(const placed_modes *placed, const placed_mode **before) {
  *before = NULL;
  for (size_t i = 0; i < placed->count; i++) {
    const placed_mode *next = &placed->items[i];
    int64_t stride = next->mode.stride.value;
    if (stride == 0) continue;
    if (*before != NULL) {
      int64_t reached = (*before)->mode.stride.value;
      if (stride % reached != 0 || (*before)->mode.shape.value > stride / reached) return next;
    }
    *before = next;
  }
  return NULL;
}

static void *fail_left_inverse(lt_arena *arena, const lt_value *layout,
                               const placed_modes *placed) {
  const placed_mode *before;
  const placed_mode *next = find_left_fault(placed, &before);
  if (next == NULL) return ltA_fail(arena, LT_INVALID, "left_inverse: %v has none", layout);
  bool is_searched =
      lt_is_static(layout) && ltA_product(arena, ltA_shape(layout)).value <= LTA_MAX_SEARCHED;
  int64_t below, above, reached = before->mode.stride.value, stride = next->mode.stride.value;
  ltA_nearest_multiples(reached, stride, &below, &above);
  if (stride % reached != 0)
    return ltA_fail(
        arena, LT_INVALID,
        "left_inverse: %v has none%s: stride %I is no multiple of stride %I; the nearest "
        "that are: %I and %I",
        layout, is_searched ? "" : " by its strides", stride, reached, below, above);
  return ltA_fail(arena, LT_INVALID,
                  "left_inverse: %v has none%s: mode %i:%I runs past stride %I; a size up to %I "
                  "would not",
                  layout, is_searched ? "" : " by its strides", before->mode.shape, reached, stride,
                  stride / reached);
}

static const lt_value *left_inverse_layout(lt_arena *arena, const lt_value *layout) {
  ltA_modes modes, result;
  placed_modes placed;
  if (!flatten_coalesced(arena, "left_inverse", layout, &modes)) return NULL;
  if (!check_static_strides(arena, layout, &modes)) return NULL;
  if (!place_modes(arena, &modes, &placed)) return NULL;
  ltA_modes_begin(&result, arena);
  left_doubt doubt = apply_left_rule(&placed, &result);
  if (doubt == LEFT_EXACT || settle_left_inverse(arena, layout, doubt, &result))
    return ltA_modes_to_layout(&result);
  return fail_left_inverse(arena, layout, &placed);
}

/* ---- Public -----------------------------------------------------------------------------------
 */

const lt_value *lt_right_inverse(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  if (x->kind == LT_WILDCARD) return x;
  if (x->kind != LT_LAYOUT) return ltA_right_inverse_composed(arena, x);
  ltA_mark mark = ltA_get_mark(arena);
  return ltA_keep(arena, mark, right_inverse_layout(arena, x));
}

const lt_value *lt_left_inverse(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  if (x->kind == LT_WILDCARD) return x;
  if (x->kind != LT_LAYOUT) return ltA_left_inverse_composed(arena, x);
  ltA_mark mark = ltA_get_mark(arena);
  return ltA_keep(arena, mark, left_inverse_layout(arena, x));
}
