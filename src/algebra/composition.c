/*
** Composition of layouts: r(c) == a(b(c)) for all c in the domain of b.
** Sources: CuTe's composition_impl (layout.hpp); the form of results and their flags follow it.
*/
#include "composition.h"

#include "composed.h"

/* ---- The left side as digits ---------------------------------------------------------------- */

/* Coalescing takes a last mode of static size 1 for one of size 2, so that it stays. */
static int64_t last_extent(const ltA_modes *modes, bool ends_in_one) {
  int64_t extent = modes->count > 0 ? modes->items[modes->count - 1].shape.value : 1;
  return ends_in_one ? extent / 2 : extent;
}

/* 'digits->modes' holds the flat modes of the left side, or of the mode that 'basis' picks. */
static void add_digits(ltA_composition *c, ltA_digits *digits, const lt_value *basis) {
  ltA_modes *modes = &digits->modes;
  bool ends_in_one = modes->count > 0 && ltA_is_constant(modes->items[modes->count - 1].shape, 1);
  ltA_modes_coalesce_x(modes);
  digits->basis = basis;
  digits->last_extent = last_extent(modes, ends_in_one);
  digits->used = digits->initial_used;
  if (modes->count > sizeof digits->initial_used / sizeof digits->initial_used[0])
    digits->used = ltA_new_bytes(c->arena, modes->count * sizeof *digits->used);
  if (digits->used == NULL) return;
  digits->is_plain = true;
  for (size_t i = 0; i < modes->count; i++) {
    digits->used[i] = 0;
    const ltA_mode *mode = &modes->items[i];
    digits->is_plain &= ltA_are_static(mode->shape, mode->stride) && mode->shape.value > 0;
  }
  digits->next = c->digits;
  c->digits = digits;
}

/* Follows a basis' path into the left side: shape and stride of the mode that it picks. */
static bool pick_mode(ltA_composition *c, const lt_value *basis, const lt_value **shape,
                      const lt_value **stride) {
  for (const lt_value *i = ltA_first(basis); i < ltA_next(basis); i++) {
    if (!ltA_is_tuple(*shape) && i->value == 0) continue; /* an integer is its own mode 0 */
    if (!ltA_is_tuple(*shape) || (size_t)i->value >= ltA_rank(*shape)) {
      ltA_fail(c->arena, LT_INVALID, "%s: %v has no mode %v, which %v names", c->operation,
               ltA_view_layout(c->arena, c->a), i, basis);
      return false;
    }
    *shape = ltA_element(*shape, (size_t)i->value);
    *stride = ltA_element(*stride, (size_t)i->value);
  }
  return true;
}

static ltA_digits *pick_digits(ltA_composition *c, const lt_value *basis) {
  if (c->a.shape == NULL)
    return ltA_fail(c->arena, LT_INVALID, "%s: %v names a mode of a layout without a tree",
                    c->operation, basis);
  const lt_value *shape = c->a.shape;
  const lt_value *stride = c->a.stride;
  if (!pick_mode(c, basis, &shape, &stride)) return NULL;
  ltA_digits *digits = ltA_new_bytes(c->arena, sizeof *digits);
  if (digits == NULL) return NULL;
  ltA_modes_begin(&digits->modes, c->arena);
  ltA_modes_flatten(&digits->modes, shape, stride);
  if (digits->modes.count == 0 && !ltA_failed(c->arena))
    return ltA_fail(c->arena, LT_INVALID, "%s: the mode of %v that %v names is empty", c->operation,
                    ltA_view_layout(c->arena, c->a), basis);
  add_digits(c, digits, basis);
  return ltA_failed(c->arena) ? NULL : digits;
}

ltA_digits *ltA_composition_digits(ltA_composition *c, const ltA_mode *leaf) {
  for (ltA_digits *digits = c->digits; digits != NULL; digits = digits->next)
    if (ltA_same_basis(digits->basis, leaf->basis)) return digits;
  return pick_digits(c, leaf->basis);
}

/* ---- The right side ------------------------------------------------------------------------- */

static void note_sign(ltA_composition *c, const ltA_mode *leaf) {
  if (leaf->shape.value <= 1) return;
  c->has_positive |= leaf->stride.value > 0;
  c->has_negative |= leaf->stride.value < 0;
}

static void compose_leaf(ltA_composition *c, const ltA_mode *leaf) {
  if (ltA_failed(c->arena)) return;
  ltA_digits *digits = ltA_composition_digits(c, leaf);
  if (digits == NULL) return;
  note_sign(c, leaf);
  ltA_modes modes;
  ltA_modes_begin(&modes, c->arena);
  if (!ltA_walk_whole_digits(digits, leaf, &modes)) ltA_composition_walk(c, digits, leaf, &modes);
  ltA_modes_append_to(&modes, c->result);
}

void ltA_compose_tree(ltA_composition *c, const lt_value *shape, const lt_value *stride) {
  if (ltA_failed(c->arena)) return;
  if (!ltA_is_tuple(shape)) {
    ltA_mode leaf = ltA_make_mode(shape, stride);
    compose_leaf(c, &leaf);
    return;
  }
  size_t rank = ltA_rank(shape);
  ltA_place open = ltA_layout_open(c->result);
  const lt_value *s = ltA_first(shape);
  const lt_value *d = ltA_first(stride);
  for (size_t i = 0; i < rank; i++) {
    ltA_compose_tree(c, s, d);
    s = ltA_next(s);
    d = ltA_next(d);
  }
  ltA_layout_close(c->result, open, rank);
}

void ltA_compose_modes(ltA_composition *c, const ltA_modes *modes) {
  if (modes->count == 1) {
    compose_leaf(c, &modes->items[0]);
    return;
  }
  ltA_place open = ltA_layout_open(c->result);
  for (size_t i = 0; i < modes->count && !ltA_failed(c->arena); i++)
    compose_leaf(c, &modes->items[i]);
  ltA_layout_close(c->result, open, modes->count);
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

static void begin(ltA_composition *c, ltA_layout_builder *result, const char *operation,
                  ltA_view a) {
  c->arena = result->shape.arena;
  c->operation = operation;
  c->a = a;
  c->digits = NULL;
  c->has_positive = c->has_negative = false;
  c->result = result;
  c->start = ltA_layout_place(result);
  c->doubt = LTA_EXACT;
  ltA_modes_begin(&c->whole.modes, c->arena);
}

void ltA_composition_begin(ltA_composition *c, ltA_layout_builder *result, const char *operation,
                           ltA_view a) {
  begin(c, result, operation, a);
  ltA_modes_flatten(&c->whole.modes, a.shape, a.stride);
  if (c->whole.modes.count == 0)
    ltA_fail(c->arena, LT_INVALID, "%s: %v has no modes", operation, ltA_view_layout(c->arena, a));
  add_digits(c, &c->whole, NULL);
}

void ltA_composition_begin_modes(ltA_composition *c, ltA_layout_builder *result,
                                 const char *operation, const ltA_modes *a) {
  begin(c, result, operation, (ltA_view){NULL, NULL});
  for (size_t i = 0; i < a->count; i++) ltA_modes_append(&c->whole.modes, a->items[i]);
  add_digits(c, &c->whole, NULL);
}

/*
** Without a carry from digit to digit the sum of offsets is the sum of digits, so that the modes of
** the right side can be composed one by one. (With one, the difference may still cancel out.)
*/
static void check_carries(ltA_composition *c) {
  if (c->has_positive && c->has_negative) ltA_note_doubt(c, LTA_SIGNS, c->digits, 0, 0, 0);
  for (const ltA_digits *digits = c->digits; digits != NULL; digits = digits->next)
    for (size_t i = 0; i + 1 < digits->modes.count; i++)
      if (digits->used[i] > 0 && digits->used[i] >= (uint64_t)digits->modes.items[i].shape.value)
        ltA_note_doubt(c, LTA_CARRY, digits, i, 0, (int64_t)(digits->used[i] & INT64_MAX));
}

bool ltA_composition_is_exact(ltA_composition *c) {
  check_carries(c);
  return c->doubt == LTA_EXACT;
}

/* ---- By kind of operand --------------------------------------------------------------------- */

static void compose_layouts(ltA_layout_builder *result, ltA_view a, ltA_view b) {
  lt_arena *arena = result->shape.arena;
  ltA_composition c;
  ltA_composition_begin(&c, result, "composition", a);
  if (!c.whole.is_plain && ltA_has_no_elements(a.shape) && !ltA_has_no_elements(b.shape)) {
    ltA_fail(arena, LT_INVALID, "composition: %v has no elements for %v to pick",
             ltA_view_layout(arena, a), ltA_view_layout(arena, b));
    return;
  }
  ltA_compose_tree(&c, b.shape, b.stride);
  if (ltA_failed(arena) || ltA_composition_is_exact(&c) || ltA_composition_rounds(&c, b)) return;
  ltA_composition_settle(&c, b);
}

static void compose_any(ltA_layout_builder *result, ltA_view a, const lt_value *b);

/* Mode by mode; modes of 'a' past the tuple are dropped. */
static void compose_by_mode(ltA_layout_builder *result, ltA_view a, const lt_value *tiler) {
  lt_arena *arena = result->shape.arena;
  size_t rank = ltA_rank(tiler);
  if (rank > ltA_rank(a.shape)) {
    ltA_fail(arena, LT_INVALID, "composition: tiler %v has %z modes, more than the %z of %v", tiler,
             rank, ltA_rank(a.shape), ltA_view_layout(arena, a));
    return;
  }
  ltA_place open = ltA_layout_open(result);
  const lt_value *tile = ltA_first(tiler);
  ltA_view mode = rank > 0 ? ltA_view_mode(a, 0) : a;
  for (size_t i = 0; i < rank && !ltA_failed(arena); i++, mode = ltA_view_next(mode)) {
    compose_any(result, mode, tile);
    tile = ltA_next(tile);
  }
  ltA_layout_close(result, open, rank);
}

/* n:1, also where n is 1. */
static void compose_integer(ltA_layout_builder *result, ltA_view a, const lt_value *n) {
  if (!ltA_check_shape(result->shape.arena, "composition", n)) return;
  const lt_value one = {1, 0, 1, LT_INTEGER};
  compose_layouts(result, a, (ltA_view){n, &one});
}

static void compose_any(ltA_layout_builder *result, ltA_view a, const lt_value *b) {
  switch (b->kind) {
    case LT_LAYOUT: compose_layouts(result, a, ltA_view_of(b)); break;
    case LT_TUPLE: compose_by_mode(result, a, b); break;
    case LT_WILDCARD: ltA_layout_append(result, a); break;
    case LT_INTEGER: compose_integer(result, a, b); break;
    default:
      ltA_fail(result->shape.arena, LT_INVALID, "composition: %v is no layout and no tiler", b);
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
  ltA_mark mark = ltA_get_mark(arena);
  ltA_layout_builder result;
  ltA_layout_begin(&result, arena);
  compose_any(&result, ltA_view_of(a), b);
  return ltA_keep(arena, mark, ltA_layout_finish(&result));
}

const lt_value *lt_with_shape(lt_arena *arena, const lt_value *layout, const lt_value *shape) {
  return lt_composition(arena, layout, lt_make_layout(arena, shape, NULL));
}
