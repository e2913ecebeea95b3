/*
** Layouts, composed layouts and tensors as functions, in normal form.
*/
#include "function.h"

/* ---- Modes ---------------------------------------------------------------------------------- */

static bool continues(const ltA_mode *left, const ltA_mode *right) {
  int64_t reach;
  return ltA_same_basis(left->basis, right->basis) &&
         !__builtin_mul_overflow(left->shape.value, left->stride.value, &reach) &&
         reach == right->stride.value;
}

/* 0 times a basis is 0, whatever the basis. */
static ltA_mode without_flags(const ltA_mode *mode) {
  const lt_value *basis = mode->stride.value == 0 ? NULL : mode->basis;
  return (ltA_mode){ltA_static(mode->shape.value), ltA_static(mode->stride.value), basis};
}

static void merge_modes(ltA_function *f) {
  ltA_modes *modes = &f->modes;
  size_t kept = 0;
  for (size_t i = 0; i < modes->count; i++) {
    if (modes->items[i].basis != NULL) f->is_general = true;
    ltA_mode mode = without_flags(&modes->items[i]);
    if (mode.shape.value == 1) continue;
    if (kept > 0 && continues(&modes->items[kept - 1], &mode))
      modes->items[kept - 1].shape.value *= mode.shape.value;
    else
      modes->items[kept++] = mode;
  }
  modes->count = kept;
}

bool ltA_same_modes(const ltA_modes *a, const ltA_modes *b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++) {
    const ltA_mode *x = &a->items[i], *y = &b->items[i];
    if (x->shape.value != y->shape.value || x->stride.value != y->stride.value) return false;
    if (!ltA_same_basis(x->basis, y->basis)) return false;
  }
  return true;
}

static uint64_t magnitude(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

static int compare_strides(const void *x, const void *y) {
  uint64_t a = magnitude(((const ltA_mode *)x)->stride.value);
  uint64_t b = magnitude(((const ltA_mode *)y)->stride.value);
  return (a > b) - (a < b);
}

void ltA_sort_modes(ltA_modes *modes) {
  ltA_sort(modes->items, modes->count, sizeof *modes->items, compare_strides);
}

/* ---- Parts ---------------------------------------------------------------------------------- */

static void take_offset(ltA_function *f, const lt_value *offset, int64_t *at) {
  if (ltA_is_integer(offset))
    *at = offset->value;
  else
    f->is_general = true;
}

/* A swizzle or a layout in front; one that a layout behind it swallows is gone. */
static const lt_value *take_outer(lt_arena *arena, ltA_function *f, const lt_value *composed) {
  const lt_value *a = ltA_layout_a(composed), *b = ltA_layout_b(composed);
  take_offset(f, ltA_offset(composed), &f->start);
  if (ltA_is_swizzle(a)) {
    f->swizzle = ltA_unpack_swizzle(a);
    return b;
  }
  if (ltA_is_layout(b) && ltA_is_zero(ltA_offset(composed))) {
    ltA_attempt attempt;
    ltA_attempt_begin(&attempt, arena);
    const lt_value *whole = lt_composition(arena, a, b);
    if (ltA_attempt_end(&attempt, arena)) return whole;
  }
  f->outer = a;
  return b;
}

static const lt_value *take_parts(lt_arena *arena, ltA_function *f, const lt_value *value) {
  if (value->kind == LT_TENSOR) {
    take_offset(f, ltA_first(value), &f->shift);
    value = ltA_tensor_layout(value);
  }
  if (ltA_is_composed(value)) value = ltA_count_in_elements(arena, value);
  if (value != NULL && ltA_is_composed(value)) value = take_outer(arena, f, value);
  return value;
}

/* ---- Bounds --------------------------------------------------------------------------------- */

static bool add_reach(const ltA_mode *mode, int64_t *lowest, int64_t *highest) {
  int64_t reach;
  if (__builtin_mul_overflow(mode->shape.value - 1, mode->stride.value, &reach)) return false;
  int64_t *end = reach < 0 ? lowest : highest;
  return !__builtin_add_overflow(*end, reach, end);
}

static void find_bounds(lt_arena *arena, const char *operation, ltA_function *f) {
  bool fits = true;
  int64_t lowest = 0, highest = 0, moved;
  for (size_t i = 0; i < f->modes.count; i++) {
    fits = fits && add_reach(&f->modes.items[i], &lowest, &highest);
  }
  fits = fits && !__builtin_add_overflow(lowest, f->start, &f->lowest) &&
         !__builtin_add_overflow(highest, f->start, &f->highest) &&
         !__builtin_add_overflow(f->lowest, f->shift, &moved) &&
         !__builtin_add_overflow(f->highest, f->shift, &moved);
  if (!fits)
    ltA_fail(arena, LT_OVERFLOW, "%s: offsets of %v go beyond 64 bits", operation, f->value);
}

/* Bits that may be set in an offset between the bounds: all, where one is negative. */
static uint64_t possible_bits(const ltA_function *f) {
  if (f->lowest < 0) return ~(uint64_t)0;
  return f->highest == 0 ? 0 : ~(uint64_t)0 >> __builtin_clzll((uint64_t)f->highest);
}

/* A swizzle whose source bits stay 0 moves nothing; without one the start comes last. */
static void drop_swizzle(ltA_function *f) {
  if ((possible_bits(f) & f->swizzle.y) == 0) f->swizzle = (ltA_swizzle){0, 0, 0, 0, 0};
  if (f->swizzle.bits != 0 || f->outer != NULL) return;
  f->shift += f->start;
  f->lowest -= f->start;
  f->highest -= f->start;
  f->start = 0;
}

static bool check_swizzled(lt_arena *arena, const char *operation, const ltA_function *f) {
  int64_t
      moved; /* a swizzle sets no bit from 62 on, so that non-negative offsets stay below 2^63 */
  if (f->swizzle.bits != 0 && f->shift != 0 &&
      (f->highest > INT64_MAX / 4 || f->lowest < INT64_MIN / 4 ||
       __builtin_add_overflow((int64_t)1 << 62, f->shift, &moved) || f->shift < INT64_MIN / 4))
    ltA_fail(arena, LT_OVERFLOW, "%s: offsets of %v go beyond 64 bits", operation, f->value);
  return !ltA_failed(arena);
}

bool ltA_function_of(lt_arena *arena, const char *operation, const lt_value *value,
                     ltA_function *f) {
  if (ltA_failed(arena)) return false;
  *f = (ltA_function){.value = value};
  if (!lt_is_layout(value) && value->kind != LT_TENSOR) {
    ltA_fail(arena, LT_INVALID, "%s: %v is no layout", operation, value);
    return false;
  }
  const lt_value *layout = take_parts(arena, f, value);
  if (layout == NULL) return false;
  if (!ltA_is_layout(layout)) {
    ltA_fail(arena, LT_INVALID, "%s: %v has no domain: its inner part is no layout", operation,
             value);
    return false;
  }
  f->size = ltA_product(arena, ltA_shape(layout)).value;
  ltA_modes_begin(&f->modes, arena);
  if (f->size > 0) ltA_modes_flatten(&f->modes, ltA_shape(layout), ltA_stride(layout));
  merge_modes(f);
  find_bounds(arena, operation, f);
  if (ltA_failed(arena) || f->is_general) return !ltA_failed(arena);
  drop_swizzle(f);
  return check_swizzled(arena, operation, f);
}

bool ltA_function_span(const ltA_function *f, int64_t *span) {
  return !__builtin_sub_overflow(f->highest, f->lowest, span);
}
