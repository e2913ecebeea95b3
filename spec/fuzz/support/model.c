/*
** Evaluation by definition: CuTe's crd2idx, swizzles, and sums of scaled bases.
*/
#include "model.h"

/* ---- Points --------------------------------------------------------------------------------- */

static const wide beyond = (wide)1 << 62;

static bool is_large(wide x) { return x >= beyond || x <= -beyond; }

static void add_place(point *p, uint64_t path, wide value) {
  if (is_large(value)) p->is_undefined = true;
  if (p->is_undefined || value == 0) return;
  int i = 0;
  while (i < p->count && p->places[i].path != path) i++;
  if (i == MAX_PLACES) {
    p->is_undefined = true;
    return;
  }
  if (i == p->count) {
    p->places[p->count].path = path;
    p->places[p->count++].value = 0;
  }
  p->places[i].value += (int64_t)value; /* below 2^62, the one as the other */
  if (is_large(p->places[i].value)) p->is_undefined = true;
}

static wide value_at(const point *p, uint64_t path) {
  for (int i = 0; i < p->count; i++)
    if (p->places[i].path == path) return p->places[i].value;
  return 0;
}

bool same_point(const point *x, const point *y) {
  if (x->is_undefined || y->is_undefined) return false;
  for (int i = 0; i < x->count; i++)
    if (value_at(y, x->places[i].path) != x->places[i].value) return false;
  for (int i = 0; i < y->count; i++)
    if (value_at(x, y->places[i].path) != y->places[i].value) return false;
  return true;
}

point integer_point(wide value) {
  point p = {.count = 0};
  add_place(&p, 0, value);
  return p;
}

bool point_integer(const point *x, wide *value) {
  if (x->is_undefined) return false;
  for (int i = 0; i < x->count; i++)
    if (x->places[i].path != 0 && x->places[i].value != 0) return false;
  *value = value_at(x, 0);
  return true;
}

point add_points(const point *x, const point *y) {
  point sum = *x;
  sum.is_undefined |= y->is_undefined;
  for (int i = 0; i < y->count; i++) add_place(&sum, y->places[i].path, y->places[i].value);
  return sum;
}

/* The path of mode 'mode' within 'path'. */
static uint64_t longer_path(uint64_t path, int64_t mode) {
  return path * 0x100000001b3u + (uint64_t)mode + 0x9e3779b97f4a7c15u;
}

static void add_value(point *p, const lt_value *v, uint64_t path) {
  int64_t i = 0;
  switch (lt_kind_of(v)) {
    case LT_INTEGER: add_place(p, path, lt_integer_value(v)); break;
    case LT_BASIS:
      for (const lt_value *mode = lt_part(v, 0); mode != NULL; mode = next_part(v, mode))
        path = longer_path(path, lt_integer_value(mode));
      add_place(p, path, lt_integer_value(v));
      break;
    case LT_TUPLE:
      for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part))
        add_value(p, part, longer_path(path, i++));
      break;
    default: p->is_undefined = true;
  }
}

point value_point(const lt_value *v) {
  point p = {.count = 0};
  add_value(&p, v, 0);
  return p;
}

static void add_scaled(point *p, const lt_value *stride, wide factor) {
  if (is_large(factor)) p->is_undefined = true;
  if (lt_kind_of(stride) == LT_INTEGER && !p->is_undefined) {
    wide unit = lt_integer_value(stride);
    if (is_large(unit)) p->is_undefined = true;
    add_place(p, 0, unit * factor);
    return;
  }
  point unit = value_point(stride);
  p->is_undefined |= unit.is_undefined;
  for (int i = 0; i < unit.count && !p->is_undefined; i++)
    add_place(p, unit.places[i].path, unit.places[i].value * factor);
}

/* ---- Layouts -------------------------------------------------------------------------------- */

static bool is_tuple(const lt_value *v) { return lt_kind_of(v) == LT_TUPLE; }

wide model_size(const lt_value *shape) {
  if (!is_tuple(shape)) return lt_integer_value(shape);
  wide size = 1;
  for (const lt_value *s = lt_part(shape, 0); s != NULL; s = next_part(shape, s)) {
    size *= model_size(s);
    if (is_large(size)) return beyond;
  }
  return size;
}

static bool has_leaf(const lt_value *v) {
  if (!is_tuple(v)) return true;
  for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part))
    if (has_leaf(part)) return true;
  return false;
}

/* The last mode, which runs on; empty tuples are no modes. */
static const lt_value *last_mode(const lt_value *shape) {
  const lt_value *last = NULL;
  for (const lt_value *s = lt_part(shape, 0); s != NULL; s = next_part(shape, s))
    if (has_leaf(s)) last = s;
  return last;
}

static void add_index(point *p, const lt_value *shape, const lt_value *stride, wide index) {
  if (!is_tuple(shape)) {
    add_scaled(p, stride, index);
    return;
  }
  const lt_value *last = last_mode(shape), *d = lt_part(stride, 0);
  for (const lt_value *s = lt_part(shape, 0); s != last; s = next_part(shape, s)) {
    wide size = model_size(s);
    if (size == 0) p->is_undefined = true;
    if (p->is_undefined) return;
    add_index(p, s, d, index % size);
    index /= size;
    d = next_part(stride, d);
  }
  if (last != NULL) add_index(p, last, d, index);
}

point model_index(const lt_value *shape, const lt_value *stride, wide index) {
  point p = {.is_undefined = is_large(index)};
  add_index(&p, shape, stride, index);
  return p;
}

static void add_coord(point *p, const lt_value *coord, const lt_value *shape,
                      const lt_value *stride) {
  if (lt_kind_of(coord) == LT_WILDCARD) return;
  if (lt_kind_of(coord) == LT_INTEGER) {
    add_index(p, shape, stride, lt_integer_value(coord));
    return;
  }
  if (!is_tuple(coord) || !is_tuple(shape) || lt_rank(coord) != lt_rank(shape)) {
    p->is_undefined = true;
    return;
  }
  const lt_value *s = lt_part(shape, 0), *d = lt_part(stride, 0);
  for (const lt_value *c = lt_part(coord, 0); c != NULL; c = next_part(coord, c)) {
    add_coord(p, c, s, d);
    s = next_part(shape, s);
    d = next_part(stride, d);
  }
}

point model_crd2idx(const lt_value *coord, const lt_value *shape, const lt_value *stride) {
  point p = {.count = 0};
  add_coord(&p, coord, shape, stride);
  return p;
}

/* ---- Swizzles and composed layouts ---------------------------------------------------------- */

static int64_t part_value(const lt_value *v, size_t i) { return lt_integer_value(lt_part(v, i)); }

/* XORs B bits of the number, those from bit M + |S| on, down (S > 0) or up on those from M on. */
static uint64_t swizzle_bits(const lt_value *swizzle, uint64_t x, int64_t base) {
  int64_t bits = part_value(swizzle, 0), shift = part_value(swizzle, 2);
  for (int64_t i = 0; i < bits; i++) {
    int64_t low = base + i, high = low + (shift < 0 ? -shift : shift);
    int64_t from = shift < 0 ? low : high, to = shift < 0 ? high : low;
    if (from > 62 || to > 62) continue;
    x ^= (x >> from & 1) << to; /* no bit is both read and written: |S| >= B */
  }
  return x;
}

static point apply_swizzle(const lt_value *swizzle, const point *index) {
  wide x;
  if (!point_integer(index, &x)) return (point){.is_undefined = true};
  return integer_point(
      (int64_t)swizzle_bits(swizzle, (uint64_t)(int64_t)x, part_value(swizzle, 1)));
}

static int64_t log_2(int64_t n) {
  int64_t k = 0;
  while ((int64_t)1 << k < n) k++;
  return (int64_t)1 << k == n ? k : -1;
}

/* The swizzle acts on the byte address of elements of 'bits' bits. */
static point apply_to_bytes(const lt_value *swizzle, int64_t bits, const point *index) {
  wide x;
  int64_t width = log_2(bits), base;
  if (!point_integer(index, &x) || width < 0 || is_large(x * bits) || x < 0)
    return (point){.is_undefined = true};
  base = part_value(swizzle, 1) + 3;
  uint64_t address = swizzle_bits(swizzle, (uint64_t)(int64_t)(x * bits), base);
  if ((address & (((uint64_t)1 << width) - 1)) != 0) return (point){.is_undefined = true};
  return integer_point((int64_t)(address >> width));
}

static point apply_at_point(const lt_value *f, const point *index) {
  if (lt_kind_of(f) == LT_SWIZZLE) return apply_swizzle(f, index);
  wide x;
  if (!point_integer(index, &x)) return (point){.is_undefined = true};
  return model_apply(f, x);
}

point model_outer(const lt_value *f, const point *inner) {
  if (lt_kind_of(f) == LT_LAYOUT) return *inner;
  const lt_value *a = lt_part(f, 0), *offset = lt_part(f, 1);
  if (lt_kind_of(f) == LT_TENSOR) {
    point start = value_point(a), moved = model_outer(offset, inner);
    return add_points(&start, &moved);
  }
  if (lt_kind_of(offset) == LT_SMEM) {
    if (lt_kind_of(a) != LT_SWIZZLE) return (point){.is_undefined = true};
    return apply_to_bytes(a, lt_integer_value(offset), inner);
  }
  point start = value_point(offset);
  point sum = add_points(&start, inner);
  return apply_at_point(a, &sum);
}

point model_apply(const lt_value *f, wide index) {
  point p = integer_point(index), start;
  switch (lt_kind_of(f)) {
    case LT_INTEGER: return p;
    case LT_SWIZZLE: return apply_swizzle(f, &p);
    case LT_LAYOUT: return model_index(lt_shape(f), lt_stride(f), index);
    case LT_COMPOSED: p = model_apply(lt_part(f, 2), index); return model_outer(f, &p);
    case LT_TENSOR:
      start = value_point(lt_part(f, 0));
      p = model_apply(lt_part(f, 1), index);
      return add_points(&start, &p);
    default: return (point){.is_undefined = true};
  }
}

point model_apply_coord(const lt_value *f, const lt_value *coord) {
  point p, start;
  switch (lt_kind_of(f)) {
    case LT_LAYOUT: return model_crd2idx(coord, lt_shape(f), lt_stride(f));
    case LT_COMPOSED: p = model_apply_coord(lt_part(f, 2), coord); return model_outer(f, &p);
    case LT_TENSOR:
      start = value_point(lt_part(f, 0));
      p = model_apply_coord(lt_part(f, 1), coord);
      return add_points(&start, &p);
    default:
      if (lt_kind_of(coord) != LT_INTEGER) return (point){.is_undefined = true};
      return model_apply(f, lt_integer_value(coord));
  }
}

const lt_value *model_inner(const lt_value *f) {
  switch (lt_kind_of(f)) {
    case LT_LAYOUT: return f;
    case LT_COMPOSED: return model_inner(lt_part(f, 2));
    case LT_TENSOR: return model_inner(lt_part(f, 1));
    default: return NULL;
  }
}

/* ---- Questions ------------------------------------------------------------------------------ */

int model_points(const lt_value *v) {
  lt_kind kind = lt_kind_of(v);
  if (kind != LT_INTEGER && kind != LT_LAYOUT && kind != LT_COMPOSED && kind != LT_TENSOR) return 0;
  lt_kind of_shape = lt_kind_of(lt_shape(v));
  if (of_shape != LT_INTEGER && of_shape != LT_TUPLE) return 0;
  wide size = model_size(lt_shape(v));
  return size > 0 && size <= MAX_POINTS ? (int)size : 0;
}

/* Offsets are integers not below 'least', each once. */
static bool is_injection_from(const lt_value *layout, wide least) {
  int n = model_points(layout);
  wide seen[MAX_POINTS];
  for (int i = 0; i < n; i++) {
    point p = model_apply(layout, i);
    if (!point_integer(&p, &seen[i]) || seen[i] < least) return false;
    for (int k = 0; k < i; k++)
      if (seen[k] == seen[i]) return false;
  }
  return n > 0;
}

bool is_simple_injection(const lt_value *layout) { return is_injection_from(layout, 0); }

bool is_injection(const lt_value *layout) { return is_injection_from(layout, -((wide)1 << 100)); }

bool has_basis(const lt_value *v) {
  if (lt_kind_of(v) == LT_BASIS) return true;
  for (const lt_value *part = lt_part(v, 0); part != NULL; part = next_part(v, part))
    if (has_basis(part)) return true;
  return false;
}
