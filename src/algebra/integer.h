/*
** Integers with CuTe's flags: static or dynamic, and what a dynamic one is a multiple of.
*/
#ifndef LUTILE_ALGEBRA_INTEGER_H
#define LUTILE_ALGEBRA_INTEGER_H

#include "lutile.h"

/* An integer leaf held by value: two registers. */
typedef struct lt_int {
  int64_t value;
  int64_t promise; /* 0: static; n >= 1: dynamic, always a multiple of n */
} lt_int;

static inline lt_int ltA_static(int64_t value) { return (lt_int){value, 0}; }
static inline lt_int ltA_dynamic(int64_t value) { return (lt_int){value, 1}; }
static inline bool ltA_is_static_int(lt_int x) { return x.promise == 0; }
static inline bool ltA_are_static(lt_int x, lt_int y) { return (x.promise | y.promise) == 0; }
/* CuTe's is_constant<value, T>. */
static inline bool ltA_is_constant(lt_int x, int64_t value) {
  return x.value == value && x.promise == 0;
}

/* The general case of the functions below, for flags, overflow and zeros. */
lt_int ltA_add_flagged(lt_arena *arena, lt_int x, lt_int y);
lt_int ltA_sub_flagged(lt_arena *arena, lt_int x, lt_int y);
lt_int ltA_mul_flagged(lt_arena *arena, lt_int x, lt_int y);
lt_int ltA_div_flagged(lt_arena *arena, lt_int x, lt_int y);
lt_int ltA_ceil_div_flagged(lt_arena *arena, lt_int x, lt_int y);

/*
** Results are static when both operands are, and when CuTe knows them anyway: 0*x, 0/x, 0%x, x%1.
** Promises follow: a product's is the product, a sum's the greatest common divisor. Overflow and
** division by zero record an error and give static 0. Division truncates, as C's.
*/
static inline lt_int ltA_add(lt_arena *arena, lt_int x, lt_int y) {
  int64_t sum;
  if (ltA_are_static(x, y) && !__builtin_add_overflow(x.value, y.value, &sum))
    return ltA_static(sum);
  return ltA_add_flagged(arena, x, y);
}

static inline lt_int ltA_sub(lt_arena *arena, lt_int x, lt_int y) {
  int64_t difference;
  if (ltA_are_static(x, y) && !__builtin_sub_overflow(x.value, y.value, &difference))
    return ltA_static(difference);
  return ltA_sub_flagged(arena, x, y);
}

static inline lt_int ltA_mul(lt_arena *arena, lt_int x, lt_int y) {
  int64_t product;
  if (ltA_are_static(x, y) && !__builtin_mul_overflow(x.value, y.value, &product))
    return ltA_static(product);
  return ltA_mul_flagged(arena, x, y);
}

static inline lt_int ltA_div(lt_arena *arena, lt_int x, lt_int y) {
  if (ltA_are_static(x, y) && y.value > 0) {
    if (y.value == 1) return x;
    if (x.value == y.value) return ltA_static(1);
    return ltA_static(x.value / y.value);
  }
  return ltA_div_flagged(arena, x, y);
}

/* (x + y - 1) / y for a positive y. */
static inline lt_int ltA_ceil_div(lt_arena *arena, lt_int x, lt_int y) {
  if (ltA_are_static(x, y) && x.value > 0 && y.value > 0) {
    if (y.value == 1) return x;
    if (x.value <= y.value) return ltA_static(1);
    return ltA_static((x.value - 1) / y.value + 1);
  }
  return ltA_ceil_div_flagged(arena, x, y);
}

lt_int ltA_mod(lt_arena *arena, lt_int x, lt_int y);
lt_int ltA_neg(lt_arena *arena, lt_int x);

static inline lt_int ltA_abs(lt_arena *arena, lt_int x) {
  return x.value < 0 ? ltA_neg(arena, x) : x;
}

static inline lt_int ltA_signum(lt_int x) {
  int64_t sign = (x.value > 0) - (x.value < 0);
  return x.promise == 0 ? ltA_static(sign) : ltA_dynamic(sign);
}

/* Of a static and a dynamic integer the result is dynamic, as C++'s common type is. */
lt_int ltA_choose(lt_int chosen, lt_int x, lt_int y);

static inline lt_int ltA_min(lt_int x, lt_int y) {
  lt_int less = x.value < y.value ? x : y;
  return ltA_are_static(x, y) ? less : ltA_choose(less, x, y);
}

static inline lt_int ltA_max(lt_int x, lt_int y) {
  lt_int greater = x.value > y.value ? x : y;
  return ltA_are_static(x, y) ? greater : ltA_choose(greater, x, y);
}

int64_t ltA_gcd(int64_t x, int64_t y); /* of absolute values; gcd(0, y) is |y| */

/* The numbers next to 'x' > 0 that divide 'n' > 0 or are multiples of it: for messages. */
void ltA_nearest_divisors(int64_t n, int64_t x, int64_t *below, int64_t *above);
/* The multiples of 'n' > 0 next to 'x'; one twice where there is no other within 64 bits. */
void ltA_nearest_multiples(int64_t n, int64_t x, int64_t *below, int64_t *above);

#endif
