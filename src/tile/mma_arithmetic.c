/*
** The arithmetic of MMA atoms, on tiles of doubles.
**
** Products of the atoms' narrow types are exact in a double. The sum over an atom's K, the
** accumulator included, is formed in 53 bits and rounded once to the accumulator's type: tensor
** cores align and add all products of an instruction at once, in a width that is not documented.
*/
#include "mma_arithmetic.h"

#include <math.h>

/* The number in an element whose register holds a narrower format. */
static double load_format(const ltT_operand *operand, const uint8_t *bytes, int64_t i) {
  uint64_t pattern = (uint64_t)ltT_load(operand->element, bytes, i).re;
  return ltT_decode(operand->format, pattern >> operand->shift);
}

void ltT_load_operand(const ltT_operand *operand, const uint8_t *bytes, int64_t i, double *parts) {
  if (operand->element == operand->format)
    ltT_load_parts(operand->element, bytes, i, parts);
  else
    parts[0] = load_format(operand, bytes, i);
}

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

/* The same modulo 2^32: exact where a double has not all bits of a product. */
static void add_modulo(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  for (int n = 0; n < atom->n; n++)
    for (int k = 0; k < atom->k; k++)
      for (int m = 0; m < atom->m; m++) {
        uint32_t x = (uint32_t)(int64_t)a[m + atom->m * k];
        uint32_t y = (uint32_t)(int64_t)b[n + atom->n * k];
        c[m + atom->m * n] += (double)(uint32_t)(x * y);
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

static bool has_long_products(const ltT_mma_atom *atom) {
  return atom->a.element == LT_S32 && atom->b.element == LT_S32;
}

/* One plane of c plus the product of one of a and one of b. */
static void multiply_planes(const ltT_mma_atom *atom, double *c, const double *a, const double *b) {
  switch (atom->arithmetic) {
    case LT_WRAP: (has_long_products(atom) ? add_modulo : add_product)(atom, c, a, b); break;
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

/* The plane of an operand that stands for 'plane'; NULL where that is 0: of a real one, all but re. */
static const double *plane_of(const ltT_tiles *x, int plane) {
  if (x->planes_used == 1 && plane == SUM) return x->planes[RE];
  if (x->planes_used == 1 && plane != RE) return NULL;
  return x->planes[plane];
}

/* Sum and negated imaginary part, once re and im are there. */
static void derive_planes(ltT_tiles *x) {
  if (x->planes_used != 2) return;
  for (int64_t i = 0; i < x->rows * x->columns * x->count; i++) {
    x->planes[SUM][i] = x->planes[RE][i] + x->planes[IM][i];
    x->planes[MINUS_IM][i] = -x->planes[IM][i];
  }
}

/* c += a * b for the tiles of one atom, of which these are the places in the planes. */
static void multiply_atom(const ltT_mma_atom *atom, ltT_tiles *c, int64_t at_c, const ltT_tiles *a,
                          int64_t at_a, const ltT_tiles *b, int64_t at_b) {
  size_t count;
  const product *products = products_of(atom, &count);
  for (size_t p = 0; p < count; p++) {
    const double *x = plane_of(a, products[p].a), *y = plane_of(b, products[p].b);
    if (x != NULL && y != NULL)
      multiply_planes(atom, c->planes[products[p].c] + at_c, x + at_a, y + at_b);
  }
  for (int plane = 0; plane < c->planes_used; plane++) finish(atom, c->planes[plane] + at_c);
}

void ltT_multiply_tiles(const ltT_mma_atom *atom, const ltT_counts *n, ltT_tiles *c, ltT_tiles *a,
                        ltT_tiles *b) {
  derive_planes(a);
  derive_planes(b);
  int64_t size_a = atom->m * atom->k, size_b = atom->n * atom->k, size_c = atom->m * atom->n;
  for (int64_t k = 0; k < n->k; k++)
    for (int64_t j = 0; j < n->n; j++)
      for (int64_t i = 0; i < n->m; i++)
        multiply_atom(atom, c, size_c * (i + n->m * j), a, size_a * (i + n->m * k), b,
                      size_b * (j + n->n * k));
}
