/*
** Offsets of linear indices without an arena: the same numbers as lt_apply gives, fast.
*/
#include "composed.h"

/* Adds digit * stride; false where 64 bits do not hold it. */
static inline bool add_term(int64_t *sum, int64_t digit, int64_t stride) {
  int64_t term;
  return !__builtin_mul_overflow(digit, stride, &term) && !__builtin_add_overflow(*sum, term, sum);
}

/*
** Splits off the digit of a mode. Most sizes are powers of two, whose shift costs a tenth of a
** division; where both numbers are small, 32-bit division is the faster one on many processors.
*/
static inline int64_t split_digit(uint64_t *index, uint64_t size) {
  uint64_t all = *index;
  if (__builtin_expect((size & (size - 1)) == 0, true)) {
    *index = all >> __builtin_ctzll(size);
    return (int64_t)(all & (size - 1));
  }
  if (((all | size) >> 32) == 0) {
    *index = (uint32_t)all / (uint32_t)size;
    return (int64_t)((uint32_t)all % (uint32_t)size);
  }
  *index = all / size;
  return (int64_t)(all % size);
}

/*
** Digits of all leaves but the last are within the shape, and their offsets within 64 bits, as
** layouts are checked when they are made; the last leaf runs on, and its offset is checked.
**
** Splitting an index mode by mode, and within the modes again, is splitting it leaf by leaf, all
** but the last leaf: (i % (a*b)) / a == (i / a) % b. So the nesting does not matter, and tuples are
** stepped over; shape and stride do so together, being congruent.
*/
static inline bool walk_leaves(const lt_value *shape, const lt_value *stride, uint64_t index,
                               int64_t *offset) {
  const lt_value *s = shape, *d = stride;
  const lt_value *last = ltA_next(shape) - 1;
  while (last > shape && last->kind == LT_TUPLE) last--; /* empty ones at the end */
  int64_t sum = 0;
  if (s < last) s++, d++; /* of several nodes, the first one is a tuple */
  for (; s < last; s++, d++) {
    if (s->kind == LT_TUPLE) continue;
    if (d->kind != LT_INTEGER || s->value == 0) return false;
    sum += split_digit(&index, (uint64_t)s->value) * d->value;
  }
  if (s->kind != LT_TUPLE) {
    if (d->kind != LT_INTEGER) return false;
    if (!add_term(&sum, (int64_t)index, d->value)) return false;
  }
  *offset = sum;
  return true;
}

/* Division truncates, so that a negative index has the negative offset of its opposite. */
bool ltA_offset_at(const lt_value *shape, const lt_value *stride, int64_t index, int64_t *offset) {
  if (index >= 0) return walk_leaves(shape, stride, (uint64_t)index, offset);
  return index != INT64_MIN && walk_leaves(shape, stride, (uint64_t)-index, offset) &&
         !__builtin_sub_overflow(0, *offset, offset);
}

static bool plain_offset(const lt_value *layout, int64_t index, int64_t *offset) {
  return ltA_offset_at(ltA_shape(layout), ltA_stride(layout), index, offset);
}

/* ---- Composed layouts and tensors ----------------------------------------------------------- */

/*
** A swizzle of byte addresses as one of elements of 'bits' bits: bits read below an element are 0
** in every address, and none may be written there.
*/
static bool scale_masks(ltA_swizzle *s, int64_t bits) {
  if (s->y == 0 || bits == 8) return true;
  if ((bits & (bits - 1)) != 0) return false;
  if (bits < 8) {
    int shift = __builtin_ctzll(8 / (uint64_t)bits);
    s->y <<= shift;
    return true;
  }
  int shift = __builtin_ctzll((uint64_t)bits / 8);
  s->y >>= shift;
  return (s->z & (((uint64_t)1 << shift) - 1)) == 0;
}

bool ltA_element_swizzle(const lt_value *composed, ltA_swizzle *s) {
  const lt_value *a = ltA_layout_a(composed), *offset = ltA_offset(composed);
  if (!ltA_is_swizzle(a)) return false;
  *s = ltA_unpack_swizzle(a);
  return offset->kind != LT_SMEM || scale_masks(s, offset->value);
}

static bool apply_outer(const lt_value *composed, int64_t index, int64_t *result) {
  const lt_value *a = ltA_layout_a(composed), *offset = ltA_offset(composed);
  if (ltA_is_integer(offset) && __builtin_add_overflow(index, offset->value, &index)) return false;
  if (ltA_is_layout(a)) return ltA_is_integer(offset) && plain_offset(a, index, result);
  ltA_swizzle s;
  if (!ltA_element_swizzle(composed, &s)) return false;
  *result = ltA_swizzle_index(s, index);
  return true;
}

static bool composed_offset(const lt_value *composed, int64_t index, int64_t *offset) {
  const lt_value *b = ltA_layout_b(composed);
  if (ltA_is_layout(b) && !plain_offset(b, index, &index)) return false;
  if (ltA_is_swizzle(b)) index = ltA_swizzle_index(ltA_unpack_swizzle(b), index);
  return apply_outer(composed, index, offset);
}

static bool tensor_offset(const lt_value *tensor, int64_t index, int64_t *offset) {
  const lt_value *start = ltA_first(tensor);
  return ltA_is_integer(start) && lt_offset(ltA_next(start), index, offset) &&
         !__builtin_add_overflow(*offset, start->value, offset);
}

static __attribute__((noinline)) bool other_offset(const lt_value *layout, int64_t index,
                                                   int64_t *offset) {
  if (ltA_is_layout(layout)) return plain_offset(layout, index, offset);
  if (ltA_is_composed(layout)) return composed_offset(layout, index, offset);
  return layout->kind == LT_TENSOR && tensor_offset(layout, index, offset);
}

/* The common case alone, so that it needs no stack. */
bool lt_offset(const lt_value *layout, int64_t index, int64_t *offset) {
  if (!ltA_is_layout(layout)) return other_offset(layout, index, offset);
  if (index < 0) return other_offset(layout, index, offset);
  return walk_leaves(ltA_shape(layout), ltA_stride(layout), (uint64_t)index, offset);
}
