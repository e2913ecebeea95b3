/*
** Swizzles: their masks, their values, merging two into one, moving one through a layout, and
** their form for wider and narrower elements.
*/
#include "index_map.h"

/* ---- Masks ---------------------------------------------------------------------------------- */

static uint64_t shift_right(uint64_t x, int shift) { return shift >= 0 ? x >> shift : x << -shift; }

static ltA_swizzle make(int bits, int base, int shift) {
  uint64_t mask = ((uint64_t)1 << bits) - 1;
  int distance = shift < 0 ? -shift : shift;
  uint64_t low = mask << base;
  uint64_t high = mask << (base + distance);
  return (ltA_swizzle){bits, base, shift, shift < 0 ? low : high, shift < 0 ? high : low};
}

ltA_swizzle ltA_unpack_swizzle(const lt_value *swizzle) {
  const lt_value *part = ltA_first(swizzle);
  return make((int)part[0].value, (int)part[1].value, (int)part[2].value);
}

int64_t ltA_swizzle_index(ltA_swizzle s, int64_t index) {
  uint64_t x = (uint64_t)index;
  return (int64_t)(x ^ shift_right(x & s.y, s.shift));
}

bool ltA_find_swizzle(uint64_t y, uint64_t z, ltA_swizzle *s) {
  if (y == 0 && z == 0) {
    *s = make(0, 0, 0);
    return true;
  }
  if (y == 0 || z == 0) return false;
  int bits = __builtin_popcountll(y);
  int low_y = __builtin_ctzll(y);
  int low_z = __builtin_ctzll(z);
  int shift = low_y - low_z;
  int base = shift < 0 ? low_y : low_z;
  int distance = shift < 0 ? -shift : shift;
  if (distance < bits || bits + base + distance > 62) return false;
  *s = make(bits, base, shift);
  return s->y == y && s->z == z;
}

const lt_value *ltA_pack_swizzle(lt_arena *arena, ltA_swizzle s) {
  return lt_swizzle(arena, s.bits, s.base, s.shift);
}

/* ---- Values --------------------------------------------------------------------------------- */

/* A multiple of 2^k stays one where the swizzle writes no bit below k. */
static int64_t promise_of_swizzled(ltA_swizzle s, int64_t promise) {
  if (promise == 0 || s.bits == 0) return promise;
  int64_t power = promise & -promise;
  int64_t lowest = (int64_t)(s.z & (0 - s.z));
  return power < lowest ? power : lowest;
}

const lt_value *ltA_apply_swizzle(lt_arena *arena, const lt_value *swizzle, const lt_value *index) {
  if (ltA_failed(arena)) return NULL;
  if (!ltA_is_integer(index))
    return ltA_fail(arena, LT_INVALID, "%v of %v: a swizzle takes an integer", swizzle, index);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  lt_int image = {ltA_swizzle_index(s, index->value), promise_of_swizzled(s, index->promise)};
  return ltA_from_int(arena, image);
}

/* ---- Composition ---------------------------------------------------------------------------- */

/* a(b(x)) is one swizzle where both have one shift, b writes no bit that a reads, and the bits that
** only one of them has are neighbours. */
static bool merge(ltA_swizzle a, ltA_swizzle b, ltA_swizzle *merged) {
  if (a.bits == 0 || b.bits == 0) {
    *merged = a.bits == 0 ? b : a;
    return true;
  }
  if (a.shift != b.shift || (b.z & a.y) != 0) return false;
  return ltA_find_swizzle(a.y ^ b.y, a.z ^ b.z, merged);
}

const lt_value *ltA_merge_swizzles(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  ltA_swizzle merged;
  if (!merge(ltA_unpack_swizzle(a), ltA_unpack_swizzle(b), &merged))
    return ltA_fail(arena, LT_INVALID,
                    "composition: %v o %v is no swizzle (both need one shift, and bits that are "
                    "neighbours)",
                    a, b);
  return ltA_pack_swizzle(arena, merged);
}

/* Images of the pairs of bits that 's' ties together, of those that 'active' has. */
static bool move_bits(const ltA_map *layout, ltA_swizzle s, uint64_t active, uint64_t *y,
                      uint64_t *z) {
  *y = *z = 0;
  for (uint64_t rest = s.y & active; rest != 0; rest &= rest - 1) {
    uint64_t bit = rest & (0 - rest);
    int64_t from;
    int64_t to;
    if (!ltA_map_index(layout, (int64_t)bit, &from)) return false;
    if (!ltA_map_index(layout, (int64_t)shift_right(bit, s.shift), &to)) return false;
    if (to == 0) continue;
    *y |= (uint64_t)from;
    *z |= (uint64_t)to;
  }
  return true;
}

/* The masks as CuTe takes them: the images of the whole masks as indices. */
static bool move_masks(const ltA_map *layout, ltA_swizzle s, uint64_t *y, uint64_t *z) {
  int64_t from;
  int64_t to;
  if (!ltA_map_index(layout, (int64_t)s.y, &from)) return false;
  if (!ltA_map_index(layout, (int64_t)s.z, &to)) return false;
  *y = (uint64_t)from;
  *z = (uint64_t)to;
  return true;
}

size_t ltA_move_swizzle(const ltA_map *layout, ltA_swizzle s, const uint64_t *active,
                        ltA_swizzle candidates[2]) {
  size_t count = 0;
  uint64_t y;
  uint64_t z;
  if (move_masks(layout, s, &y, &z) && ltA_find_swizzle(y, z, &candidates[count])) count++;
  if (active != NULL && move_bits(layout, s, *active, &y, &z) &&
      ltA_find_swizzle(y, z, &candidates[count]))
    count++;
  return count;
}

/* ---- Element widths ------------------------------------------------------------------------- */

static bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }

static void *refuse_factor(lt_arena *arena, const char *operation, const lt_value *swizzle,
                           int64_t n) {
  return ltA_fail(arena, LT_INVALID, "%s: %v by %I: a swizzle scales by powers of two only",
                  operation, swizzle, n);
}

const lt_value *ltA_upcast_swizzle(lt_arena *arena, const lt_value *swizzle, int64_t n) {
  if (ltA_failed(arena)) return NULL;
  if (!is_power_of_two(n)) return refuse_factor(arena, "upcast", swizzle, n);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  int base = s.base - __builtin_ctzll((uint64_t)n);
  if (base >= 0) return lt_swizzle(arena, s.bits, base, s.shift);
  int bits = s.bits + base > 0 ? s.bits + base : 0; /* pairs inside of an element are lost */
  return lt_swizzle(arena, bits, 0, s.shift);
}

const lt_value *ltA_downcast_swizzle(lt_arena *arena, const lt_value *swizzle, int64_t n) {
  if (ltA_failed(arena)) return NULL;
  if (!is_power_of_two(n)) return refuse_factor(arena, "downcast", swizzle, n);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  return lt_swizzle(arena, s.bits, s.base + __builtin_ctzll((uint64_t)n), s.shift);
}
