/*
** Indices to coordinates, and coordinates of one shape to those of another.
** Source: CuTe's stride.hpp.
*/
#include "value.h"

/* ---- idx2crd -------------------------------------------------------------------------------- */

/* An integer fits every shape, a tuple one of its rank. */
static bool check_index(lt_arena *arena, const lt_value *index, const lt_value *shape) {
  bool fits = ltA_is_tuple(index) ? ltA_is_tuple(shape) && index->value == shape->value
                                  : ltA_is_integer(index);
  if (!fits) ltA_fail(arena, LT_INVALID, "idx2crd: index %v does not fit shape %v", index, shape);
  return fits;
}

/* The first mode is fastest; the last one takes what is left. */
static void append_colex_coord(ltA_builder *b, lt_int index, const lt_value *shape) {
  if (!ltA_is_tuple(shape)) {
    ltA_append_int(b, index);
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    lt_int within = index;
    if (ltA_has_leaf_after(s, shape)) within = ltA_split_index(b->arena, &index, s);
    append_colex_coord(b, within, s);
  }
  ltA_close(b, open, ltA_rank(shape));
}

static void append_colex_coords(ltA_builder *b, const lt_value *index, const lt_value *shape) {
  if (!check_index(b->arena, index, shape)) return;
  if (!ltA_is_tuple(index)) {
    append_colex_coord(b, ltA_int(index), shape);
    return;
  }
  const lt_value *s = ltA_first(shape);
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *i = ltA_first(index); i < ltA_next(index); i = ltA_next(i)) {
    append_colex_coords(b, i, s);
    s = ltA_next(s);
  }
  ltA_close(b, open, ltA_rank(index));
}

/* (index / stride) % shape; a static size of 1 needs no stride, which may be 0. */
static lt_int coord_at(lt_arena *arena, lt_int index, lt_int size, lt_int stride) {
  if (ltA_is_constant(size, 1)) return ltA_static(0);
  return ltA_mod(arena, ltA_div(arena, index, stride), size);
}

static bool check_stride(lt_arena *arena, const lt_value *shape, const lt_value *stride) {
  bool fits = ltA_is_tuple(shape) ? ltA_is_tuple(stride) && shape->value == stride->value
                                  : ltA_is_integer(stride);
  if (!fits) ltA_fail(arena, LT_INVALID, "idx2crd: stride %v does not fit shape %v", stride, shape);
  return fits;
}

/* An integer stride of a tuple is where the tuple's compact strides start. */
static void append_strided_coord(ltA_builder *b, const lt_value *index, const lt_value *shape,
                                 const lt_value *stride) {
  if (ltA_is_tuple(shape) && ltA_is_integer(stride) && !ltA_is_tuple(index))
    stride = lt_compact_col_major(b->arena, shape, stride);
  if (ltA_failed(b->arena) || !check_index(b->arena, index, shape) ||
      !check_stride(b->arena, shape, stride))
    return;
  if (!ltA_is_tuple(shape)) {
    ltA_append_int(b, coord_at(b->arena, ltA_int(index), ltA_int(shape), ltA_int(stride)));
    return;
  }
  const lt_value *i = ltA_is_tuple(index) ? ltA_first(index) : index;
  const lt_value *d = ltA_first(stride);
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    append_strided_coord(b, i, s, d);
    if (i != index) i = ltA_next(i);
    d = ltA_next(d);
  }
  ltA_close(b, open, ltA_rank(shape));
}

const lt_value *lt_idx2crd(lt_arena *arena, const lt_value *index, const lt_value *x,
                           const lt_value *stride) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *shape = ltA_shape_of(x);
  if (!ltA_check_shape(arena, "idx2crd", shape)) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  if (stride == NULL)
    append_colex_coords(&b, index, shape);
  else
    append_strided_coord(&b, index, shape, stride);
  return ltA_finish(&b);
}

/* ---- crd2crd -------------------------------------------------------------------------------- */

static void append_converted(ltA_builder *b, const lt_value *coord, const lt_value *from,
                             const lt_value *to) {
  if (ltA_failed(b->arena)) return;
  if (!ltA_is_tuple(coord) || !ltA_is_tuple(from) || !ltA_is_tuple(to)) {
    const lt_value *index = lt_crd2idx(b->arena, coord, from, NULL);
    const lt_value *converted = index == NULL ? NULL : lt_idx2crd(b->arena, index, to, NULL);
    if (converted != NULL) ltA_append(b, converted);
    return;
  }
  if (coord->value != from->value || coord->value != to->value) {
    ltA_fail(b->arena, LT_INVALID, "crd2crd: %v, %v and %v are not of one rank", coord, from, to);
    return;
  }
  const lt_value *s = ltA_first(from), *d = ltA_first(to);
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) {
    append_converted(b, c, s, d);
    s = ltA_next(s);
    d = ltA_next(d);
  }
  ltA_close(b, open, ltA_rank(coord));
}

const lt_value *lt_crd2crd(lt_arena *arena, const lt_value *coord, const lt_value *from,
                           const lt_value *to) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  ltA_builder b;
  ltA_begin(&b, arena);
  append_converted(&b, coord, ltA_shape_of(from), ltA_shape_of(to));
  return ltA_keep(arena, mark, ltA_finish(&b));
}

/* ---- Coordinates of a compact layout -------------------------------------------------------- */

/* layout(r) == index, which only a layout of compact strides has for all its indices. */
const lt_value *lt_get_hier_coord(lt_arena *arena, const lt_value *layout, const lt_value *index) {
  if (ltA_failed(arena)) return NULL;
  if (!ltA_is_layout(layout) || !ltA_is_integer(index))
    return ltA_fail(arena, LT_INVALID, "get_hier_coord: wants a layout and an index, not %v and %v",
                    layout, index);
  const lt_value *coord = lt_idx2crd(arena, index, ltA_shape(layout), ltA_stride(layout));
  const lt_value *back = coord == NULL ? NULL : lt_crd2idx(arena, coord, layout, NULL);
  if (back == NULL) return NULL;
  if (back->value != index->value)
    return ltA_fail(arena, LT_INVALID,
                    "get_hier_coord: (index / stride) %% shape does not give "
                    "the coordinate of %v in %v",
                    index, layout);
  return coord;
}

/* One integer a mode. */
const lt_value *lt_get_flat_coord(lt_arena *arena, const lt_value *layout, const lt_value *index) {
  const lt_value *coord = lt_get_hier_coord(arena, layout, index);
  if (coord == NULL) return NULL;
  if (ltA_rank(coord) == 1) return lt_crd2idx(arena, coord, ltA_shape(layout), NULL);
  const lt_value *s = ltA_first(ltA_shape(layout));
  ltA_builder b;
  ltA_begin(&b, arena);
  ltA_open(&b, LT_TUPLE);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) {
    const lt_value *linear = lt_crd2idx(arena, c, s, NULL);
    if (linear == NULL) return NULL;
    ltA_append(&b, linear);
    s = ltA_next(s);
  }
  ltA_close(&b, 0, ltA_rank(coord));
  return ltA_finish(&b);
}

const lt_value *lt_get_1d_coord(lt_arena *arena, const lt_value *layout, const lt_value *index) {
  const lt_value *coord = lt_get_hier_coord(arena, layout, index);
  return coord == NULL ? NULL : lt_crd2idx(arena, coord, ltA_shape(layout), NULL);
}
