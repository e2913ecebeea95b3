/*
** Vectors: elements that lie side by side in one layout or in two, and layouts of wider or
** narrower elements. Source: CuTe's layout.hpp and swizzle_layout.hpp.
*/
#include "flat.h"
#include "index_map.h"

/* Elements that a common run is counted up to where no algebra gives its length. */
#define MOST_COMMON ((int64_t)1 << 16)

/* Divisors of an alignment that are tried; 1 always is one. */
#define MAX_PARTS 4096

/* ---- Common vectors ------------------------------------------------------------------------- */

/* The first mode of a coalesced layout. */
static ltA_mode first_mode(lt_arena *arena, const lt_value *layout) {
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&modes, ltA_shape(layout), ltA_stride(layout));
  ltA_mode none = {ltA_static(1), ltA_static(0), NULL};
  return ltA_failed(arena) || modes.count == 0 ? none : modes.items[0];
}

/* How many indices from 0 on satisfy the law, one by one: for compositions that are no layout. */
static int64_t count_common(lt_arena *arena, const lt_value *a, const lt_value *inverse) {
  const ltA_map law[] = {ltA_map_of_layout(arena, a), ltA_map_of_layout(arena, inverse)};
  const lt_value *size = lt_size(arena, inverse);
  if (ltA_failed(arena) || law[0].leaves == NULL || law[1].leaves == NULL) return 1;
  int64_t most = size->value < MOST_COMMON ? size->value : MOST_COMMON;
  int64_t n = 1;
  for (int64_t index; n < most; n++) {
    if (!ltA_map_index(&law[1], n, &index) || !ltA_map_index(&law[0], index, &index)) break;
    if (index != n) break;
  }
  return n;
}

/* Neither may be any longer for some values of the launch and shorter for others. */
static int64_t refuse_dynamic(lt_arena *arena, const lt_value *a, const lt_value *inverse,
                              const lt_error *why) {
  ltA_fail(arena, LT_INVALID,
           "common elements of dynamic layouts: %v and the inverse %v do not compose: %s", a,
           inverse, why->message);
  return 1;
}

/*
** The largest n, of those that are static, with a(r(i)) == i for all i < n, where r is the right
** inverse of b, so that b(r(i)) == i too.
*/
static int64_t common_of_layouts(lt_arena *arena, const lt_value *a, const lt_value *inverse) {
  ltA_attempt attempt;
  ltA_attempt_begin(&attempt, arena);
  const lt_value *common = lt_coalesce(arena, lt_composition(arena, a, inverse), NULL);
  if (!ltA_attempt_end(&attempt, arena))
    return lt_is_static(a) && lt_is_static(inverse)
               ? count_common(arena, a, inverse)
               : refuse_dynamic(arena, a, inverse, &attempt.inner);
  ltA_mode first = first_mode(arena, common);
  bool is_run =
      first.basis == NULL && ltA_is_static_int(first.shape) && ltA_is_constant(first.stride, 1);
  return is_run ? first.shape.value : 1;
}

/*
** What a run of elements is limited to by the swizzle and the offset around a layout: Sw(offset +
** i) == Sw(offset) + i for i below the bits that the swizzle moves, where the offset is a
** multiple.
*/
static int64_t run_limit(const lt_value *x) {
  if (!ltA_is_composed(x)) return INT64_MAX;
  lt_int offset = ltA_int(ltA_offset(x));
  ltA_swizzle s = ltA_unpack_swizzle(ltA_layout_a(x));
  if (s.bits == 0) return INT64_MAX;
  uint64_t bits = (uint64_t)(offset.promise != 0 ? offset.promise : offset.value);
  bits |= (uint64_t)1 << s.base;
  return (int64_t)(bits & (0 - bits));
}

static const lt_value *layout_within(const lt_value *x) {
  return ltA_is_composed(x) ? ltA_layout_b(x) : x;
}

/* 'x' as a layout, or as a swizzle, an integer and a layout; NULL, with an error, for others. */
static const lt_value *check_vector_operand(lt_arena *arena, const char *operation,
                                            const lt_value *x) {
  if (ltA_failed(arena) || ltA_is_layout(x)) return ltA_failed(arena) ? NULL : x;
  const lt_value *counted = ltA_is_composed(x) ? ltA_count_in_elements(arena, x) : NULL;
  if (ltA_failed(arena)) return NULL;
  if (counted != NULL && ltA_is_layout(counted)) return counted;
  if (counted == NULL || !ltA_is_swizzle(ltA_layout_a(counted)) ||
      !ltA_is_layout(ltA_layout_b(counted)))
    return ltA_fail(arena, LT_INVALID, "%s: %v is neither a layout nor a swizzled one", operation,
                    x);
  return counted;
}

/* The same swizzle around both, at offset 0: it permutes the elements of both alike. */
static bool share_swizzle(const lt_value *a, const lt_value *b) {
  return ltA_is_composed(a) && ltA_is_composed(b) && ltA_is_zero(ltA_offset(a)) &&
         ltA_is_zero(ltA_offset(b)) && ltA_equal(ltA_layout_a(a), ltA_layout_a(b));
}

static int64_t min_of(int64_t x, int64_t y) { return x < y ? x : y; }

const lt_value *lt_max_common_vector(lt_arena *arena, const lt_value *a, const lt_value *b) {
  ltA_mark mark = ltA_get_mark(arena);
  a = check_vector_operand(arena, "max_common_vector", a);
  b = a == NULL ? NULL : check_vector_operand(arena, "max_common_vector", b);
  const lt_value *inverse = b == NULL ? NULL : lt_right_inverse(arena, layout_within(b));
  if (inverse == NULL) return NULL;
  int64_t n = common_of_layouts(arena, layout_within(a), inverse);
  if (!share_swizzle(a, b)) n = min_of(n, min_of(run_limit(a), run_limit(b)));
  ltA_release(arena, mark);
  return lt_integer(arena, n);
}

/* The first 'n' indices of 'inverse', or those of its first mode where that many are no layout. */
static const lt_value *truncate_layout(lt_arena *arena, const lt_value *inverse, int64_t n) {
  ltA_attempt attempt;
  ltA_attempt_begin(&attempt, arena);
  const lt_value *run = lt_integer(arena, n);
  const lt_value *r = run == NULL ? NULL : lt_composition(arena, inverse, run);
  if (ltA_attempt_end(&attempt, arena)) return r;
  run = lt_integer(arena, min_of(n, first_mode(arena, inverse).shape.value));
  return run == NULL ? NULL : lt_composition(arena, inverse, run);
}

/* a(r(i)) == a(r(0)) + i, and the same for b, for all i < size(r). */
const lt_value *lt_max_common_layout(lt_arena *arena, const lt_value *a, const lt_value *b) {
  ltA_mark mark = ltA_get_mark(arena);
  a = check_vector_operand(arena, "max_common_layout", a);
  b = a == NULL ? NULL : check_vector_operand(arena, "max_common_layout", b);
  const lt_value *inverse = b == NULL ? NULL : lt_right_inverse(arena, layout_within(b));
  if (inverse == NULL) return NULL;
  int64_t n = common_of_layouts(arena, layout_within(a), inverse);
  n = min_of(n, min_of(run_limit(a), run_limit(b)));
  if (ltA_failed(arena)) return NULL;
  const lt_value *result = n == 1 ? ltA_pair(arena, lt_integer(arena, 1), ltA_zero())
                                  : truncate_layout(arena, inverse, n);
  return ltA_keep(arena, mark, result);
}

/* ---- Alignment ------------------------------------------------------------------------------ */

/* A layout's static part: dynamic extents count as 1, dynamic strides as 0. */
static const lt_value *static_part(ltA_modes *modes, int64_t *dynamic_divisor) {
  *dynamic_divisor = 0;
  for (size_t i = 0; i < modes->count; i++) {
    ltA_mode *mode = &modes->items[i];
    if (!ltA_is_static_int(mode->shape)) mode->shape = ltA_static(1);
    if (ltA_is_static_int(mode->stride)) continue;
    *dynamic_divisor = ltA_gcd(*dynamic_divisor, mode->stride.value);
    mode->stride = ltA_static(0);
  }
  return ltA_modes_to_layout(modes);
}

static int64_t divisor_of_strides(const lt_value *stride, int64_t divisor) {
  for (const lt_value *node = stride; node < ltA_next(stride); node++)
    if (ltA_is_integer(node)) divisor = ltA_gcd(divisor, node->value);
  return divisor;
}

/*
** The run of elements 0, 1, 2, ... in the layout, or as much of it as divides the strides beside
** it. CuTe takes dynamic strides to be multiples of anything; here their values must be.
*/
static int64_t alignment_of_layout(lt_arena *arena, const lt_value *layout) {
  ltA_modes modes;
  ltA_modes_begin(&modes, arena);
  ltA_modes_flatten(&modes, ltA_shape(layout), ltA_stride(layout));
  for (size_t i = 0; i < modes.count; i++)
    if (modes.items[i].basis != NULL)
      ltA_fail(arena, LT_INVALID, "max_alignment: %v has scaled bases as strides", layout);
  if (ltA_failed(arena) || modes.count == 0) return 1;
  ltA_modes_coalesce(&modes);
  int64_t divisor;
  const lt_value *part = static_part(&modes, &divisor);
  const lt_value *inverse = part == NULL ? NULL : lt_right_inverse(arena, part);
  const lt_value *permuted = inverse == NULL ? NULL : lt_logical_divide(arena, part, inverse);
  if (permuted == NULL) return 1;
  const lt_value *run = lt_size(arena, ltA_first(ltA_shape(permuted)));
  if (run == NULL) return 1;
  divisor = ltA_gcd(divisor, run->value);
  return divisor_of_strides(ltA_next(ltA_first(ltA_stride(permuted))), divisor);
}

static int64_t alignment_of(lt_arena *arena, const lt_value *x) {
  if (ltA_is_swizzle(x)) return (int64_t)1 << ltA_unpack_swizzle(x).base;
  x = check_vector_operand(arena, "max_alignment", x);
  if (x == NULL) return 1;
  if (ltA_is_layout(x)) return alignment_of_layout(arena, x);
  lt_int offset = ltA_int(ltA_offset(x));
  int64_t base = (int64_t)1 << ltA_unpack_swizzle(ltA_layout_a(x)).base;
  base = ltA_gcd(base, offset.promise != 0 ? offset.promise : offset.value);
  return ltA_gcd(base, alignment_of_layout(arena, ltA_layout_b(x)));
}

static bool can_upcast(lt_arena *arena, const lt_value *x, int64_t n) {
  ltA_attempt attempt;
  ltA_attempt_begin(&attempt, arena);
  lt_upcast(arena, x, n);
  return ltA_attempt_end(&attempt, arena);
}

/*
** CuTe's number, or the largest divisor of it that 'x' can be upcast by: CuTe leaves out modes of
** dynamic extent, and the strides of modes of extent 1.
*/
static int64_t upcast_by_most(lt_arena *arena, const lt_value *x, int64_t n) {
  for (int64_t part = 1; part < n && part <= MAX_PARTS; part++)
    if (n % part == 0 && can_upcast(arena, x, n / part)) return n / part;
  return 1;
}

const lt_value *lt_max_alignment(lt_arena *arena, const lt_value *x) {
  if (ltA_failed(arena)) return NULL;
  ltA_mark mark = ltA_get_mark(arena);
  int64_t n = alignment_of(arena, x);
  if (!ltA_failed(arena)) n = upcast_by_most(arena, x, n);
  if (ltA_failed(arena)) return NULL;
  ltA_release(arena, mark);
  return lt_integer(arena, n);
}

/* ---- Distribution --------------------------------------------------------------------------- */

static void append_common_divisors(ltA_builder *b, const lt_value *flat, int64_t rest) {
  if (!ltA_is_tuple(flat)) {
    ltA_append_int(b, ltA_static(ltA_gcd(flat->value, rest)));
    return;
  }
  size_t open = ltA_open(b, LT_TUPLE);
  for (const lt_value *s = ltA_first(flat); s < ltA_next(flat); s = ltA_next(s)) {
    int64_t n = ltA_gcd(s->value, rest);
    ltA_append_int(b, ltA_static(n));
    rest /= n;
  }
  ltA_close(b, open, ltA_rank(flat));
}

/* Takes from each mode of the shape, the first one first, what still divides 'n'. */
const lt_value *lt_domain_distribute(lt_arena *arena, const lt_value *shape, const lt_value *n) {
  if (ltA_failed(arena)) return NULL;
  const lt_value *whole = ltA_shape_of(shape);
  if (!ltA_check_shape(arena, "domain_distribute", whole)) return NULL;
  if (!lt_is_static(whole) || !ltA_is_integer(n) || n->promise != 0 || n->value < 1)
    return ltA_fail(arena, LT_INVALID,
                    "domain_distribute: wants a static shape and a static positive number, not %v "
                    "and %v",
                    whole, n);
  ltA_mark mark = ltA_get_mark(arena);
  const lt_value *flat = lt_flatten(arena, whole);
  const lt_value *stride = flat == NULL ? NULL : lt_compact_col_major(arena, flat, NULL);
  if (stride == NULL) return NULL;
  ltA_builder b;
  ltA_begin(&b, arena);
  append_common_divisors(&b, flat, n->value);
  const lt_value *taken = ltA_finish(&b);
  const lt_value *layout = taken == NULL ? NULL : ltA_pair(arena, taken, stride);
  return layout == NULL ? NULL : ltA_keep(arena, mark, lt_coalesce(arena, layout, NULL));
}
