/*
** gemm over the scalar multiply-add: CuTe's dispatch by rank, without an atom.
*/
#include <math.h>

#include "tensor.h"

/* Extents, and the offsets of the operands' elements, K outermost in a and b. */
typedef struct problem {
  int64_t m, n, k;
  const int64_t *a, *b, *c, *d;
} problem;

static int64_t extent(lt_arena *arena, const lt_tensor *t, size_t mode) {
  const lt_value *shape = ltA_shape_of(t->layout);
  if (!ltA_is_tuple(shape)) return ltA_product(arena, shape).value;
  return ltA_product(arena, ltA_element(shape, mode)).value;
}

static size_t rank(const lt_tensor *t) { return ltA_rank(ltA_shape_of(t->layout)); }

static bool refuse(lt_arena *arena, const lt_tensor *a, const lt_tensor *b, const lt_tensor *c) {
  ltA_fail(arena, LT_INVALID,
           "gemm: shapes %v x %v -> %v do not match: without an atom these are (M) x (N) -> (M,N), "
           "(M,K) x (N,K) -> (M,N), (V) x (V) -> (V), or (1,M,K) x (1,N,K) -> (1,M,N)",
           ltA_shape_of(a->layout), ltA_shape_of(b->layout), ltA_shape_of(c->layout));
  return false;
}

/*
** Reads the extents off the operands' ranks. Behind a mode of values (rank 3 of c) the scalar
** multiply-add takes one value a time, so that mode has size 1.
*/
static bool match(lt_arena *arena, const lt_tensor *a, const lt_tensor *b, const lt_tensor *c,
                  problem *p) {
  size_t behind = rank(c) == 3 ? 1 : 0;
  if (rank(a) != rank(b) || rank(c) != 2 + behind) return refuse(arena, a, b, c);
  if (rank(a) < 1 + behind || rank(a) > 2 + behind) return refuse(arena, a, b, c);
  bool has_k = rank(a) == 2 + behind;
  *p = (problem){.m = extent(arena, a, behind),
                 .n = extent(arena, b, behind),
                 .k = has_k ? extent(arena, a, behind + 1) : 1};
  if (has_k && extent(arena, b, behind + 1) != p->k) return refuse(arena, a, b, c);
  if (extent(arena, c, behind) != p->m || extent(arena, c, behind + 1) != p->n)
    return refuse(arena, a, b, c);
  if (behind && (extent(arena, a, 0) != 1 || extent(arena, b, 0) != 1 || extent(arena, c, 0) != 1))
    return refuse(arena, a, b, c);
  return !ltA_failed(arena);
}

/* d = c + a * b, the way d's type does it. */
static lt_number multiply_add(lt_element element, lt_number a, lt_number b, lt_number c) {
  lt_number d = {0, 0};
  if (element == LT_F32)
    d.re = (double)fmaf((float)a.re, (float)b.re, (float)c.re);
  else if (ltT_type_of(element)->class == LT_COMPLEX)
    d = (lt_number){fma(-a.im, b.im, fma(a.re, b.re, c.re)),
                    fma(a.im, b.re, fma(a.re, b.im, c.im))};
  else
    d.re = fma(a.re, b.re, c.re);
  return d;
}

static lt_number load(const lt_tensor *t, int64_t offset) {
  return ltT_load(t->element, t->buffer->bytes, offset);
}

static void multiply(const problem *p, lt_tensor *d, const lt_tensor *a, const lt_tensor *b,
                     const lt_tensor *c) {
  for (int64_t j = 0; j < p->n; j++) {
    for (int64_t i = 0; i < p->m; i++) {
      const lt_tensor *addend = c;
      const int64_t *addend_offsets = p->c;
      for (int64_t l = 0; l < p->k; l++) {
        lt_number sum =
            multiply_add(d->element, load(a, p->a[i + p->m * l]), load(b, p->b[j + p->n * l]),
                         load(addend, addend_offsets[i + p->m * j]));
        ltT_store(d->element, d->buffer->bytes, p->d[i + p->m * j], sum);
        addend = d; /* the later steps add to d */
        addend_offsets = p->d;
      }
    }
  }
}

/* (V) x (V) -> (V): element by element, an outer product of no modes for each. */
static void multiply_elements(const problem *p, lt_tensor *d, const lt_tensor *a,
                              const lt_tensor *b, const lt_tensor *c) {
  for (int64_t i = 0; i < p->m; i++) {
    lt_number sum = multiply_add(d->element, load(a, p->a[i]), load(b, p->b[i]), load(c, p->c[i]));
    ltT_store(d->element, d->buffer->bytes, p->d[i], sum);
  }
}

bool ltT_gemm(lt_arena *arena, lt_tensor *d, lt_tensor *a, lt_tensor *b, lt_tensor *c) {
  problem p = {0};
  int64_t n;
  bool by_element = rank(a) == 1 && rank(b) == 1 && rank(c) == 1;
  if (!ltT_check_sizes(arena, "gemm", d, c)) return false;
  if (by_element) {
    if (!ltT_check_sizes(arena, "gemm", a, c) || !ltT_check_sizes(arena, "gemm", b, c))
      return false;
    p.m = ltT_size(arena, a);
  } else if (!match(arena, a, b, c, &p)) {
    return false;
  }
  p.a = ltT_offsets(arena, "gemm", a, &n, LT_READ);
  p.b = ltT_offsets(arena, "gemm", b, &n, LT_READ);
  p.c = ltT_offsets(arena, "gemm", c, &n, LT_READ);
  p.d = ltT_offsets(arena, "gemm", d, &n, LT_WRITE);
  if (ltA_failed(arena)) return false;
  (by_element ? multiply_elements : multiply)(&p, d, a, b, c);
  return true;
}
