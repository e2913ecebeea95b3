/*
** Composition of layouts: r(c) == a(b(c)) for all c in the domain of b.
** Sources: CuTe's composition_impl (layout.hpp); the form of results and their flags follow it.
*/
#include "composition.h"
#include "composed.h"

/* ---- The left side as digits ------------------------------------------------------------------
 */

/* Coalescing takes a last mode of static size 1 for one of size 2, so that it stays. */
static int64_t last_extent(const ltA_modes *modes, bool ends_in_one) {
  int64_t extent = modes->count > 0 ? modes->items[modes->count - 1].shape.value : 1;
  return ends_in_one ? extent / 2 : extent;
}

static ltA_digits *new_digits(ltA_composition *c, const lt_value *basis, const lt_value *shape,
                              const lt_value *stride) {
  ltA_digits *digits = ltA_new_bytes(c->arena, sizeof *digits);
  if (digits == NULL) return NULL;
  digits->basis = basis;
  digits->next = c->digits;
  ltA_modes_begin(&digits->modes, c->arena);
  ltA_modes_flatten(&digits->modes, shape, stride);
  size_t leaves = digits->modes.count;
  bool ends_in_one = leaves > 0 && ltA_is_constant(digits->modes.items[leaves - 1].shape, 1);
  ltA_modes_coalesce_x(&digits->modes);
  digits->last_extent = last_extent(&digits->modes, ends_in_one);
  size_t size = digits->modes.count * sizeof *digits->used;
  digits->used = ltA_new_bytes(c->arena, size);
  if (digits->used == NULL) return NULL;
  memset(digits->used, 0, size);
  c->digits = digits;
  return digits;
}

/* Follows a basis' path into the left side: shape and stride of the mode that it picks. */
static bool pick_mode(ltA_composition *c, const lt_value *basis, const lt_value **shape,
                      const lt_value **stride) {
  for (const lt_value *i = ltA_first(basis); i < ltA_next(basis); i++) {
    if (!ltA_is_tuple(*shape) && i->value == 0) continue; /* an integer is its own mode 0 */
    if ((size_t)i->value >= ltA_rank(*shape) || !ltA_is_tuple(*shape)) {
      ltA_fail(c->arena, LT_INVALID, "%s: %v has no mode %v, which %v names", c->operation, c->a, i,
               basis);
      return false;
    }
    *shape = ltA_element(*shape, (size_t)i->value);
    *stride = ltA_element(*stride, (size_t)i->value);
  }
  return true;
}

ltA_digits *ltA_composition_digits(ltA_composition *c, const ltA_mode *leaf) {
  for (ltA_digits *digits = c->digits; digits != NULL; digits = digits->next)
    if (ltA_same_basis(digits->basis, leaf->basis)) return digits;
  const lt_value *shape = ltA_shape(c->a);
  const lt_value *stride = ltA_stride(c->a);
  if (leaf->basis != NULL && !pick_mode(c, leaf->basis, &shape, &stride)) return NULL;
  return new_digits(c, leaf->basis, shape, stride);
}

/* ---- CuTe's rule ------------------------------------------------------------------------------
 */

void ltA_composition_doubt(ltA_composition *c, ltA_doubt doubt, const ltA_digits *digits,
                           size_t mode, int64_t shape, int64_t stride) {
  if (c->doubt != LTA_EXACT) return;
  c->doubt = doubt;
  c->doubt_digits = digits;
  c->doubt_mode = mode;
  c->doubt_shape = shape;
  c->doubt_stride = stride;
}

/*
** 'shape' steps of 'stride' from digit 'mode' on, whose extent is n, stay whole digits if the
** stride is a multiple of n (the digit is not touched), or if all steps fit below n, or if the
** stride divides n and the steps that fit divide the shape.
*/
static void check_divisibility(ltA_composition *c, const ltA_digits *digits, size_t mode,
                               int64_t shape, int64_t stride) {
  int64_t n = digits->modes.items[mode].shape.value;
  if (shape <= 1 || stride == 0 || n == 0) return;
  if (stride >= n) {
    if (stride % n != 0) ltA_composition_doubt(c, LTA_STRIDE, digits, mode, shape, stride);
    return;
  }
  int64_t fitting = (n - 1) / stride + 1;
  if (shape <= fitting) return;
  if (n % stride != 0)
    ltA_composition_doubt(c, LTA_STRIDE, digits, mode, shape, stride);
  else if (shape % fitting != 0)
    ltA_composition_doubt(c, LTA_SHAPE, digits, mode, shape, stride);
}

static void use_digit(ltA_digits *digits, size_t mode, int64_t shape, int64_t stride) {
  if (shape <= 1) return;
  uint64_t reach = (uint64_t)(shape - 1) * (uint64_t)stride; /* below the mode's extent */
  if (__builtin_add_overflow(digits->used[mode], reach, &digits->used[mode]))
    digits->used[mode] = UINT64_MAX;
}

/* min(ceil(extent / |stride|), rest): all of the rest where a dynamic stride is 0 at the moment. */
static lt_int steps_within(lt_arena *arena, lt_int extent, lt_int stride, lt_int rest) {
  if (stride.value != 0) return ltA_ceil_div(arena, extent, stride);
  return ltA_dynamic(rest.value);
}

/* ceil(|stride| / extent), with the sign kept; an extent of 0 leaves it as it is. */
static lt_int stride_beyond(lt_arena *arena, lt_int extent, lt_int step, lt_int stride) {
  if (extent.value == 0) return stride;
  return ltA_mul(arena, ltA_ceil_div(arena, step, extent), ltA_signum(stride));
}

static void note_sign(ltA_composition *c, const ltA_mode *leaf) {
  if (leaf->shape.value <= 1) return;
  c->has_positive |= leaf->stride.value > 0;
  c->has_negative |= leaf->stride.value < 0;
}

static ltA_mode scaled_mode(lt_arena *arena, lt_int shape, lt_int stride, const ltA_mode *of) {
  return (ltA_mode){shape, ltA_mul(arena, stride, of->stride), of->basis};
}

void ltA_composition_walk(ltA_composition *c, ltA_digits *digits, const ltA_mode *leaf,
                          ltA_modes *result) {
  lt_arena *arena = c->arena;
  lt_int rest = leaf->shape;
  lt_int stride = leaf->stride;
  if (ltA_is_constant(stride, 0)) {
    ltA_modes_append(result, (ltA_mode){rest, stride, NULL});
    return;
  }
  note_sign(c, leaf);
  size_t last = digits->modes.count - 1;
  for (size_t i = 0; i < last && !ltA_failed(arena); i++) {
    const ltA_mode *mode = &digits->modes.items[i];
    lt_int step = ltA_abs(arena, stride);
    check_divisibility(c, digits, i, rest.value, step.value);
    lt_int steps = steps_within(arena, mode->shape, step, rest);
    if (!ltA_is_constant(steps, 1) && !ltA_is_constant(rest, 1)) {
      lt_int shape = ltA_min(steps, rest);
      ltA_modes_append(result, scaled_mode(arena, shape, stride, mode));
      use_digit(digits, i, shape.value, step.value);
      if (shape.value != 0) rest = ltA_div(arena, rest, shape);
    }
    stride = stride_beyond(arena, mode->shape, step, stride);
  }
  if (result->count == 0 || !ltA_is_constant(rest, 1))
    ltA_modes_append(result, scaled_mode(arena, rest, stride, &digits->modes.items[last]));
}

/* ---- The tree of the right side ---------------------------------------------------------------
 */

static void compose_leaf(ltA_composition *c, const lt_value *shape, const lt_value *stride,
                         ltA_builder *shapes, ltA_builder *strides) {
  ltA_mode leaf = ltA_make_mode(shape, stride);
  ltA_digits *digits = ltA_composition_digits(c, &leaf);
  if (digits == NULL) return;
  ltA_modes modes;
  ltA_modes_begin(&modes, c->arena);
  ltA_composition_walk(c, digits, &leaf, &modes);
  ltA_modes_append_to(&modes, shapes, strides);
}

static void compose_tree(ltA_composition *c, const lt_value *shape, const lt_value *stride,
                         ltA_builder *shapes, ltA_builder *strides) {
  if (!ltA_is_tuple(shape)) {
    compose_leaf(c, shape, stride, shapes, strides);
    return;
  }
  size_t rank = ltA_rank(shape);
  size_t open_shape = ltA_open(shapes, LT_TUPLE);
  size_t open_stride = ltA_open(strides, LT_TUPLE);
  const lt_value *s = ltA_first(shape);
  const lt_value *d = ltA_first(stride);
  for (size_t i = 0; i < rank && !ltA_failed(c->arena); i++) {
    compose_tree(c, s, d, shapes, strides);
    s = ltA_next(s);
    d = ltA_next(d);
  }
  ltA_close(shapes, open_shape, rank);
  ltA_close(strides, open_stride, rank);
}

/*
** Without a carry from digit to digit the sum of offsets is the sum of digits, so that the modes of
** the right side can be composed one by one. (With one, the difference may still cancel out.)
*/
static void check_carries(ltA_composition *c) {
  if (c->has_positive && c->has_negative) ltA_composition_doubt(c, LTA_SIGNS, c->digits, 0, 0, 0);
  for (const ltA_digits *digits = c->digits; digits != NULL; digits = digits->next)
    for (size_t i = 0; i + 1 < digits->modes.count; i++)
      if (digits->used[i] >= (uint64_t)digits->modes.items[i].shape.value && digits->used[i] > 0)
        ltA_composition_doubt(c, LTA_CARRY, digits, i, 0, (int64_t)(digits->used[i] & INT64_MAX));
}

static bool check_elements(lt_arena *arena, const char *operation, const lt_value *a,
                           const lt_value *b) {
  if (ltA_has_no_elements(ltA_shape(a)) && !ltA_has_no_elements(ltA_shape(b)))
    ltA_fail(arena, LT_INVALID, "%s: %v has no elements for %v to pick", operation, a, b);
  else if (ltA_count_leaves(ltA_shape(a)) == 0 && ltA_count_leaves(ltA_shape(b)) != 0)
    ltA_fail(arena, LT_INVALID, "%s: %v has no modes", operation, a);
  return !ltA_failed(arena);
}

/* By the rule alone; what is doubtful about the result is noted in 'c'. */
static const lt_value *compose_by_rule(ltA_composition *c) {
  if (!check_elements(c->arena, c->operation, c->a, c->b)) return NULL;
  ltA_builder shapes, strides;
  ltA_begin(&shapes, c->arena);
  ltA_begin(&strides, c->arena);
  compose_tree(c, ltA_shape(c->b), ltA_stride(c->b), &shapes, &strides);
  if (ltA_failed(c->arena)) return NULL;
  check_carries(c);
  return ltA_finish_layout(&shapes, &strides);
}

static const lt_value *compose_layouts(lt_arena *arena, const lt_value *a, const lt_value *b) {
  ltA_mark mark = ltA_get_mark(arena);
  ltA_composition c = {.arena = arena, .a = a, .b = b, .operation = "composition"};
  const lt_value *result = compose_by_rule(&c);
  if (c.doubt != LTA_EXACT) result = ltA_composition_settle(&c, result);
  return ltA_keep(arena, mark, result);
}

const lt_value *ltA_composition_by_leaf(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  ltA_composition c = {.arena = arena, .a = a, .b = b, .operation = "composition"};
  const lt_value *result = compose_by_rule(&c);
  bool is_settled = c.doubt == LTA_EXACT || c.doubt == LTA_CARRY;
  return is_settled ? result : ltA_composition_settle(&c, result);
}

const lt_value *ltA_composition_rounded(lt_arena *arena, const lt_value *a, const lt_value *tile,
                                        const lt_value *rest) {
  const lt_value *modes[] = {tile, rest};
  const lt_value *b = lt_make_layout_of(arena, modes, 2);
  if (ltA_failed(arena)) return NULL;
  ltA_composition c = {.arena = arena, .a = a, .b = b, .operation = "logical_divide"};
  const lt_value *result = compose_by_rule(&c);
  if (c.doubt == LTA_EXACT || ltA_failed(arena)) return result;
  if (ltA_composition_covers(&c)) return result;
  return ltA_composition_settle(&c, result);
}

/* ---- By kind of operand -----------------------------------------------------------------------
 */

/* Mode by mode; modes of 'a' past the tuple are dropped. */
static const lt_value *compose_by_mode(lt_arena *arena, const lt_value *a, const lt_value *tiler) {
  size_t rank = ltA_rank(tiler);
  if (rank > lt_rank(a))
    return ltA_fail(arena, LT_INVALID, "composition: tiler %v has %z modes, more than the %z of %v",
                    tiler, rank, lt_rank(a), a);
  ltA_join join;
  ltA_join_begin(&join, arena);
  const lt_value *tile = ltA_first(tiler);
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++) {
    ltA_join_append(&join, lt_composition(arena, ltA_mode_of(arena, a, i), tile));
    tile = ltA_next(tile);
  }
  return ltA_join_finish(&join);
}

/* The integer n stands for n:1. */
static const lt_value *compose_integer(lt_arena *arena, const lt_value *a, const lt_value *n) {
  if (!ltA_check_shape(arena, "composition", n)) return NULL;
  const lt_value *b = ltA_pair(arena, n, lt_integer(arena, 1));
  return b == NULL ? NULL : compose_layouts(arena, a, b);
}

static const lt_value *compose_layout(lt_arena *arena, const lt_value *a, const lt_value *b) {
  switch (b->kind) {
    case LT_LAYOUT: return compose_layouts(arena, a, b);
    case LT_TUPLE: return compose_by_mode(arena, a, b);
    case LT_WILDCARD: return a;
    case LT_INTEGER: return compose_integer(arena, a, b);
    default: return ltA_fail(arena, LT_INVALID, "composition: %v is no layout and no tiler", b);
  }
}

const lt_value *lt_composition(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  if (a->kind == LT_TENSOR)
    return ltA_with_tensor_layout(arena, a, lt_composition(arena, ltA_tensor_layout(a), b));
  if (a->kind == LT_SWIZZLE || a->kind == LT_COMPOSED || b->kind == LT_SWIZZLE ||
      b->kind == LT_COMPOSED)
    return ltA_composition_composed(arena, a, b);
  if (a->kind != LT_LAYOUT) return ltA_fail(arena, LT_INVALID, "composition: %v is no layout", a);
  return compose_layout(arena, a, b);
}

const lt_value *lt_with_shape(lt_arena *arena, const lt_value *layout, const lt_value *shape) {
  return lt_composition(arena, layout, lt_make_layout(arena, shape, NULL));
}
