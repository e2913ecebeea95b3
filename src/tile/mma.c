/*
** The arithmetic of MMA atoms. Fragments are gathered into tiles of doubles, one for each atom's
** worth of M x K, N x K and M x N, multiplied there, and scattered back.
**
** Products of the atoms' narrow types are exact in a double. The sum over an atom's K, the
** accumulator included, is formed in 53 bits and rounded once to the accumulator's type: tensor
** cores align and add all products of an instruction at once, in a width that is not documented.
*/
#include "mma.h"

#include <math.h>

/* A complex product is real products of planes: re, im, and what their sums and signs make. */
#define MAX_PLANES 4

/* Extents of the fragments in atoms. */
typedef struct counts {
  int64_t m, n, k;
} counts;

/* Tiles of one matrix: plane by plane, each [tile][column][row] of doubles. */
typedef struct tiles {
  double *planes[MAX_PLANES];
  int planes_used;
  int64_t rows, columns; /* of an atom's tile */
  int64_t count;
  const int64_t *positions; /* (thread, value) -> row + rows * column */
  int64_t threads, values;
} tiles;

int64_t ltT_mma_size(const lt_value *atom_value) {
  const lt_value *shape = ltA_shape(lt_part(atom_value, LT_ATOM_THREADS));
  int64_t size = 1; /* at most a warpgroup */
  for (const lt_value *node = shape; node < ltA_next(shape); node++)
    if (ltA_is_integer(node)) size *= node->value;
  return size;
}

/* ---- Shapes --------------------------------------------------------------------------------- */

static int64_t mode_size(lt_arena *arena, const lt_tensor *t, size_t mode) {
  const lt_value *shape = ltA_shape_of(t->layout);
  if (mode >= ltA_rank(shape)) return 1;
  return ltA_product(arena, ltA_is_tuple(shape) ? ltA_element(shape, mode) : shape).value;
}

static size_t rank(const lt_tensor *t) { return ltA_rank(ltA_shape_of(t->layout)); }

static bool refuse_shapes(lt_arena *arena, const ltT_mma_atom *atom, const ltT_fragments *f) {
  ltA_fail(
      arena, LT_INVALID, "gemm: fragments %v x %v -> %v are not (V,M,K) x (V,N,K) -> (V,M,N) of %s",
      ltA_shape_of(f->a.layout), ltA_shape_of(f->b.layout), ltA_shape_of(f->c.layout), atom->name);
  return false;
}

static bool check_values(lt_arena *arena, const ltT_mma_atom *atom, const lt_tensor *t,
                         const tiles *x) {
  int64_t n = mode_size(arena, t, 0);
  if (n == x->values) return true;
  ltA_fail(arena, LT_INVALID, "gemm: %s (%v) has %I values a thread in mode 0, where %s has %I",
           t->name, ltA_shape_of(t->layout), n, atom->name, x->values);
  return false;
}

static bool check_element(lt_arena *arena, const ltT_mma_atom *atom, const lt_tensor *t,
                          const ltT_operand *operand) {
  if (t->element == operand->element) return true;
  ltA_fail(arena, LT_INVALID, "gemm: %s is %s, where %s takes %s", t->name,
           ltT_type_of(t->element)->name, atom->name, ltT_type_of(operand->element)->name);
  return false;
}

/* The extents in atoms, which all operands must share. */
static bool count_atoms(lt_arena *arena, const ltT_mma_atom *atom, const ltT_fragments *f,
                        counts *n) {
  *n = (counts){mode_size(arena, &f->a, 1), mode_size(arena, &f->b, 1), mode_size(arena, &f->a, 2)};
  bool fits = rank(&f->a) == rank(&f->b) && rank(&f->a) <= 3 && rank(&f->c) <= 3 &&
              (rank(&f->a) < 2 || rank(&f->c) == 3 || n->m * n->n == 1) &&
              mode_size(arena, &f->b, 2) == n->k && mode_size(arena, &f->c, 1) == n->m &&
              mode_size(arena, &f->c, 2) == n->n && mode_size(arena, &f->d, 1) == n->m &&
              mode_size(arena, &f->d, 2) == n->n;
  return fits || refuse_shapes(arena, atom, f);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

/* Where each (thread, value) of an atom's layout stands in its tile. */
static bool read_positions(lt_arena *arena, const lt_value *layout, tiles *x) {
  ltT_buffer tile = {.size = (size_t)(x->rows * x->columns)};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &tile, .name = "atom"};
  int64_t n;
  x->positions = ltT_offsets(arena, "gemm", &t, &n, LT_READ);
  x->threads = mode_size(arena, &t, 0);
  x->values = mode_size(arena, &t, 1);
  return x->positions != NULL;
}

static bool new_tiles(lt_arena *arena, tiles *x, int64_t rows, int64_t columns, lt_element element,
                      const lt_value *layout) {
  *x = (tiles){.rows = rows, .columns = columns, .planes_used = ltT_parts(element)};
  return read_positions(arena, layout, x);
}

static bool allocate_planes(lt_arena *arena, tiles *x, int64_t count, int planes) {
  x->count = count;
  size_t size = (size_t)(x->rows * x->columns * count) * sizeof(double);
  for (int i = 0; i < planes; i++) x->planes[i] = ltA_new_bytes(arena, size);
  return !ltA_failed(arena);
}

/* The number in an element whose register holds a narrower format. */
static double load_format(const ltT_operand *operand, const uint8_t *bytes, int64_t offset) {
  uint64_t pattern = (uint64_t)ltT_load(operand->element, bytes, offset).re;
  return ltT_decode(operand->format, pattern >> operand->shift);
}

/* Moves the values of one thread between its fragment and the tiles. */
static bool gather(lt_arena *arena, lt_tensor *t, const ltT_operand *operand, tiles *x,
                   int64_t thread) {
  int64_t n;
  const int64_t *offsets = ltT_offsets(arena, "gemm", t, &n, LT_READ);
  if (offsets == NULL) return false;
  bool is_plain = operand->element == operand->format;
  for (int64_t i = 0; i < n; i++) {
    double parts[3];
    if (is_plain)
      ltT_load_parts(t->element, t->buffer->bytes, offsets[i], parts);
    else
      parts[0] = load_format(operand, t->buffer->bytes, offsets[i]);
    int64_t tile = i / x->values, value = i % x->values;
    int64_t place = tile * x->rows * x->columns + x->positions[thread + x->threads * value];
    for (int plane = 0; plane < x->planes_used; plane++) x->planes[plane][place] = parts[plane];
  }
  return true;
}

static bool scatter(lt_arena *arena, lt_tensor *t, const tiles *x, int64_t thread) {
  int64_t n;
  const int64_t *offsets = ltT_offsets(arena, "gemm", t, &n, LT_WRITE);
  if (offsets == NULL) return false;
  for (int64_t i = 0; i < n; i++) {
    double parts[3];
    int64_t tile = i / x->values, value = i % x->values;
    int64_t place = tile * x->rows * x->columns + x->positions[thread + x->threads * value];
    for (int plane = 0; plane < x->planes_used; plane++) parts[plane] = x->planes[plane][place];
    ltT_store_parts(t->element, t->buffer->bytes, offsets[i], parts);
  }
  return true;
}

/* ---- Products ------------------------------------------------------------------------------- */

/* c[m,n] += sum over k of a[m,k] * b[n,k], for one tile of each. */
static void add_product(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  for (int n = 0; n < atom->n; n++) {
    double *column = c + n * atom->m;
    for (int k = 0; k < atom->k; k++) {
      double factor = b[n + atom->n * k];
      const double *row = a + atom->m * k;
      for (int m = 0; m < atom->m; m++) column[m] += row[m] * factor;
    }
  }
}

static double round_to(lt_element element, double x) {
  if (element == LT_F32) return (double)(float)x;
  if (element == LT_F64 || ltT_type_of(element)->class == LT_COMPLEX) return x;
  return ltT_decode(element, ltT_encode(element, x));
}

/* The same, one fused step a time. */
static void add_steps(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  lt_element element = atom->d.element;
  for (int n = 0; n < atom->n; n++)
    for (int k = 0; k < atom->k; k++)
      for (int m = 0; m < atom->m; m++) {
        double x = a[m + atom->m * k], y = b[n + atom->n * k], *sum = &c[m + atom->m * n];
        if (element == LT_F32)
          *sum = (double)fmaf((float)x, (float)y, (float)*sum);
        else
          *sum = fma(x, y, *sum); /* f64; narrower types are rounded at the end, after one step */
      }
}

/* Bits that differ are those of a and of b, less twice those of both. */
static void add_differences(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  for (int n = 0; n < atom->n; n++)
    for (int k = 0; k < atom->k; k++)
      for (int m = 0; m < atom->m; m++) {
        double x = a[m + atom->m * k], y = b[n + atom->n * k];
        c[m + atom->m * n] += x + y - 2 * x * y;
      }
}

static double wrap(double x) { return x - 4294967296.0 * floor((x + 2147483648.0) / 4294967296.0); }

static double saturate(double x) { return fmin(fmax(x, -2147483648.0), 2147483647.0); }

/* Rounds an atom's sums to the accumulator's type. */
static void finish(const ltT_mma_atom *atom, double *c) {
  for (int i = 0; i < atom->m * atom->n; i++) {
    switch (atom->arithmetic) {
      case LT_FMA:
      case LT_FMA_STEPS: c[i] = round_to(atom->d.element, c[i]); break;
      case LT_SATURATE: c[i] = saturate(c[i]); break;
      default: c[i] = wrap(c[i]);
    }
  }
}

/* One plane of c plus the product of one of a and one of b. */
static void multiply_planes(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  switch (atom->arithmetic) {
    case LT_FMA_STEPS: add_steps(atom, c, a, b); break;
    case LT_XOR: add_differences(atom, c, a, b); break;
    default: add_product(atom, c, a, b);
  }
}

/* Which planes of a and b multiply into which of c. */
typedef struct product {
  int c, a, b;
} product;

enum { RE, IM, SUM, MINUS_IM };

/* (re, im) of c64; Gauss's three sums re*re, im*im, (re+im)*(re+im) of gc64. */
static const product complex_products[] = {
    {0, RE, RE}, {0, MINUS_IM, IM}, {1, RE, IM}, {1, IM, RE}};
static const product gauss_products[] = {{0, RE, RE}, {1, IM, IM}, {2, SUM, SUM}};
static const product real_products[] = {{0, RE, RE}};

static const product *products_of(const ltT_mma_atom *atom, size_t *n) {
  switch (atom->d.element) {
    case LT_C64: *n = 4; return complex_products;
    case LT_GC64: *n = 3; return gauss_products;
    default: *n = 1; return real_products;
  }
}

/* Sum and negated imaginary part, once re and im are there. */
static void derive_planes(tiles *x) {
  if (x->planes_used != 2) return;
  for (int64_t i = 0; i < x->rows * x->columns * x->count; i++) {
    x->planes[SUM][i] = x->planes[RE][i] + x->planes[IM][i];
    x->planes[MINUS_IM][i] = -x->planes[IM][i];
  }
}

static void multiply(const ltT_mma_atom *atom, const counts *n, tiles *c, const tiles *a,
                     const tiles *b) {
  size_t count;
  const product *products = products_of(atom, &count);
  int64_t size_a = atom->m * atom->k, size_b = atom->n * atom->k, size_c = atom->m * atom->n;
  for (int64_t k = 0; k < n->k; k++)
    for (int64_t j = 0; j < n->n; j++)
      for (int64_t i = 0; i < n->m; i++) {
        int64_t at_c = size_c * (i + n->m * j);
        for (size_t p = 0; p < count; p++)
          multiply_planes(atom, c->planes[products[p].c] + at_c,
                          a->planes[products[p].a] + size_a * (i + n->m * k),
                          b->planes[products[p].b] + size_b * (j + n->n * k));
        for (int plane = 0; plane < c->planes_used; plane++) finish(atom, c->planes[plane] + at_c);
      }
}

/* ---- The atom ------------------------------------------------------------------------------- */

static bool check_thread(lt_arena *arena, const ltT_mma_atom *atom, const ltT_fragments *f,
                         const counts *n, const tiles *a, const tiles *b, const tiles *c) {
  counts own;
  if (!count_atoms(arena, atom, f, &own)) return false;
  if (own.m != n->m || own.n != n->n || own.k != n->k) return refuse_shapes(arena, atom, f);
  return check_element(arena, atom, &f->a, &atom->a) &&
         check_element(arena, atom, &f->b, &atom->b) &&
         check_element(arena, atom, &f->c, &atom->c) &&
         check_element(arena, atom, &f->d, &atom->d) && check_values(arena, atom, &f->a, a) &&
         check_values(arena, atom, &f->b, b) && check_values(arena, atom, &f->c, c);
}

static bool prepare(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
                    const counts *n, tiles *a, tiles *b, tiles *c) {
  return new_tiles(arena, a, atom->m, atom->k, atom->a.element, lt_part(value, LT_ATOM_A)) &&
         new_tiles(arena, b, atom->n, atom->k, atom->b.element, lt_part(value, LT_ATOM_B)) &&
         new_tiles(arena, c, atom->m, atom->n, atom->d.element, lt_part(value, LT_ATOM_C)) &&
         allocate_planes(arena, a, n->m * n->k, a->planes_used == 2 ? MAX_PLANES : 1) &&
         allocate_planes(arena, b, n->n * n->k, b->planes_used == 2 ? MAX_PLANES : 1) &&
         allocate_planes(arena, c, n->m * n->n, c->planes_used);
}

bool ltT_mma(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
             ltT_fragments *threads, size_t *culprit) {
  counts n;
  tiles a, b, c;
  size_t size = (size_t)ltT_mma_size(value);
  *culprit = 0;
  if (atom->scale.element != LT_ELEMENT_COUNT) {
    ltA_fail(arena, LT_INVALID,
             "gemm: %s takes block scales, which the host executor has no fragments for",
             atom->name);
    return false;
  }
  if (!count_atoms(arena, atom, &threads[0], &n)) return false;
  if (!prepare(arena, atom, value, &n, &a, &b, &c)) return false;
  for (size_t i = 0; i < size; i++) {
    *culprit = i;
    ltT_fragments *f = &threads[i];
    if (!check_thread(arena, atom, f, &n, &a, &b, &c)) return false;
    /* What comes from shared memory is the whole tile, whoever reads it. */
    bool has_a = atom->a.from_descriptor && i > 0, has_b = atom->b.from_descriptor && i > 0;
    if (!has_a && !gather(arena, &f->a, &atom->a, &a, (int64_t)i)) return false;
    if (!has_b && !gather(arena, &f->b, &atom->b, &b, (int64_t)i)) return false;
    if (!gather(arena, &f->c, &atom->c, &c, (int64_t)i)) return false;
  }
  derive_planes(&a);
  derive_planes(&b);
  multiply(atom, &n, &c, &a, &b);
  for (size_t i = 0; i < size; i++) {
    *culprit = i;
    if (!scatter(arena, &threads[i].d, &c, (int64_t)i)) return false;
  }
  return true;
}
