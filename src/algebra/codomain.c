/*
** What a layout maps into: coshape, cosize, coprofile. Source: CuTe's layout.hpp.
*/
#include "value.h"

/* The layout of 'x' that decides its codomain, as in CuTe the inner one of a composed layout. */
static const lt_value *domain_layout(lt_arena *arena, const char *operation, const lt_value *x) {
  const lt_value *layout = x;
  if (layout->kind == LT_TENSOR) layout = ltA_next(ltA_first(layout));
  if (ltA_is_composed(layout)) layout = ltA_layout_b(layout);
  if (ltA_is_layout(layout)) return layout;
  return ltA_fail(arena, LT_INVALID, "%s: %v is no layout", operation, x);
}

/* shape - 1 at each leaf: the largest coordinate, 0 where there is none. */
static const lt_value *last_coord(lt_arena *arena, const lt_value *shape) {
  lt_value *last = ltA_copy(arena, shape);
  if (last == NULL) return NULL;
  for (lt_value *node = last; node < last + shape->length; node++) {
    if (!ltA_is_integer(node)) continue;
    lt_int x = ltA_sub(arena, ltA_int(node), ltA_static(1));
    node->value = x.value < 0 ? 0 : x.value;
    node->promise = x.promise;
  }
  return last;
}

static const lt_value *absolute(lt_arena *arena, const lt_value *stride) {
  lt_value *result = ltA_copy(arena, stride);
  if (result == NULL) return NULL;
  for (lt_value *node = result; node < result + stride->length;) {
    if (!ltA_is_tuple(node)) node->value = ltA_abs(arena, ltA_int(node)).value;
    node += ltA_is_tuple(node) ? 1 : node->length;
  }
  return result;
}

/* 1 more at each leaf; 0 throughout where no coordinate is mapped to anything. */
static const lt_value *past_end(lt_arena *arena, const lt_value *largest, bool empty) {
  lt_value *end = ltA_copy(arena, largest);
  if (end == NULL) return NULL;
  for (lt_value *node = end; node < end + largest->length; node++) {
    if (!ltA_is_integer(node)) continue;
    lt_int x = ltA_add(arena, ltA_int(node), ltA_static(1));
    node->value = empty ? 0 : x.value;
    node->promise = x.promise;
  }
  return ltA_failed(arena) ? NULL : end;
}

static const lt_value *codomain_of(lt_arena *arena, const char *operation, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *layout = domain_layout(arena, operation, x);
  if (layout == NULL) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *last = last_coord(arena, ltA_shape(layout));
  const lt_value *steps = absolute(arena, ltA_stride(layout));
  if (ltA_failed(arena)) return NULL;
  const lt_value *largest = ltA_as_tuple(arena, lt_inner_product(arena, last, steps));
  if (largest == NULL) return NULL;
  return ltA_keep(arena, mark, past_end(arena, largest, ltA_has_no_elements(ltA_shape(layout))));
}

const lt_value *lt_coshape(lt_arena *arena, const lt_value *layout) {
  return codomain_of(arena, "coshape", layout);
}

const lt_value *lt_cosize(lt_arena *arena, const lt_value *layout) {
  return lt_product(arena, codomain_of(arena, "cosize", layout));
}

/* The coefficients do not matter, and the sum of the strides might overflow. */
const lt_value *lt_coprofile(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  layout = domain_layout(arena, "coprofile", layout);
  if (layout == NULL) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *stride = ltA_stride(layout);
  ltA_term *terms = ltA_new_bytes(arena, stride->length * sizeof *terms);
  if (terms == NULL) return NULL;
  size_t n = 0;
  for (const lt_value *node = stride; node < ltA_next(stride);) {
    if (!ltA_is_tuple(node)) terms[n++] = (ltA_term){node, ltA_static(0)};
    node = ltA_is_tuple(node) ? node + 1 : ltA_next(node);
  }
  return ltA_keep(arena, mark, ltA_as_tuple(arena, ltA_sum_terms(arena, terms, n)));
}
