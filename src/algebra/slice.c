/*
** Slices: the modes of a tuple or layout that a coordinate leaves open, and where they start;
** tiles and partitions, which are slices of a divide. Sources: CuTe's underscore.hpp, layout.hpp
** and tensor_impl.hpp.
*/
#include "slice.h"

/* ---- Modes under and beside the wildcards ---------------------------------------------------- */

/* Which modes stay: those under a '_' (slice), or the others (dice). */
typedef enum selection { UNDER_WILDCARDS, BESIDE_WILDCARDS } selection;

static const char *name_of(selection what) { return what == UNDER_WILDCARDS ? "slice" : "dice"; }

static bool is_selected(lt_arena *arena, selection what, const lt_value *coord) {
  bool is_wildcard = coord->kind == LT_WILDCARD;
  if (is_wildcard || ltA_is_integer(coord)) return is_wildcard == (what == UNDER_WILDCARDS);
  ltA_fail(arena, LT_INVALID, "%s: %v is no coordinate (integers, '_' and tuples of them)",
           name_of(what), coord);
  return false;
}

/* Appends what stays of 'x' side by side, however deep it lay; returns how many values. */
static size_t append_selected(ltA_builder *b, selection what, const lt_value *coord,
                              const lt_value *x) {
  if (ltA_failed(b->arena)) return 0;
  if (!ltA_is_tuple(coord)) {
    if (!is_selected(b->arena, what, coord)) return 0;
    ltA_append(b, x);
    return 1;
  }
  if (!ltA_is_tuple(x) || x->value != coord->value) {
    ltA_fail(b->arena, LT_INVALID, "%s: coordinate %v does not fit %v: their ranks differ",
             name_of(what), coord, x);
    return 0;
  }
  size_t count = 0;
  const lt_value *part = ltA_first(x);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) {
    count += append_selected(b, what, c, part);
    part = ltA_next(part);
  }
  return count;
}

/* A '_' (for dice, an integer) that is the whole coordinate keeps 'x' as it is. */
static const lt_value *select_modes(lt_arena *arena, selection what, const lt_value *coord,
                                    const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  if (!ltA_is_tuple(coord) && is_selected(arena, what, coord)) return x;
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  ltA_close(&b, open, append_selected(&b, what, coord, x));
  return ltA_finish(&b);
}

static const lt_value *select_of_layout(lt_arena *arena, selection what, const lt_value *coord,
                                        const lt_value *layout) {
  const lt_value *shape = select_modes(arena, what, coord, ltA_shape(layout));
  const lt_value *stride = select_modes(arena, what, coord, ltA_stride(layout));
  return ltA_failed(arena) ? NULL : ltA_pair(arena, shape, stride);
}

const lt_value *ltA_slice_layout(lt_arena *arena, const lt_value *coord, const lt_value *layout) {
  return select_of_layout(arena, UNDER_WILDCARDS, coord, layout);
}

const lt_value *ltA_dice_layout(lt_arena *arena, const lt_value *coord, const lt_value *layout) {
  return select_of_layout(arena, BESIDE_WILDCARDS, coord, layout);
}

const lt_value *lt_slice(lt_arena *arena, const lt_value *coord, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  switch (x->kind) {
    case LT_LAYOUT: return ltA_slice_layout(arena, coord, x);
    case LT_TENSOR: return lt_slice_and_offset(arena, coord, x);
    case LT_COMPOSED: {
      const lt_value *sliced = ltA_slice_composed(arena, coord, x);
      return sliced == NULL ? NULL : ltA_tensor_layout(sliced);
    }
    case LT_TUPLE:
    case LT_INTEGER: return select_modes(arena, UNDER_WILDCARDS, coord, x);
    default: return ltA_fail(arena, LT_INVALID, "slice: %v has no modes", x);
  }
}

const lt_value *lt_dice(lt_arena *arena, const lt_value *coord, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  switch (x->kind) {
    case LT_LAYOUT: return ltA_dice_layout(arena, coord, x);
    case LT_COMPOSED: return ltA_with_layout_b(arena, x, lt_dice(arena, coord, ltA_layout_b(x)));
    case LT_TENSOR:
      return ltA_with_tensor_layout(arena, x, lt_dice(arena, coord, ltA_tensor_layout(x)));
    case LT_TUPLE:
    case LT_INTEGER: return select_modes(arena, BESIDE_WILDCARDS, coord, x);
    default: return ltA_fail(arena, LT_INVALID, "dice: %v has no modes", x);
  }
}

/* ---- Offsets -------------------------------------------------------------------------------- */

/* 'moved', a tensor, with the start of 'tensor' added to its own. */
static const lt_value *start_at_tensor(lt_arena *arena, const lt_value *tensor,
                                       const lt_value *moved) {
  if (moved == NULL) return NULL;
  const lt_value *offset = ltA_add_values(arena, ltA_first(tensor), ltA_first(moved));
  return offset == NULL ? NULL : lt_make_counting_tensor(arena, offset, ltA_tensor_layout(moved));
}

/* offset + r(c) == layout(d), where d is 'coord' with c in the place of the wildcards. */
const lt_value *lt_slice_and_offset(lt_arena *arena, const lt_value *coord,
                                    const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  switch (layout->kind) {
    case LT_LAYOUT: {
      const lt_value *sliced = ltA_slice_layout(arena, coord, layout);
      const lt_value *offset = lt_crd2idx(arena, coord, layout, NULL);
      if (ltA_failed(arena)) return NULL;
      return ltA_keep(arena, mark, lt_make_counting_tensor(arena, offset, sliced));
    }
    case LT_COMPOSED: return ltA_slice_composed(arena, coord, layout);
    case LT_TENSOR: {
      const lt_value *moved = lt_slice_and_offset(arena, coord, ltA_tensor_layout(layout));
      return ltA_keep(arena, mark, start_at_tensor(arena, layout, moved));
    }
    default: return ltA_fail(arena, LT_INVALID, "slice_and_offset: %v is no layout", layout);
  }
}

/* A o (offset + B(coord)) o B. */
static const lt_value *move_composed(lt_arena *arena, const lt_value *coord,
                                     const lt_value *composed) {
  const lt_value *index = lt_crd2idx(arena, coord, ltA_layout_b(composed), NULL);
  if (index == NULL) return NULL;
  if (ltA_offset(composed)->kind == LT_SMEM) {
    if (ltA_is_zero(index)) return lt_make_counting_tensor(arena, index, composed);
    composed = ltA_count_in_elements(arena, composed);
    return composed == NULL ? NULL : lt_domain_offset(arena, coord, composed);
  }
  const lt_value *offset = ltA_add_values(arena, ltA_offset(composed), index);
  const lt_value *b = ltA_layout_b(composed);
  const lt_value *moved =
      offset == NULL ? NULL : lt_make_composed_layout(arena, ltA_layout_a(composed), offset, b);
  return moved == NULL ? NULL : lt_make_counting_tensor(arena, ltA_zero(), moved);
}

/* offset + r(c) == layout(coord + c) wherever coord + c stays in the modes of the layout. */
const lt_value *lt_domain_offset(lt_arena *arena, const lt_value *coord, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  switch (layout->kind) {
    case LT_LAYOUT: {
      const lt_value *offset = lt_crd2idx(arena, coord, layout, NULL);
      if (offset == NULL) return NULL;
      return ltA_keep(arena, mark, lt_make_counting_tensor(arena, offset, layout));
    }
    case LT_COMPOSED: return ltA_keep(arena, mark, move_composed(arena, coord, layout));
    case LT_TENSOR: {
      const lt_value *moved = lt_domain_offset(arena, coord, ltA_tensor_layout(layout));
      return ltA_keep(arena, mark, start_at_tensor(arena, layout, moved));
    }
    default: return ltA_fail(arena, LT_INVALID, "domain_offset: %v is no layout", layout);
  }
}

/* ---- Tiles and partitions -------------------------------------------------------------------- */

/* 'rank' wildcards; one is no tuple, so that it keeps a whole mode. */
static void append_wildcards(ltA_builder *b, size_t rank) {
  static const lt_value wildcard = {0, 0, 1, LT_WILDCARD};
  if (rank == 1) {
    ltA_append(b, &wildcard);
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE);
  for (size_t i = 0; i < rank; i++) ltA_append(b, &wildcard);
  ltA_close(b, open, rank);
}

/* A tuple with wildcards for the modes of 'mode' that it leaves out; an integer is linear. */
static void append_filled(ltA_builder *b, const char *operation, const lt_value *coord,
                          const lt_value *mode) {
  static const lt_value wildcard = {0, 0, 1, LT_WILDCARD};
  if (!ltA_is_tuple(coord)) {
    ltA_append(b, coord);
    return;
  }
  size_t rank = ltA_rank(mode);
  if (ltA_rank(coord) > rank) {
    ltA_fail(b->arena, LT_INVALID, "%s: coordinate %v has %z modes, more than the %z of %v",
             operation, coord, ltA_rank(coord), rank, mode);
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) ltA_append(b, c);
  for (size_t i = ltA_rank(coord); i < rank; i++) ltA_append(b, &wildcard);
  ltA_close(b, open, rank);
}

/*
** Of zipped_divide(layout, tiler), whose modes are the tile and the rest: the tile at a
** coordinate of the rest (inner), or the rest at a coordinate of the tile (outer).
*/
static const lt_value *partition(lt_arena *arena, const char *operation, bool is_inner,
                                 const lt_value *layout, const lt_value *tiler,
                                 const lt_value *coord) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *divided = lt_zipped_divide(arena, layout, tiler);
  if (divided == NULL) return NULL;
  const lt_value *tile = ltA_first(ltA_shape_of(divided));
  const lt_value *rest = ltA_next(tile);
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  if (is_inner) append_wildcards(&b, ltA_rank(tile));
  append_filled(&b, operation, coord, is_inner ? rest : tile);
  if (!is_inner) append_wildcards(&b, ltA_rank(rest));
  ltA_close(&b, open, 2);
  const lt_value *whole = ltA_finish(&b);
  if (whole == NULL) return NULL;
  return ltA_keep(arena, mark, lt_slice_and_offset(arena, whole, divided));
}

const lt_value *lt_inner_partition(lt_arena *arena, const lt_value *layout, const lt_value *tiler,
                                   const lt_value *coord) {
  return partition(arena, "inner_partition", true, layout, tiler, coord);
}

const lt_value *lt_outer_partition(lt_arena *arena, const lt_value *layout, const lt_value *tiler,
                                   const lt_value *coord) {
  return partition(arena, "outer_partition", false, layout, tiler, coord);
}

const lt_value *lt_local_tile(lt_arena *arena, const lt_value *layout, const lt_value *tiler,
                              const lt_value *coord, const lt_value *projection) {
  if (ltA_failed(arena)) return NULL;
  if (projection != NULL) {
    tiler = lt_dice(arena, projection, tiler);
    coord = lt_dice(arena, projection, coord);
    if (ltA_failed(arena)) return NULL;
  }
  return partition(arena, "local_tile", true, layout, tiler, coord);
}

/* One integer a mode of 'shape'; of a single mode the integer itself. */
static const lt_value *flatten_coord(lt_arena *arena, const lt_value *coord,
                                     const lt_value *shape) {
  if (ltA_rank(shape) == 1) return lt_crd2idx(arena, coord, shape, NULL);
  ltA_builder b;
  ltA_begin(&b, arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  const lt_value *s = ltA_first(shape);
  for (const lt_value *c = ltA_first(coord); c < ltA_next(coord); c = ltA_next(c)) {
    const lt_value *linear = lt_crd2idx(arena, c, s, NULL);
    if (linear == NULL) return NULL;
    ltA_append(&b, linear);
    s = ltA_next(s);
  }
  ltA_close(&b, open, ltA_rank(shape));
  return ltA_finish(&b);
}

static bool has_negative(const lt_value *coord) {
  for (const lt_value *c = coord; c < ltA_next(coord); c++)
    if (ltA_is_integer(c) && c->value < 0) return true;
  return false;
}

/* threads(r) == index, as get_hier_coord finds it: one division and one remainder a leaf. */
static const lt_value *thread_coord(lt_arena *arena, const lt_value *threads,
                                    const lt_value *index) {
  const lt_value *coord = lt_idx2crd(arena, index, ltA_shape(threads), ltA_stride(threads));
  const lt_value *back = coord == NULL ? NULL : lt_crd2idx(arena, coord, threads, NULL);
  const lt_value *count = back == NULL ? NULL : lt_size(arena, threads);
  if (count == NULL) return NULL;
  if (has_negative(coord) || back->value != index->value)
    return ltA_fail(arena, LT_INVALID,
                    "local_partition: (index / stride) %% shape gives no thread %v of the %v of %v",
                    index, count, threads);
  return coord;
}

const lt_value *lt_local_partition(lt_arena *arena, const lt_value *layout, const lt_value *threads,
                                   const lt_value *index, const lt_value *projection) {
  if (ltA_failed(arena)) return NULL;
  if (!ltA_is_layout(threads) || !ltA_is_integer(index))
    return ltA_fail(arena, LT_INVALID,
                    "local_partition: wants a thread layout and an index, not %v and %v", threads,
                    index);
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *shape = ltA_shape(threads);
  const lt_value *coord = thread_coord(arena, threads, index);
  if (projection != NULL && coord != NULL) {
    shape = lt_dice(arena, projection, shape);
    coord = lt_dice(arena, projection, coord);
  }
  if (ltA_failed(arena)) return NULL;
  const lt_value *tiler = lt_product_each(arena, shape);
  const lt_value *flat = flatten_coord(arena, coord, shape);
  if (ltA_failed(arena)) return NULL;
  return ltA_keep(arena, mark, partition(arena, "local_partition", false, layout, tiler, flat));
}
