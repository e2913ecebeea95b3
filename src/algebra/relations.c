/*
** Relations between shapes and between coordinates. Source: CuTe's int_tuple.hpp.
*/
#include "value.h"

/* ---- Shapes --------------------------------------------------------------------------------- */

bool lt_congruent(lt_arena *arena, const lt_value *x, const lt_value *y) {
  if (ltA_failed(arena)) return false;
  x = ltA_shape_of(x);
  y = ltA_shape_of(y);
  const lt_value *x_end = ltA_next(x), *y_end = ltA_next(y);
  while (x < x_end && y < y_end) {
    if (ltA_is_tuple(x) != ltA_is_tuple(y)) return false;
    if (ltA_is_tuple(x) && x->value != y->value) return false;
    x = ltA_is_tuple(x) ? x + 1 : ltA_next(x); /* a scaled basis is a leaf */
    y = ltA_is_tuple(y) ? y + 1 : ltA_next(y);
  }
  return x == x_end && y == y_end;
}

/* What must hold of a leaf of x and the part of y that it stands for. */
typedef bool (*leaf_relation)(lt_arena *arena, const lt_value *leaf, const lt_value *part);

/* The nesting of x is a prefix of that of y, and 'related' holds at each leaf of x. */
static bool relate(lt_arena *arena, const lt_value *x, const lt_value *y, leaf_relation related) {
  if (!ltA_is_tuple(x)) return related(arena, x, y);
  if (!ltA_is_tuple(y) || x->value != y->value) return false;
  const lt_value *yi = ltA_first(y);
  for (const lt_value *xi = ltA_first(x); xi < ltA_next(x); xi = ltA_next(xi)) {
    if (!relate(arena, xi, yi, related)) return false;
    yi = ltA_next(yi);
  }
  return true;
}

/* As in CuTe, a layout is no prefix of a bare integer, whatever its own shape. */
static bool relate_shapes(lt_arena *arena, const lt_value *x, const lt_value *y,
                          leaf_relation related) {
  if (ltA_failed(arena) || (lt_is_layout(x) && ltA_is_integer(y))) return false;
  return relate(arena, ltA_shape_of(x), ltA_shape_of(y), related) && !ltA_failed(arena);
}

static bool is_anything(lt_arena *arena, const lt_value *leaf, const lt_value *part) {
  (void)arena;
  (void)leaf;
  (void)part;
  return true;
}

static bool is_size(lt_arena *arena, const lt_value *leaf, const lt_value *part) {
  return ltA_product(arena, leaf).value == ltA_product(arena, part).value;
}

static bool divides_size(lt_arena *arena, const lt_value *leaf, const lt_value *part) {
  int64_t divisor = ltA_product(arena, leaf).value;
  int64_t size = ltA_product(arena, part).value;
  return divisor == 0 ? size == 0 : size % divisor == 0;
}

bool lt_weakly_congruent(lt_arena *arena, const lt_value *x, const lt_value *y) {
  return relate_shapes(arena, x, y, is_anything);
}

bool lt_compatible(lt_arena *arena, const lt_value *x, const lt_value *y) {
  return relate_shapes(arena, x, y, is_size);
}

bool lt_weakly_compatible(lt_arena *arena, const lt_value *x, const lt_value *y) {
  return relate_shapes(arena, x, y, divides_size);
}

/* size(shape) == size(tiler) * size(rest), the rest as division would round it up. */
static bool divides_exactly(lt_arena *arena, const lt_value *shape, const lt_value *tiler) {
  if (tiler->kind == LT_WILDCARD) return true;
  const lt_value *rest = lt_ceil_div(arena, shape, tiler);
  if (rest == NULL) return false;
  lt_int tile = ltA_product(arena, ltA_shape_of(tiler));
  lt_int tiled = ltA_mul(arena, tile, ltA_product(arena, rest));
  return tiled.value == ltA_product(arena, shape).value && !ltA_failed(arena);
}

static bool divide_shape(lt_arena *arena, const lt_value *shape, const lt_value *tiler) {
  if (!ltA_is_tuple(tiler)) return divides_exactly(arena, shape, tiler);
  if (ltA_rank(tiler) > ltA_rank(shape)) return false;
  const lt_value *mode = ltA_is_tuple(shape) ? ltA_first(shape) : shape;
  for (const lt_value *t = ltA_first(tiler); t < ltA_next(tiler); t = ltA_next(t)) {
    if (!divide_shape(arena, mode, t)) return false;
    mode = ltA_next(mode);
  }
  return true;
}

bool lt_evenly_divides(lt_arena *arena, const lt_value *x, const lt_value *tiler) {
  if (ltA_failed(arena)) return false;
  return divide_shape(arena, ltA_shape_of(x), tiler) && !ltA_failed(arena);
}

/* ---- Coordinates ---------------------------------------------------------------------------- */

/*
** Every pair that an order may come to compare is of two integers or two tuples; as in CuTe this
** does not depend on the numbers. 'from_back' pairs the elements from the last one on.
*/
static bool is_comparable(const lt_value *a, const lt_value *b, bool from_back) {
  if (ltA_is_integer(a) && ltA_is_integer(b)) return true;
  if (!ltA_is_tuple(a) || !ltA_is_tuple(b)) return false;
  size_t pairs = ltA_rank(a) < ltA_rank(b) ? ltA_rank(a) : ltA_rank(b);
  const lt_value *ai = ltA_element(a, from_back ? ltA_rank(a) - pairs : 0);
  const lt_value *bi = ltA_element(b, from_back ? ltA_rank(b) - pairs : 0);
  for (size_t i = 0; i < pairs; i++) {
    if (!is_comparable(ai, bi, from_back)) return false;
    ai = ltA_next(ai);
    bi = ltA_next(bi);
  }
  return true;
}

static int compare_ints(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* Negative, 0 or positive; of two coordinates that begin alike the shorter one is less. */
static int compare_lex(const lt_value *a, const lt_value *b) {
  if (ltA_is_integer(a)) return compare_ints(a->value, b->value);
  const lt_value *bi = ltA_first(b);
  for (const lt_value *ai = ltA_first(a); ai < ltA_next(a); ai = ltA_next(ai)) {
    if (bi == ltA_next(b)) return 1;
    int order = compare_lex(ai, bi);
    if (order != 0) return order;
    bi = ltA_next(bi);
  }
  return bi == ltA_next(b) ? 0 : -1;
}

/* The same from the last elements on: the last pair that differs decides. */
static int compare_colex(const lt_value *a, const lt_value *b) {
  if (ltA_is_integer(a)) return compare_ints(a->value, b->value);
  size_t pairs = ltA_rank(a) < ltA_rank(b) ? ltA_rank(a) : ltA_rank(b);
  const lt_value *ai = ltA_element(a, ltA_rank(a) - pairs);
  const lt_value *bi = ltA_element(b, ltA_rank(b) - pairs);
  int decided = 0;
  for (size_t i = 0; i < pairs; i++) {
    int order = compare_colex(ai, bi);
    if (order != 0) decided = order;
    ai = ltA_next(ai);
    bi = ltA_next(bi);
  }
  return decided != 0 ? decided : compare_ints(a->value, b->value);
}

static bool is_elem_less(const lt_value *a, const lt_value *b) {
  if (ltA_is_integer(a)) return a->value < b->value;
  if (ltA_rank(a) > ltA_rank(b)) return false;
  const lt_value *bi = ltA_first(b);
  for (const lt_value *ai = ltA_first(a); ai < ltA_next(a); ai = ltA_next(ai)) {
    if (!is_elem_less(ai, bi)) return false;
    bi = ltA_next(bi);
  }
  return true;
}

/* Makes both operands integers or tuples, and checks that they can be compared. */
static bool prepare(lt_arena *arena, const char *operation, const lt_value **a, const lt_value **b,
                    bool from_back) {
  if (ltA_failed(arena)) return false;
  *a = ltA_as_tuple(arena, ltA_shape_of(*a));
  *b = ltA_as_tuple(arena, ltA_shape_of(*b));
  if (*a == NULL || *b == NULL) return false;
  if (is_comparable(*a, *b, from_back)) return true;
  ltA_fail(arena, LT_INVALID, "%s: %v and %v are not nested alike", operation, *a, *b);
  return false;
}

bool lt_lex_less(lt_arena *arena, const lt_value *a, const lt_value *b) {
  return prepare(arena, "lex_less", &a, &b, false) && compare_lex(a, b) < 0;
}

bool lt_colex_less(lt_arena *arena, const lt_value *a, const lt_value *b) {
  return prepare(arena, "colex_less", &a, &b, true) && compare_colex(a, b) < 0;
}

bool lt_elem_less(lt_arena *arena, const lt_value *a, const lt_value *b) {
  return prepare(arena, "elem_less", &a, &b, false) && is_elem_less(a, b);
}
