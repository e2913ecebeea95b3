/*
** Arithmetic on tuples of integers: products, divisions, sums, extremes.
** Source: CuTe's int_tuple.hpp.
*/
#include "value.h"

/* ---- Products ------------------------------------------------------------------------------- */

lt_int ltA_product(lt_arena *arena, const lt_value *shape) {
  if (ltA_is_integer(shape)) return ltA_int(shape);
  lt_int product = ltA_static(1);
  for (const lt_value *node = shape; node < ltA_next(shape); node++) {
    if (ltA_is_integer(node)) {
      product = ltA_mul(arena, product, ltA_int(node));
    } else if (!ltA_is_tuple(node)) {
      ltA_fail(arena, LT_INVALID, "size: %v in %v is no integer", node, shape);
      return ltA_static(0);
    }
  }
  return product;
}

const lt_value *lt_product(lt_arena *arena, const lt_value *tuple) {
  if (ltA_failed(arena)) return NULL;
  return ltA_from_int(arena, ltA_product(arena, tuple));
}

const lt_value *lt_size(lt_arena *arena, const lt_value *x) {
  return ltA_failed(arena) ? NULL : lt_product(arena, ltA_shape_of(x));
}

const lt_value *lt_product_each(lt_arena *arena, const lt_value *tuple) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  ltA_open(&b, LT_TUPLE);
  const lt_value *element = ltA_is_tuple(tuple) ? ltA_first(tuple) : tuple;
  for (; element < ltA_next(tuple); element = ltA_next(element))
    ltA_append_int(&b, ltA_product(arena, element));
  ltA_close(&b, 0, ltA_rank(tuple));
  return ltA_finish(&b);
}

static bool same_rank(const lt_value *x, const lt_value *y) {
  return ltA_is_tuple(x) && ltA_is_tuple(y) && x->value == y->value;
}

static void append_products_like(ltA_builder *b, const lt_value *tuple, const lt_value *guide) {
  if (!ltA_is_tuple(guide)) {
    ltA_append_int(b, ltA_product(b->arena, tuple));
    return;
  }
  if (!same_rank(tuple, guide)) {
    ltA_fail(b->arena, LT_INVALID, "product_like: %v is not nested as the guide %v", tuple, guide);
    return;
  }
  const lt_value *t = ltA_first(tuple);
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *g = ltA_first(guide); g < ltA_next(guide); g = ltA_next(g)) {
    append_products_like(b, t, g);
    t = ltA_next(t);
  }
  ltA_close(b, open, ltA_rank(guide));
}

const lt_value *lt_product_like(lt_arena *arena, const lt_value *tuple, const lt_value *guide) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  append_products_like(&b, tuple, guide);
  return ltA_finish(&b);
}

static void append_scaled(ltA_builder *b, const lt_value *x, const lt_value *y) {
  if (ltA_is_integer(x)) {
    ltA_append_int(b, ltA_mul(b->arena, ltA_int(x), ltA_product(b->arena, y)));
    return;
  }
  if (!same_rank(x, y)) {
    ltA_fail(b->arena, LT_INVALID, "elem_scale: %v and %v are not of one rank", x, y);
    return;
  }
  const lt_value *yi = ltA_first(y);
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *xi = ltA_first(x); xi < ltA_next(x); xi = ltA_next(xi)) {
    append_scaled(b, xi, yi);
    yi = ltA_next(yi);
  }
  ltA_close(b, open, ltA_rank(x));
}

const lt_value *lt_elem_scale(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  ltA_builder result;
  ltA_begin(&result, arena);
  append_scaled(&result, a, b);
  return ltA_finish(&result);
}

/* ---- Division ------------------------------------------------------------------------------- */

/*
** One of shape_div, ceil_div and round_up at work. Tuples divide element by element; an integer
** divides a tuple from its first element on, and what an element leaves of it divides the next;
** a tuple divides an integer as its product does.
*/
typedef struct division {
  const char *operation;
  bool exact;       /* shape_div: one of two numbers divides the other */
  bool may_be_less; /* a shorter divisor is filled up with static 1 */
  ltA_builder out;
} division;

static const lt_value static_one = {1, 0, 1, LT_INTEGER};

static void fail_exact(lt_arena *arena, lt_int x, lt_int y) {
  int64_t below, above;
  ltA_nearest_divisors(x.value, y.value, &below, &above);
  ltA_fail(arena, LT_INVALID,
           "shape_div: neither of %i and %i divides the other; the nearest divisors that would: %I "
           "and %I",
           x, y, below, above);
}

static lt_int divide_ints(division *d, lt_int x, lt_int y) {
  lt_arena *arena = d->out.arena;
  if (y.value <= 0)
    ltA_fail(arena, LT_INVALID, "%s: %i divided by %i, which is not positive", d->operation, x, y);
  else if (d->exact && x.value % y.value != 0 && y.value % x.value != 0)
    fail_exact(arena, x, y);
  return ltA_failed(arena) ? ltA_static(0) : ltA_ceil_div(arena, x, y);
}

/* What an element leaves of the divisor; an element of size 0 uses all of it up. */
static lt_int divide_divisor(division *d, lt_int divisor, lt_int size) {
  if (size.value == 0) return ltA_is_static_int(size) ? ltA_static(1) : ltA_dynamic(1);
  return divide_ints(d, divisor, size);
}

static void divide_by_int(division *d, const lt_value *x, lt_int divisor) {
  if (!ltA_is_tuple(x)) {
    ltA_append_int(&d->out, divide_ints(d, ltA_product(d->out.arena, x), divisor));
    return;
  }
  size_t open = ltA_open(&d->out, LT_TUPLE);
  for (const lt_value *xi = ltA_first(x); xi < ltA_next(x) && !ltA_failed(d->out.arena);
       xi = ltA_next(xi)) {
    divide_by_int(d, xi, divisor);
    divisor = divide_divisor(d, divisor, ltA_product(d->out.arena, xi));
  }
  ltA_close(&d->out, open, ltA_rank(x));
}

/* The rule for a pair that is not two tuples. */
typedef void (*leaf_rule)(division *d, const lt_value *x, const lt_value *y);

static void divide_leaf(division *d, const lt_value *x, const lt_value *y) {
  divide_by_int(d, x, ltA_product(d->out.arena, y));
}

static void round_up_leaf(division *d, const lt_value *x, const lt_value *y) {
  lt_arena *arena = d->out.arena;
  if (!ltA_is_integer(x) || !ltA_is_integer(y)) {
    ltA_fail(arena, LT_INVALID, "%s: %v and %v are not nested alike", d->operation, x, y);
    return;
  }
  ltA_append_int(&d->out, ltA_mul(arena, divide_ints(d, ltA_int(x), ltA_int(y)), ltA_int(y)));
}

static bool check_ranks(division *d, const lt_value *x, const lt_value *y) {
  if (x->value == y->value || (d->may_be_less && x->value > y->value)) return true;
  ltA_fail(d->out.arena, LT_INVALID, "%s: %v of rank %z by %v of rank %z", d->operation, x,
           ltA_rank(x), y, ltA_rank(y));
  return false;
}

static void divide_elements(division *d, const lt_value *x, const lt_value *y, leaf_rule leaf) {
  if (!ltA_is_tuple(x) || !ltA_is_tuple(y)) {
    leaf(d, x, y);
    return;
  }
  if (!check_ranks(d, x, y)) return;
  const lt_value *yi = ltA_first(y);
  size_t open = ltA_open(&d->out, LT_TUPLE);
  for (const lt_value *xi = ltA_first(x); xi < ltA_next(x) && !ltA_failed(d->out.arena);
       xi = ltA_next(xi)) {
    bool missing = yi == ltA_next(y);
    divide_elements(d, xi, missing ? &static_one : yi, leaf);
    if (!missing) yi = ltA_next(yi);
  }
  ltA_close(&d->out, open, ltA_rank(x));
}

static const lt_value *divide(lt_arena *arena, division *d, const lt_value *a, const lt_value *b,
                              leaf_rule leaf) {
  if (ltA_failed(arena)) return NULL;
  ltA_begin(&d->out, arena);
  divide_elements(d, a, b, leaf);
  return ltA_finish(&d->out);
}

const lt_value *lt_shape_div(lt_arena *arena, const lt_value *a, const lt_value *b) {
  division d;
  d.operation = "shape_div";
  d.exact = true;
  d.may_be_less = false;
  return divide(arena, &d, a, b, divide_leaf);
}

const lt_value *lt_ceil_div(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  if (ltA_is_layout(b)) {
    const lt_value *rest = lt_complement(arena, b, ltA_shape_of(a));
    return rest == NULL ? NULL : ltA_shape_of(rest);
  }
  division d;
  d.operation = "ceil_div";
  d.exact = false;
  d.may_be_less = true;
  return divide(arena, &d, a, b, divide_leaf);
}

const lt_value *lt_round_up(lt_arena *arena, const lt_value *a, const lt_value *b) {
  division d;
  d.operation = "round_up";
  d.exact = false;
  d.may_be_less = true;
  return divide(arena, &d, a, b, round_up_leaf);
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static const lt_value *skip_leaf(const lt_value *node) {
  return ltA_is_tuple(node) ? node + 1 : ltA_next(node);
}

/* Records a term for each leaf of 'tree', or returns NULL. */
static const lt_value *sum_leaves(lt_arena *arena, const lt_value *tuple, ltA_term *terms) {
  size_t n = 0;
  for (const lt_value *node = tuple; node < ltA_next(tuple); node = skip_leaf(node)) {
    if (ltA_is_tuple(node)) continue;
    if (!ltA_is_stride_leaf(node))
      return ltA_fail(arena, LT_INVALID, "sum: %v in %v is no integer", node, tuple);
    terms[n++] = (ltA_term){node, ltA_int(node)};
  }
  return ltA_sum_terms(arena, terms, n);
}

const lt_value *lt_sum(lt_arena *arena, const lt_value *tuple) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  ltA_term *terms = ltA_new_bytes(arena, tuple->length * sizeof *terms);
  return terms == NULL ? NULL : ltA_keep(arena, mark, sum_leaves(arena, tuple, terms));
}

/* The product of two leaves, of which one may be a basis. */
static bool multiply_leaves(lt_arena *arena, const lt_value *x, const lt_value *y, ltA_term *term) {
  if ((ltA_is_integer(x) && ltA_is_stride_leaf(y)) || (ltA_is_integer(y) && x->kind == LT_BASIS)) {
    *term = (ltA_term){ltA_is_integer(y) ? x : y, ltA_mul(arena, ltA_int(x), ltA_int(y))};
    return true;
  }
  ltA_fail(arena, LT_INVALID, "inner_product: %v and %v are not nested alike", x, y);
  return false;
}

/* Trees of one nesting are walked node by node. Returns the number of terms. */
static size_t multiply_trees(lt_arena *arena, const lt_value *x, const lt_value *y,
                             ltA_term *terms) {
  size_t n = 0;
  const lt_value *yi = y;
  for (const lt_value *xi = x; xi < ltA_next(x); xi = skip_leaf(xi)) {
    if (same_rank(xi, yi)) {
      yi++;
      continue;
    }
    if (!multiply_leaves(arena, xi, yi, &terms[n++])) return 0;
    yi = ltA_next(yi);
  }
  return n;
}

const lt_value *lt_inner_product(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  ltA_term *terms = ltA_new_bytes(arena, a->length * sizeof *terms);
  if (terms == NULL) return NULL;
  size_t n = multiply_trees(arena, a, b, terms);
  return ltA_keep(arena, mark, ltA_sum_terms(arena, terms, n));
}

/* ---- Extremes and divisors ------------------------------------------------------------------ */

typedef lt_int (*fold)(lt_int x, lt_int y);

/* 2^63, which no positive number of 64 bits is, stays INT64_MIN. */
static int64_t divisor_of_values(int64_t x, int64_t y) {
  if (x == INT64_MIN && (y == INT64_MIN || y == 0)) return INT64_MIN;
  if (y == INT64_MIN && x == 0) return INT64_MIN;
  return ltA_gcd(x, y);
}

static lt_int common_divisor(lt_int x, lt_int y) {
  int64_t divisor = divisor_of_values(x.value, y.value);
  if (ltA_is_static_int(x) && ltA_is_static_int(y)) return ltA_static(divisor);
  int64_t promise =
      ltA_gcd(x.promise == 0 ? x.value : x.promise, y.promise == 0 ? y.value : y.promise);
  return (lt_int){divisor, promise == 0 ? 1 : promise};
}

static const lt_value *fold_leaves(lt_arena *arena, const char *operation,
                                   const lt_value *const *tuples, size_t n, fold combine) {
  if (ltA_failed(arena)) return NULL;
  lt_int result = ltA_static(0);
  bool first = true;
  for (size_t i = 0; i < n; i++) {
    for (const lt_value *node = tuples[i]; node < ltA_next(tuples[i]); node++) {
      if (ltA_is_tuple(node)) continue;
      if (!ltA_is_integer(node))
        return ltA_fail(arena, LT_INVALID, "%s: %v in %v is no integer", operation, node,
                        tuples[i]);
      result = first ? ltA_int(node) : combine(result, ltA_int(node));
      first = false;
    }
  }
  if (first) return ltA_fail(arena, LT_INVALID, "%s: there is no integer to choose", operation);
  return ltA_from_int(arena, result);
}

const lt_value *lt_gcd(lt_arena *arena, const lt_value *const *tuples, size_t n) {
  const lt_value *divisor = fold_leaves(arena, "gcd", tuples, n, common_divisor);
  if (divisor == NULL) return NULL;
  lt_int x = ltA_int(divisor);
  if (x.value == INT64_MIN)
    return ltA_fail(arena, LT_OVERFLOW, "gcd: the divisor is 2^63 (integers have 64 bits)");
  if (x.value < 0) x.value = -x.value; /* the only one, which was combined with none */
  return ltA_from_int(arena, x);
}

const lt_value *lt_max(lt_arena *arena, const lt_value *const *tuples, size_t n) {
  return fold_leaves(arena, "max", tuples, n, ltA_max);
}

const lt_value *lt_min(lt_arena *arena, const lt_value *const *tuples, size_t n) {
  return fold_leaves(arena, "min", tuples, n, ltA_min);
}
