/*
** Strides made from shapes: compact ones in several orders, and those of identity layouts.
** Source: CuTe's stride.hpp and layout.hpp.
*/
#include "composed.h"

/* ---- Compact strides ------------------------------------------------------------------------ */

/*
** Strides are made in a copy of the shape, whose leaves they replace one by one: the two are
** congruent. The running stride is advanced only once a further leaf needs it, so that it cannot
** overflow behind the last one.
*/
typedef struct running_stride {
  lt_arena *arena;
  lt_int stride;
  lt_int size; /* of the leaves passed since 'stride' was brought up to date */
} running_stride;

/* A static size of 1 has stride static 0 and leaves the running stride as it is. */
static void replace_leaf(running_stride *running, lt_value *leaf) {
  if (!ltA_is_integer(leaf)) return;
  lt_int size = ltA_int(leaf), stride = ltA_static(0);
  if (!ltA_is_constant(size, 1)) {
    running->stride = stride = ltA_mul(running->arena, running->stride, running->size);
    running->size = size;
  }
  leaf->value = stride.value;
  leaf->promise = stride.promise;
}

static void compact_from(lt_arena *arena, lt_value *tree, lt_int current, bool right) {
  running_stride running = {arena, current, {1, 0}};
  lt_value *end = tree + tree->length;
  for (lt_value *node = tree; node < end && !right; node++) replace_leaf(&running, node);
  for (lt_value *node = end; node > tree && right; node--) replace_leaf(&running, node - 1);
}

/* 'current' is an integer, or a tuple with one for each mode. */
static void compact(lt_arena *arena, lt_value *tree, const lt_value *current, bool right) {
  if (ltA_is_integer(current)) {
    compact_from(arena, tree, ltA_int(current), right);
    return;
  }
  if (!ltA_is_tuple(current) || !ltA_is_tuple(tree) || tree->value != current->value) {
    ltA_fail(arena, LT_INVALID, "compact_%s_major: start %v does not fit shape %v",
             right ? "row" : "col", current, (const lt_value *)tree);
    return;
  }
  lt_value *mode = tree + 1;
  for (const lt_value *c = ltA_first(current); c < ltA_next(current); c = ltA_next(c)) {
    compact(arena, mode, c, right);
    mode += mode->length;
  }
}

static const lt_value *compact_major(lt_arena *arena, const lt_value *shape,
                                     const lt_value *current, bool right) {
  static const lt_value one = {1, 0, 1, LT_INTEGER};
  if (!ltA_check_shape(arena, right ? "compact_row_major" : "compact_col_major", shape))
    return NULL;
  lt_value *stride = ltA_copy(arena, shape);
  if (stride == NULL) return NULL;
  compact(arena, stride, current == NULL ? &one : current, right);
  return ltA_failed(arena) ? NULL : stride;
}

const lt_value *lt_compact_col_major(lt_arena *arena, const lt_value *shape,
                                     const lt_value *current) {
  return compact_major(arena, shape, current, false);
}

const lt_value *lt_compact_row_major(lt_arena *arena, const lt_value *shape,
                                     const lt_value *current) {
  return compact_major(arena, shape, current, true);
}

/* ---- Ordered strides ------------------------------------------------------------------------ */

/* A leaf of the order and what it stands for. */
typedef struct ranked_mode {
  int64_t rank; /* modes of lesser rank are faster */
  lt_int size;  /* later the stride that it starts from: the size of all faster ones */
} ranked_mode;

typedef struct ranking {
  lt_arena *arena;
  int64_t *ranks;     /* of the leaves, left to right */
  ranked_mode *modes; /* sorted once they are collected */
  size_t count;
} ranking;

static bool collect_modes(ranking *r, const lt_value *shape, const lt_value *order) {
  if (ltA_is_integer(order)) {
    r->ranks[r->count] = order->value;
    r->modes[r->count++].size = ltA_product(r->arena, shape);
    return !ltA_failed(r->arena);
  }
  if (!ltA_is_tuple(order) || !ltA_is_tuple(shape) || order->value != shape->value) {
    ltA_fail(r->arena, LT_INVALID, "make_ordered_layout: order %v does not fit shape %v", order,
             shape);
    return false;
  }
  const lt_value *s = ltA_first(shape);
  for (const lt_value *o = ltA_first(order); o < ltA_next(order); o = ltA_next(o)) {
    if (!collect_modes(r, s, o)) return false;
    s = ltA_next(s);
  }
  return true;
}

/* Structure does not depend on dynamic numbers: they rank after all static ones, left to right. */
static bool rank_modes(ranking *r, const lt_value *order) {
  int64_t largest = 0;
  for (const lt_value *node = order; node < ltA_next(order); node++)
    if (ltA_is_integer(node) && node->promise == 0 && node->value > largest) largest = node->value;
  size_t i = 0;
  for (const lt_value *node = order; node < ltA_next(order); node++) {
    if (!ltA_is_integer(node)) continue;
    if (node->promise != 0 && __builtin_add_overflow(largest, (int64_t)i + 1, &r->ranks[i])) {
      ltA_fail(r->arena, LT_OVERFLOW,
               "make_ordered_layout: order %v has a number too large for "
               "dynamic ones to rank after it",
               order);
      return false;
    }
    r->modes[i].rank = r->ranks[i];
    i++;
  }
  return true;
}

static int compare_ranks(const void *x, const void *y) {
  int64_t a = ((const ranked_mode *)x)->rank, b = ((const ranked_mode *)y)->rank;
  return (a > b) - (a < b);
}

/* Modes of one rank start from one stride. */
static void find_starts(ranking *r) {
  lt_int start = ltA_static(1), next = start;
  for (size_t i = 0; i < r->count; i++) {
    if (i > 0 && r->modes[i].rank != r->modes[i - 1].rank) start = next;
    next = ltA_mul(r->arena, next, r->modes[i].size);
    r->modes[i].size = start;
  }
}

static lt_int start_of(const ranking *r, int64_t rank) {
  size_t low = 0, high = r->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (r->modes[middle].rank <= rank)
      low = middle;
    else
      high = middle;
  }
  return r->modes[low].size;
}

/* Makes the strides in a copy of the shape. Returns the index of the leaf after those of 'order'.
 */
static size_t order_modes(const ranking *r, lt_value *tree, const lt_value *order, size_t i) {
  if (ltA_is_integer(order)) {
    compact_from(r->arena, tree, start_of(r, r->ranks[i]), false);
    return i + 1;
  }
  lt_value *mode = tree + 1;
  for (const lt_value *o = ltA_first(order); o < ltA_next(order); o = ltA_next(o)) {
    i = order_modes(r, mode, o, i);
    mode += mode->length;
  }
  return i;
}

/* Compact strides of 'shape' in an order that is weakly congruent with it. */
static const lt_value *compact_order(lt_arena *arena, const lt_value *shape,
                                     const lt_value *order) {
  if (order->kind == LT_MAJOR) return compact_major(arena, shape, NULL, order->value != 0);
  if (!ltA_check_shape(arena, "make_ordered_layout", shape)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  ranking r = {arena, NULL, NULL, 0};
  r.ranks = ltA_new_bytes(arena, order->length * sizeof *r.ranks);
  r.modes = ltA_new_bytes(arena, order->length * sizeof *r.modes);
  lt_value *stride = ltA_copy(arena, shape);
  if (stride == NULL || !collect_modes(&r, shape, order) || !rank_modes(&r, order)) return NULL;
  ltA_sort(r.modes, r.count, sizeof *r.modes, compare_ranks);
  find_starts(&r);
  order_modes(&r, stride, order, 0);
  return ltA_failed(arena) ? NULL : ltA_keep(arena, mark, stride);
}

const lt_value *lt_make_ordered_layout(lt_arena *arena, const lt_value *shape,
                                       const lt_value *order) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *stride = compact_order(arena, shape, order);
  if (stride == NULL || !ltA_check_layout(arena, "make_ordered_layout", shape, stride)) return NULL;
  return ltA_keep(arena, mark, ltA_pair(arena, shape, stride));
}

/* ---- Layouts like others -------------------------------------------------------------------- */

/* The layout that decides the order: of a composed layout the inner one. */
static const lt_value *plain_layout(lt_arena *arena, const char *operation,
                                    const lt_value *layout) {
  if (ltA_is_composed(layout)) layout = ltA_layout_b(layout);
  if (ltA_is_layout(layout)) return layout;
  return ltA_fail(arena, LT_INVALID, "%s: %v is no layout", operation, layout);
}

const lt_value *lt_make_layout_like(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  layout = plain_layout(arena, "make_layout_like", layout);
  if (layout == NULL) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *shape = lt_filter_zeros(arena, ltA_stride(layout), ltA_shape(layout));
  if (shape == NULL) return NULL;
  const lt_value *stride = compact_order(arena, shape, ltA_stride(layout));
  if (stride == NULL) return NULL;
  return ltA_keep(arena, mark, ltA_pair(arena, ltA_shape(layout), stride));
}

/* Mode 0 of a layout with left-compact strides; static 0 strides stay. */
static const lt_value *fragment_block(lt_arena *arena, const lt_value *shape,
                                      const lt_value *stride) {
  const lt_value *filtered = lt_filter_zeros(arena, stride, shape);
  if (filtered == NULL) return NULL;
  const lt_value *compacted = lt_compact_col_major(arena, filtered, NULL);
  return compacted == NULL ? NULL : ltA_pair(arena, shape, compacted);
}

const lt_value *lt_make_fragment_like(lt_arena *arena, const lt_value *layout) {
  if (ltA_failed(arena)) return NULL;
  if (!lt_is_layout(layout)) return lt_make_layout(arena, layout, NULL);
  layout = plain_layout(arena, "make_fragment_like", layout);
  if (layout == NULL) return NULL;
  const lt_value *shape = ltA_shape(layout), *stride = ltA_stride(layout);
  if (!ltA_is_tuple(shape) || shape->value <= 1 || !lt_is_static(shape))
    return lt_make_layout(arena, shape, NULL);
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *block = fragment_block(arena, ltA_first(shape), ltA_first(stride));
  const lt_value *rest_shape = lt_take(arena, shape, 1, shape->value);
  const lt_value *rest_stride = lt_take(arena, stride, 1, shape->value);
  if (ltA_failed(arena)) return NULL;
  const lt_value *rest = lt_make_ordered_layout(arena, rest_shape, rest_stride);
  return rest == NULL ? NULL : ltA_keep(arena, mark, lt_tiled_product(arena, block, rest));
}

/* ---- Identity layouts ----------------------------------------------------------------------- */

static void append_bases(ltA_builder *b, const lt_value *shape, int64_t *path, size_t depth) {
  if (!ltA_is_tuple(shape)) {
    lt_value one = {1, 0, 1, LT_INTEGER};
    const lt_value *basis = lt_basis(b->arena, &one, path, depth);
    if (basis != NULL) ltA_append(b, basis);
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE);
  path[depth] = 0;
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    append_bases(b, s, path, depth + 1);
    path[depth]++;
  }
  ltA_close(b, open, ltA_rank(shape));
}

/* Every coordinate is mapped to itself. */
const lt_value *lt_make_identity_layout(lt_arena *arena, const lt_value *shape) {
  if (!ltA_check_shape(arena, "make_identity_layout", shape)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  int64_t path[LT_MAX_DEPTH + 1];
  ltA_builder b;
  ltA_begin(&b, arena);
  append_bases(&b, shape, path, 0);
  const lt_value *stride = ltA_finish(&b);
  return stride == NULL ? NULL : ltA_keep(arena, mark, ltA_pair(arena, shape, stride));
}

/* ---- Zero strides --------------------------------------------------------------------------- */

/* Makes the leaves of a shape static 1 where the profile has a static 0. */
static void replace_zeros(lt_arena *arena, lt_value *tree, const lt_value *profile) {
  if (ltA_is_integer(profile) && ltA_is_constant(ltA_int(profile), 0)) {
    for (lt_value *node = tree; node < tree + tree->length; node++)
      if (!ltA_is_tuple(node)) *node = (lt_value){1, 0, 1, LT_INTEGER};
  }
  if (!ltA_is_tuple(profile)) return;
  if (!ltA_is_tuple(tree) || tree->value != profile->value) {
    ltA_fail(arena, LT_INVALID, "filter_zeros: %v does not fit shape %v", profile,
             (const lt_value *)tree);
    return;
  }
  lt_value *mode = tree + 1;
  for (const lt_value *p = ltA_first(profile); p < ltA_next(profile); p = ltA_next(p)) {
    replace_zeros(arena, mode, p);
    mode += mode->length;
  }
}

static const lt_value *filter_shape(lt_arena *arena, const lt_value *shape,
                                    const lt_value *profile) {
  if (!ltA_check_shape(arena, "filter_zeros", shape)) return NULL;
  lt_value *filtered = ltA_copy(arena, shape);
  if (filtered == NULL) return NULL;
  replace_zeros(arena, filtered, profile);
  return ltA_failed(arena) ? NULL : filtered;
}

static const lt_value *filter_layout(lt_arena *arena, const lt_value *layout,
                                     const lt_value *profile) {
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *stride = ltA_stride(layout);
  const lt_value *shape =
      filter_shape(arena, ltA_shape(layout), profile == NULL ? stride : profile);
  return shape == NULL ? NULL : ltA_keep(arena, mark, ltA_pair(arena, shape, stride));
}

/* Of a pair of tuples 'x' is the profile and 'profile' the shape, as in CuTe. */
const lt_value *lt_filter_zeros(lt_arena *arena, const lt_value *x, const lt_value *profile) {
  if (ltA_failed(arena)) return NULL;
  if (ltA_is_layout(x)) return filter_layout(arena, x, profile);
  if (!ltA_is_composed(x)) return filter_shape(arena, profile == NULL ? x : profile, x);
  const lt_value *filtered = lt_filter_zeros(arena, ltA_layout_b(x), profile);
  return filtered == NULL ? NULL : ltA_with_layout_b(arena, x, filtered);
}
