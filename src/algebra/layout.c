/*
** Making layouts, composed layouts and counting tensors, and what their parts must satisfy.
*/
#include "value.h"

/* ---- Shapes --------------------------------------------------------------------------------- */

/*
** No negative leaf, and a product of at most LT_MAX_SIZE; leaves of 0 are left out of it, so that
** every mode of a valid shape is valid too.
*/
bool ltA_check_shape(lt_arena *arena, const char *operation, const lt_value *shape) {
  if (ltA_failed(arena)) return false;
  int64_t size = 1;
  for (const lt_value *node = shape; node < ltA_next(shape); node++) {
    if (node->kind == LT_TUPLE) continue;
    if (node->kind != LT_INTEGER) {
      ltA_fail(arena, LT_INVALID, "%s: shape %v has %v, which is no integer", operation, shape,
               node);
      return false;
    }
    if (node->value < 0) {
      ltA_fail(arena, LT_INVALID, "%s: shape %v has a negative size, %v", operation, shape, node);
      return false;
    }
    if (node->value == 0) continue;
    if (__builtin_mul_overflow(size, node->value, &size) || size > LT_MAX_SIZE) {
      ltA_fail(arena, LT_LIMIT, "%s: shape %v is larger than 2^62", operation, shape);
      return false;
    }
  }
  return true;
}

/* ---- Layouts -------------------------------------------------------------------------------- */

static const lt_value *skip_stride_node(const lt_value *node) {
  return ltA_is_tuple(node) ? node + 1 : ltA_next(node);
}

/* The same tree, with an integer or a basis under each leaf of the shape. */
static bool check_stride(lt_arena *arena, const char *operation, const lt_value *shape,
                         const lt_value *stride) {
  const lt_value *d = stride;
  for (const lt_value *s = shape; s < ltA_next(shape); s++) {
    bool same = ltA_is_tuple(s) ? ltA_is_tuple(d) && d->value == s->value : ltA_is_stride_leaf(d);
    if (!same) {
      ltA_fail(arena, LT_INVALID, "%s: stride %v is not congruent with shape %v", operation, stride,
               shape);
      return false;
    }
    d = skip_stride_node(d);
  }
  return true;
}

/* Adds (size - 1) * |stride| to 'extent', which stays within int64_t; false beyond. */
static bool add_extent(uint64_t *extent, int64_t size, int64_t stride) {
  if (size <= 1) return true;
  uint64_t magnitude = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
  uint64_t reach;
  return !__builtin_mul_overflow((uint64_t)size - 1, magnitude, &reach) &&
         !__builtin_add_overflow(*extent, reach, extent) && *extent <= INT64_MAX;
}

/* No coordinate in range leads to an offset beyond 64 bits, nor does a partial sum. */
static bool check_extent(lt_arena *arena, const char *operation, const lt_value *shape,
                         const lt_value *stride) {
  uint64_t extent = 0;
  const lt_value *d = stride;
  for (const lt_value *s = shape; s < ltA_next(shape); s++) {
    if (ltA_is_integer(s) && !add_extent(&extent, s->value, d->value)) {
      ltA_fail(arena, LT_OVERFLOW, "%s: offsets of %v:%v go beyond 64 bits", operation, shape,
               stride);
      return false;
    }
    d = skip_stride_node(d);
  }
  return true;
}

bool ltA_check_layout(lt_arena *arena, const char *operation, const lt_value *shape,
                      const lt_value *stride) {
  return ltA_check_shape(arena, operation, shape) &&
         check_stride(arena, operation, shape, stride) &&
         check_extent(arena, operation, shape, stride);
}

/* Whether check_shape and check_extent would pass. */
static bool is_within_limits(const lt_value *shape, const lt_value *stride) {
  int64_t size = 1, reach = 0;
  const lt_value *d = stride;
  for (const lt_value *s = shape; s < ltA_next(shape); s++) {
    if (ltA_is_tuple(s)) {
      d++;
      continue;
    }
    if (!ltA_count_mode(&size, &reach, s->value, d->value)) return false;
    d = ltA_next(d);
  }
  return size <= LT_MAX_SIZE;
}

bool ltA_check_limits(lt_arena *arena, const lt_value *layout) {
  if (is_within_limits(ltA_shape(layout), ltA_stride(layout))) return true;
  return ltA_check_shape(arena, "result", ltA_shape(layout)) &&
         check_extent(arena, "result", ltA_shape(layout), ltA_stride(layout));
}

const lt_value *lt_make_layout(lt_arena *arena, const lt_value *shape, const lt_value *stride) {
  if (ltA_failed(arena)) return NULL;
  if (!ltA_check_shape(arena, "make_layout", shape)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  if (stride == NULL)
    stride = lt_compact_col_major(arena, shape, NULL);
  else if (stride->kind == LT_MAJOR)
    stride = stride->value == 0 ? lt_compact_col_major(arena, shape, NULL)
                                : lt_compact_row_major(arena, shape, NULL);
  if (stride == NULL || !ltA_check_layout(arena, "make_layout", shape, stride)) return NULL;
  return ltA_keep(arena, mark, ltA_pair(arena, shape, stride));
}

static bool append_layout(ltA_builder *shape, ltA_builder *stride, const lt_value *layout) {
  if (!ltA_is_layout(layout)) {
    ltA_fail(shape->arena, LT_INVALID, "make_layout: %v is no layout", layout);
    return false;
  }
  ltA_append(shape, ltA_shape(layout));
  ltA_append(stride, ltA_stride(layout));
  return true;
}

const lt_value *lt_make_layout_of(lt_arena *arena, const lt_value *const *layouts, size_t n) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  ltA_builder shape, stride;
  ltA_begin(&shape, arena);
  ltA_begin(&stride, arena);
  ltA_open(&shape, LT_TUPLE);
  ltA_open(&stride, LT_TUPLE);
  for (size_t i = 0; i < n; i++)
    if (!append_layout(&shape, &stride, layouts[i])) return NULL;
  ltA_close(&shape, 0, n);
  ltA_close(&stride, 0, n);
  const lt_value *layout = ltA_finish_layout(&shape, &stride);
  if (layout == NULL ||
      !ltA_check_layout(arena, "make_layout", ltA_shape(layout), ltA_stride(layout)))
    return NULL;
  return ltA_keep(arena, mark, layout);
}

/* ---- Composed layouts ----------------------------------------------------------------------- */

static bool is_swizzle_or_layout(const lt_value *v) {
  return v->kind == LT_SWIZZLE || v->kind == LT_LAYOUT;
}

/* An integer, or a tuple of them: an offset, or the start of a coordinate. */
static bool is_offset(const lt_value *v) {
  for (const lt_value *node = v; node < ltA_next(v); node++)
    if (node->kind != LT_INTEGER && node->kind != LT_TUPLE) return false;
  return true;
}

bool ltA_check_composed(lt_arena *arena, const char *operation, const lt_value *a,
                        const lt_value *offset, const lt_value *b) {
  if (ltA_failed(arena)) return false;
  if (!is_swizzle_or_layout(a))
    ltA_fail(arena, LT_INVALID,
             "%s: %v before the offset of a composed layout is neither a "
             "swizzle nor a layout",
             operation, a);
  else if (!is_swizzle_or_layout(b))
    ltA_fail(arena, LT_INVALID,
             "%s: %v after the offset of a composed layout is neither a layout "
             "nor a swizzle",
             operation, b);
  else if (a->kind == LT_SWIZZLE && !ltA_is_integer(offset) && offset->kind != LT_SMEM)
    ltA_fail(arena, LT_INVALID,
             "%s: offset %v after a swizzle is neither an integer nor "
             "'smem[..b]'",
             operation, offset);
  else if (a->kind == LT_LAYOUT && !is_offset(offset))
    ltA_fail(arena, LT_INVALID,
             "%s: offset %v after a layout is neither an integer nor a tuple of "
             "integers",
             operation, offset);
  return !ltA_failed(arena);
}

const lt_value *lt_make_composed_layout(lt_arena *arena, const lt_value *a, const lt_value *offset,
                                        const lt_value *b) {
  if (ltA_failed(arena)) return NULL;
  static const lt_value zero = {0, 0, 1, LT_INTEGER};
  const lt_value *parts[] = {a, offset == NULL ? &zero : offset, b};
  if (!ltA_check_composed(arena, "make_composed_layout", a, parts[1], b)) return NULL;
  return ltA_node(arena, LT_COMPOSED, parts, 3);
}

const lt_value *lt_smem(lt_arena *arena, int64_t bits) {
  if (ltA_failed(arena)) return NULL;
  if (bits < 1 || bits > LT_MAX_ELEMENT_BITS)
    return ltA_fail(arena, LT_INVALID, "smem: elements of %I bits are not of 1 to %d bits", bits,
                    LT_MAX_ELEMENT_BITS);
  lt_value *v = ltA_new_nodes(arena, 1);
  if (v != NULL) *v = (lt_value){bits, 0, 1, LT_SMEM};
  return v;
}

/* ---- Counting tensors ----------------------------------------------------------------------- */

bool ltA_check_tensor(lt_arena *arena, const char *operation, const lt_value *offset,
                      const lt_value *layout) {
  if (ltA_failed(arena)) return false;
  if (!lt_is_layout(layout))
    ltA_fail(arena, LT_INVALID, "%s: %v after the offset of a tensor is no layout", operation,
             layout);
  else if (!is_offset(offset))
    ltA_fail(arena, LT_INVALID,
             "%s: offset %v of a tensor is neither an integer nor a tuple of "
             "integers",
             operation, offset);
  return !ltA_failed(arena);
}

const lt_value *lt_make_counting_tensor(lt_arena *arena, const lt_value *offset,
                                        const lt_value *layout) {
  if (offset != NULL) offset = ltA_as_tuple(arena, offset); /* the start 3@0 is (3) */
  if (!ltA_check_tensor(arena, "make_counting_tensor", offset, layout)) return NULL;
  return ltA_node(arena, LT_TENSOR, (const lt_value *[]){offset, layout}, 2);
}
