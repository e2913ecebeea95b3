/*
** Inverses of swizzles and of composed layouts: the inverse of B, with the swizzle moved to its
** other side. What CuTe's rule gives is checked against the law of the inverse.
*/
#include "flat.h"
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

/*
** Whether the images of all indices up to 'most' are known before the launch, so that the parameters
** of a swizzle may come from them.
*/
static bool knows_images(lt_arena *arena, const lt_value *layout, int64_t most) {
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&modes, ltA_shape(layout), ltA_stride(layout));
  for (size_t i = 0; i < modes.count && most > 0; i++) {
    const ltA_mode *mode = &modes.items[i];
    if (!ltA_is_static_int(mode->stride)) return false;
    if (i + 1 == modes.count) return true;
    if (!ltA_is_static_int(mode->shape) || mode->shape.value <= 0) return false;
    most /= mode->shape.value;
  }
  return !ltA_failed(arena);
}

/* The candidates for the swizzle moved through 'inverse', of which 'map' is the map. */
static size_t move_through(lt_arena *arena, const lt_value *inverse, const ltA_map *map,
                           ltA_swizzle s, const uint64_t *active, ltA_swizzle moved[2]) {
  if (!knows_images(arena, inverse, (int64_t)(s.y | s.z))) return 0;
  return ltA_move_swizzle(map, s, active, moved);
}

/* ---- Right inverses ------------------------------------------------------------------------- */

/*
** As many indices 0 to 2^k - 1 as a plain layout maps back: inverse(swizzle(i)) is linear over
** bits, and a layout where the images of the bits do not overlap.
*/
static const lt_value *invert_low_bits(lt_arena *arena, const ltA_map *layout,
                                       const ltA_map *inverse, ltA_swizzle s, int64_t size,
                                       int64_t limit) {
  ltA_builder shape;
  ltA_builder stride;
  ltA_begin(&shape, arena);
  ltA_begin(&stride, arena);
  ltA_open(&shape, LT_TUPLE);
  ltA_open(&stride, LT_TUPLE);
  uint64_t taken = 0;
  size_t bits = 0;
  for (; bits < 62 && (int64_t)1 << (bits + 1) <= size; bits++) {
    int64_t index = (int64_t)1 << bits;
    int64_t image;
    int64_t back;
    if (!ltA_map_index(inverse, ltA_swizzle_index(s, index), &image) || image < 0) break;
    if (((uint64_t)image & taken) != 0 || image >= limit - (int64_t)taken ||
        !ltA_map_index(layout, image, &back))
      break;
    if (ltA_swizzle_index(s, back) != index) break;
    taken |= (uint64_t)image;
    ltA_append_int(&shape, ltA_static(2));
    ltA_append_int(&stride, ltA_static(image));
  }
  ltA_close(&shape, 0, bits);
  ltA_close(&stride, 0, bits);
  const lt_value *low = ltA_finish_layout(&shape, &stride);
  return low == NULL ? NULL : lt_coalesce(arena, low, NULL);
}

/* The same for an inverse of any size, checked: 1:0 maps index 0 back, whatever the layout. */
static const lt_value *invert_plainly(lt_arena *arena, const ltA_map *layout,
                                      const ltA_map *inverse, ltA_swizzle s, int64_t size,
                                      int64_t limit) {
  const lt_value *low = invert_low_bits(arena, layout, inverse, s, size, limit);
  const lt_value *count = low == NULL ? NULL : lt_size(arena, low);
  if (count == NULL) return NULL;
  const ltA_map law[] = {with_swizzle(*layout, s), ltA_map_of_layout(arena, low)};
  if (ltA_failed(arena)) return NULL;
  if (ltA_maps_agree(law, 2, NULL, 0, count->value)) return low;
  return ltA_pair(arena, lt_integer(arena, 1), ltA_zero());
}

/*
** swizzle(layout(r(i))) == i for all i < size(r). With 'inverse' that of the layout,
** inverse(swizzle(i)) is one; this finds it as moved(inverse(i)), or else gives as much of it as
** a plain layout can.
*/
static const lt_value *right_inverse_swizzled(lt_arena *arena, const lt_value *swizzle,
                                              const lt_value *layout) {
  const lt_value *inverse = lt_right_inverse(arena, layout);
  if (inverse == NULL) return NULL;
  const lt_value *size = lt_size(arena, inverse);
  const lt_value *limit = lt_size(arena, layout);
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  ltA_map of_layout = ltA_map_of_layout(arena, layout);
  ltA_map of_inverse = ltA_map_of_layout(arena, inverse);
  if (ltA_failed(arena)) return NULL;
  uint64_t active = ltA_bits_below(size->value);
  bool is_static = lt_is_static(inverse);
  ltA_swizzle moved[2];
  size_t n = move_through(arena, inverse, &of_inverse, s, is_static ? &active : NULL, moved);
  for (size_t i = 0; i < n; i++) {
    const ltA_map law[] = {with_swizzle(of_layout, s), with_swizzle(of_inverse, moved[i])};
    if (ltA_maps_stay_below(law + 1, 1, size->value, limit->value) &&
        ltA_maps_agree(law, 2, NULL, 0, size->value))
      return ltA_compose_parts(arena, ltA_pack_swizzle(arena, moved[i]), ltA_zero(), inverse);
  }
  if (is_static)
    return invert_plainly(arena, &of_layout, &of_inverse, s, size->value, limit->value);
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
  size_t n =
      move_through(arena, inverse, &of_inverse, s, lt_is_static(layout) ? &active : NULL, moved);
  ltA_map forward = with_swizzle(of_layout, s);
  for (size_t i = 0; i < n; i++) {
    const ltA_map law[] = {forward, with_swizzle(of_inverse, moved[i]), forward};
    if (ltA_maps_stay_below(law + 1, 2, size->value, size->value) &&
        ltA_maps_agree(law, 3, &forward, 1, size->value))
      return ltA_compose_parts(arena, ltA_pack_swizzle(arena, moved[i]), ltA_zero(), inverse);
  }
  return ltA_fail(arena, LT_INVALID,
                  "left_inverse: %v o 0 o %v: the swizzle does not move through the inverse %v",
                  swizzle, layout, inverse);
}

/* ---- Other composed layouts ----------------------------------------------------------------- */

typedef const lt_value *inverse_function(lt_arena *arena, const lt_value *x);

/*
** The law of the inverse at every index: of the left one over the domain of B, of the right one
** over that of inverse(A), which a swizzle lacks. Indices must come back into the domain of B.
*/
static bool is_inverse(lt_arena *arena, const lt_value *composed, const lt_value *inverse,
                       bool is_left) {
  const lt_value *b = ltA_layout_b(composed);
  const lt_value *domain = is_left ? b : ltA_layout_b(inverse);
  if (!ltA_is_layout(b) || !ltA_is_layout(domain)) return false;
  const ltA_map forward[] = {map_of_part(arena, ltA_layout_a(composed)),
                             with_outer(map_of_part(arena, b), ltA_offset(composed)->value)};
  const ltA_map back[] = {
      map_of_part(arena, ltA_layout_a(inverse)),
      with_outer(map_of_part(arena, ltA_layout_b(inverse)), ltA_offset(inverse)->value)};
  const lt_value *size = lt_size(arena, domain);
  const lt_value *limit = lt_size(arena, b);
  if (ltA_failed(arena)) return false;
  for (size_t i = 0; i < 2; i++)
    if (forward[i].leaves == NULL || back[i].leaves == NULL) return false;
  const ltA_map law[] = {forward[0], forward[1], back[0], back[1], forward[0], forward[1]};
  size_t count = is_left ? 6 : 4;
  return ltA_maps_stay_below(law + 2, count - 2, size->value, limit->value) &&
         ltA_maps_agree(law, count, forward, is_left ? 2 : 0, size->value);
}

/* inverse(B) o -offset o inverse(A), where that is one. */
static const lt_value *inverse_of_parts(lt_arena *arena, const lt_value *composed, bool is_left) {
  inverse_function *invert = is_left ? lt_left_inverse : lt_right_inverse;
  const lt_value *offset = ltA_offset(composed);
  if (ltA_is_integer(offset)) {
    const lt_value *inverse_a = invert(arena, ltA_layout_a(composed));
    const lt_value *inverse_b = invert(arena, ltA_layout_b(composed));
    const lt_value *back = invert(arena, offset);
    if (ltA_failed(arena)) return NULL;
    const lt_value *inverse = lt_make_composed_layout(arena, inverse_b, back, inverse_a);
    if (inverse == NULL) return NULL;
    if (is_inverse(arena, composed, inverse, is_left)) return inverse;
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
