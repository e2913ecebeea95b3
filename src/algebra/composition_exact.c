/*
** What happens when CuTe's rule for a composition is in doubt: proof of its form by evaluation,
** search for another form, and the error when there is none.
**
** CuTe C++ checks divisibility only where the numbers are static, and accepts any stride below the
** extent of the mode it starts in: (4,8):(8,1) o 6:3 gives (2,3):(24,1) there, which is not a(b(i))
** from i == 2 on. Here a form is returned only if it equals a(b(c)) at every coordinate.
*/
#include <stdlib.h>

#include "composition.h"

/* Compositions with more elements than this are decided by the rule alone. */
#define MAX_PROVABLE ((int64_t)1 << 20)

/* A leaf of the right side and the modes found for it. */
typedef struct right_leaf {
  ltA_mode right;
  ltA_digits *digits;
  ltA_modes form;
} right_leaf;

typedef struct proof {
  ltA_composition *c;
  ltA_view b;
  right_leaf *leaves;
  size_t count;
} proof;

/* ---- Evaluation -------------------------------------------------------------------------------
 */

/* Calls of the loops below stop at the first basis that was seen before. */
static bool seen_before(const ltA_modes *modes, size_t i) {
  for (size_t j = 0; j < i; j++)
    if (ltA_same_basis(modes->items[j].basis, modes->items[i].basis)) return true;
  return false;
}

/* ---- Proof ------------------------------------------------------------------------------------
 */

/* Whether the forms of the leaves from 'first' on that count in 'digits' add up, given the indices
** that the leaves before have reached. At most 20 leaves deep: MAX_PROVABLE is 2^20. */
static bool holds_from(const proof *p, const ltA_digits *digits, const lt_value *basis,
                       size_t first, int64_t index, uint64_t offset) {
  size_t i = first;
  while (i < p->count && (p->leaves[i].digits != digits || p->leaves[i].right.shape.value == 1))
    i++;
  if (i == p->count) return ltA_modes_evaluate(&digits->modes, index, basis) == offset;
  const right_leaf *leaf = &p->leaves[i];
  for (int64_t x = 0; x < leaf->right.shape.value; x++) {
    int64_t next = index + x * leaf->right.stride.value;
    uint64_t reached = offset + ltA_modes_evaluate(&leaf->form, x, basis);
    if (!holds_from(p, digits, basis, i + 1, next, reached)) return false;
  }
  return true;
}

/* The rule drops what does not come out in whole modes. */
static bool has_whole_size(const right_leaf *leaf) {
  int64_t size = 1;
  for (size_t i = 0; i < leaf->form.count; i++) size *= leaf->form.items[i].shape.value;
  return size == leaf->right.shape.value;
}

static bool holds_in(const proof *p, const ltA_digits *digits) {
  for (size_t i = 0; i < p->count; i++)
    if (p->leaves[i].digits == digits && !has_whole_size(&p->leaves[i])) return false;
  for (size_t i = 0; i < digits->modes.count; i++)
    if (!seen_before(&digits->modes, i) &&
        !holds_from(p, digits, digits->modes.items[i].basis, 0, 0, 0))
      return false;
  return true;
}

static bool holds(const proof *p) {
  for (const ltA_digits *digits = p->c->digits; digits != NULL; digits = digits->next)
    if (!holds_in(p, digits)) return false;
  return true;
}

/* Few enough elements, and offsets within them small enough, to be evaluated one by one. */
static bool is_provable(const proof *p) {
  int64_t size = 1;
  int64_t reach = 0;
  for (size_t i = 0; i < p->count; i++) {
    const ltA_mode *right = &p->leaves[i].right;
    int64_t extent;
    if (right->shape.value == 0) return true;
    if (__builtin_mul_overflow(size, right->shape.value, &size) || size > MAX_PROVABLE)
      return false;
    if (right->stride.value == INT64_MIN ||
        __builtin_mul_overflow(right->shape.value - 1, llabs(right->stride.value), &extent) ||
        __builtin_add_overflow(reach, extent, &reach))
      return false;
  }
  return true;
}

/* ---- Search -----------------------------------------------------------------------------------
 */

/*
** The stride that one step of 'step' makes on the left: the offset there, which must lie along one
** basis. False where it lies along several.
*/
static bool stride_of_step(const ltA_digits *digits, int64_t step, ltA_mode *mode) {
  bool found = false;
  mode->stride = ltA_static(0);
  mode->basis = NULL;
  for (size_t i = 0; i < digits->modes.count; i++) {
    const lt_value *basis = digits->modes.items[i].basis;
    if (seen_before(&digits->modes, i)) continue;
    uint64_t offset = ltA_modes_evaluate(&digits->modes, step, basis);
    if (offset == 0) continue;
    if (found) return false;
    found = true;
    mode->stride = ltA_static((int64_t)offset);
    mode->basis = basis;
  }
  return true;
}

static bool steps_evenly(const ltA_digits *digits, int64_t step, int64_t x, const ltA_mode *mode) {
  for (size_t i = 0; i < digits->modes.count; i++) {
    const lt_value *basis = digits->modes.items[i].basis;
    uint64_t stride = ltA_same_basis(basis, mode->basis) ? (uint64_t)mode->stride.value : 0;
    if (ltA_modes_evaluate(&digits->modes, step * x, basis) != (uint64_t)x * stride) return false;
  }
  return true;
}

/*
** The one candidate for a leaf. In a layout that equals f on 0 .. shape-1 with its modes merged,
** the first stride is f(1), and the first shape is how long f(x) == x * f(1) lasts; the rest is the
** same question for f at the multiples of that shape. False where a shape does not divide.
*/
static bool search_leaf(const ltA_digits *digits, const ltA_mode *right, ltA_modes *form) {
  int64_t rest = right->shape.value;
  int64_t step = right->stride.value;
  form->count = 0;
  while (rest > 1) {
    ltA_mode mode;
    if (!stride_of_step(digits, step, &mode)) return false;
    int64_t run = 2;
    while (run < rest && steps_evenly(digits, step, run, &mode)) run++;
    if (rest % run != 0) return false;
    mode.shape = ltA_static(run);
    ltA_modes_append(form, mode);
    rest /= run;
    if (rest > 1) step *= run;
  }
  return true;
}

/* ---- Putting it together ----------------------------------------------------------------------
 */

static void collect_leaves(proof *p) {
  ltA_composition *c = p->c;
  ltA_modes right;
  ltA_modes_begin(&right, c->arena);
  ltA_modes_flatten(&right, p->b.shape, p->b.stride);
  p->count = right.count;
  p->leaves = ltA_new_bytes(c->arena, right.count * sizeof *p->leaves);
  for (size_t i = 0; i < right.count && !ltA_failed(c->arena); i++) {
    right_leaf *leaf = &p->leaves[i];
    leaf->right = right.items[i];
    leaf->digits = ltA_composition_digits(c, &leaf->right);
    ltA_modes_begin(&leaf->form, c->arena);
    ltA_composition_walk(c, leaf->digits, &leaf->right, &leaf->form);
  }
}

/* Replaces the forms of the leaves that the rule gets wrong by themselves. */
static bool search(proof *p) {
  proof one = {p->c, p->b, NULL, 1};
  for (size_t i = 0; i < p->count; i++) {
    one.leaves = &p->leaves[i];
    if (one.leaves->right.shape.value <= 1 || holds_in(&one, one.leaves->digits)) continue;
    if (!search_leaf(one.leaves->digits, &one.leaves->right, &one.leaves->form)) return false;
  }
  return !ltA_failed(p->c->arena) && holds(p);
}

/* The tree of the right side with each leaf replaced by its form. */
static void append_forms(const proof *p, const lt_value *shape, size_t *next_leaf,
                         ltA_layout_builder *result) {
  if (!ltA_is_tuple(shape)) {
    ltA_modes_append_to(&p->leaves[(*next_leaf)++].form, result);
    return;
  }
  ltA_place open = ltA_layout_open(result);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s))
    append_forms(p, s, next_leaf, result);
  ltA_layout_close(result, open, ltA_rank(shape));
}

static void replace_result(const proof *p) {
  ltA_layout_builder *result = p->c->result;
  result->shape.count = p->c->start.shape;
  result->stride.count = p->c->start.stride;
  size_t next_leaf = 0;
  append_forms(p, p->b.shape, &next_leaf, result);
}

/* ---- Settling ------------------------------------------------------------------------------ */

static bool is_static_left(const ltA_composition *c) {
  for (const ltA_digits *digits = c->digits; digits != NULL; digits = digits->next)
    for (size_t i = 0; i < digits->modes.count; i++)
      if (!ltA_are_static(digits->modes.items[i].shape, digits->modes.items[i].stride))
        return false;
  return true;
}

void ltA_composition_settle(ltA_composition *c, ltA_view b) {
  if (ltA_failed(c->arena) || ltA_has_no_elements(b.shape)) return;
  proof p = {.c = c, .b = b};
  collect_leaves(&p);
  if (ltA_failed(c->arena)) return;
  if (is_provable(&p)) {
    if (holds(&p)) return;
    if (is_static_left(c) && lt_is_static(b.shape) && lt_is_static(b.stride) && search(&p)) {
      replace_result(&p);
      return;
    }
  }
  ltA_composition_fail(c, b);
}
