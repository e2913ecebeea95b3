/*
** Divides that round up: whether CuTe's form of a composition, past the extents of the left side's
** modes, still holds each element once.
*/
#include "composition.h"

/* One mode of a form, as steps within one digit of the left side. */
typedef struct digit_steps {
  int64_t count;
  int64_t step;
} digit_steps;

typedef struct digit_use {
  digit_steps *items;
  size_t count;
} digit_use;

/*
** The steps that the rule makes of one leaf in digit 'wanted': the walk again, in numbers. False
** where a stride is neither a multiple of a mode's extent nor within it.
*/
static bool collect_steps(const ltA_digits *digits, const ltA_mode *right, size_t wanted,
                          digit_use *use) {
  int64_t rest = right->shape.value;
  int64_t step = right->stride.value;
  size_t last = digits->modes.count - 1;
  if (step <= 0) return rest <= 1;
  for (size_t i = 0; i < last; i++) {
    int64_t n = digits->modes.items[i].shape.value;
    if (n == 0 || (step > n && step % n != 0)) return rest <= 1;
    if (step < n) {
      int64_t fitting = (n - 1) / step + 1;
      int64_t count = fitting < rest ? fitting : rest;
      if (i == wanted) use->items[use->count++] = (digit_steps){count, step};
      if (count == 0 || rest % count != 0) return false;
      rest /= count;
    }
    step = (step - 1) / n + 1;
  }
  if (last == wanted) use->items[use->count++] = (digit_steps){rest, step};
  return true;
}

static void sort_steps(digit_use *use) {
  for (size_t i = 1; i < use->count; i++) {
    digit_steps steps = use->items[i];
    size_t at = i;
    for (; at > 0 && use->items[at - 1].step > steps.step; at--)
      use->items[at] = use->items[at - 1];
    use->items[at] = steps;
  }
}

/*
** How far steps without gap or overlap count from 0 on: each number below the result is one sum of
** them. 0 where they leave a gap, overlap, or go on past 'extent'.
*/
static int64_t count_through(digit_use *use, int64_t extent) {
  sort_steps(use);
  int64_t covered = 1;
  for (size_t i = 0; i < use->count; i++) {
    if (use->items[i].count <= 1) continue;
    if (use->items[i].step != covered || covered >= extent) return 0;
    if (__builtin_mul_overflow(covered, use->items[i].count, &covered)) return 0;
  }
  return covered;
}

/* The steps of 'b' fit together in every digit; where 'whole', they also reach its extent. */
static bool fit_digits(ltA_composition *c, ltA_view b, bool whole) {
  ltA_digits *digits = c->digits;
  if (digits == NULL || digits->next != NULL || digits->basis != NULL) return false;
  ltA_modes right;
  ltA_modes_begin(&right, c->arena);
  ltA_modes_flatten(&right, b.shape, b.stride);
  digit_use use = {ltA_new_bytes(c->arena, right.count * sizeof *use.items), 0};
  size_t last = digits->modes.count - 1;
  for (size_t digit = 0; digit <= last && !ltA_failed(c->arena); digit++) {
    use.count = 0;
    for (size_t i = 0; i < right.count; i++)
      if (!collect_steps(digits, &right.items[i], digit, &use)) return false;
    const ltA_mode *mode = &digits->modes.items[digit];
    if (ltA_is_static_zero(mode)) continue;
    int64_t n = digit < last ? mode->shape.value : digits->last_extent;
    int64_t covered = count_through(&use, n);
    if (covered == 0 || (whole && covered < n)) return false;
  }
  return !ltA_failed(c->arena);
}

bool ltA_composition_covers(ltA_composition *c, ltA_view b) { return fit_digits(c, b, true); }

static bool is_dynamic_coordinates(const ltA_composition *c) {
  bool has_basis = false;
  bool is_dynamic = false;
  for (size_t i = 0; i < c->whole.modes.count; i++) {
    has_basis |= c->whole.modes.items[i].basis != NULL;
    is_dynamic |= !ltA_is_static_int(c->whole.modes.items[i].shape);
  }
  return has_basis && is_dynamic;
}

bool ltA_composition_rounds(ltA_composition *c, ltA_view b) {
  return is_dynamic_coordinates(c) && fit_digits(c, b, false);
}
