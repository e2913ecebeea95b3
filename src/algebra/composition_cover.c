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

/* Steps that count through 0 .. extent-1 once each, and no more than one of them past it. */
static bool fit_together(digit_use *use, int64_t extent) {
  sort_steps(use);
  int64_t covered = 1;
  for (size_t i = 0; i < use->count; i++) {
    if (use->items[i].count <= 1) continue;
    if (use->items[i].step != covered || covered >= extent) return false;
    if (__builtin_mul_overflow(covered, use->items[i].count, &covered)) return false;
  }
  return covered >= extent;
}

bool ltA_composition_covers(ltA_composition *c, const lt_value *b) {
  ltA_digits *digits = c->digits;
  if (digits == NULL || digits->next != NULL || digits->basis != NULL) return false;
  ltA_modes right;
  ltA_modes_begin(&right, c->arena);
  ltA_modes_flatten(&right, ltA_shape(b), ltA_stride(b));
  digit_use use = {ltA_new_bytes(c->arena, right.count * sizeof *use.items), 0};
  size_t last = digits->modes.count - 1;
  for (size_t digit = 0; digit <= last && !ltA_failed(c->arena); digit++) {
    use.count = 0;
    for (size_t i = 0; i < right.count; i++)
      if (!collect_steps(digits, &right.items[i], digit, &use)) return false;
    const ltA_mode *mode = &digits->modes.items[digit];
    int64_t n = digit < last ? mode->shape.value : digits->last_extent;
    if (!ltA_is_static_zero(mode) && !fit_together(&use, n)) return false;
  }
  return !ltA_failed(c->arena);
}
