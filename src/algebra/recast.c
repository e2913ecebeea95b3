/*
** Layouts of wider and narrower elements. Source: CuTe's upcast, downcast and recast_layout
** (layout.hpp, layout_composed.hpp, swizzle_layout.hpp, pointer_flagged.hpp).
*/
#include "composed.h"

/* ---- Upcast --------------------------------------------------------------------------------- */

/* A leaf of a layout. */
typedef struct leaf {
  lt_int shape;
  lt_int stride;
} leaf;

static leaf refuse_stride(lt_arena *arena, const lt_value *layout, lt_int stride, int64_t n) {
  int64_t below, above;
  bool is_static = ltA_is_static_int(stride);
  if (is_static)
    ltA_nearest_divisors(n, stride.value < 0 ? -stride.value : stride.value, &below, &above);
  else
    ltA_nearest_multiples(n, stride.value, &below, &above);
  ltA_fail(arena, LT_INVALID,
           "upcast: stride %i of %v by %I: a %s; the nearest that would do: %I and %I", stride,
           layout, n,
           is_static ? "static stride must be a multiple or a divisor"
                     : "dynamic stride must be a multiple",
           below, above);
  return (leaf){ltA_static(1), ltA_static(0)};
}

static leaf upcast_leaf(lt_arena *arena, const lt_value *layout, leaf x, int64_t n) {
  if (ltA_is_constant(x.stride, 0)) return x;
  lt_int factor = ltA_static(n);
  if (!ltA_is_static_int(x.stride)) {
    if (x.stride.value % n != 0) return refuse_stride(arena, layout, x.stride, n);
    return (leaf){x.shape, ltA_div(arena, x.stride, factor)};
  }
  lt_int size = ltA_abs(arena, x.stride);
  if (ltA_failed(arena)) return x;
  if (size.value % n != 0 && n % size.value != 0) return refuse_stride(arena, layout, x.stride, n);
  lt_int group = ltA_ceil_div(arena, factor, size);
  lt_int wide = ltA_ceil_div(arena, size, factor);
  return (leaf){ltA_ceil_div(arena, x.shape, group),
                x.stride.value < 0 ? ltA_neg(arena, wide) : wide};
}

/* ---- Downcast ------------------------------------------------------------------------------- */

static bool is_adjacent(lt_int stride) {
  return ltA_is_constant(stride, 1) || ltA_is_constant(stride, -1);
}

/* ---- Layouts -------------------------------------------------------------------------------- */

typedef struct recasting {
  lt_arena *arena;
  const lt_value *layout; /* for messages */
  int64_t n;
  bool is_upcast;
  size_t run; /* of a downcast: the leaf whose elements lie side by side */
  size_t at;  /* leaves seen */
} recasting;

static leaf recast_leaf(recasting *r, leaf x) {
  bool is_run = r->at++ == r->run;
  if (r->is_upcast) return upcast_leaf(r->arena, r->layout, x, r->n);
  lt_int factor = ltA_static(r->n);
  if (is_run) return (leaf){ltA_mul(r->arena, x.shape, factor), x.stride};
  return (leaf){x.shape, ltA_mul(r->arena, x.stride, factor)};
}

static void append_recast(recasting *r, const lt_value *shape, const lt_value *stride,
                          ltA_builder *new_shape, ltA_builder *new_stride) {
  if (!ltA_is_tuple(shape)) {
    leaf x = recast_leaf(r, (leaf){ltA_int(shape), ltA_int(stride)});
    ltA_append_int(new_shape, x.shape);
    ltA_append_int(new_stride, x.stride);
    return;
  }
  size_t shape_open = ltA_open(new_shape, LT_TUPLE);
  size_t stride_open = ltA_open(new_stride, LT_TUPLE);
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    append_recast(r, s, d, new_shape, new_stride);
    d = ltA_next(d);
  }
  ltA_close(new_shape, shape_open, ltA_rank(shape));
  ltA_close(new_stride, stride_open, ltA_rank(shape));
}

static const lt_value *recast_leaves(recasting *r) {
  const lt_value *shape = ltA_shape(r->layout);
  const lt_value *stride = ltA_stride(r->layout);
  for (const lt_value *node = stride; node < ltA_next(stride); node++)
    if (node->kind == LT_BASIS)
      return ltA_fail(r->arena, LT_INVALID, "%s: %v has scaled bases as strides",
                      r->is_upcast ? "upcast" : "downcast", r->layout);
  ltA_builder new_shape;
  ltA_builder new_stride;
  ltA_begin(&new_shape, r->arena);
  ltA_begin(&new_stride, r->arena);
  append_recast(r, shape, stride, &new_shape, &new_stride);
  if (ltA_failed(r->arena)) return NULL;
  const lt_value *layout = ltA_finish_layout(&new_shape, &new_stride);
  if (layout == NULL) return NULL;
  return lt_make_layout(r->arena, ltA_shape(layout), ltA_stride(layout));
}

/* n * r(c) == layout(d), where d has n / |stride| times c in the modes of smaller strides. */
static const lt_value *upcast_layout(lt_arena *arena, const lt_value *layout, int64_t n) {
  recasting r = {arena, layout, n, true, SIZE_MAX, 0};
  return recast_leaves(&r);
}

/* Finds leaves of static stride 1 or -1: 'runs' of them are no static 1, the first at 'run'. */
static void find_runs(const lt_value *shape, const lt_value *stride, size_t *at, size_t *runs,
                      size_t *run, size_t *unit) {
  if (!ltA_is_tuple(shape)) {
    size_t leaf_at = (*at)++;
    if (!ltA_is_integer(stride) || !is_adjacent(ltA_int(stride))) return;
    if (ltA_is_constant(ltA_int(shape), 1)) {
      if (*unit == SIZE_MAX) *unit = leaf_at;
    } else if ((*runs)++ == 0) {
      *run = leaf_at;
    }
    return;
  }
  const lt_value *d = ltA_first(stride);
  for (const lt_value *s = ltA_first(shape); s < ltA_next(shape); s = ltA_next(s)) {
    find_runs(s, d, at, runs, run, unit);
    d = ltA_next(d);
  }
}

/* The leaf whose elements lie side by side, SIZE_MAX for none; '*runs' are there in all. */
static size_t find_run(const lt_value *layout, size_t *runs) {
  size_t at = 0, run = SIZE_MAX, unit = SIZE_MAX;
  *runs = 0;
  find_runs(ltA_shape(layout), ltA_stride(layout), &at, runs, &run, &unit);
  return *runs == 0 ? unit : run;
}

/* r(d) == n * layout(c) + k * stride, where d has n * c + k in the mode of stride 1 or -1. */
static const lt_value *downcast_layout(lt_arena *arena, const lt_value *layout, int64_t n) {
  size_t runs, run = find_run(layout, &runs);
  if (run == SIZE_MAX)
    return ltA_fail(arena, LT_INVALID,
                    "downcast: %v by %I: no mode has a static stride of 1, so that elements do not "
                    "lie side by side",
                    layout, n);
  if (runs > 1)
    return ltA_fail(arena, LT_INVALID,
                    "downcast: %v by %I: %z modes have stride 1; only one can be split into "
                    "smaller elements",
                    layout, n, runs);
  recasting r = {arena, layout, n, false, run, 0};
  return recast_leaves(&r);
}

/* ---- Composed layouts ------------------------------------------------------------------------ */

static const lt_value *recast_offset(lt_arena *arena, const lt_value *composed, int64_t n,
                                     bool is_upcast) {
  const lt_value *offset = ltA_offset(composed);
  bool is_smem = offset->kind == LT_SMEM;
  if (is_smem && is_upcast) {
    lt_int bits = ltA_mul(arena, ltA_static(offset->value), ltA_static(n));
    return ltA_failed(arena) ? NULL : lt_smem(arena, bits.value);
  }
  if (offset->value % n != 0 && is_smem != is_upcast)
    return ltA_fail(arena, LT_INVALID, "%s: offset %v of %v is no multiple of %I",
                    is_upcast ? "upcast" : "downcast", offset, composed, n);
  if (is_smem) return lt_smem(arena, offset->value / n);
  lt_int x = ltA_int(offset);
  lt_int factor = ltA_static(n);
  return ltA_from_int(arena, is_upcast ? ltA_div(arena, x, factor) : ltA_mul(arena, x, factor));
}

/* The swizzle of the shared memory form counts in bytes, whatever the elements are. */
static const lt_value *recast_composed(lt_arena *arena, const lt_value *composed, int64_t n,
                                       bool is_upcast) {
  const lt_value *a = ltA_layout_a(composed);
  const lt_value *offset = ltA_offset(composed);
  if (!ltA_is_swizzle(a) || !ltA_is_layout(ltA_layout_b(composed)))
    return ltA_fail(arena, LT_INVALID, "%s: %v is no swizzle, offset and layout",
                    is_upcast ? "upcast" : "downcast", composed);
  if (ltA_unpack_swizzle(a).bits == 0 && ltA_is_zero(offset))
    return (is_upcast ? upcast_layout : downcast_layout)(arena, ltA_layout_b(composed), n);
  if (offset->kind != LT_SMEM)
    a = is_upcast ? ltA_upcast_swizzle(arena, a, n) : ltA_downcast_swizzle(arena, a, n);
  offset = ltA_failed(arena) ? NULL : recast_offset(arena, composed, n, is_upcast);
  const lt_value *b = ltA_layout_b(composed);
  b = ltA_failed(arena) ? NULL : (is_upcast ? upcast_layout : downcast_layout)(arena, b, n);
  return ltA_failed(arena) ? NULL : lt_make_composed_layout(arena, a, offset, b);
}

/* ---- Public --------------------------------------------------------------------------------- */

static bool check_factor(lt_arena *arena, const char *operation, int64_t n) {
  if (n < 1) ltA_fail(arena, LT_INVALID, "%s: factor %I is not positive", operation, n);
  return !ltA_failed(arena);
}

const lt_value *lt_upcast(lt_arena *arena, const lt_value *x, int64_t n) {
  if (!check_factor(arena, "upcast", n)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  switch (x->kind) {
    case LT_LAYOUT: return ltA_keep(arena, mark, upcast_layout(arena, x, n));
    case LT_SWIZZLE: return ltA_upcast_swizzle(arena, x, n);
    case LT_COMPOSED: return ltA_keep(arena, mark, recast_composed(arena, x, n, true));
    default: return ltA_fail(arena, LT_INVALID, "upcast: %v is no layout", x);
  }
}

const lt_value *lt_downcast(lt_arena *arena, const lt_value *x, int64_t n) {
  if (!check_factor(arena, "downcast", n)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  switch (x->kind) {
    case LT_LAYOUT: return ltA_keep(arena, mark, downcast_layout(arena, x, n));
    case LT_SWIZZLE: return ltA_downcast_swizzle(arena, x, n);
    case LT_COMPOSED: return ltA_keep(arena, mark, recast_composed(arena, x, n, false));
    default: return ltA_fail(arena, LT_INVALID, "downcast: %v is no layout", x);
  }
}

static bool is_power_of_two(int64_t n) { return (n & (n - 1)) == 0; }

static bool check_widths(lt_arena *arena, const lt_value *x, int64_t old_bits, int64_t new_bits) {
  if (ltA_failed(arena)) return false;
  if (old_bits < 1 || new_bits < 1) {
    ltA_fail(arena, LT_INVALID, "recast: widths of %I and %I bits are not both positive", old_bits,
             new_bits);
    return false;
  }
  int64_t common = ltA_gcd(old_bits, new_bits);
  bool has_swizzle = x->kind == LT_SWIZZLE || x->kind == LT_COMPOSED;
  if (has_swizzle && !(is_power_of_two(old_bits / common) && is_power_of_two(new_bits / common)))
    ltA_fail(arena, LT_INVALID,
             "recast: %v from %I to %I bits: a swizzle scales by powers of two only", x, old_bits,
             new_bits);
  if (x->kind == LT_COMPOSED && ltA_offset(x)->kind == LT_SMEM && ltA_offset(x)->value != old_bits)
    ltA_fail(arena, LT_INVALID, "recast: %v from %I bits: its elements have %I", x, old_bits,
             ltA_offset(x)->value);
  return !ltA_failed(arena);
}

const lt_value *lt_recast(lt_arena *arena, const lt_value *x, int64_t old_bits, int64_t new_bits) {
  if (!check_widths(arena, x, old_bits, new_bits)) return NULL;
  if (old_bits == new_bits) return x;
  int64_t common = ltA_gcd(old_bits, new_bits);
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *r = x;
  if (new_bits > common) r = lt_upcast(arena, r, new_bits / common);
  if (r != NULL && old_bits > common) r = lt_downcast(arena, r, old_bits / common);
  return ltA_keep(arena, mark, r);
}

/* ---- Where elements start -------------------------------------------------------------------- */

/*
** How far below old element 0 the element starts that n of them make: the least offset of those in
** it. Strides that go down n or more have elements of their own.
*/
static int64_t reach_down(const lt_value *layout, int64_t n) {
  int64_t below = 0;
  const lt_value *stride = ltA_stride(layout);
  for (const lt_value *shape = ltA_shape(layout); shape < ltA_stride(layout); shape++, stride++) {
    if (!ltA_is_integer(shape) || stride->promise != 0) continue;
    if (stride->value >= 0 || stride->value <= -n) continue;
    int64_t group = n / -stride->value, there = shape->value < group ? shape->value : group;
    if (there > 1) below += (there - 1) * -stride->value;
  }
  return below;
}

/* Whether the leaf that a downcast splits goes down, so that the parts of one come last first. */
static bool run_goes_down(const lt_value *layout) {
  size_t runs, run = find_run(layout, &runs), leaf_at = 0;
  const lt_value *stride = ltA_stride(layout);
  for (; stride < ltA_next(layout); stride++)
    if (!ltA_is_tuple(stride) && leaf_at++ == run) return stride->value < 0;
  return false;
}

bool ltA_recast_start(lt_arena *arena, const lt_value *layout, int64_t old_bits, int64_t new_bits,
                      int64_t *bits) {
  *bits = 0;
  if (ltA_failed(arena) || old_bits == new_bits) return !ltA_failed(arena);
  int64_t common = ltA_gcd(old_bits, new_bits), n = new_bits / common, parts = old_bits / common;
  const lt_value *plain = ltA_is_composed(layout) ? ltA_layout_b(layout) : layout;
  if (!ltA_is_layout(plain)) return true;
  *bits = -reach_down(plain, n) * old_bits;
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *wide = parts > 1 ? lt_upcast(arena, plain, n) : NULL;
  if (wide != NULL && run_goes_down(wide)) *bits += (parts - 1) * new_bits;
  ltA_release(arena, mark);
  if (*bits != 0 && plain != layout)
    ltA_fail(arena, LT_INVALID, "recast: %v from %I to %I bits: negative strides under a swizzle",
             layout, old_bits, new_bits);
  return !ltA_failed(arena);
}
