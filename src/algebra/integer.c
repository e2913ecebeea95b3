/*
** Arithmetic on static and dynamic integers: checked, with flags as in CuTe and promises of
** divisibility carried along.
*/
#include "value.h"

static lt_int overflow(lt_arena *arena, lt_int x, const char *operator, lt_int y) {
  ltA_fail(arena, LT_OVERFLOW, "integer overflow in %I %s %I (integers have 64 bits)",
           x.value, operator, y.value);
  return ltA_static(0);
}

static lt_int by_zero(lt_arena *arena, lt_int x, const char *operator) {
  ltA_fail(arena, LT_INVALID, "division by zero in %I %s 0", x.value, operator);
  return ltA_static(0);
}

int64_t ltA_gcd(int64_t x, int64_t y) {
  uint64_t a = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
  uint64_t b = y < 0 ? 0 - (uint64_t)y : (uint64_t)y;
  while (b != 0) {
    uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a > INT64_MAX ? 1 : (int64_t)a; /* only of INT64_MIN and 0 or itself */
}

/* Further divisors than this are not looked for; 1 and the number itself always are some. */
#define MAX_TRIALS 4096

void ltA_nearest_multiples(int64_t n, int64_t x, int64_t *below, int64_t *above) {
  int64_t rest = x % n;
  if (rest < 0) rest += n;
  if (__builtin_sub_overflow(x, rest, below)) *below = x + (n - rest);
  if (__builtin_add_overflow(*below, n, above)) *above = *below;
}

void ltA_nearest_divisors(int64_t n, int64_t x, int64_t *below, int64_t *above) {
  if (x > n) {
    ltA_nearest_multiples(n, x, below, above);
    return;
  }
  *below = 1;
  *above = n;
  if (x < 1) return;
  for (int64_t i = 1; i <= MAX_TRIALS && x - i > 1 && *below == 1; i++)
    if (n % (x - i) == 0) *below = x - i;
  for (int64_t i = 1; i <= MAX_TRIALS && x + i < n && *above == n; i++)
    if (n % (x + i) == 0) *above = x + i;
}

/* What 'x' is known to be a multiple of; 0, a multiple of everything, for static 0. */
static int64_t divisor_of(lt_int x) {
  if (x.promise != 0) return x.promise;
  return x.value == INT64_MIN ? 1 : x.value < 0 ? -x.value : x.value;
}

/* A dynamic integer: promises are at least 1. */
static lt_int dynamic(int64_t value, int64_t promise) {
  return (lt_int){value, promise > 0 ? promise : 1};
}

static int64_t common_divisor(lt_int x, lt_int y) {
  if (x.promise == 1 || y.promise == 1) return 1;
  return ltA_gcd(divisor_of(x), divisor_of(y));
}

lt_int ltA_add_flagged(lt_arena *arena, lt_int x, lt_int y) {
  int64_t sum;
  if (__builtin_add_overflow(x.value, y.value, &sum)) return overflow(arena, x, "+", y);
  if (ltA_are_static(x, y)) return ltA_static(sum);
  return dynamic(sum, common_divisor(x, y));
}

lt_int ltA_sub_flagged(lt_arena *arena, lt_int x, lt_int y) {
  int64_t difference;
  if (__builtin_sub_overflow(x.value, y.value, &difference)) return overflow(arena, x, "-", y);
  if (ltA_are_static(x, y)) return ltA_static(difference);
  return dynamic(difference, common_divisor(x, y));
}

/* The product of two divisors; beyond 64 bits the larger one, which divides the product too. */
static int64_t multiply_divisors(int64_t p, int64_t q) {
  int64_t product;
  if (__builtin_mul_overflow(p, q, &product)) return p > q ? p : q;
  return product;
}

lt_int ltA_mul_flagged(lt_arena *arena, lt_int x, lt_int y) {
  int64_t product;
  if (__builtin_mul_overflow(x.value, y.value, &product)) return overflow(arena, x, "*", y);
  if (ltA_are_static(x, y) || ltA_is_constant(x, 0) || ltA_is_constant(y, 0))
    return ltA_static(product);
  return dynamic(product, multiply_divisors(divisor_of(x), divisor_of(y)));
}

/* What x / y is known to be a multiple of, given x - rest is divided exactly. */
static int64_t quotient_divisor(lt_int x, lt_int y) {
  int64_t p = divisor_of(x);
  if (y.promise != 0 || y.value <= 0 || p % y.value != 0) return 1;
  return p / y.value;
}

lt_int ltA_div_flagged(lt_arena *arena, lt_int x, lt_int y) {
  if (y.value == 0) return by_zero(arena, x, "/");
  if (x.value == INT64_MIN && y.value == -1) return overflow(arena, x, "/", y);
  int64_t quotient = x.value / y.value;
  if (ltA_are_static(x, y) || ltA_is_constant(x, 0)) return ltA_static(quotient);
  return dynamic(quotient, quotient_divisor(x, y));
}

lt_int ltA_mod(lt_arena *arena, lt_int x, lt_int y) {
  if (y.value == 0) return by_zero(arena, x, "%");
  int64_t rest = y.value == -1 ? 0 : x.value % y.value;
  if (ltA_are_static(x, y) || ltA_is_constant(x, 0) || ltA_is_constant(y, 1))
    return ltA_static(rest);
  return dynamic(rest, common_divisor(x, y));
}

lt_int ltA_ceil_div_flagged(lt_arena *arena, lt_int x, lt_int y) {
  if (y.value == 0) return by_zero(arena, x, "/");
  lt_int sum = ltA_sub(arena, ltA_add(arena, x, y), ltA_static(1));
  lt_int quotient = ltA_div(arena, sum, y);
  /* where y divides x exactly, rounding up changes nothing, and x's promise shows through */
  if (quotient.promise != 0) quotient.promise = quotient_divisor(x, y);
  return quotient;
}

lt_int ltA_neg(lt_arena *arena, lt_int x) {
  if (x.value == INT64_MIN) return overflow(arena, ltA_static(0), "-", x);
  return (lt_int){-x.value, x.promise};
}

lt_int ltA_choose(lt_int chosen, lt_int x, lt_int y) {
  if (ltA_are_static(x, y)) return chosen;
  return dynamic(chosen.value, common_divisor(x, y));
}
