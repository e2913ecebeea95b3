/*
** Laws of evaluation, slices, sizes, widths and questions.
*/
#include "laws.h"

static void expect(const call *c, const point *got, const point *wanted, const char *rule) {
  if (got->is_undefined || wanted->is_undefined) return;
  if (!same_point(got, wanted)) broken(c, rule);
}

static bool is_tuple(const lt_value *v) { return lt_kind_of(v) == LT_TUPLE; }
static bool is_integer(const lt_value *v) { return lt_kind_of(v) == LT_INTEGER; }

/* ---- Evaluation ------------------------------------------------------------------------------ */

static bool has_wildcard(const lt_value *v) {
  if (!is_tuple(v)) return lt_kind_of(v) == LT_WILDCARD;
  for (size_t i = 0; i < lt_rank(v); i++)
    if (has_wildcard(lt_part(v, i))) return true;
  return false;
}

/* Where an integer is wanted; a slice's law is another. */
void law_apply(const call *c) {
  if (has_wildcard(c->x[1]) || lt_is_layout(c->r)) return;
  if (!is_integer(c->r) && !is_tuple(c->r)) return;
  point got = value_point(c->r), wanted = model_apply_coord(c->x[0], c->x[1]);
  expect(c, &got, &wanted, "the offset is another");
}

/* The colexicographic index of a coordinate: c0 + s0 * (c1 + s1 * ...). */
static bool colex_index(const lt_value *coord, const lt_value *shape, wide *index) {
  *index = 0;
  if (lt_kind_of(coord) == LT_WILDCARD) return true;
  if (is_integer(coord)) *index = lt_integer_value(coord);
  if (!is_tuple(coord)) return is_integer(coord);
  if (!is_tuple(shape) || lt_rank(shape) != lt_rank(coord)) return false;
  wide unit = 1;
  for (size_t i = 0; i < lt_rank(coord); i++) {
    wide part, size = model_size(lt_part(shape, i));
    if (!colex_index(lt_part(coord, i), lt_part(shape, i), &part)) return false;
    if (part > INT32_MAX || part < INT32_MIN || unit > INT32_MAX) return false;
    *index += unit * part;
    unit *= size;
  }
  return true;
}

void law_crd2idx(const call *c) {
  point got = value_point(c->r);
  if (c->x[2] != NULL) {
    point wanted = model_crd2idx(c->x[0], c->x[1], c->x[2]);
    expect(c, &got, &wanted, "the index is another");
  } else if (lt_is_layout(c->x[1])) {
    point wanted = model_apply_coord(c->x[1], c->x[0]);
    expect(c, &got, &wanted, "the offset is another");
  } else if (is_tuple(c->x[1])) {
    wide index;
    if (!colex_index(c->x[0], c->x[1], &index)) return;
    point wanted = integer_point(index);
    expect(c, &got, &wanted, "the colexicographic index is another");
  }
}

static bool is_within(const lt_value *index, const lt_value *shape) {
  wide size = model_size(shape);
  return is_integer(index) && lt_integer_value(index) >= 0 && lt_integer_value(index) < size;
}

/* The coordinate of an index within the shape has that index. */
void law_idx2crd(const call *c) {
  const lt_value *shape = lt_shape(c->x[1]);
  if (c->x[2] != NULL || (!is_tuple(shape) && !is_integer(shape))) return;
  if (!is_within(c->x[0], shape)) return;
  wide index;
  if (colex_index(c->r, shape, &index) && index != lt_integer_value(c->x[0]))
    broken(c, "the coordinate has another index");
}

/* Mode by mode where all three are tuples, else by the colexicographic index. */
static bool same_place(const lt_value *coord, const lt_value *from, const lt_value *to,
                       const lt_value *r) {
  if (is_tuple(coord) && is_tuple(from) && is_tuple(to)) {
    bool is_same = is_tuple(r) && lt_rank(r) == lt_rank(coord);
    for (size_t i = 0; is_same && i < lt_rank(coord); i++)
      is_same = same_place(lt_part(coord, i), lt_part(from, i), lt_part(to, i), lt_part(r, i));
    return is_same;
  }
  wide before, after;
  if (!colex_index(coord, from, &before)) return true;
  if (before < 0 || before >= model_size(from) || before >= model_size(to)) return true;
  return !colex_index(r, to, &after) || before == after;
}

void law_crd2crd(const call *c) {
  if (!has_wildcard(c->x[0]) && !same_place(c->x[0], c->x[1], c->x[2], c->r))
    broken(c, "the coordinate is of another place");
}

/* The coordinate of an offset, where the offsets are 0 to the size less 1. */
void law_coord_of_index(const call *c) {
  const lt_value *layout = c->x[0];
  int n = model_points(layout);
  if (lt_kind_of(layout) != LT_LAYOUT || !is_integer(c->x[1]) || !is_simple_injection(layout))
    return;
  for (int i = 0; i < n; i++) {
    point p = model_apply(layout, i);
    wide offset;
    if (!point_integer(&p, &offset) || offset >= n) return;
  }
  if (!is_within(c->x[1], lt_shape(layout))) return;
  point wanted = value_point(c->x[1]), got = model_apply_coord(layout, c->r);
  expect(c, &got, &wanted, "the coordinate has another offset");
}

static void check_offset(const call *c, const lt_value *layout, int64_t i, int64_t offset) {
  point got = integer_point(offset), wanted = model_apply(layout, i);
  expect(c, &got, &wanted, "lt_offset is not the offset");
}

void check_offsets(const call *c, const lt_value *layout) {
  int n = model_points(layout);
  int64_t offsets[MAX_POINTS], offset;
  if (n == 0) return;
  bool are_given = lt_offsets(layout, offsets);
  for (int i = -3; i < n + 3; i++) {
    bool is_listed = are_given && i >= 0 && i < n, is_found = lt_offset(layout, i, &offset);
    if (is_listed && is_found && offset != offsets[i]) broken(c, "offset and offsets differ");
    if (is_found || is_listed) check_offset(c, layout, i, is_found ? offset : offsets[i]);
  }
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

void law_size(const call *c) {
  const lt_value *shape = lt_shape(c->x[0]);
  if (!is_tuple(shape) && !is_integer(shape)) return;
  if (is_integer(c->r) && model_size(shape) < LT_MAX_SIZE &&
      lt_integer_value(c->r) != model_size(shape))
    broken(c, "the size is not the product of the shape");
}

/* The largest offset and one, where none is negative. */
void law_cosize(const call *c) {
  const lt_value *layout = c->x[0];
  int n = model_points(layout);
  if (n == 0 || lt_kind_of(layout) != LT_LAYOUT || !is_integer(c->r)) return;
  wide largest = 0;
  for (int i = 0; i < n; i++) {
    point p = model_apply(layout, i);
    wide offset;
    if (!point_integer(&p, &offset) || offset < 0) return;
    if (offset > largest) largest = offset;
  }
  if (lt_integer_value(c->r) != largest + 1)
    broken(c, "the cosize is not the largest offset and 1");
}

/* Without strides, or with those of LayoutLeft, the identity; of LayoutRight, one to one. */
void law_make_layout(const call *c) {
  const lt_value *stride = c->x[1];
  int n = model_points(c->r);
  if (stride != NULL && lt_kind_of(stride) != LT_MAJOR) return;
  bool is_left = stride == NULL || lt_equal(stride, lt_layout_left(c->arena));
  for (int i = 0; is_left && i < n; i++) {
    point got = model_apply(c->r, i), wanted = integer_point(i);
    expect(c, &got, &wanted, "a compact layout is not the identity");
  }
  if (n > 0 && !is_simple_injection(c->r)) broken(c, "a compact layout is not one to one");
}

void law_product(const call *c) {
  wide product = model_size(c->x[0]);
  if (is_integer(c->r) && product < LT_MAX_SIZE && product != lt_integer_value(c->r))
    broken(c, "the product is another");
}

static wide sum_of(const lt_value *v) {
  if (is_integer(v)) return lt_integer_value(v);
  wide sum = 0;
  for (size_t i = 0; i < lt_rank(v); i++) sum += sum_of(lt_part(v, i));
  return sum;
}

void law_sum(const call *c) {
  if (is_integer(c->r) && sum_of(c->x[0]) != lt_integer_value(c->r))
    broken(c, "the sum is another");
}

void law_ceil_div(const call *c) {
  if (!is_integer(c->x[0]) || !is_integer(c->x[1]) || !is_integer(c->r)) return;
  wide a = lt_integer_value(c->x[0]), b = lt_integer_value(c->x[1]), r = lt_integer_value(c->r);
  if (a >= 0 && b > 0 && (r * b < a || (r - 1) * b >= a) && !(a == 0 && r == 0))
    broken(c, "the quotient is not rounded up");
}

/* ---- Slices ---------------------------------------------------------------------------------- */

/* The coordinate with its wildcards replaced by the digits of 'index' in the kept modes. */
static point fill_in(const lt_value *coord, const lt_value *shape, const lt_value *stride,
                     wide *index) {
  if (lt_kind_of(coord) == LT_WILDCARD) {
    wide size = model_size(shape);
    if (size <= 0) return (point){.is_undefined = true};
    point p = model_index(shape, stride, *index % size);
    *index /= size;
    return p;
  }
  if (!is_tuple(coord)) return model_crd2idx(coord, shape, stride);
  point sum = {.is_undefined = !is_tuple(shape) || lt_rank(shape) != lt_rank(coord)};
  for (size_t i = 0; i < lt_rank(coord) && !sum.is_undefined; i++) {
    point p = fill_in(lt_part(coord, i), lt_part(shape, i), lt_part(stride, i), index);
    sum = add_points(&sum, &p);
  }
  return sum;
}

/* offset + r(i) == layout(coord) with i in place of the wildcards */
void law_slice_and_offset(const call *c) {
  const lt_value *inner = model_inner(c->x[1]);
  if (lt_kind_of(c->r) != LT_TENSOR || inner == NULL) return;
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    wide index = i;
    point filled = fill_in(c->x[0], lt_shape(inner), lt_stride(inner), &index);
    point wanted = model_outer(c->x[1], &filled), got = model_apply(c->r, i);
    expect(c, &got, &wanted, "an offset of the slice is another");
  }
}

/* r(i) == layout(coord + i), for coordinates of one index each. */
void law_domain_offset(const call *c) {
  if (lt_kind_of(c->r) != LT_TENSOR || lt_kind_of(c->x[1]) != LT_LAYOUT) return;
  point start = model_apply_coord(c->x[1], c->x[0]);
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point within = model_apply(c->x[1], i), wanted = add_points(&start, &within);
    point got = model_apply(c->r, i);
    expect(c, &got, &wanted, "an offset is not moved by that of the coordinate");
  }
}

/* Tile 'coord': mode 0 of the zipped divide, with mode 1 at the coordinate. */
void law_local_tile(const call *c) {
  if (lt_kind_of(c->r) != LT_TENSOR || has_wildcard(c->x[2]) || c->x[3] != NULL) return;
  const lt_value *zipped = lt_zipped_divide(c->arena, c->x[0], c->x[1]);
  if (zipped == NULL || lt_kind_of(zipped) != LT_LAYOUT) return;
  const lt_value *shape = lt_shape(zipped), *stride = lt_stride(zipped);
  point start = model_crd2idx(c->x[2], lt_part(shape, 1), lt_part(stride, 1));
  for (int i = 0, n = model_points(c->r); i < n; i++) {
    point within = model_index(lt_part(shape, 0), lt_part(stride, 0), i);
    point wanted = add_points(&start, &within), got = model_apply(c->r, i);
    expect(c, &got, &wanted, "an offset of the tile is another");
  }
}

/* ---- Widths ---------------------------------------------------------------------------------- */

/* The layout at index 'i' of its upcast: leaves of strides below n take whole groups. */
static point grouped(const lt_value *shape, const lt_value *stride, const lt_value *upcast,
                     int64_t n, wide *index) {
  if (is_tuple(shape)) {
    point sum = {.count = 0};
    for (size_t i = 0; i < lt_rank(shape); i++) {
      point p = grouped(lt_part(shape, i), lt_part(stride, i), lt_part(upcast, i), n, index);
      sum = add_points(&sum, &p);
    }
    return sum;
  }
  int64_t size = lt_integer_value(upcast), d = lt_integer_value(stride);
  if (size == 0 || d == INT64_MIN) return (point){.is_undefined = true};
  wide at = *index % size;
  *index /= size;
  d = d < 0 ? -d : d;
  if (d != 0 && d % n != 0 && lt_integer_promise(stride) == 0) at *= n / d;
  return model_index(shape, stride, at);
}

/* n * r(c) == layout(d), where d has n / |stride| times c in the modes of smaller strides */
void law_upcast(const call *c) {
  if (lt_kind_of(c->x[0]) != LT_LAYOUT) return;
  int64_t n = c->n[0];
  for (int i = 0, count = model_points(c->r); i < count; i++) {
    wide index = i, offset;
    point wanted = grouped(lt_shape(c->x[0]), lt_stride(c->x[0]), lt_shape(c->r), n, &index);
    point p = model_apply(c->r, i);
    if (!point_integer(&p, &offset) || n > INT32_MAX) continue;
    point got = integer_point(offset * n);
    expect(c, &got, &wanted, "n * r(c) is not the layout's offset");
  }
}

/* Every element becomes n, side by side: n * offset + k, or - k where the run goes down. */
void law_downcast(const call *c) {
  int64_t n = c->n[0];
  const lt_value *x = c->x[0];
  bool is_smem = lt_kind_of(x) == LT_COMPOSED && lt_kind_of(lt_part(x, 1)) == LT_SMEM;
  if (n > 16 || is_smem || !is_simple_injection(x) || model_points(c->r) == 0) return;
  if (model_points(c->r) != n * model_points(x)) broken(c, "not n elements for each");
  for (int i = 0, count = model_points(c->r); i < count; i++) {
    point p = model_apply(c->r, i);
    wide offset;
    if (!point_integer(&p, &offset)) return;
    bool is_part = false;
    for (int k = 0, size = model_points(x); k < size && !is_part; k++) {
      point element = model_apply(x, k);
      wide of;
      is_part = !point_integer(&element, &of) || (offset > of * n - n && offset < of * n + n);
    }
    if (!is_part) broken(c, "an element lies in none of the layout's");
  }
  if (!is_injection(c->r)) broken(c, "two elements meet");
}

/* a(r(i)) == i and b(r(i)) == i for all i < n, where r is b's right inverse. */
void law_common_vector(const call *c) {
  const lt_value *a = c->x[0], *b = c->x[1];
  if (lt_kind_of(a) != LT_LAYOUT || lt_kind_of(b) != LT_LAYOUT || !is_integer(c->r)) return;
  const lt_value *inverse = lt_right_inverse(c->arena, b);
  for (int i = 0; inverse != NULL && i < lt_integer_value(c->r) && i < MAX_POINTS; i++) {
    point p = model_apply(inverse, i), wanted = integer_point(i);
    wide index;
    if (!point_integer(&p, &index)) continue;
    point of_a = model_apply(a, index), of_b = model_apply(b, index);
    if (i < model_size(lt_shape(inverse)))
      expect(c, &of_b, &wanted, "b's elements do not lie side by side");
    expect(c, &of_a, &wanted, "a's elements do not lie side by side");
  }
}

/* An upcast by it works; 1 says nothing. */
void law_alignment(const call *c) {
  int64_t n = lt_integer_value(c->r);
  if (n > 1 && lt_upcast(c->arena, c->x[0], n) == NULL) broken(c, "no upcast by the alignment");
}

/* ---- Questions ------------------------------------------------------------------------------- */

static bool same_profile(const lt_value *x, const lt_value *y) {
  if (!is_tuple(x) || !is_tuple(y)) return is_tuple(x) == is_tuple(y);
  if (lt_rank(x) != lt_rank(y)) return false;
  for (size_t i = 0; i < lt_rank(x); i++)
    if (!same_profile(lt_part(x, i), lt_part(y, i))) return false;
  return true;
}

void law_congruent(const call *c, bool answer) {
  const lt_value *x = lt_shape(c->x[0]), *y = lt_shape(c->x[1]);
  if (lt_kind_of(x) == LT_SWIZZLE || lt_kind_of(y) == LT_SWIZZLE) return;
  if (same_profile(x, y) != answer) broken(c, "the other answer");
}

/* What starts at a coordinate has no offsets: its 0 is (0,0). */
static bool starts_at_tuple(const lt_value *v) {
  return lt_kind_of(v) == LT_TENSOR && is_tuple(lt_part(v, 0));
}

/* All offsets as integers, or false. */
static bool read_offsets(const lt_value *layout, wide *offsets, int *n) {
  *n = model_points(layout);
  if (*n == 0 || model_inner(layout) == NULL || has_basis(layout)) return false;
  if (starts_at_tuple(layout)) return false;
  for (int i = 0; i < *n; i++) {
    point p = model_apply(layout, i);
    if (!point_integer(&p, &offsets[i])) return false;
  }
  return true;
}

static bool are_distinct(const wide *offsets, int n) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++)
      if (offsets[i] == offsets[k]) return false;
  return true;
}

static bool is_among(const wide *offsets, int n, wide offset) {
  for (int i = 0; i < n; i++)
    if (offsets[i] == offset) return true;
  return false;
}

void law_equivalent(const call *c, bool answer) {
  wide x[MAX_POINTS], y[MAX_POINTS];
  int n, m;
  if (!read_offsets(c->x[0], x, &n) || !read_offsets(c->x[1], y, &m)) return;
  if ((n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0) != answer) broken(c, "the other answer");
}

void law_injective(const call *c, bool answer) {
  wide x[MAX_POINTS];
  int n;
  if (read_offsets(c->x[0], x, &n) && are_distinct(x, n) != answer) broken(c, "the other answer");
}

static bool reach_all(const wide *offsets, int n, wide end) {
  for (wide i = 0; i < end; i++)
    if (i > n || !is_among(offsets, n, i)) return false;
  return true;
}

void law_bijective(const call *c, bool answer) {
  wide x[MAX_POINTS];
  int n;
  if (read_offsets(c->x[0], x, &n) && reach_all(x, n, n) != answer) broken(c, "the other answer");
}

void law_surjective(const call *c, bool answer) {
  wide x[MAX_POINTS];
  int n;
  if (c->x[1] == NULL || !is_integer(c->x[1])) return;
  if (read_offsets(c->x[0], x, &n) && reach_all(x, n, lt_integer_value(c->x[1])) != answer)
    broken(c, "the other answer");
}

void law_contiguous(const call *c, bool answer) {
  wide x[MAX_POINTS], least, most;
  int n;
  if (!read_offsets(c->x[0], x, &n)) return;
  least = most = x[0];
  for (int i = 0; i < n; i++) {
    if (x[i] < least) least = x[i];
    if (x[i] > most) most = x[i];
  }
  bool has_gap = most - least >= n;
  for (wide i = least; i <= most && !has_gap; i++) has_gap = !is_among(x, n, i);
  if (has_gap == answer) broken(c, "the other answer");
}

/* Ascending, each offset once. */
void law_image(const call *c) {
  wide x[MAX_POINTS], r[MAX_POINTS];
  int n, m;
  if (!read_offsets(c->x[0], x, &n)) return;
  if (!read_offsets(c->r, r, &m)) broken(c, "more offsets than the layout's");
  for (int i = 0; i < m; i++) {
    if (i > 0 && r[i] <= r[i - 1]) broken(c, "the offsets do not ascend");
    if (!is_among(x, n, r[i])) broken(c, "an offset that the layout does not have");
  }
  for (int i = 0; i < n; i++)
    if (!is_among(r, m, x[i])) broken(c, "an offset is missing");
}
