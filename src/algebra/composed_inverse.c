/*
** Inverses of swizzles and of composed layouts: the inverse of B, with the swizzle moved to its
** other side. What CuTe's rule gives is checked against the law of the inverse.
*/
#include "index_map.h"

static ltA_map with_swizzle(ltA_map map, ltA_swizzle s) {
  map.swizzle = s;
  return map;
}

static ltA_map with_outer(ltA_map map, int64_t outer) {
  map.outer = outer;
  return map;
}

static ltA_map map_of_part(lt_arena *arena, const lt_value *part) {
  if (ltA_is_swizzle(part)) return ltA_map_of_swizzle(ltA_unpack_swizzle(part));
  return ltA_map_of_layout(arena, part);
}

/* ---- Right inverses ------------------------------------------------------------------------- */

/* The part of 'inverse' on which the swizzle does nothing: indices below the bits that it reads. */
static const lt_value *truncate_inverse(lt_arena *arena, const lt_value *inverse, ltA_swizzle s,
                                        int64_t size) {
  int64_t lowest = (int64_t)(s.y & (0 - s.y));
  const lt_value *n = lt_integer(arena, lowest < size ? lowest : size);
  return n == NULL ? NULL : lt_composition(arena, inverse, n);
}

/*
** swizzle(layout(r(i))) == i for all i < size(r). With 'inverse' that of the layout,
*inverse(swizzle(i))
** is one; this finds it as moved(inverse(i)), or else gives as much of it as needs no swizzle.
*/
static const lt_value *right_inverse_swizzled(lt_arena *arena, const lt_value *swizzle,
                                              const lt_value *layout) {
  const lt_value *inverse = lt_right_inverse(arena, layout);
  if (inverse == NULL) return NULL;
  const lt_value *size = lt_size(arena, inverse);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  ltA_map of_layout = ltA_map_of_layout(arena, layout);
  ltA_map of_inverse = ltA_map_of_layout(arena, inverse);
  if (ltA_failed(arena)) return NULL;
  uint64_t active = ltA_bits_below(size->value);
  bool is_static = lt_is_static(inverse);
  ltA_swizzle moved[2];
  size_t n = ltA_move_swizzle(&of_inverse, s, is_static ? &active : NULL, moved);
  for (size_t i = 0; i < n; i++) {
    const ltA_map law[] = {with_swizzle(of_layout, s), with_swizzle(of_inverse, moved[i])};
    if (ltA_maps_agree(law, 2, NULL, 0, size->value))
      return ltA_compose_parts(arena, ltA_pack_swizzle(arena, moved[i]), ltA_zero(), inverse);
  }
  if (is_static) return truncate_inverse(arena, inverse, s, size->value);
  return ltA_fail(arena, LT_INVALID,
                  "right_inverse: %v o 0 o %v: the swizzle does not move through the inverse %v",
                  swizzle, layout, inverse);
}

/* ---- Left inverses -------------------------------------------------------------------------- */

/* r(x) == moved(inverse(x)) undoes x = swizzle(layout(i)) up to what the layout repeats. */
static const lt_value *left_inverse_swizzled(lt_arena *arena, const lt_value *swizzle,
                                             const lt_value *layout) {
  const lt_value *inverse = lt_left_inverse(arena, layout);
  if (inverse == NULL) return NULL;
  const lt_value *size = lt_size(arena, layout);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  ltA_map of_layout = ltA_map_of_layout(arena, layout);
  ltA_map of_inverse = ltA_map_of_layout(arena, inverse);
  if (ltA_failed(arena)) return NULL;
  uint64_t active = ltA_possible_bits(&of_layout) | s.z;
  ltA_swizzle moved[2];
  size_t n = ltA_move_swizzle(&of_inverse, s, lt_is_static(layout) ? &active : NULL, moved);
  ltA_map forward = with_swizzle(of_layout, s);
  for (size_t i = 0; i < n; i++) {
    const ltA_map law[] = {forward, with_swizzle(of_inverse, moved[i]), forward};
    if (ltA_maps_agree(law, 3, &forward, 1, size->value))
      return ltA_compose_parts(arena, ltA_pack_swizzle(arena, moved[i]), ltA_zero(), inverse);
  }
  return ltA_fail(arena, LT_INVALID,
                  "left_inverse: %v o 0 o %v: the swizzle does not move through the inverse %v",
                  swizzle, layout, inverse);
}

/* ---- Other composed layouts ----------------------------------------------------------------- */

typedef const lt_value *inverse_function(lt_arena *arena, const lt_value *x);

/*
** inverse(B) o -offset o inverse(A) where the law holds at every index: of the left inverse over
*the
** domain of B, of the right inverse over that of inverse(A), which a swizzle lacks.
*/
static const lt_value *inverse_of_parts(lt_arena *arena, const lt_value *composed, bool is_left) {
  inverse_function *inverse = is_left ? lt_left_inverse : lt_right_inverse;
  const lt_value *a = ltA_layout_a(composed);
  const lt_value *b = ltA_layout_b(composed);
  const lt_value *offset = ltA_offset(composed);
  const lt_value *inverse_a = inverse(arena, a);
  const lt_value *inverse_b = inverse(arena, b);
  const lt_value *back = ltA_is_integer(offset) ? inverse(arena, offset) : NULL;
  const lt_value *domain = is_left ? b : inverse_a;
  if (ltA_failed(arena)) return NULL;
  if (back != NULL && ltA_is_layout(domain)) {
    const lt_value *size = lt_size(arena, domain);
    ltA_map forward[] = {map_of_part(arena, a), with_outer(map_of_part(arena, b), offset->value)};
    ltA_map law[] = {forward[0],
                     forward[1],
                     map_of_part(arena, inverse_b),
                     with_outer(map_of_part(arena, inverse_a), back->value),
                     forward[0],
                     forward[1]};
    if (ltA_failed(arena)) return NULL;
    bool is_plain = true;
    for (size_t i = 0; i < 4; i++) is_plain = is_plain && law[i].leaves != NULL;
    if (is_plain && (is_left ? ltA_maps_agree(law, 6, forward, 2, size->value)
                             : ltA_maps_agree(law, 4, NULL, 0, size->value)))
      return lt_make_composed_layout(arena, inverse_b, back, inverse_a);
  }
  return ltA_fail(arena, LT_INVALID,
                  "%s_inverse: %v: the inverses of its parts are none of the whole (with an offset "
                  "of static 0 a swizzle has one)",
                  is_left ? "left" : "right", composed);
}

static const lt_value *inverse_of_composed(lt_arena *arena, const lt_value *x, bool is_left) {
  x = ltA_count_in_elements(arena, x);
  if (x == NULL) return NULL;
  if (!ltA_is_composed(x)) return is_left ? lt_left_inverse(arena, x) : lt_right_inverse(arena, x);
  const lt_value *a = ltA_layout_a(x);
  const lt_value *b = ltA_layout_b(x);
  if (!ltA_is_swizzle(a) || !ltA_is_layout(b) || !ltA_is_zero(ltA_offset(x)))
    return inverse_of_parts(arena, x, is_left);
  return is_left ? left_inverse_swizzled(arena, a, b) : right_inverse_swizzled(arena, a, b);
}

static const lt_value *inverse_of(lt_arena *arena, const lt_value *x, bool is_left) {
  if (ltA_failed(arena)) return NULL;
  if (ltA_is_swizzle(x)) return x; /* s(s(i)) == i */
  if (ltA_is_integer(x)) return ltA_from_int(arena, ltA_neg(arena, ltA_int(x)));
  if (!ltA_is_composed(x))
    return ltA_fail(arena, LT_INVALID, "%s_inverse: %v is no layout", is_left ? "left" : "right",
                    x);
  ltA_mark mark = ltA_get_mark(arena);
  return ltA_keep(arena, mark, inverse_of_composed(arena, x, is_left));
}

const lt_value *ltA_right_inverse_composed(lt_arena *arena, const lt_value *x) {
  return inverse_of(arena, x, false);
}

const lt_value *ltA_left_inverse_composed(lt_arena *arena, const lt_value *x) {
  return inverse_of(arena, x, true);
}
