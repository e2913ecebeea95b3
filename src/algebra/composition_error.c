/*
** Why a composition has no result: the mode where it failed, the numbers, and the nearest that
** would work.
*/
#include "composition.h"

/* "mode 0 (4:2) of (4,6,8):(2,3,5) o 6:3": where it failed, in the modes that the rule walks. */
static void *fail_at(ltA_composition *c, const lt_value *b, const char *what, int64_t number,
                     int64_t below, int64_t above) {
  const ltA_mode *mode = &c->doubt_digits->modes.items[c->doubt_mode];
  const lt_value *left = ltA_modes_to_layout(&c->doubt_digits->modes);
  if (left == NULL) return NULL;
  return ltA_fail(c->arena, LT_INVALID,
                  "%s: %s %I does not divide mode %z (%i:%i) of %v o %v"
                  "; the nearest that would: %I and %I",
                  c->operation, what, number, c->doubt_mode, mode->shape, mode->stride, left, b,
                  below, above);
}

static void *fail_stride(ltA_composition *c, const lt_value *b) {
  int64_t below, above;
  int64_t n = c->doubt_digits->modes.items[c->doubt_mode].shape.value;
  ltA_nearest_divisors(n, c->doubt_stride, &below, &above);
  return fail_at(c, b, "stride", c->doubt_stride, below, above);
}

static void *fail_shape(ltA_composition *c, const lt_value *b) {
  int64_t n = c->doubt_digits->modes.items[c->doubt_mode].shape.value;
  int64_t fitting = n / c->doubt_stride;
  int64_t below = c->doubt_shape / fitting * fitting;
  int64_t above;
  if (__builtin_add_overflow(below, fitting, &above)) above = below;
  return fail_at(c, b, "shape", c->doubt_shape, below, above);
}

static void *fail_carry(ltA_composition *c, const lt_value *b) {
  const ltA_mode *mode = &c->doubt_digits->modes.items[c->doubt_mode];
  const lt_value *left = ltA_modes_to_layout(&c->doubt_digits->modes);
  if (left == NULL) return NULL;
  return ltA_fail(c->arena, LT_INVALID,
                  "%s: the modes of %v reach index %I together in mode %z (%i:%i) of %v"
                  "; they must stay below %i",
                  c->operation, b, c->doubt_stride, c->doubt_mode, mode->shape, mode->stride, left,
                  mode->shape);
}

static void *fail_signs(ltA_composition *c, const lt_value *b) {
  const lt_value *left = ltA_modes_to_layout(&c->whole.modes);
  if (left == NULL) return NULL;
  return ltA_fail(c->arena, LT_INVALID,
                  "%s: no layout is known to equal %v o %v, whose strides have both signs; with "
                  "strides of one sign the modes can be composed one by one",
                  c->operation, left, b);
}

void *ltA_composition_fail(ltA_composition *c, ltA_view right) {
  const lt_value *b = ltA_view_layout(c->arena, right);
  if (b == NULL) return NULL;
  switch (c->doubt) {
    case LTA_STRIDE: return fail_stride(c, b);
    case LTA_SHAPE: return fail_shape(c, b);
    case LTA_CARRY: return fail_carry(c, b);
    default: return fail_signs(c, b);
  }
}
