/*
** Arithmetic on indices: integers, scaled bases and tuples of them, as the codomain of a layout has
** them. Source: CuTe's numeric/arithmetic_tuple.hpp.
*/
#include "value.h"

static const lt_value static_zero = {0, 0, 1, LT_INTEGER};

static bool is_static_zero(const lt_value *x) {
  return ltA_is_integer(x) && ltA_is_constant(ltA_int(x), 0);
}

/* ---- Bases as tuples ------------------------------------------------------------------------ */

/* Opens a tuple for each mode of the path, with static zeros before the place of the coefficient.
 */
static const lt_value *spread_basis(lt_arena *arena, const lt_value *basis) {
  ltA_builder b;
  size_t open[LT_MAX_DEPTH];
  size_t n = basis->length - 1;
  ltA_begin(&b, arena);
  for (size_t level = 0; level < n; level++) {
    open[level] = ltA_open(&b, LT_TUPLE);
    for (int64_t i = 0; i < basis[1 + level].value && !ltA_failed(arena); i++)
      ltA_append_int(&b, ltA_static(0));
  }
  ltA_append_int(&b, ltA_int(basis));
  for (size_t level = n; level-- > 0;)
    ltA_close(&b, open[level], (size_t)basis[1 + level].value + 1);
  return ltA_finish(&b);
}

const lt_value *ltA_as_tuple(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  return x->kind == LT_BASIS ? spread_basis(arena, x) : x;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static void append_sum(ltA_builder *b, const lt_value *x, const lt_value *y);

/* Element 'i' of a tuple at 'at', or the static 0 that pads it. */
static const lt_value *element_or_zero(const lt_value *tuple, const lt_value *at) {
  return at < ltA_next(tuple) ? at : &static_zero;
}

static void append_sum_of_tuples(ltA_builder *b, const lt_value *x, const lt_value *y) {
  const lt_value *xi = ltA_first(x), *yi = ltA_first(y);
  size_t rank = ltA_rank(x) > ltA_rank(y) ? ltA_rank(x) : ltA_rank(y);
  size_t open = ltA_open(b, LT_TUPLE);
  for (size_t i = 0; i < rank && !ltA_failed(b->arena); i++) {
    const lt_value *left = element_or_zero(x, xi), *right = element_or_zero(y, yi);
    append_sum(b, left, right);
    if (left == xi) xi = ltA_next(xi);
    if (right == yi) yi = ltA_next(yi);
  }
  ltA_close(b, open, rank);
}

static void append_sum(ltA_builder *b, const lt_value *x, const lt_value *y) {
  if (ltA_is_integer(x) && ltA_is_integer(y))
    ltA_append_int(b, ltA_add(b->arena, ltA_int(x), ltA_int(y)));
  else if (is_static_zero(x))
    ltA_append(b, y);
  else if (is_static_zero(y))
    ltA_append(b, x);
  else if (ltA_is_tuple(x) && ltA_is_tuple(y))
    append_sum_of_tuples(b, x, y);
  else
    ltA_fail(b->arena, LT_INVALID, "the sum of %v and %v is not defined: a number and a coordinate",
             x, y);
}

const lt_value *ltA_add_values(lt_arena *arena, const lt_value *x, const lt_value *y) {
  if (ltA_failed(arena)) return NULL;
  if (ltA_is_integer(x) && ltA_is_integer(y))
    return ltA_from_int(arena, ltA_add(arena, ltA_int(x), ltA_int(y)));
  if (is_static_zero(x)) return y;
  if (is_static_zero(y)) return x;
  x = ltA_as_tuple(arena, x);
  y = ltA_as_tuple(arena, y);
  if (x == NULL || y == NULL) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  append_sum(&b, x, y);
  return ltA_finish(&b);
}

/* ---- Products ------------------------------------------------------------------------------- */

/* Scales the integers and coefficients of a copy in place: the path of a basis is no integer. */
const lt_value *ltA_scale_value(lt_arena *arena, const lt_value *x, lt_int factor) {
  if (ltA_failed(arena)) return NULL;
  lt_value *scaled = ltA_copy(arena, x);
  if (scaled == NULL) return NULL;
  for (lt_value *node = scaled; node < scaled + x->length;) {
    if (ltA_is_tuple(node)) {
      node++;
      continue;
    }
    if (!ltA_is_stride_leaf(node))
      return ltA_fail(arena, LT_INVALID, "%v times %i is not defined", x, factor);
    lt_int product = ltA_mul(arena, ltA_int(node), factor);
    node->value = product.value;
    node->promise = product.promise;
    node += node->length;
  }
  return ltA_failed(arena) ? NULL : scaled;
}

/* ---- Sums of many terms --------------------------------------------------------------------- */

static size_t path_length(const ltA_term *term) {
  return term->leaf->kind == LT_BASIS ? term->leaf->length - 1 : 0;
}

static int64_t path_mode(const ltA_term *term, size_t level) { return term->leaf[1 + level].value; }

/* By path, outermost mode first: terms of one mode are neighbours, integers before bases in it. */
static int compare_paths(const void *x, const void *y) {
  const ltA_term *a = x, *b = y;
  size_t m = path_length(a), n = path_length(b);
  for (size_t level = 0; level < m && level < n; level++) {
    int64_t i = path_mode(a, level), j = path_mode(b, level);
    if (i != j) return i < j ? -1 : 1;
  }
  return (m > n) - (m < n);
}

/* The leading terms whose path ends at 'level'. */
static size_t count_ended(const ltA_term *terms, size_t n, size_t level) {
  size_t ended = 0;
  while (ended < n && path_length(&terms[ended]) == level) ended++;
  return ended;
}

static lt_int sum_values(lt_arena *arena, const ltA_term *terms, size_t n) {
  lt_int sum = ltA_static(0);
  for (size_t i = 0; i < n; i++) sum = ltA_add(arena, sum, terms[i].value);
  return sum;
}

/* Only static zeros may meet a coordinate. */
static bool check_zeros(lt_arena *arena, const ltA_term *terms, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (ltA_is_constant(terms[i].value, 0)) continue;
    ltA_fail(arena, LT_INVALID,
             "an offset that is the number %i and one that is a coordinate have no sum",
             terms[i].value);
    return false;
  }
  return true;
}

/* Sorted terms that agree in the first 'level' modes of their paths. */
static void append_terms(ltA_builder *b, const ltA_term *terms, size_t n, size_t level) {
  size_t ended = count_ended(terms, n, level);
  if (ended == n) {
    ltA_append_int(b, sum_values(b->arena, terms, n));
    return;
  }
  if (!check_zeros(b->arena, terms, ended)) return;
  int64_t rank = path_mode(&terms[n - 1], level) + 1;
  size_t open = ltA_open(b, LT_TUPLE), begin = ended;
  for (int64_t mode = 0; mode < rank && !ltA_failed(b->arena); mode++) {
    size_t end = begin;
    while (end < n && path_mode(&terms[end], level) == mode) end++;
    append_terms(b, terms + begin, end - begin, level + 1);
    begin = end;
  }
  ltA_close(b, open, (size_t)rank);
}

/* One basis alone stays a basis. */
static const lt_value *copy_basis(lt_arena *arena, const ltA_term *term) {
  lt_value *basis = ltA_copy(arena, term->leaf);
  if (basis == NULL) return NULL;
  basis->value = term->value.value;
  basis->promise = term->value.promise;
  return basis;
}

const lt_value *ltA_sum_terms(lt_arena *arena, ltA_term *terms, size_t n) {
  if (ltA_failed(arena)) return NULL;
  ltA_sort(terms, n, sizeof *terms, compare_paths);
  size_t numbers = count_ended(terms, n, 0);
  if (n - numbers == 1) {
    if (!check_zeros(arena, terms, numbers)) return NULL;
    return copy_basis(arena, &terms[numbers]);
  }
  ltA_builder b;
  ltA_begin(&b, arena);
  append_terms(&b, terms, n, 0);
  return ltA_finish(&b);
}
