/*
** Whether two layouts are one function of a linear index.
*/
#include "function.h"
#include "index_map.h"

/* ---- Coordinates ---------------------------------------------------------------------------- */

/* The same tree with the same numbers, flags aside. */
static bool same_values(const lt_value *x, const lt_value *y) {
  if (x->length != y->length) return false;
  for (size_t i = 0; i < x->length; i++)
    if (x[i].kind != y[i].kind || x[i].value != y[i].value) return false;
  return true;
}

static bool agree_generally(lt_arena *arena, const ltA_function *a, const ltA_function *b,
                            int64_t index) {
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value at = {index, 0, 1, LT_INTEGER};
  const lt_value *x = lt_apply(arena, a->value, &at);
  const lt_value *y = lt_apply(arena, b->value, &at);
  bool agree = x != NULL && y != NULL && same_values(x, y);
  ltA_release(arena, mark);
  return agree;
}

/* Coordinates of one nesting are equal at 0, and change by the same modes. */
static bool is_coordinate_function(const ltA_function *f) {
  return f->is_general && f->outer == NULL && f->swizzle.bits == 0;
}

/* ---- By what is in front -------------------------------------------------------------------- */

static bool same_swizzle(const ltA_function *a, const ltA_function *b) {
  return a->swizzle.y == b->swizzle.y && a->swizzle.z == b->swizzle.z;
}

static bool same_outer(const ltA_function *a, const ltA_function *b) {
  if (a->outer == NULL || b->outer == NULL) return a->outer == b->outer;
  return same_values(a->outer, b->outer);
}

/* The same swizzle or layout after the same offsets; nothing is said where they differ. */
static bool same_form(const ltA_function *a, const ltA_function *b) {
  return !a->is_general && !b->is_general && a->start == b->start && a->shift == b->shift &&
         same_swizzle(a, b) && same_outer(a, b) && ltA_same_modes(&a->modes, &b->modes);
}

/* ---- By linearity over bits ----------------------------------------------------------------- */

static ltA_map map_of(lt_arena *arena, const ltA_function *f) {
  ltA_map map = {f->swizzle, f->start, f->shift, f->modes.count, NULL};
  ltA_leaf *leaves = ltA_new_bytes(arena, (f->modes.count + 1) * sizeof *leaves);
  if (leaves == NULL) return map;
  for (size_t i = 0; i < f->modes.count; i++)
    leaves[i] = (ltA_leaf){f->modes.items[i].shape.value, f->modes.items[i].stride.value};
  if (f->modes.count == 0) leaves[map.count++] = (ltA_leaf){1, 0};
  map.leaves = leaves;
  return map;
}

static bool agree_over_bits(lt_arena *arena, const ltA_function *a, const ltA_function *b) {
  if (a->is_general || b->is_general || a->outer != NULL || b->outer != NULL) return false;
  ltA_map x = map_of(arena, a), y = map_of(arena, b);
  return !ltA_failed(arena) && ltA_maps_agree(&x, 1, &y, 1, a->size);
}

/* ---- By evaluation -------------------------------------------------------------------------- */

static bool agree_at(lt_arena *arena, const ltA_function *a, const ltA_function *b, int64_t index) {
  int64_t x, y;
  if (a->is_general || b->is_general) return agree_generally(arena, a, b, index);
  return ltA_function_at(arena, "equivalent", a, index, &x) &&
         ltA_function_at(arena, "equivalent", b, index, &y) && x == y;
}

/* Unequal functions mostly differ at the first steps of a mode, or at the end. */
static bool differ_somewhere_likely(lt_arena *arena, const ltA_function *a, const ltA_function *b) {
  if (!agree_at(arena, a, b, 0) || !agree_at(arena, a, b, a->size - 1)) return true;
  for (int64_t i = 1; i < a->size && i < LT_MAX_SIZE; i *= 2)
    if (!agree_at(arena, a, b, i)) return true;
  return false;
}

static bool agree_everywhere(lt_arena *arena, const ltA_function *a, const ltA_function *b) {
  if (a->size > LT_MAX_EVALUATION) return ltA_undecided(arena, "equivalent", a) != NULL;
  for (int64_t i = 0; i < a->size; i++)
    if (!agree_at(arena, a, b, i)) return false;
  return true;
}

static bool are_equivalent(lt_arena *arena, const ltA_function *a, const ltA_function *b) {
  if (a->size != b->size) return false;
  if (a->size == 0 || same_form(a, b)) return true;
  if (ltA_is_plain_function(a) && ltA_is_plain_function(b)) return false;
  if (is_coordinate_function(a) && is_coordinate_function(b))
    return ltA_same_modes(&a->modes, &b->modes) && agree_generally(arena, a, b, 0);
  if (differ_somewhere_likely(arena, a, b)) return false;
  return agree_over_bits(arena, a, b) || agree_everywhere(arena, a, b);
}

bool lt_equivalent(lt_arena *arena, const lt_value *a, const lt_value *b) {
  ltA_function f, g;
  ltA_mark mark = ltA_get_mark(arena);
  if (!ltA_function_of(arena, "equivalent", a, &f)) return false;
  if (!ltA_function_of(arena, "equivalent", b, &g)) return false;
  bool equivalent = are_equivalent(arena, &f, &g) && !ltA_failed(arena);
  ltA_release(arena, mark);
  return equivalent;
}
