/*
** Running MMA atoms. Fragments are gathered into tiles of doubles, one for each atom's worth of M x K,
** N x K and M x N, multiplied there, and scattered back.
*/
#include "mma.h"

#include "mma_arithmetic.h"

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
                         const ltT_tiles *x) {
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
                        ltT_counts *n) {
  *n = (ltT_counts){mode_size(arena, &f->a, 1), mode_size(arena, &f->b, 1),
                    mode_size(arena, &f->a, 2)};
  bool fits = rank(&f->a) == rank(&f->b) && rank(&f->a) <= 3 && rank(&f->c) <= 3 &&
              (rank(&f->a) < 2 || rank(&f->c) == 3 || n->m * n->n == 1) &&
              mode_size(arena, &f->b, 2) == n->k && mode_size(arena, &f->c, 1) == n->m &&
              mode_size(arena, &f->c, 2) == n->n && mode_size(arena, &f->d, 1) == n->m &&
              mode_size(arena, &f->d, 2) == n->n;
  return fits || refuse_shapes(arena, atom, f);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

/* Where each (thread, value) of an atom's layout stands in its tile. */
static bool read_positions(lt_arena *arena, const lt_value *layout, ltT_tiles *x) {
  ltT_buffer tile = {.size = (size_t)(x->rows * x->columns)};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &tile, .name = "atom"};
  int64_t n;
  x->positions = ltT_offsets(arena, "gemm", &t, &n, LT_READ);
  x->threads = mode_size(arena, &t, 0);
  x->values = mode_size(arena, &t, 1);
  return x->positions != NULL;
}

bool ltT_new_tiles(lt_arena *arena, ltT_tiles *x, int64_t rows, int64_t columns, lt_element element,
                   const lt_value *layout) {
  *x = (ltT_tiles){.rows = rows, .columns = columns, .planes_used = ltT_parts(element)};
  return read_positions(arena, layout, x);
}

bool ltT_allocate_planes(lt_arena *arena, ltT_tiles *x, int64_t count) {
  int planes = x->planes_used == 2 ? LTT_MAX_PLANES : x->planes_used;
  x->count = count;
  size_t size = (size_t)(x->rows * x->columns * count) * sizeof(double);
  for (int i = 0; i < planes; i++) x->planes[i] = ltA_new_bytes(arena, size);
  return !ltA_failed(arena);
}

/* Moves the values of one thread between its fragment and the tiles. */
static bool gather(lt_arena *arena, lt_tensor *t, const ltT_operand *operand, ltT_tiles *x,
                   int64_t thread) {
  int64_t n;
  const int64_t *offsets = ltT_offsets(arena, "gemm", t, &n, LT_READ);
  if (offsets == NULL) return false;
  for (int64_t i = 0; i < n; i++) {
    double parts[3];
    ltT_load_operand(operand, t->buffer->bytes, offsets[i], parts);
    int64_t tile = i / x->values, value = i % x->values;
    int64_t place = tile * x->rows * x->columns + x->positions[thread + x->threads * value];
    for (int plane = 0; plane < x->planes_used; plane++) x->planes[plane][place] = parts[plane];
  }
  return true;
}

static bool scatter(lt_arena *arena, lt_tensor *t, const ltT_tiles *x, int64_t thread) {
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

/* ---- The atom ------------------------------------------------------------------------------- */

static bool check_thread(lt_arena *arena, const ltT_mma_atom *atom, const ltT_fragments *f,
                         const ltT_counts *n, const ltT_tiles *a, const ltT_tiles *b,
                         const ltT_tiles *c) {
  ltT_counts own;
  if (!count_atoms(arena, atom, f, &own)) return false;
  if (own.m != n->m || own.n != n->n || own.k != n->k) return refuse_shapes(arena, atom, f);
  return check_element(arena, atom, &f->a, &atom->a) &&
         check_element(arena, atom, &f->b, &atom->b) &&
         check_element(arena, atom, &f->c, &atom->c) &&
         check_element(arena, atom, &f->d, &atom->d) && check_values(arena, atom, &f->a, a) &&
         check_values(arena, atom, &f->b, b) && check_values(arena, atom, &f->c, c);
}

static bool prepare(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
                    const ltT_counts *n, ltT_tiles *a, ltT_tiles *b, ltT_tiles *c) {
  return ltT_new_tiles(arena, a, atom->m, atom->k, atom->a.element, lt_part(value, LT_ATOM_A)) &&
         ltT_new_tiles(arena, b, atom->n, atom->k, atom->b.element, lt_part(value, LT_ATOM_B)) &&
         ltT_new_tiles(arena, c, atom->m, atom->n, atom->d.element, lt_part(value, LT_ATOM_C)) &&
         ltT_allocate_planes(arena, a, n->m * n->k) && ltT_allocate_planes(arena, b, n->n * n->k) &&
         ltT_allocate_planes(arena, c, n->m * n->n);
}

bool ltT_mma(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
             ltT_fragments *threads, size_t *culprit) {
  ltT_counts n;
  ltT_tiles a, b, c;
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
  ltT_multiply_tiles(atom, &n, &c, &a, &b);
  for (size_t i = 0; i < size; i++) {
    *culprit = i;
    if (!scatter(arena, &threads[i].d, &c, (int64_t)i)) return false;
  }
  return true;
}
