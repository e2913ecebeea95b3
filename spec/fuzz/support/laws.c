/*
** Laws of the algebra: composition, inverses, complement, divides, products.
*/
#include "laws.h"

void broken(const call *c, const char *rule) {
  fprintf(stderr, "%s: %s\n", c->name, rule);
  for (int i = 0; i < 4; i++)
    if (c->x[i] != NULL) show("operand", c->x[i]);
  fprintf(stderr, "  numbers: %lld %lld\n", (long long)c->n[0], (long long)c->n[1]);
  show("result", c->r);
  abort();
}

/*
** Coordinate layouts of dynamic extents compose past them: coordinates beyond are sorted out at
** launch.
*/
static bool may_round(const lt_value *x) { return has_basis(x) && !lt_is_static(x); }

static void expect(const call *c, const point *got, const point *wanted, const char *rule) {
  if (got->is_undefined || wanted->is_undefined) return;
  if (!same_point(got, wanted) && !may_round(c->x[0])) broken(c, rule);
}

static bool is_tuple(const lt_value *v) { return lt_kind_of(v) == LT_TUPLE; }

static bool has_points(const lt_value *v) { return model_points(v) > 0; }

/* ---- The same function, the same offsets ------------------------------------------------------ */

static void same_function(const call *c, const lt_value *x, const lt_value *r) {
  int n = model_points(x);
  if (n == 0 || model_inner(x) == NULL) return;
  if (model_points(r) != n) broken(c, "the size is another");
  for (int i = 0; i < n; i++) {
    point before = model_apply(x, i), after = model_apply(r, i);
    expect(c, &after, &before, "an offset is another");
  }
}

void law_same_function(const call *c) { same_function(c, c->x[0], c->r); }

/* All offsets of a layout; none where there are too many. */
typedef struct points {
  point items[MAX_POINTS];
  int count;
} points;

static void evaluate(const lt_value *layout, points *all) {
  all->count = model_points(layout);
  for (int i = 0; i < all->count; i++) all->items[i] = model_apply(layout, i);
}

static bool has_point(const points *all, const point *offset) {
  for (int i = 0; i < all->count; i++)
    if (all->items[i].is_undefined || same_point(&all->items[i], offset)) return true;
  return false;
}

/* Each offset of 'x' is one of 'r'. */
static void covers(const call *c, const points *x, const points *r) {
  for (int i = 0; i < x->count; i++)
    if (!x->items[i].is_undefined && !has_point(r, &x->items[i])) broken(c, "an offset is missing");
}

static void same_offsets(const call *c, const lt_value *x, const lt_value *r) {
  points of_x, of_r;
  if (!has_points(x) || !has_points(r)) return;
  evaluate(x, &of_x);
  evaluate(r, &of_r);
  covers(c, &of_x, &of_r);
  covers(c, &of_r, &of_x);
}

void law_same_image(const call *c) {
  if (c->x[1] != NULL || model_inner(c->x[0]) == NULL) return;
  same_offsets(c, c->x[0], c->r);
}

/* ---- Composition ----------------------------------------------------------------------------- */

/* A layout's shape and stride, or those of a mode of it. */
typedef struct mode {
  const lt_value *shape, *stride;
} mode;

static mode mode_of(mode m, size_t i) {
  if (!is_tuple(m.shape)) return m;
  return (mode){lt_part(m.shape, i), lt_part(m.stride, i)};
}

/* Elements that a tile picks of a mode; -1 where it is not modelled. */
static wide tile_size(mode m, const lt_value *tile) {
  if (lt_kind_of(tile) == LT_WILDCARD) return model_size(m.shape);
  if (!is_tuple(tile)) {
    lt_kind kind = lt_kind_of(tile);
    return kind == LT_INTEGER || kind == LT_LAYOUT ? model_size(lt_shape(tile)) : -1;
  }
  wide size = 1;
  for (size_t i = 0; i < lt_rank(tile); i++) {
    wide part = tile_size(mode_of(m, i), lt_part(tile, i));
    if (part <= 0 || size > MAX_POINTS) return -1;
    size *= part;
  }
  return size;
}

/*
** The element of a mode that index 'i' of a tile picks. A composition goes past the mode, whose last
** one runs on; past a divided mode, which is rounded up, nothing is said.
*/
static point pick(mode m, const lt_value *tile, wide i, bool is_divided) {
  if (lt_kind_of(tile) == LT_WILDCARD) return model_index(m.shape, m.stride, i);
  if (!is_tuple(tile)) {
    point p = model_apply(tile, i);
    bool is_picked = point_integer(&p, &i) && !(is_divided && i >= model_size(m.shape));
    return is_picked ? model_index(m.shape, m.stride, i) : (point){.is_undefined = true};
  }
  point sum = {.count = 0};
  for (size_t k = 0; k < lt_rank(tile); k++) {
    wide size = tile_size(mode_of(m, k), lt_part(tile, k));
    if (size <= 0) return (point){.is_undefined = true};
    point part = pick(mode_of(m, k), lt_part(tile, k), i % size, is_divided);
    sum = add_points(&sum, &part);
    i /= size;
  }
  return sum;
}

static void composed_by_mode(const call *c, const lt_value *a, const lt_value *tiler,
                             const lt_value *r, bool is_divided) {
  const lt_value *inner = model_inner(a);
  if (inner == NULL) return;
  mode whole = {lt_shape(inner), lt_stride(inner)};
  wide size = tile_size(whole, tiler);
  if (size <= 0 || size > MAX_POINTS) return;
  if (model_points(r) != size) broken(c, "the size is not the tiler's");
  for (int i = 0; i < size; i++) {
    point picked = pick(whole, tiler, i, is_divided), wanted = model_outer(a, &picked);
    point got = model_apply(r, i);
    expect(c, &got, &wanted, "an offset is not a(tiler(i))");
  }
}

/* r(i) == a(b(i)) */
static void composed(const call *c, const lt_value *a, const lt_value *b, const lt_value *r) {
  if (is_tuple(b) || lt_kind_of(b) == LT_WILDCARD) {
    composed_by_mode(c, a, b, r, false);
    return;
  }
  int n = lt_kind_of(b) == LT_SWIZZLE ? model_points(r) : model_points(b);
  if (n == 0) return;
  if (model_points(r) != n) broken(c, "the size is not b's");
  for (int i = 0; i < n; i++) {
    point inner = model_apply(b, i), got = model_apply(r, i);
    wide index;
    if (!point_integer(&inner, &index)) continue;
    point wanted = model_apply(a, index);
    expect(c, &got, &wanted, "an offset is not a(b(i))");
  }
}

void law_composition(const call *c) {
  if (lt_kind_of(c->r) != LT_SWIZZLE) composed(c, c->x[0], c->x[1], c->r);
}

/* b is the shape's compact layout: the identity on linear indices. */
void law_with_shape(const call *c) {
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point wanted = model_apply(c->x[0], i), got = model_apply(c->r, i);
    expect(c, &got, &wanted, "an offset is another");
  }
}

/* ---- Complement, inverses -------------------------------------------------------------------- */

static bool is_defined(const points *all) {
  for (int i = 0; i < all->count; i++)
    if (all->items[i].is_undefined) return false;
  return all->count > 0;
}

/* r ascends, and meets the layout in 0 alone. */
void law_complement(const call *c) {
  points of_layout;
  evaluate(model_inner(c->x[0]), &of_layout);
  bool is_modelled = is_defined(&of_layout);
  wide last = -1;
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point p = model_apply(c->r, i);
    wide offset;
    if (!point_integer(&p, &offset)) return;
    if (offset <= last) broken(c, "the complement does not ascend");
    last = offset;
    if (i > 0 && is_modelled && has_point(&of_layout, &p))
      broken(c, "the complement meets the layout");
  }
}

void law_right_inverse(const call *c) {
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point index = model_apply(c->r, i), wanted = integer_point(i);
    wide k;
    if (!point_integer(&index, &k)) continue;
    point got = model_apply(c->x[0], k);
    expect(c, &got, &wanted, "layout(r(i)) is not i");
  }
}

void law_left_inverse(const call *c) {
  for (int i = 0, n = model_points(c->x[0]); i < n; i++) {
    point offset = model_apply(c->x[0], i);
    wide k;
    if (!point_integer(&offset, &k)) continue;
    point index = model_apply(c->r, k);
    if (!point_integer(&index, &k)) continue;
    point again = model_apply(c->x[0], k);
    expect(c, &again, &offset, "layout(r(layout(i))) is not layout(i)");
  }
}

/* The layout stays at its first offset over all of its nullspace. */
void law_nullspace(const call *c) {
  point first = model_apply(c->x[0], 0);
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point index = model_apply(c->r, i);
    wide k;
    if (!point_integer(&index, &k)) continue;
    point offset = model_apply(c->x[0], k);
    expect(c, &offset, &first, "the layout moves over its nullspace");
  }
}

/* ---- Divides --------------------------------------------------------------------------------- */

/* Mode 'i' of a layout as one; NULL where it is none. */
static const lt_value *layout_mode(const call *c, const lt_value *layout, size_t i) {
  int64_t path = (int64_t)i;
  return lt_get(c->arena, layout, &path, 1);
}

static bool composes(const call *c, const lt_value *a, const lt_value *b) {
  return lt_composition(c->arena, a, b) != NULL;
}

/*
** Mode 0 of r is layout(tiler(i)) as far as it stays within the layout, where that composition
** exists; else the modes were rounded up to whole tiles one by one.
*/
static void divided_by_layout(const call *c, const lt_value *layout, const lt_value *tiler,
                              const lt_value *r) {
  const lt_value *tile = layout_mode(c, r, 0);
  int n = model_points(tiler);
  if (n == 0 || tile == NULL) return;
  if (model_points(tile) != n) broken(c, "the tile's size is not the tiler's");
  if (!composes(c, layout, tiler)) return;
  for (int i = 0; i < n; i++) {
    point inner = model_apply(tiler, i), got = model_apply(tile, i);
    wide index;
    if (!point_integer(&inner, &index) || index >= model_size(lt_shape(layout))) continue;
    point wanted = model_apply(layout, index);
    expect(c, &got, &wanted, "a tile's offset is not layout(tiler(i))");
  }
}

static void divided(const call *c, const lt_value *layout, const lt_value *tiler,
                    const lt_value *r) {
  if (lt_kind_of(layout) != LT_LAYOUT || lt_kind_of(r) != LT_LAYOUT) return;
  if (lt_kind_of(tiler) == LT_WILDCARD) {
    same_function(c, layout, r);
    return;
  }
  if (!is_tuple(tiler)) {
    divided_by_layout(c, layout, tiler, r);
    return;
  }
  for (size_t i = 0; i < lt_rank(tiler); i++) {
    const lt_value *m = layout_mode(c, layout, i), *result = layout_mode(c, r, i);
    if (m != NULL && result != NULL) divided(c, m, lt_part(tiler, i), result);
  }
}

void law_logical_divide(const call *c) { divided(c, c->x[0], c->x[1], c->r); }

/* The rearranged forms have the logical one's elements in the same places. */
static void rearranged(const call *c, const lt_value *from) {
  if (from != NULL) same_offsets(c, from, c->r);
}

static bool has_wildcard(const lt_value *v) {
  for (size_t i = 0; is_tuple(v) && i < lt_rank(v); i++)
    if (has_wildcard(lt_part(v, i))) return true;
  return lt_kind_of(v) == LT_WILDCARD;
}

/* Mode 0 is the tile; under '_' a mode of two is taken for tile and rest already. */
void law_zipped_divide(const call *c) {
  const lt_value *tile = lt_kind_of(c->r) == LT_LAYOUT ? layout_mode(c, c->r, 0) : NULL;
  if (tile != NULL && is_tuple(c->x[1]) && !has_wildcard(c->x[1]))
    composed_by_mode(c, c->x[0], c->x[1], tile, true);
  rearranged(c, lt_logical_divide(c->arena, c->x[0], c->x[1]));
}

void law_tiled_divide(const call *c) {
  const lt_value *zipped = lt_zipped_divide(c->arena, c->x[0], c->x[1]);
  if (zipped != NULL) same_function(c, zipped, c->r);
}

void law_flat_divide(const call *c) { law_tiled_divide(c); }

/* ---- Products -------------------------------------------------------------------------------- */

/* Where the repetitions go: the complement in size(block) * cosize(tiler), or NULL. */
static const lt_value *places_of(const call *c, const lt_value *block, const lt_value *tiler) {
  const lt_value *size = lt_size(c->arena, block), *cosize = lt_cosize(c->arena, tiler);
  int64_t room;
  if (size == NULL || cosize == NULL || lt_kind_of(cosize) != LT_INTEGER) return NULL;
  if (__builtin_mul_overflow(lt_integer_value(size), lt_integer_value(cosize), &room)) return NULL;
  return lt_complement(c->arena, block, lt_integer(c->arena, room));
}

/*
** Mode 0 is the block, mode 1 the places composed with the tiler; mode by mode CuTe composes leaf by
** leaf, and elements may meet.
*/
static void multiplied_by_layout(const call *c, const lt_value *block, const lt_value *tiler,
                                 const lt_value *r, bool is_together) {
  const lt_value *first = layout_mode(c, r, 0), *rest = layout_mode(c, r, 1);
  if (first == NULL || rest == NULL) return;
  same_function(c, block, first);
  int n = model_points(tiler);
  if (n > 0 && model_points(rest) != n) broken(c, "the repetition's size is not the tiler's");
  if (!is_together || lt_kind_of(tiler) != LT_LAYOUT) return;
  const lt_value *places = places_of(c, block, tiler);
  if (places != NULL) composed(c, places, tiler, rest);
}

static void multiplied(const call *c, const lt_value *block, const lt_value *tiler,
                       const lt_value *r, bool is_together) {
  if (lt_kind_of(block) != LT_LAYOUT || lt_kind_of(r) != LT_LAYOUT) return;
  if (lt_kind_of(tiler) == LT_WILDCARD) {
    same_function(c, block, r);
    return;
  }
  if (!is_tuple(tiler)) {
    multiplied_by_layout(c, block, tiler, r, is_together);
    return;
  }
  for (size_t i = 0; i < lt_rank(tiler); i++) {
    const lt_value *m = layout_mode(c, block, i), *result = layout_mode(c, r, i);
    if (m != NULL && result != NULL) multiplied(c, m, lt_part(tiler, i), result, false);
  }
}

void law_logical_product(const call *c) { multiplied(c, c->x[0], c->x[1], c->r, true); }

void law_zipped_product(const call *c) {
  rearranged(c, lt_logical_product(c->arena, c->x[0], c->x[1]));
}

void law_tiled_product(const call *c) {
  const lt_value *zipped = lt_zipped_product(c->arena, c->x[0], c->x[1]);
  if (zipped != NULL) same_function(c, zipped, c->r);
}

void law_flat_product(const call *c) { law_tiled_product(c); }

/* Mode i is the pair of the block's mode i and the repetition's. */
static void multiplied_by_rank(const call *c, size_t place) {
  const lt_value *block = c->x[0], *tiler = c->x[1];
  if (lt_kind_of(block) != LT_LAYOUT || lt_kind_of(tiler) != LT_LAYOUT) return;
  for (size_t i = 0; is_tuple(lt_shape(block)) && i < lt_rank(block); i++) {
    const int64_t path[] = {(int64_t)i, (int64_t)place};
    const lt_value *got = lt_get(c->arena, c->r, path, 2);
    const lt_value *m = layout_mode(c, block, i);
    if (got != NULL && m != NULL) same_function(c, m, got);
  }
}

void law_blocked_product(const call *c) { multiplied_by_rank(c, 0); }
void law_raked_product(const call *c) { multiplied_by_rank(c, 1); }
