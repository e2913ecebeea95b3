/*
** Swizzles and composed layouts for the rest of the algebra: what a public function calls when an
** operand is no plain layout.
*/
#ifndef LUTILE_ALGEBRA_COMPOSED_H
#define LUTILE_ALGEBRA_COMPOSED_H

#include "value.h"

/* ---- Swizzles ------------------------------------------------------------------------------- */

/*
** Sw<bits,base,shift> unpacked: x -> x ^ ((x & y) >> shift), a negative shift to the left. The
** masks have 'bits' bits each and do not overlap; x is taken as a two's complement bit pattern.
*/
typedef struct ltA_swizzle {
  int bits;
  int base;
  int shift;
  uint64_t y;
  uint64_t z;
} ltA_swizzle;

static inline bool ltA_is_swizzle(const lt_value *v) { return v->kind == LT_SWIZZLE; }

ltA_swizzle ltA_unpack_swizzle(const lt_value *swizzle);
const lt_value *ltA_pack_swizzle(lt_arena *arena, ltA_swizzle s);
int64_t ltA_swizzle_index(ltA_swizzle s, int64_t index);
/* The swizzle with these masks; false where there is none. */
bool ltA_find_swizzle(uint64_t y, uint64_t z, ltA_swizzle *s);

/* The swizzled index, with the flag and the promise that survive; 'index' must be an integer. */
const lt_value *ltA_apply_swizzle(lt_arena *arena, const lt_value *swizzle, const lt_value *index);
/* The swizzle x -> a(b(x)), or an error. */
const lt_value *ltA_merge_swizzles(lt_arena *arena, const lt_value *a, const lt_value *b);
/* For elements 'n' times larger: the largest whole element that s(n * x) lies in. */
const lt_value *ltA_upcast_swizzle(lt_arena *arena, const lt_value *swizzle, int64_t n);
const lt_value *ltA_downcast_swizzle(lt_arena *arena, const lt_value *swizzle, int64_t n);

/* ---- Leaves ---------------------------------------------------------------------------------- */

/* CuTe's is_constant<0, T>. */
static inline bool ltA_is_zero(const lt_value *v) {
  return v->kind == LT_INTEGER && v->value == 0 && v->promise == 0;
}

static inline const lt_value *ltA_zero(void) {
  static const lt_value zero = {0, 0, 1, LT_INTEGER};
  return &zero;
}

/*
** The swizzle of a composed layout as one of its indices: in the shared memory form scaled from
*byte
** addresses to elements. False where A is a layout or there is no such swizzle.
*/
bool ltA_element_swizzle(const lt_value *composed, ltA_swizzle *s);

/* ---- Composed layouts ----------------------------------------------------------------------- */

/* A(offset + B(coord)); 'coord' has no '_'. In the shared memory form: the index in elements. */
const lt_value *ltA_apply_composed(lt_arena *arena, const lt_value *composed,
                                   const lt_value *coord);

/* A o offset o B; plain B where A is a swizzle of no bits and the offset static 0. */
const lt_value *ltA_compose_parts(lt_arena *arena, const lt_value *a, const lt_value *offset,
                                  const lt_value *b);
/* 'composed' with another B. */
const lt_value *ltA_with_layout_b(lt_arena *arena, const lt_value *composed,
                                  const lt_value *layout_b);

/*
** 'composed' itself, or, in the shared memory form, the same function with a swizzle that counts
** in elements and offset 0. Fails where the swizzle would tear elements apart.
*/
const lt_value *ltA_count_in_elements(lt_arena *arena, const lt_value *composed);

/* Composition where 'a' or 'b' is a swizzle or a composed layout. */
const lt_value *ltA_composition_composed(lt_arena *arena, const lt_value *a, const lt_value *b);
/* Inverses of a swizzle, of an integer as x -> x + n, and of a composed layout. */
const lt_value *ltA_right_inverse_composed(lt_arena *arena, const lt_value *x);
const lt_value *ltA_left_inverse_composed(lt_arena *arena, const lt_value *x);
/* logical_product of a plain block by a composed tiler: the swizzle moves with the modes. */
const lt_value *ltA_logical_product_composed(lt_arena *arena, const lt_value *block,
                                             const lt_value *tiler);

/* ---- Trying --------------------------------------------------------------------------------- */

/* An operation that may be refused, between a begin and an end: its error is not the arena's. */
typedef struct ltA_attempt {
  lt_error *outer;
  lt_error inner;
} ltA_attempt;

void ltA_attempt_begin(ltA_attempt *attempt, lt_arena *arena);
/* Whether it went well. Running out of memory becomes the arena's error. */
bool ltA_attempt_end(ltA_attempt *attempt, lt_arena *arena);

#endif
