/*
** Values: kinds, parts and the makers of leaves and tuples.
*/
#include "value.h"

size_t lt_value_size(const lt_value *v) { return v->length * sizeof *v; }

lt_kind lt_kind_of(const lt_value *v) { return (lt_kind)v->kind; }

const char *lt_kind_name(lt_kind kind) {
  switch (kind) {
    case LT_INTEGER: return "integer";
    case LT_WILDCARD: return "underscore";
    case LT_BASIS: return "scaled basis";
    case LT_TUPLE: return "tuple";
    case LT_LAYOUT: return "layout";
    case LT_SWIZZLE: return "swizzle";
    case LT_SMEM: return "shared memory offset";
    case LT_COMPOSED: return "composed layout";
    case LT_TENSOR: return "counting tensor";
    case LT_MAJOR: return "layout order";
  }
  return "value";
}

int64_t lt_integer_value(const lt_value *v) { return v->value; }
int64_t lt_integer_promise(const lt_value *v) { return v->promise; }
bool lt_equal(const lt_value *a, const lt_value *b) { return ltA_equal(a, b); }
bool lt_is_layout(const lt_value *v) { return v->kind == LT_LAYOUT || v->kind == LT_COMPOSED; }

bool lt_is_static(const lt_value *v) {
  for (const lt_value *node = v; node < ltA_next(v); node++)
    if (node->promise != 0) return false;
  return true;
}

const lt_value *ltA_element(const lt_value *tuple, size_t i) {
  const lt_value *element = ltA_first(tuple);
  while (i-- > 0) element = ltA_next(element);
  return element;
}

size_t ltA_count_leaves(const lt_value *v) {
  if (v->length == 1) return v->kind != LT_TUPLE;
  if (v->kind == LT_BASIS) return 1;
  size_t count = 0;
  for (const lt_value *child = ltA_first(v); child < ltA_next(v); child = ltA_next(child))
    count += ltA_count_leaves(child);
  return count;
}

bool ltA_has_no_elements(const lt_value *shape) {
  for (const lt_value *leaf = shape; leaf < ltA_next(shape); leaf++)
    if (leaf->kind == LT_INTEGER && leaf->value == 0) return true;
  return false;
}

const lt_value *lt_part(const lt_value *v, size_t i) {
  const lt_value *end = ltA_next(v);
  const lt_value *part = ltA_first(v);
  while (part < end && i-- > 0) part = ltA_next(part);
  return part < end ? part : NULL;
}

const lt_value *ltA_shape_of(const lt_value *v) {
  switch (v->kind) {
    case LT_LAYOUT: return ltA_shape(v);
    case LT_COMPOSED: return ltA_shape_of(ltA_layout_b(v));
    case LT_TENSOR: return ltA_shape_of(ltA_next(ltA_first(v)));
    default: return v;
  }
}

const lt_value *lt_shape(const lt_value *v) { return ltA_shape_of(v); }

const lt_value *lt_stride(const lt_value *v) {
  if (v->kind == LT_TENSOR) v = ltA_next(ltA_first(v));
  return v->kind == LT_LAYOUT ? ltA_stride(v) : NULL;
}

size_t lt_rank(const lt_value *v) { return ltA_rank(ltA_shape_of(v)); }

static size_t depth_of_shape(const lt_value *shape) {
  if (shape->kind != LT_TUPLE) return 0;
  size_t deepest = 0;
  for (const lt_value *e = ltA_first(shape); e < ltA_next(shape); e = ltA_next(e)) {
    size_t depth = depth_of_shape(ltA_shape_of(e));
    if (depth > deepest) deepest = depth;
  }
  return deepest + 1;
}

size_t lt_depth(const lt_value *v) { return depth_of_shape(ltA_shape_of(v)); }

const lt_value *lt_integer(lt_arena *arena, int64_t value) {
  return ltA_from_int(arena, ltA_static(value));
}

const lt_value *lt_dynamic(lt_arena *arena, int64_t value, int64_t promise) {
  if (promise < 1) return ltA_fail(arena, LT_INVALID, "dyn: promise %I is not positive", promise);
  if (value % promise != 0)
    return ltA_fail(arena, LT_INVALID, "dyn: %I is not a multiple of the promised %I", value,
                    promise);
  return ltA_from_int(arena, (lt_int){value, promise});
}

const lt_value *lt_wildcard(lt_arena *arena) {
  lt_value *v = ltA_new_nodes(arena, 1);
  if (v != NULL) *v = (lt_value){0, 0, 1, LT_WILDCARD};
  return v;
}

static const lt_value *major(lt_arena *arena, int64_t right) {
  lt_value *v = ltA_new_nodes(arena, 1);
  if (v != NULL) *v = (lt_value){right, 0, 1, LT_MAJOR};
  return v;
}

const lt_value *lt_layout_left(lt_arena *arena) { return major(arena, 0); }
const lt_value *lt_layout_right(lt_arena *arena) { return major(arena, 1); }

const lt_value *lt_basis(lt_arena *arena, const lt_value *coefficient, const int64_t *path,
                         size_t n) {
  if (ltA_failed(arena)) return NULL;
  if (coefficient->kind != LT_INTEGER)
    return ltA_fail(arena, LT_INVALID, "E: coefficient %v is no integer", coefficient);
  if (n > LT_MAX_DEPTH)
    return ltA_fail(arena, LT_LIMIT, "E: a path of %z modes is longer than %d", n, LT_MAX_DEPTH);
  if (n == 0) return ltA_from_int(arena, ltA_int(coefficient));
  lt_value *v = ltA_new_nodes(arena, 1 + n);
  if (v == NULL) return NULL;
  *v = (lt_value){coefficient->value, coefficient->promise, (uint32_t)(1 + n), LT_BASIS};
  for (size_t i = 0; i < n; i++) {
    if (path[i] < 0 || path[i] >= LT_MAX_BASIS_MODE)
      return ltA_fail(arena, LT_INVALID, "E: mode %I is not in 0 to %I", path[i],
                      (int64_t)LT_MAX_BASIS_MODE - 1);
    v[1 + i] = (lt_value){path[i], 0, 1, LT_INTEGER};
  }
  return v;
}

const lt_value *lt_tuple(lt_arena *arena, const lt_value *const *elements, size_t n) {
  return ltA_node(arena, LT_TUPLE, elements, n);
}

const lt_value *lt_swizzle(lt_arena *arena, int64_t b, int64_t m, int64_t s) {
  bool is_near = b >= 0 && m >= 0 && b <= 62 && m <= 62 && s >= -62 && s <= 62;
  int64_t shift = !is_near ? 0 : s < 0 ? -s : s;
  if (!is_near || shift < b || b + m + shift > 62)
    return ltA_fail(arena, LT_INVALID,
                    "Swizzle(%I, %I, %I): wants 0 <= B <= |S|, 0 <= M and B + M + |S| <= 62", b, m,
                    s);
  lt_value *v = ltA_new_nodes(arena, 4);
  if (v == NULL) return NULL;
  v[0] = (lt_value){0, 0, 4, LT_SWIZZLE};
  v[1] = (lt_value){b, 0, 1, LT_INTEGER};
  v[2] = (lt_value){m, 0, 1, LT_INTEGER};
  v[3] = (lt_value){s, 0, 1, LT_INTEGER};
  return v;
}

const lt_value *ltA_with_tensor_layout(lt_arena *arena, const lt_value *tensor,
                                       const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *parts[] = {ltA_first(tensor), layout};
  return ltA_node(arena, LT_TENSOR, parts, 2);
}
