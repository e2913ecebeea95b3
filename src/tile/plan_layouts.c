/*
** What the blocks of a planned product have in common: offsets of tiles, copies and fragments.
*/
#include "plan_gemm.h"

#define OPERATION "host_gemm"

static bool fail(lt_arena *arena, const char *format, const char *name, const lt_value *v) {
  ltA_fail(arena, LT_INVALID, format, OPERATION, name, v);
  return false;
}

static const lt_value *tile_layout(lt_arena *arena, int64_t m, int64_t n) {
  const lt_value *shape[] = {lt_integer(arena, m), lt_integer(arena, n)};
  if (ltA_failed(arena)) return NULL;
  return lt_make_layout(arena, lt_tuple(arena, shape, 2), NULL);
}

/* All offsets of a layout of memory, which are below 'end'. */
static const int64_t *read_offsets(lt_arena *arena, const char *name, const lt_value *layout,
                                   int64_t end, int64_t *n) {
  if (ltA_failed(arena)) return NULL;
  ltT_buffer all = {.size = (size_t)end};
  lt_tensor t = {.element = LT_U8, .layout = layout, .buffer = &all, .name = name};
  return ltT_offsets(arena, OPERATION, &t, n, LT_READ);
}

/* ---- Matrices ------------------------------------------------------------------------------- */

static int64_t mode_size(lt_arena *arena, const lt_tensor *t, size_t mode) {
  return ltA_product(arena, ltA_element(ltA_shape_of(t->layout), mode)).value;
}

static bool check_matrix(lt_arena *arena, lt_tensor *t) {
  int64_t n;
  if (ltA_rank(ltA_shape_of(t->layout)) != 2)
    return fail(arena, "%s: %s (%v) is no matrix of two modes", t->name, t->layout);
  ltA_mark mark = ltA_get_mark(arena);
  const ltT_counter *counter = t->counter;
  t->counter = NULL; /* this is no access of the kernel's */
  bool fits = ltT_offsets(arena, OPERATION, t, &n, LT_READ) != NULL;
  t->counter = counter;
  if (fits) ltA_release(arena, mark);
  return fits;
}

/* Offsets along one mode, from the layout's origin on. */
static const int64_t *mode_offsets(lt_arena *arena, const lt_tensor *t, int64_t count,
                                   int64_t step) {
  int64_t *at = ltA_new_bytes(arena, (size_t)(count > 0 ? count : 1) * sizeof *at);
  if (at == NULL) return NULL;
  for (int64_t i = 0; i < count; i++)
    if (!lt_offset(t->layout, i * step, &at[i])) return NULL;
  return at;
}

static bool read_matrix(lt_arena *arena, ltT_plan_side *s) {
  if (!check_matrix(arena, &s->matrix)) return false;
  s->extent[0] = mode_size(arena, &s->matrix, 0);
  s->extent[1] = mode_size(arena, &s->matrix, 1);
  if (s->extent[0] == 0 || s->extent[1] == 0 || !ltA_is_layout(s->matrix.layout)) return true;
  s->matrix_at[0] = mode_offsets(arena, &s->matrix, s->extent[0], 1);
  s->matrix_at[1] = mode_offsets(arena, &s->matrix, s->extent[1], s->extent[0]);
  return !ltA_failed(arena);
}

bool ltT_plan_matrix_offset(const ltT_plan_side *s, int64_t row, int64_t k, int64_t *offset) {
  if (s->matrix_at[0] != NULL && s->matrix_at[1] != NULL) {
    *offset = s->matrix.offset + s->matrix_at[0][row] + s->matrix_at[1][k];
    return true;
  }
  int64_t at;
  if (!lt_offset(s->matrix.layout, row + s->extent[0] * k, &at)) return false;
  *offset = s->matrix.offset + at;
  return true;
}

/* ---- Tiles and copies ----------------------------------------------------------------------- */

static bool read_shared(lt_arena *arena, const ltT_plan_operand *planned, ltT_plan_side *s) {
  const lt_value *layout = planned->shared;
  const lt_value *tile = tile_layout(arena, s->rows, s->k);
  if (layout == NULL && tile != NULL)
    layout = lt_make_layout(arena, lt_shape(tile), lt_layout_right(arena));
  if (layout == NULL) return false;
  s->shared = (lt_tensor){.element = s->operand->element, .layout = layout, .name = s->shared.name};
  bool is_matrix = ltA_rank(ltA_shape_of(layout)) == 2 &&
                   mode_size(arena, &s->shared, 0) == s->rows &&
                   mode_size(arena, &s->shared, 1) == s->k;
  if (!is_matrix)
    return fail(arena, "%s: %s has the layout %v, which is not that of a block's tile",
                s->shared.name, layout);
  int64_t n;
  s->stage_elements = ltT_extent(arena, OPERATION, layout);
  s->shared_at = read_offsets(arena, s->shared.name, layout, s->stage_elements, &n);
  return s->shared_at != NULL;
}

/* Elements along k that 16 bytes hold, as far as they divide the tile. */
static int64_t default_vector(const ltT_plan_side *s) {
  int64_t vector = ltT_most_vector(s->operand->element);
  while (vector > 1 && s->k % vector != 0) vector /= 2;
  return vector;
}

/* Vectors along k in turn: thread t takes the t-th, the one 'threads' further, and so on. */
static const int64_t *copy_in_turn(lt_arena *arena, ltT_plan_side *s, int64_t threads) {
  int64_t vector = default_vector(s), along = s->k / vector, count = along * s->rows;
  s->copy_threads = threads;
  s->copies = (count + threads - 1) / threads * vector;
  int64_t *copy = ltA_new_bytes(arena, (size_t)(s->copies * threads) * sizeof *copy);
  if (copy == NULL) return NULL;
  for (int64_t value = 0; value < s->copies; value++)
    for (int64_t thread = 0; thread < threads; thread++) {
      int64_t i = thread + threads * (value / vector);
      int64_t k = i % along * vector + value % vector;
      copy[value * threads + thread] = i < count ? i / along + s->rows * k : -1;
    }
  return copy;
}

static bool read_copy(lt_arena *arena, const ltT_plan_operand *planned, ltT_plan_side *s,
                      int64_t threads) {
  const lt_value *layout = planned->copy;
  if (layout == NULL) return (s->copy = copy_in_turn(arena, s, threads)) != NULL;
  int64_t n;
  if (ltA_rank(ltA_shape_of(layout)) != 2)
    return fail(arena, "%s: the copies of %s, %v, are no layout (thread, value)", s->matrix.name,
                layout);
  s->copy = read_offsets(arena, "copy", layout, s->rows * s->k, &n);
  if (s->copy == NULL) return false;
  lt_tensor t = {.layout = layout};
  s->copy_threads = mode_size(arena, &t, 0);
  s->copies = mode_size(arena, &t, 1);
  if (s->copy_threads <= threads) return true;
  return fail(arena, "%s: the copies of %s, %v, take more threads than the block has",
              s->matrix.name, layout);
}

/* Values of a thread that lie side by side on both sides: what one copy moves at most. */
static int64_t find_vector(const ltT_plan_side *s, bool is_planned) {
  int64_t most = ltT_most_vector(s->operand->element), vector = 1;
  if (!is_planned) most = default_vector(s); /* further ones may not be there */
  while (vector < most && vector < s->copies) {
    int64_t step = s->copy[vector * s->copy_threads];
    bool is_next = step >= 0 && s->shared_at[step] == s->shared_at[s->copy[0]] + vector;
    if (!is_next) break;
    vector++;
  }
  while (s->copies % vector != 0) vector--;
  return vector;
}

/* ---- Fragments ------------------------------------------------------------------------------ */

static int64_t count_registers(const ltT_plan_side *s) {
  return s->operand->from_descriptor ? 0 : s->values;
}

static bool read_fragment(ltT_gemm_run *run, ltT_matrix matrix, ltT_plan_side *s) {
  int64_t n;
  const lt_value *tile = tile_layout(run->arena, s->rows, s->k);
  const lt_value *parts = ltT_thrfrg(run->arena, run->plan->mma, matrix, tile);
  s->fragment = read_offsets(run->arena, s->shared.name, parts, s->rows * s->k, &n);
  if (s->fragment == NULL) return false;
  s->slots = run->groups[0] * (matrix == LT_MATRIX_A ? run->groups[1] : run->groups[2]);
  s->values = n / s->slots;
  s->register_bytes = ltT_bytes(s->operand->element, count_registers(s));
  const ltT_mma_atom *atom = run->plan->atom;
  const lt_value *value = lt_part(run->plan->mma, LT_MMA_ATOM);
  bool is_a = matrix == LT_MATRIX_A;
  return ltT_new_tiles(run->arena, &s->tiles, is_a ? atom->m : atom->n, atom->k,
                       s->operand->element, lt_part(value, is_a ? LT_ATOM_A : LT_ATOM_B)) &&
         ltT_allocate_planes(run->arena, &s->tiles,
                             (is_a ? run->counts.m : run->counts.n) * run->counts.k);
}

static bool read_result(ltT_gemm_run *run) {
  int64_t n;
  const ltT_gemm_plan *plan = run->plan;
  const lt_value *tile = tile_layout(run->arena, plan->tile[0], plan->tile[1]);
  const lt_value *parts = ltT_thrfrg(run->arena, plan->mma, LT_MATRIX_C, tile);
  run->result = read_offsets(run->arena, "accumulators", parts, plan->tile[0] * plan->tile[1], &n);
  if (run->result == NULL) return false;
  run->result_values = n / (run->groups[0] * run->groups[1] * run->groups[2]);
  run->accumulator_bytes = ltT_bytes(plan->atom->d.element, run->result_values);
  const lt_value *atom = lt_part(plan->mma, LT_MMA_ATOM);
  return ltT_new_tiles(run->arena, &run->result_tiles, plan->atom->m, plan->atom->n,
                       plan->atom->d.element, lt_part(atom, LT_ATOM_C)) &&
         ltT_allocate_planes(run->arena, &run->result_tiles, run->counts.m * run->counts.n);
}

/* ---- The plan ------------------------------------------------------------------------------- */

/* Threads (V, M, N, K) of the TiledMMA. */
static bool read_threads(ltT_gemm_run *run) {
  lt_arena *arena = run->arena;
  const lt_value *threads = ltT_mma_threads(run->plan->mma), *shape = ltA_shape(threads);
  int64_t n, extents[4];
  for (size_t i = 0; i < 4; i++) extents[i] = ltA_product(arena, ltA_element(shape, i)).value;
  if (extents[3] != 1)
    return fail(arena, "%s: %s %v has atoms side by side in K, whose sums nobody adds up",
                "the thread layout", threads);
  for (int i = 0; i < 3; i++) run->groups[i] = extents[i];
  run->threads = ltT_extent(arena, OPERATION, threads);
  run->thread_of = read_offsets(arena, "threads", threads, run->threads, &n);
  return run->thread_of != NULL;
}

static bool check_tile(ltT_gemm_run *run) {
  const lt_value *shape = ltT_tile_shape(run->arena, run->plan->mma);
  if (shape == NULL) return false;
  const int64_t *tile = run->plan->tile;
  bool fits = run->plan->stages >= 1;
  for (size_t i = 0; i < 3; i++) {
    int64_t extent = ltA_product(run->arena, ltA_element(shape, i)).value;
    fits = fits && tile[i] >= extent && tile[i] % extent == 0;
  }
  if (!fits)
    ltA_fail(run->arena, LT_INVALID,
             "%s: a block's tile (%I,%I,%I) is no multiple of the TiledMMA's %v, or has no stage",
             OPERATION, tile[0], tile[1], tile[2], shape);
  const ltT_mma_atom *atom = run->plan->atom;
  run->counts = (ltT_counts){tile[0] / (atom->m * run->groups[1]),
                             tile[1] / (atom->n * run->groups[2]), tile[2] / atom->k};
  return fits;
}

static bool check_extents(ltT_gemm_run *run) {
  const ltT_plan_side *a = &run->sides[0], *b = &run->sides[1];
  if (!check_matrix(run->arena, &run->d)) return false;
  int64_t m = mode_size(run->arena, &run->d, 0), n = mode_size(run->arena, &run->d, 1);
  bool fits = a->extent[0] == m && b->extent[0] == n && a->extent[1] == b->extent[1];
  if (fits && run->c.buffer != NULL) {
    if (!check_matrix(run->arena, &run->c)) return false;
    fits = mode_size(run->arena, &run->c, 0) == m && mode_size(run->arena, &run->c, 1) == n;
  }
  if (!fits)
    ltA_fail(run->arena, LT_INVALID, "%s: A %v, B %v and D %v are not (M,K), (N,K) and (M,N)",
             OPERATION, ltA_shape_of(a->matrix.layout), ltA_shape_of(b->matrix.layout),
             ltA_shape_of(run->d.layout));
  run->size[0] = m;
  run->size[1] = n;
  run->size[2] = a->extent[1];
  for (int i = 0; i < 2; i++)
    run->grid[i] = (run->size[i] + run->plan->tile[i] - 1) / run->plan->tile[i];
  return fits;
}

static bool check_atom(ltT_gemm_run *run) {
  if (run->plan->atom->scale.element == LT_ELEMENT_COUNT) return true;
  ltA_fail(run->arena, LT_INVALID, "%s: %s takes block scales, which plans do not have", OPERATION,
           run->plan->atom->name);
  return false;
}

static bool prepare_side(ltT_gemm_run *run, int i) {
  static const char *const names[] = {"A in shared memory", "B in shared memory"};
  ltT_plan_side *s = &run->sides[i];
  const ltT_gemm_plan *plan = run->plan;
  s->operand = i == 0 ? &plan->atom->a : &plan->atom->b;
  s->rows = plan->tile[i];
  s->k = plan->tile[2];
  s->shared.name = names[i];
  if (!read_matrix(run->arena, s) || !read_shared(run->arena, &plan->operands[i], s) ||
      !read_copy(run->arena, &plan->operands[i], s, run->threads) ||
      !read_fragment(run, i == 0 ? LT_MATRIX_A : LT_MATRIX_B, s))
    return false;
  s->vector = find_vector(s, plan->operands[i].copy != NULL);
  run->shared_bytes += ltT_bytes(s->operand->element, s->stage_elements * plan->stages);
  return true;
}

bool ltT_prepare_gemm(ltT_gemm_run *run) {
  return check_atom(run) && read_threads(run) && check_tile(run) && prepare_side(run, 0) &&
         prepare_side(run, 1) && check_extents(run) && read_result(run) && !ltA_failed(run->arena);
}
