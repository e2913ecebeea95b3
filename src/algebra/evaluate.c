/*
** What a layout maps a coordinate to. Source: CuTe's stride.hpp.
*/
#include "composed.h"

static bool has_basis(const lt_value *stride) {
  for (const lt_value *node = stride; node < ltA_next(stride); node++)
    if (node->kind == LT_BASIS) return true;
  return false;
}

/* '_' counts as static 0: the offset of a slice is the index of its first element. */
static bool read_index(lt_arena *arena, const lt_value *coord, lt_int *index) {
  *index = ltA_static(0);
  if (coord->kind == LT_WILDCARD) return true;
  if (ltA_is_integer(coord)) *index = ltA_int(coord);
  if (ltA_is_integer(coord)) return true;
  ltA_fail(arena, LT_INVALID, "crd2idx: %v is no coordinate", coord);
  return false;
}

static bool check_coord_rank(lt_arena *arena, const lt_value *coord, const lt_value *shape) {
  if (ltA_is_tuple(shape) && coord->value == shape->value) return true;
  if (ltA_is_tuple(shape))
    ltA_fail(arena, LT_INVALID, "crd2idx: coordinate %v has rank %z, but shape %v has rank %z",
             coord, ltA_rank(coord), shape, ltA_rank(shape));
  else
    ltA_fail(arena, LT_INVALID, "crd2idx: coordinate %v is a tuple, but shape %v is an integer",
             coord, shape);
  return false;
}

/* A static 0 is split without a look at the mode. */
lt_int ltA_split_index(lt_arena *arena, lt_int *index, const lt_value *mode) {
  if (ltA_is_constant(*index, 0)) return *index;
  lt_int size = ltA_product(arena, mode);
  if (size.value == 0) {
    ltA_fail(arena, LT_INVALID, "there is no index %i in a shape with a mode %v of size 0", *index,
             mode);
    return *index;
  }
  lt_int within = ltA_mod(arena, *index, size);
  *index = ltA_div(arena, *index, size);
  return within;
}

/* ---- Indices that are integers -------------------------------------------------------------- */

/*
** Splits a linear index over the modes, the first one fastest. The last mode takes what is left,
** so that it runs on beyond the shape.
*/
static lt_int split_index(lt_arena *arena, lt_int index, const lt_value *shape,
                          const lt_value *stride) {
  if (!ltA_is_tuple(shape)) return ltA_mul(arena, index, ltA_int(stride));
  lt_int sum = ltA_static(0);
  if (ltA_is_constant(index, 0)) return sum;
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape) && !ltA_failed(arena);
       s = ltA_next(s)) {
    lt_int within = index;
    if (ltA_has_leaf_after(s, shape)) within = ltA_split_index(arena, &index, s);
    sum = ltA_add(arena, sum, split_index(arena, within, s, d));
    d = ltA_next(d);
  }
  return sum;
}

static lt_int index_of(lt_arena *arena, const lt_value *coord, const lt_value *shape,
                       const lt_value *stride) {
  lt_int sum = ltA_static(0);
  if (!ltA_is_tuple(coord))
    return read_index(arena, coord, &sum) ? split_index(arena, sum, shape, stride) : sum;
  if (!check_coord_rank(arena, coord, shape)) return sum;
  const lt_value *s = ltA_first(shape), *d = ltA_first(stride);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord) && !ltA_failed(arena);
       c = ltA_next(c)) {
    sum = ltA_add(arena, sum, index_of(arena, c, s, d));
    s = ltA_next(s);
    d = ltA_next(d);
  }
  return sum;
}

/* ---- Indices that are coordinates: strides with bases ---------------------------------------- */

/* A term for each leaf of the stride. Returns the place after the last one. */
static ltA_term *split_to_terms(lt_arena *arena, lt_int index, const lt_value *shape,
                                const lt_value *stride, ltA_term *at) {
  if (!ltA_is_tuple(shape)) {
    *at = (ltA_term){stride, ltA_mul(arena, ltA_int(stride), index)};
    return at + 1;
  }
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    lt_int within = index;
    if (ltA_has_leaf_after(s, shape)) within = ltA_split_index(arena, &index, s);
    at = split_to_terms(arena, within, s, d, at);
    d = ltA_next(d);
  }
  return at;
}

static ltA_term *collect_terms(lt_arena *arena, const lt_value *coord, const lt_value *shape,
                               const lt_value *stride, ltA_term *at) {
  if (!ltA_is_tuple(coord)) {
    lt_int index;
    return read_index(arena, coord, &index) ? split_to_terms(arena, index, shape, stride, at) : at;
  }
  if (!check_coord_rank(arena, coord, shape)) return at;
  const lt_value *s = ltA_first(shape), *d = ltA_first(stride);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord) && !ltA_failed(arena);
       c = ltA_next(c)) {
    at = collect_terms(arena, c, s, d, at);
    s = ltA_next(s);
    d = ltA_next(d);
  }
  return at;
}

static const lt_value *value_of(lt_arena *arena, const lt_value *coord, const lt_value *shape,
                                const lt_value *stride) {
  ltA_mark mark = ltA_get_mark(arena);
  ltA_term *terms = ltA_new_bytes(arena, ltA_count_leaves(stride) * sizeof *terms);
  if (terms == NULL) return NULL;
  ltA_term *end = collect_terms(arena, coord, shape, stride, terms);
  return ltA_keep(arena, mark, ltA_sum_terms(arena, terms, (size_t)(end - terms)));
}

/* ---- Layouts -------------------------------------------------------------------------------- */

/* Static integers only: then no flag depends on the way to the index. */
static bool is_plain(const lt_value *tree) {
  for (const lt_value *node = tree; node < ltA_next(tree); node++)
    if ((node->kind != LT_INTEGER && node->kind != LT_TUPLE) || node->promise != 0) return false;
  return true;
}

/* Adds the offset of a coordinate. False where the general way must decide. */
static bool add_offset(const lt_value *coord, const lt_value *shape, const lt_value *stride,
                       int64_t *sum) {
  if (coord->kind == LT_WILDCARD) return true;
  if (ltA_is_integer(coord)) {
    int64_t offset;
    if (coord->promise != 0) return false;
    bool is_found = ltA_is_integer(shape)
                        ? !__builtin_mul_overflow(coord->value, stride->value, &offset)
                        : ltA_offset_at(shape, stride, coord->value, &offset);
    return is_found && !__builtin_add_overflow(*sum, offset, sum);
  }
  if (!ltA_is_tuple(coord) || !ltA_is_tuple(shape) || coord->value != shape->value) return false;
  const lt_value *s = ltA_first(shape), *d = ltA_first(stride);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) {
    if (!add_offset(c, s, d, sum)) return false;
    s = ltA_next(s);
    d = ltA_next(d);
  }
  return true;
}

static const lt_value *apply_layout(lt_arena *arena, const lt_value *coord, const lt_value *shape,
                                    const lt_value *stride) {
  int64_t offset = 0;
  if (is_plain(shape) && is_plain(stride) && add_offset(coord, shape, stride, &offset))
    return ltA_from_int(arena, ltA_static(offset));
  if (has_basis(stride)) return value_of(arena, coord, shape, stride);
  lt_int index = index_of(arena, coord, shape, stride);
  return ltA_failed(arena) ? NULL : ltA_from_int(arena, index);
}

/* ---- Colexicographic indices of a shape ------------------------------------------------------ */

typedef struct digit {
  lt_int coord;
  lt_int size;
} digit;

/* The leaves of a coordinate with the sizes of what they stand for. Returns their end, or NULL. */
static digit *collect_digits(lt_arena *arena, const lt_value *coord, const lt_value *shape,
                             digit *at) {
  if (!ltA_is_tuple(coord)) {
    if (!read_index(arena, coord, &at->coord)) return NULL;
    at->size = ltA_product(arena, shape);
    return ltA_failed(arena) ? NULL : at + 1;
  }
  if (!check_coord_rank(arena, coord, shape)) return NULL;
  const lt_value *s = ltA_first(shape);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord) && at != NULL; c = ltA_next(c)) {
    at = collect_digits(arena, c, s, at);
    s = ltA_next(s);
  }
  return at;
}

/* Horner's method: c0 + s0 * (c1 + s1 * (c2 + ...)). The size of the last mode does not matter. */
static lt_int colex_index(lt_arena *arena, const lt_value *coord, const lt_value *shape) {
  lt_int index = ltA_static(0);
  if (!ltA_is_tuple(coord)) {
    read_index(arena, coord, &index);
    return index;
  }
  ltA_mark mark = ltA_get_mark(arena);
  digit *digits = ltA_new_bytes(arena, coord->length * sizeof *digits);
  digit *end = digits == NULL ? NULL : collect_digits(arena, coord, shape, digits);
  if (end == NULL) return index;
  if (end > digits) index = (--end)->coord;
  while (end > digits) {
    end--;
    index = ltA_add(arena, end->coord, ltA_mul(arena, end->size, index));
  }
  ltA_release(arena, mark);
  return index;
}

/* ---- crd2idx -------------------------------------------------------------------------------- */

const lt_value *lt_crd2idx(lt_arena *arena, const lt_value *coord, const lt_value *x,
                           const lt_value *stride) {
  if (ltA_failed(arena)) return NULL;
  if (stride != NULL) {
    if (!ltA_check_layout(arena, "crd2idx", x, stride)) return NULL;
    return apply_layout(arena, coord, x, stride);
  }
  if (ltA_is_layout(x)) return apply_layout(arena, coord, ltA_shape(x), ltA_stride(x));
  if (!ltA_is_tuple(x) && !ltA_is_integer(x)) return lt_apply(arena, x, coord);
  if (!ltA_check_shape(arena, "crd2idx", x)) return NULL;
  lt_int index = colex_index(arena, coord, x);
  return ltA_failed(arena) ? NULL : ltA_from_int(arena, index);
}

/* ---- Values as functions -------------------------------------------------------------------- */

static bool has_wildcard(const lt_value *coord) {
  for (const lt_value *node = coord; node < ltA_next(coord); node++)
    if (node->kind == LT_WILDCARD) return true;
  return false;
}

/* offset o (start o layout) is (offset + start) o layout. */
static const lt_value *move_tensor(lt_arena *arena, const lt_value *offset,
                                   const lt_value *tensor) {
  if (tensor == NULL) return NULL;
  const lt_value *start = ltA_first(tensor);
  const lt_value *parts[] = {ltA_add_values(arena, offset, start), ltA_next(start)};
  return parts[0] == NULL ? NULL : ltA_node(arena, LT_TENSOR, parts, 2);
}

static const lt_value *apply_tensor(lt_arena *arena, const lt_value *tensor,
                                    const lt_value *coord) {
  const lt_value *offset = ltA_first(tensor);
  const lt_value *result = lt_apply(arena, ltA_next(offset), coord);
  if (result != NULL && result->kind == LT_TENSOR) return move_tensor(arena, offset, result);
  return result == NULL ? NULL : ltA_add_values(arena, offset, result);
}

const lt_value *lt_apply(lt_arena *arena, const lt_value *f, const lt_value *coord) {
  if (ltA_failed(arena)) return NULL;
  if (f->kind == LT_TENSOR) return apply_tensor(arena, f, coord);
  if (lt_is_layout(f) && has_wildcard(coord)) return lt_slice_and_offset(arena, coord, f);
  if (ltA_is_layout(f)) return apply_layout(arena, coord, ltA_shape(f), ltA_stride(f));
  if (ltA_is_composed(f)) return ltA_apply_composed(arena, f, coord);
  if (f->kind == LT_SWIZZLE && ltA_is_integer(coord)) return ltA_apply_swizzle(arena, f, coord);
  if (f->kind == LT_SWIZZLE)
    return ltA_fail(arena, LT_INVALID, "apply: %v takes an integer, not %v", f, coord);
  return ltA_fail(arena, LT_INVALID, "apply: %v is no layout", f);
}
