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

/* ---- Fragments ------------------------------------------------------------------------------ */

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

/* ---- Block scales --------------------------------------------------------------------------- */

static bool has_scales(const ltT_mma_atom *atom) { return atom->scale.element != LT_ELEMENT_COUNT; }

/* Whether the thread brings scales exactly where the atom takes them. */
static bool check_presence(lt_arena *arena, const ltT_mma_atom *atom, const ltT_fragments *f) {
  bool has_a = f->scale_a.buffer != NULL, has_b = f->scale_b.buffer != NULL;
  if (has_a == has_scales(atom) && has_b == has_a) return true;
  ltA_fail(arena, LT_INVALID,
           has_scales(atom) ? "gemm: %s takes block scales: {a, sfa} in place of a, {b, sfb} of b"
                            : "gemm: %s takes no block scales",
           atom->name);
  return false;
}

/* (V,M,K) or (V,N,K), as the operand's own fragment. */
static bool check_scales(lt_arena *arena, const ltT_mma_atom *atom, const lt_tensor *t,
                         const ltT_tiles *x) {
  ltT_operand scale = {.element = atom->scale.element};
  if (!check_element(arena, atom, t, &scale) || !check_values(arena, atom, t, x)) return false;
  if (ltT_size(arena, t) == x->count * x->values) return true;
  ltA_fail(arena, LT_INVALID, "gemm: %s (%v) has scales of %I atoms, where its operand has %I",
           t->name, ltA_shape_of(t->layout), ltT_size(arena, t) / x->values, x->count);
  return false;
}

/*
** Gathers the scales of one operand. Several threads hold those of a row; the hardware takes them
** from the first, as the selectors 0 of CuTe's atoms say.
*/
static bool gather_scales(lt_arena *arena, const ltT_mma_atom *atom, lt_tensor *t, ltT_tiles *x,
                          int64_t thread) {
  ltT_operand scale = {.element = atom->scale.element, .format = atom->scale.element};
  if (!check_scales(arena, atom, t, x)) return false;
  for (int64_t i = 0; i < thread; i++)
    if (x->positions[i] == x->positions[thread]) return true;
  return gather(arena, t, &scale, x, thread);
}

static bool new_scales(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *layout,
                       const ltT_tiles *operand, ltT_tiles *x) {
  return ltT_new_tiles(arena, x, operand->rows, operand->columns, atom->scale.element, layout) &&
         ltT_allocate_planes(arena, x, operand->count);
}

/* Every number of the operand times its block's scale: exact in a double. */
static void scale_tiles(ltT_tiles *operand, const ltT_tiles *scales) {
  for (int64_t i = 0; i < operand->rows * operand->columns * operand->count; i++)
    operand->planes[0][i] *= scales->planes[0][i];
}

static bool apply_scales(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
                         ltT_fragments *threads, ltT_tiles *a, ltT_tiles *b, size_t *culprit) {
  ltT_tiles scales_a, scales_b;
  if (!new_scales(arena, atom, lt_part(value, LT_ATOM_SCALE_A), a, &scales_a) ||
      !new_scales(arena, atom, lt_part(value, LT_ATOM_SCALE_B), b, &scales_b))
    return false;
  int64_t size = ltT_mma_size(value);
  for (int64_t i = 0; i < size; i++) {
    *culprit = (size_t)i;
    if (!gather_scales(arena, atom, &threads[i].scale_a, &scales_a, i) ||
        !gather_scales(arena, atom, &threads[i].scale_b, &scales_b, i))
      return false;
  }
  scale_tiles(a, &scales_a);
  scale_tiles(b, &scales_b);
  return true;
}

/* ---- The atom ------------------------------------------------------------------------------- */

bool ltT_mma(lt_arena *arena, const ltT_mma_atom *atom, const lt_value *value,
             ltT_fragments *threads, size_t *culprit) {
  ltT_counts n;
  ltT_tiles a, b, c;
  size_t size = (size_t)ltT_mma_size(value);
  *culprit = 0;
  if (!count_atoms(arena, atom, &threads[0], &n)) return false;
  if (!prepare(arena, atom, value, &n, &a, &b, &c)) return false;
  for (size_t i = 0; i < size; i++) {
    *culprit = i;
    ltT_fragments *f = &threads[i];
    if (!check_presence(arena, atom, f) || !check_thread(arena, atom, f, &n, &a, &b, &c))
      return false;
    /* What comes from shared memory is the whole tile, whoever reads it. */
    bool has_a = atom->a.from_descriptor && i > 0, has_b = atom->b.from_descriptor && i > 0;
    if (!has_a && !gather(arena, &f->a, &atom->a, &a, (int64_t)i)) return false;
    if (!has_b && !gather(arena, &f->b, &atom->b, &b, (int64_t)i)) return false;
    if (!gather(arena, &f->c, &atom->c, &c, (int64_t)i)) return false;
  }
  if (has_scales(atom) && !apply_scales(arena, atom, value, threads, &a, &b, culprit)) return false;
  ltT_multiply_tiles(atom, &n, &c, &a, &b);
  for (size_t i = 0; i < size; i++) {
    *culprit = i;
    if (!scatter(arena, &threads[i].d, &c, (int64_t)i)) return false;
  }
  return true;
}
