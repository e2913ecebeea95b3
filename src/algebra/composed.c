/*
** Composed layouts, A o offset o B: their values, and composition with swizzles and layouts.
** Sources: CuTe's layout_composed.hpp, swizzle_layout.hpp and pointer_flagged.hpp.
*/
#include "index_map.h"

/* ---- Trying --------------------------------------------------------------------------------- */

void ltA_attempt_begin(ltA_attempt *attempt, lt_arena *arena) {
  attempt->outer = arena->error;
  attempt->inner.status = arena->error->status;
  arena->error = &attempt->inner;
}

bool ltA_attempt_end(ltA_attempt *attempt, lt_arena *arena) {
  arena->error = attempt->outer;
  if (attempt->inner.status == LT_NO_MEMORY) ltA_no_memory(arena);
  return attempt->inner.status == LT_OK;
}

/* ---- The parts ------------------------------------------------------------------------------ */

const lt_value *ltA_compose_parts(lt_arena *arena, const lt_value *a, const lt_value *offset,
                                  const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  bool is_identity = ltA_is_swizzle(a) && ltA_unpack_swizzle(a).bits == 0;
  if (is_identity && ltA_is_zero(offset) && ltA_is_layout(b)) return b;
  return lt_make_composed_layout(arena, a, offset, b);
}

const lt_value *ltA_with_layout_b(lt_arena *arena, const lt_value *composed,
                                  const lt_value *layout_b) {
  if (ltA_failed(arena)) return NULL;
  return ltA_compose_parts(arena, ltA_layout_a(composed), ltA_offset(composed), layout_b);
}

/*
** A swizzle of byte addresses, as one of indices of 'bits'-bit elements. Bits that it reads below
** an element are 0 in every address; bits that it writes there would move a part of an element.
*/
static const lt_value *count_in_elements(lt_arena *arena, const lt_value *swizzle, int64_t bits) {
  ltA_swizzle s = ltA_unpack_swizzle(swizzle);
  if (s.bits == 0 || bits == 8) return swizzle;
  if ((bits & (bits - 1)) != 0)
    return ltA_fail(arena, LT_INVALID,
                    "%v of byte addresses has no form for elements of %I bits: 8 to %I bits is no "
                    "power of two",
                    swizzle, bits, bits);
  if (bits < 8) return ltA_downcast_swizzle(arena, swizzle, 8 / bits);
  if (s.z % (uint64_t)(bits / 8) != 0)
    return ltA_fail(arena, LT_INVALID,
                    "%v of byte addresses moves parts of elements of %I bits; M must be at least "
                    "%d",
                    swizzle, bits, __builtin_ctzll((uint64_t)(bits / 8)));
  return ltA_upcast_swizzle(arena, swizzle, bits / 8);
}

const lt_value *ltA_count_in_elements(lt_arena *arena, const lt_value *composed) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *offset = ltA_offset(composed);
  if (offset->kind != LT_SMEM) return composed;
  const lt_value *swizzle = count_in_elements(arena, ltA_layout_a(composed), offset->value);
  return ltA_compose_parts(arena, swizzle, ltA_zero(), ltA_layout_b(composed));
}

const lt_value *lt_as_position_independent_swizzle(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  if (ltA_is_layout(layout)) return layout;
  if (!ltA_is_composed(layout))
    return ltA_fail(arena, LT_INVALID, "as_position_independent_swizzle: %v is no layout", layout);
  return ltA_count_in_elements(arena, layout);
}

/* ---- Values --------------------------------------------------------------------------------- */

static const lt_value *apply_part(lt_arena *arena, const lt_value *part, const lt_value *x) {
  if (x == NULL) return NULL;
  if (ltA_is_swizzle(part)) return ltA_apply_swizzle(arena, part, x);
  return lt_crd2idx(arena, x, part, NULL);
}

const lt_value *ltA_apply_composed(lt_arena *arena, const lt_value *composed,
                                   const lt_value *coord) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *a = ltA_layout_a(composed);
  const lt_value *offset = ltA_offset(composed);
  const lt_value *index = apply_part(arena, ltA_layout_b(composed), coord);
  if (offset->kind == LT_SMEM)
    a = count_in_elements(arena, a, offset->value);
  else if (index != NULL)
    index = ltA_add_values(arena, offset, index);
  if (ltA_failed(arena)) return NULL;
  return ltA_keep(arena, mark, apply_part(arena, a, index));
}

/* ---- A layout after a swizzle --------------------------------------------------------------- */

/*
** The swizzle s with a(swizzle(b(i))) == s(a(b(i))) for all i in the domain of 'b'. Its
** parameters are part of the form, so that they come from static numbers only.
*/
static const lt_value *move_swizzle(lt_arena *arena, const lt_value *a, const lt_value *swizzle,
                                    const lt_value *b) {
  ltA_map a_map = ltA_map_of_layout(arena, a);
  ltA_map b_map = ltA_map_of_layout(arena, b);
  const lt_value *size = lt_size(arena, b);
  if (ltA_failed(arena)) return NULL;
  if (a_map.leaves != NULL && b_map.leaves != NULL && lt_is_static(a)) {
    ltA_swizzle s = ltA_unpack_swizzle(swizzle);
    uint64_t active = ltA_possible_bits(&b_map);
    ltA_swizzle moved[2];
    size_t n = ltA_move_swizzle(&a_map, s, lt_is_static(b) ? &active : NULL, moved);
    const ltA_map left[] = {a_map, ltA_map_of_swizzle(s), b_map};
    for (size_t i = 0; i < n; i++) {
      const ltA_map right[] = {ltA_map_of_swizzle(moved[i]), a_map, b_map};
      if (ltA_maps_agree(left, 3, right, 3, size->value)) return ltA_pack_swizzle(arena, moved[i]);
    }
  }
  return ltA_fail(arena, LT_INVALID,
                  "composition: no swizzle after %v does what %v does before it (the layout must "
                  "take the bits of the swizzle to bits)",
                  a, swizzle);
}

static const lt_value *identity_layout(lt_arena *arena, const lt_value *size) {
  static const lt_value one = {1, 0, 1, LT_INTEGER};
  return size == NULL ? NULL : lt_make_layout(arena, size, &one);
}

/* r(i) == a(swizzle(i)) for all i < size(a). */
static const lt_value *compose_layout_swizzle(lt_arena *arena, const lt_value *a,
                                              const lt_value *swizzle) {
  const lt_value *domain = identity_layout(arena, lt_size(arena, a));
  if (domain == NULL) return NULL;
  const lt_value *moved = move_swizzle(arena, a, swizzle, domain);
  return ltA_compose_parts(arena, moved, ltA_zero(), a);
}

/* r(c) == a(A(B(c))): A moves to the left of 'a', or is a layout that takes part in it. */
static const lt_value *compose_layout_composed(lt_arena *arena, const lt_value *a,
                                               const lt_value *b) {
  if (b->kind == LT_COMPOSED) b = ltA_count_in_elements(arena, b);
  if (b == NULL || b->kind != LT_COMPOSED) return b == NULL ? NULL : lt_composition(arena, a, b);
  const lt_value *b_a = ltA_layout_a(b);
  const lt_value *b_b = ltA_layout_b(b);
  if (!ltA_is_zero(ltA_offset(b)))
    return ltA_fail(arena, LT_INVALID,
                    "composition: %v o (%v): the offset of a composed layout on the right must be "
                    "static 0",
                    a, b);
  if (ltA_is_layout(b_a)) { /* A o B first: B may reach past A's domain, where a o A is not a(A) */
    const lt_value *inner = lt_composition(arena, b_a, b_b);
    return inner == NULL ? NULL : lt_composition(arena, a, inner);
  }
  if (!ltA_is_layout(b_b)) {
    const lt_value *outer = lt_composition(arena, a, b_a);
    return outer == NULL ? NULL : lt_composition(arena, outer, b_b);
  }
  const lt_value *composed = lt_composition(arena, a, b_b);
  const lt_value *moved = composed == NULL ? NULL : move_swizzle(arena, a, b_a, b_b);
  return ltA_compose_parts(arena, moved, ltA_zero(), composed);
}

/* ---- Composition ---------------------------------------------------------------------------- */

static void *refuse_composition(lt_arena *arena, const lt_value *a, const lt_value *b) {
  return ltA_fail(arena, LT_INVALID,
                  "composition: %v o %v is no composed layout (a swizzle takes a layout, a swizzle "
                  "that it merges with, or an integer)",
                  a, b);
}

static const lt_value *compose_swizzle(lt_arena *arena, const lt_value *swizzle,
                                       const lt_value *b) {
  switch (b->kind) {
    case LT_WILDCARD: return swizzle;
    case LT_INTEGER:
      return ltA_compose_parts(arena, swizzle, ltA_zero(), identity_layout(arena, b));
    case LT_LAYOUT: return ltA_compose_parts(arena, swizzle, ltA_zero(), b);
    case LT_SWIZZLE: return ltA_merge_swizzles(arena, swizzle, b);
    case LT_COMPOSED: break;
    default: return refuse_composition(arena, swizzle, b);
  }
  b = ltA_count_in_elements(arena, b);
  if (b == NULL) return NULL;
  if (ltA_is_layout(b)) return ltA_compose_parts(arena, swizzle, ltA_zero(), b);
  if (!ltA_is_swizzle(ltA_layout_a(b))) return refuse_composition(arena, swizzle, b);
  const lt_value *merged = ltA_merge_swizzles(arena, swizzle, ltA_layout_a(b));
  return ltA_compose_parts(arena, merged, ltA_offset(b), ltA_layout_b(b));
}

/* A o offset o (B o b). Where B o b is composed itself, A must take it in, without an offset. */
static const lt_value *compose_composed(lt_arena *arena, const lt_value *a, const lt_value *b) {
  const lt_value *inner = lt_composition(arena, ltA_layout_b(a), b);
  if (inner == NULL) return NULL;
  if (!ltA_is_composed(inner)) return ltA_with_layout_b(arena, a, inner);
  a = ltA_count_in_elements(arena, a);
  if (a == NULL) return NULL;
  if (ltA_is_layout(a)) return inner;
  if (!ltA_is_zero(ltA_offset(a))) return refuse_composition(arena, a, b);
  return lt_composition(arena, ltA_layout_a(a), inner);
}

const lt_value *ltA_composition_composed(lt_arena *arena, const lt_value *a, const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *r;
  if (ltA_is_swizzle(a))
    r = compose_swizzle(arena, a, b);
  else if (ltA_is_composed(a))
    r = compose_composed(arena, a, b);
  else if (ltA_is_swizzle(b))
    r = compose_layout_swizzle(arena, a, b);
  else
    r = compose_layout_composed(arena, a, b);
  return r == a || r == b ? r : ltA_keep(arena, mark, r);
}

/* ---- Products ------------------------------------------------------------------------------- */

/* The elements of 'block' and of its repetitions share no bit, and the swizzle leaves the block's
** alone: then it acts on the repetitions as if the block were not there. */
static bool is_apart(lt_arena *arena, const lt_value *block, const lt_value *repetitions,
                     ltA_swizzle s) {
  ltA_map inner = ltA_map_of_layout(arena, block);
  ltA_map outer = ltA_map_of_layout(arena, repetitions);
  if (inner.leaves == NULL || outer.leaves == NULL) return false;
  uint64_t bits = ltA_possible_bits(&inner);
  return (bits & (ltA_possible_bits(&outer) | s.y | s.z)) == 0;
}

/* The complement that repeats 'block', as logical_product takes it. */
static const lt_value *repeat_block(lt_arena *arena, const lt_value *block, const lt_value *tiler) {
  const lt_value *size = lt_size(arena, block);
  const lt_value *cosize = lt_cosize(arena, tiler);
  if (ltA_failed(arena)) return NULL;
  lt_int target = ltA_mul(arena, ltA_int(size), ltA_int(cosize));
  return lt_complement(arena, block, ltA_from_int(arena, target));
}

/* r(c, d) == block(c) + complement(A(B(d))) for the composed tiler A o 0 o B. */
const lt_value *ltA_logical_product_composed(lt_arena *arena, const lt_value *block,
                                             const lt_value *tiler) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  tiler = ltA_count_in_elements(arena, tiler);
  if (tiler == NULL) return NULL;
  if (ltA_is_layout(tiler)) return ltA_keep(arena, mark, lt_logical_product(arena, block, tiler));
  const lt_value *swizzle = ltA_layout_a(tiler);
  const lt_value *b = ltA_layout_b(tiler);
  if (!ltA_is_layout(block) || !ltA_is_swizzle(swizzle) || !ltA_is_layout(b) ||
      !ltA_is_zero(ltA_offset(tiler)))
    return ltA_fail(arena, LT_INVALID,
                    "logical_product: %v by %v: a composed tiler must be a swizzle, static 0 and a "
                    "layout, after a plain layout",
                    block, tiler);
  const lt_value *product = lt_logical_product(arena, block, b);
  const lt_value *rest = repeat_block(arena, block, b);
  if (ltA_failed(arena)) return NULL;
  const lt_value *moved = move_swizzle(arena, rest, swizzle, b);
  const lt_value *repetitions = lt_composition(arena, rest, b);
  if (ltA_failed(arena)) return NULL;
  if (!is_apart(arena, block, repetitions, ltA_unpack_swizzle(moved)))
    return ltA_fail(arena, LT_INVALID,
                    "logical_product: %v by %v: the swizzle would move elements within the block",
                    block, tiler);
  return ltA_keep(arena, mark, ltA_compose_parts(arena, moved, ltA_zero(), product));
}
