/*
** CuTe's rule for one leaf of a composition's right side: its steps are handed out to the digits of
** the left side, the first one first.
*/
#include "composition.h"

void ltA_note_doubt(ltA_composition *c, ltA_doubt doubt, const ltA_digits *digits, size_t mode,
                    int64_t shape, int64_t stride) {
  if (c->doubt != LTA_EXACT) return;
  c->doubt = doubt;
  c->doubt_digits = digits;
  c->doubt_mode = mode;
  c->doubt_shape = shape;
  c->doubt_stride = stride;
}

/* Where a leaf is on its way through the digits. */
typedef struct position {
  lt_int rest;   /* steps still to hand out */
  lt_int stride; /* of one step, in units of the digit */
} position;

/*
** 'before' and 'after' are positions at digit 'i', whose extent is n, and at the next; 'steps' are
** the steps below n. Steps stay whole digits if the stride is a multiple of n (the digit is not
** touched), or if all of them are below n, or if the stride divides n and they divide the rest.
*/
static void check_divisibility(ltA_composition *c, const ltA_digits *digits, size_t i,
                               position before, lt_int steps, position after) {
  if (ltA_failed(c->arena)) return; /* the numbers are beyond 64 bits */
  int64_t n = digits->modes.items[i].shape.value;
  int64_t step = before.stride.value < 0 ? -before.stride.value : before.stride.value;
  int64_t rest = before.rest.value;
  if (rest <= 1 || step == 0 || n == 0) return;
  if (step >= n) {
    if (step % n != 0) ltA_note_doubt(c, LTA_STRIDE, digits, i, rest, step);
    return;
  }
  if (rest <= steps.value) return;
  if (steps.value * step != n)
    ltA_note_doubt(c, LTA_STRIDE, digits, i, rest, step);
  else if (after.rest.value * steps.value != rest)
    ltA_note_doubt(c, LTA_SHAPE, digits, i, rest, step);
}

static void use_digit(ltA_digits *digits, size_t i, int64_t shape, int64_t step) {
  if (shape <= 1) return;
  uint64_t reach = (uint64_t)(shape - 1) * (uint64_t)step; /* below the mode's extent */
  if (__builtin_add_overflow(digits->used[i], reach, &digits->used[i]))
    digits->used[i] = UINT64_MAX;
}

/* ceil(extent / step): all of the rest where a dynamic stride is 0 at the moment. */
static lt_int steps_within(lt_arena *arena, lt_int extent, lt_int step, lt_int rest) {
  if (step.value != 0) return ltA_ceil_div(arena, extent, step);
  return ltA_dynamic(rest.value);
}

/* ceil(|stride| / extent), with the sign kept; an extent of 0 leaves it as it is. */
static lt_int stride_beyond(lt_arena *arena, lt_int extent, lt_int step, lt_int stride) {
  if (extent.value == 0) return ltA_is_static_int(extent) ? stride : ltA_dynamic(stride.value);
  return ltA_mul(arena, ltA_ceil_div(arena, step, extent), ltA_signum(stride));
}

static ltA_mode scaled_mode(lt_arena *arena, position at, lt_int shape, const ltA_mode *of) {
  return (ltA_mode){shape, ltA_mul(arena, at.stride, of->stride), of->basis};
}

/* What is left of 'rest' once it is handed out in 'shape's; all of it where there are none now. */
static lt_int rest_after(lt_arena *arena, lt_int rest, lt_int shape) {
  if (shape.value != 0) return ltA_div(arena, rest, shape);
  return ltA_is_static_int(shape) ? rest : ltA_dynamic(rest.value);
}

/* Hands out the steps that fit into digit 'i', and moves on to the next. */
static position walk_digit(ltA_composition *c, ltA_digits *digits, size_t i, position at,
                           ltA_modes *result) {
  lt_arena *arena = c->arena;
  const ltA_mode *mode = &digits->modes.items[i];
  position next = at;
  lt_int step = ltA_abs(arena, at.stride);
  if (ltA_failed(arena)) return at;
  lt_int steps = steps_within(arena, mode->shape, step, at.rest);
  if (!ltA_is_constant(steps, 1) && !ltA_is_constant(at.rest, 1)) {
    lt_int shape = ltA_min(steps, at.rest);
    ltA_modes_append(result, scaled_mode(arena, at, shape, mode));
    use_digit(digits, i, shape.value, step.value);
    next.rest = rest_after(arena, at.rest, shape);
  }
  next.stride = stride_beyond(arena, mode->shape, step, at.stride);
  check_divisibility(c, digits, i, at, steps, next);
  return next;
}

/* Appends steps of static size and stride within digit 'i'; false on overflow. */
static bool append_steps(ltA_digits *digits, size_t i, int64_t shape, int64_t stride,
                         ltA_modes *result) {
  const ltA_mode *mode = &digits->modes.items[i];
  int64_t product;
  if (__builtin_mul_overflow(stride, mode->stride.value, &product)) return false;
  ltA_modes_append(result, (ltA_mode){ltA_static(shape), ltA_static(product), mode->basis});
  return true;
}

bool ltA_walk_whole_digits(ltA_digits *digits, const ltA_mode *leaf, ltA_modes *result) {
  int64_t rest = leaf->shape.value;
  int64_t stride = leaf->stride.value;
  if (!digits->is_plain || !ltA_are_static(leaf->shape, leaf->stride) || stride <= 0 || rest <= 0)
    return false;
  size_t last = digits->modes.count - 1;
  for (size_t i = 0; i < last; i++) {
    int64_t n = digits->modes.items[i].shape.value;
    if (stride >= n) {
      if (rest > 1 && stride % n != 0) return false;
      stride = (stride - 1) / n + 1;
      continue;
    }
    int64_t steps = stride == 1 ? n : (n - 1) / stride + 1;
    if (rest > steps && (steps * stride != n || rest % steps != 0)) return false;
    int64_t shape = steps < rest ? steps : rest;
    if (shape > 1 && !append_steps(digits, i, shape, stride, result)) return false;
    use_digit(digits, i, shape, stride);
    rest /= shape;
    stride = 1;
  }
  if (result->count > 0 && rest == 1) return true;
  return append_steps(digits, last, rest, stride, result);
}

void ltA_composition_walk(ltA_composition *c, ltA_digits *digits, const ltA_mode *leaf,
                          ltA_modes *result) {
  result->count = 0;
  if (ltA_is_constant(leaf->stride, 0)) { /* broadcast: every index reads the same offset */
    ltA_modes_append(result, (ltA_mode){leaf->shape, leaf->stride, NULL});
    return;
  }
  position at = {leaf->shape, leaf->stride};
  size_t last = digits->modes.count - 1;
  for (size_t i = 0; i < last && !ltA_failed(c->arena); i++)
    at = walk_digit(c, digits, i, at, result);
  if (result->count == 0 || !ltA_is_constant(at.rest, 1))
    ltA_modes_append(result, scaled_mode(c->arena, at, at.rest, &digits->modes.items[last]));
}
