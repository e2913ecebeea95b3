/*
** Running the blocks of a planned product.
*/
#include "plan_gemm.h"

#define OPERATION "host_gemm"

const char *const ltT_plan_sites[LTT_PLAN_SITES] = {"elsewhere",      "copy of A",      "copy of B",
                                                    "fragments of A", "fragments of B", "results"};

/* ---- Memory --------------------------------------------------------------------------------- */

static bool allocate_shared(ltT_gemm_run *run, ltT_plan_side *s) {
  ltT_buffer *b = ltA_new_bytes(run->arena, sizeof *b);
  size_t size = ltT_bytes(s->operand->element, s->stage_elements * run->plan->stages);
  uint8_t *bytes = ltA_new_bytes(run->arena, size);
  if (b == NULL || bytes == NULL) return false;
  memset(bytes, 0, size);
  *b = (ltT_buffer){.bytes = bytes, .size = size, .space = LT_SHARED};
  s->shared.buffer = b;
  s->shared.counter = run->counter;
  if (run->actor == NULL) return true;
  void *place = ltA_new_bytes(run->arena, ltT_shadow_size(size, true));
  if (place == NULL) return false;
  b->shadow = ltT_new_shadow(place, size, true, run->actor);
  return true;
}

/* New for each block. */
static void clear_shared(ltT_gemm_run *run) {
  for (int i = 0; i < 2; i++) {
    ltT_buffer *b = run->sides[i].shared.buffer;
    memset(b->bytes, 0, b->size);
    if (b->shadow != NULL) ltT_new_shadow(b->shadow, b->size, true, run->actor);
  }
}

static int64_t count_slots(const ltT_gemm_run *run) {
  return run->groups[0] * run->groups[1] * run->groups[2];
}

/* Whole words, so that no element of one thread shares a byte with one of the next. */
static size_t padded(size_t bytes) { return (bytes + 7) & ~(size_t)7; }

bool ltT_allocate_gemm(ltT_gemm_run *run) {
  size_t slots = (size_t)count_slots(run);
  for (int i = 0; i < 2; i++) {
    ltT_plan_side *s = &run->sides[i];
    size_t bytes = padded(ltT_bytes(s->operand->element, s->values));
    s->registers = ltA_new_bytes(run->arena, bytes * slots);
    if (s->registers == NULL || !allocate_shared(run, s)) return false;
    memset(s->registers, 0, bytes * slots); /* elements narrower than a byte keep its other bits */
  }
  run->accumulators = ltA_new_bytes(run->arena, padded(run->accumulator_bytes) * slots);
  return run->accumulators != NULL;
}

static uint8_t *registers_of(const ltT_plan_side *s, int64_t slot) {
  return s->registers + padded(ltT_bytes(s->operand->element, s->values)) * (size_t)slot;
}

static uint8_t *accumulators_of(const ltT_gemm_run *run, int64_t slot) {
  return run->accumulators + padded(run->accumulator_bytes) * (size_t)slot;
}

/* ---- Elements ------------------------------------------------------------------------------- */

/* Elements of one type move bit for bit. */
static void move(lt_element to, uint8_t *target, int64_t i, lt_element from, const uint8_t *source,
                 int64_t j) {
  int bits = from == to ? ltT_type_of(to)->bits : 0;
  switch (bits) {
    case 8: target[i] = source[j]; break;
    case 16: memcpy(target + 2 * i, source + 2 * j, 2); break;
    case 32: memcpy(target + 4 * i, source + 4 * j, 4); break;
    case 64: memcpy(target + 8 * i, source + 8 * j, 8); break;
    default: ltT_store(to, target, i, ltT_load(from, source, j));
  }
}

/* Says who accesses memory, and from where. */
static void act(ltT_gemm_run *run, lt_tensor *t, int thread, int site) {
  t->thread = thread;
  run->culprit = thread;
  if (run->actor != NULL) run->actor->site = (uint16_t)site;
}

static bool access(ltT_gemm_run *run, lt_tensor *t, int64_t index, const int64_t *offsets, size_t n,
                   ltT_access kind) {
  if (run->actor == NULL) return true;
  return ltT_access_elements(run->arena, OPERATION, t, offsets, n, index, kind);
}

/* Which of the offsets is at fault. */
static int64_t find_fault(const lt_tensor *t, const int64_t *offsets, int64_t n) {
  int64_t i = 0;
  while (i < n - 1 && offsets[i] != t->fault.offset) i++;
  return i;
}

/* Says the message again, for the element at 'index' of the tile. */
static bool name_fault(ltT_gemm_run *run, lt_tensor *t, int64_t index) {
  if (t->fault.kind == LT_NO_FAULT) return false;
  t->fault.index = index;
  run->arena->error->status = LT_OK;
  return ltT_fail_fault(run->arena, OPERATION, t) != NULL;
}

/* ---- Copies to shared memory ---------------------------------------------------------------- */

/* A vector of one thread's values, all of one copy. */
typedef struct vector {
  int64_t from[128], to[128]; /* offsets; 'from' -1: beyond the matrix */
  int64_t index[128];         /* in the tile */
} vector;

static bool find_elements(const ltT_gemm_run *run, const ltT_plan_side *s, const int64_t corner[2],
                          int64_t thread, int64_t value, vector *v) {
  for (int64_t i = 0; i < s->vector; i++) {
    int64_t index = s->copy[(value + i) * s->copy_threads + thread];
    v->index[i] = index;
    if (index < 0) return false; /* the last round is not full */
    int64_t row = corner[0] + index % s->rows, k = corner[1] + index / s->rows;
    bool is_inside = row < s->extent[0] && k < s->extent[1];
    v->to[i] = s->shared.offset + s->shared_at[index];
    if (!is_inside)
      v->from[i] = -1;
    else if (!ltT_plan_matrix_offset(s, row, k, &v->from[i]))
      return ltA_fail(run->arena, LT_INVALID, "%s: %v has no offsets in memory", OPERATION,
                      s->matrix.layout) != NULL;
  }
  return true;
}

/* Reads what is inside of the matrix, one access where it lies side by side. */
static bool read_global(ltT_gemm_run *run, ltT_plan_side *s, const vector *v) {
  if (run->counter == NULL) return true;
  int64_t there[128];
  size_t n = 0;
  for (int64_t i = 0; i < s->vector; i++)
    if (v->from[i] >= 0) there[n++] = v->from[i];
  s->matrix.vector = (int)s->vector;
  return n == 0 || access(run, &s->matrix, 0, there, n, LT_READ);
}

static bool copy_vector(ltT_gemm_run *run, ltT_plan_side *s, const vector *v) {
  uint8_t *shared = s->shared.buffer->bytes;
  const uint8_t *global = s->matrix.buffer->bytes;
  s->shared.vector = (int)s->vector;
  if (!read_global(run, s, v)) return false;
  if (!access(run, &s->shared, 0, v->to, (size_t)s->vector, LT_WRITE))
    return name_fault(run, &s->shared, v->index[find_fault(&s->shared, v->to, s->vector)]);
  for (int64_t i = 0; i < s->vector; i++) {
    if (v->from[i] < 0)
      ltT_store(s->operand->element, shared, v->to[i], (lt_number){0, 0});
    else
      move(s->operand->element, shared, v->to[i], s->matrix.element, global, v->from[i]);
  }
  return true;
}

static bool copy_tile(ltT_gemm_run *run, int side, int64_t step) {
  ltT_plan_side *s = &run->sides[side];
  int64_t corner[2] = {run->block[side] * s->rows, step * s->k};
  s->shared.offset = step % run->plan->stages * s->stage_elements;
  for (int64_t thread = 0; thread < s->copy_threads; thread++) {
    act(run, &s->shared, (int)thread, LTT_SITE_LOAD_A + side);
    s->matrix.thread = (int)thread;
    if (run->order != NULL) s->shared.flight.group = run->order->groups[thread].committed + 1;
    for (int64_t value = 0; value < s->copies; value += s->vector) {
      vector v;
      if (find_elements(run, s, corner, thread, value, &v) && !copy_vector(run, s, &v))
        return false;
      if (ltA_failed(run->arena)) return false;
    }
  }
  s->shared.flight.group = 0;
  return true;
}

/* Copies tile 'step' of both, if there is one, and closes the threads' groups. */
static bool copy_tiles(ltT_gemm_run *run, int64_t step, int64_t steps) {
  if (step < steps && !(copy_tile(run, 0, step) && copy_tile(run, 1, step))) return false;
  for (int64_t t = 0; run->order != NULL && t < run->threads; t++)
    ltT_commit_group(&run->order->groups[t]);
  return true;
}

/* All threads wait for their groups but 'pending'. */
static void wait_groups(ltT_gemm_run *run, int64_t pending) {
  for (int64_t t = 0; run->order != NULL && t < run->threads; t++)
    ltT_wait_groups(&run->order->groups[t], (uint32_t)pending);
}

static void barrier(ltT_gemm_run *run) {
  if (run->actor == NULL) return;
  run->actor->epoch++;
  ltT_meet(run->order, 0, (int)run->threads, true);
}

/* ---- Fragments ------------------------------------------------------------------------------ */

/* The slot of an operand for the thread at (v, m, n). */
static int64_t operand_slot(const ltT_gemm_run *run, int side, const int64_t vmn[3]) {
  return vmn[0] + run->groups[0] * (side == 0 ? vmn[1] : vmn[2]);
}

static bool load_fragment(ltT_gemm_run *run, int side, int64_t slot, const int64_t vmn[3]) {
  ltT_plan_side *s = &run->sides[side];
  if (s->operand->from_descriptor && vmn[0] != 0) return true; /* all see the first thread's */
  const int64_t *index = s->fragment + operand_slot(run, side, vmn);
  uint8_t *registers = registers_of(s, slot);
  act(run, &s->shared, (int)run->thread_of[slot], LTT_SITE_FRAGMENT_A + side);
  s->shared.vector = 32 / ltT_type_of(s->operand->element)->bits;
  for (int64_t begin = 0; begin < s->values; begin += LTT_CHUNK) {
    int64_t at[LTT_CHUNK], n = s->values - begin < LTT_CHUNK ? s->values - begin : LTT_CHUNK;
    for (int64_t i = 0; i < n; i++)
      at[i] = s->shared.offset + s->shared_at[index[(begin + i) * s->slots]];
    if (!access(run, &s->shared, 0, at, (size_t)n, LT_READ)) {
      int64_t i = find_fault(&s->shared, at, n);
      return name_fault(run, &s->shared, index[(begin + i) * s->slots]);
    }
    for (int64_t i = 0; i < n; i++)
      move(s->operand->element, registers, begin + i, s->operand->element, s->shared.buffer->bytes,
           at[i]);
  }
  return true;
}

/* A thread's registers into the tiles of its atom. */
static void gather(const ltT_operand *operand, const uint8_t *registers, ltT_tiles *x,
                   int64_t thread) {
  int64_t size = x->rows * x->columns, i = 0;
  for (int64_t tile = 0; tile < x->count; tile++)
    for (int64_t value = 0; value < x->values; value++, i++) {
      double parts[3];
      int64_t place = tile * size + x->positions[thread + x->threads * value];
      ltT_load_operand(operand, registers, i, parts);
      for (int plane = 0; plane < x->planes_used; plane++) x->planes[plane][place] = parts[plane];
    }
}

static void scatter(lt_element element, uint8_t *registers, const ltT_tiles *x, int64_t thread) {
  int64_t size = x->rows * x->columns, i = 0;
  for (int64_t tile = 0; tile < x->count; tile++)
    for (int64_t value = 0; value < x->values; value++, i++) {
      double parts[3];
      int64_t place = tile * size + x->positions[thread + x->threads * value];
      for (int plane = 0; plane < x->planes_used; plane++) parts[plane] = x->planes[plane][place];
      ltT_store_parts(element, registers, i, parts);
    }
}

/* The threads of the atoms at (m, n) meet. */
static void run_atoms(ltT_gemm_run *run, int64_t m, int64_t n) {
  ltT_plan_side *a = &run->sides[0], *b = &run->sides[1];
  const ltT_mma_atom *atom = run->plan->atom;
  int64_t first = run->groups[0] * (m + run->groups[1] * n);
  for (int64_t v = 0; v < run->groups[0]; v++) {
    bool has_a = a->operand->from_descriptor && v > 0, has_b = b->operand->from_descriptor && v > 0;
    if (!has_a) gather(a->operand, registers_of(a, first + v), &a->tiles, v);
    if (!has_b) gather(b->operand, registers_of(b, first + v), &b->tiles, v);
    gather(&atom->c, accumulators_of(run, first + v), &run->result_tiles, v);
  }
  ltT_multiply_tiles(atom, &run->counts, &run->result_tiles, &a->tiles, &b->tiles);
  for (int64_t v = 0; v < run->groups[0]; v++)
    scatter(atom->d.element, accumulators_of(run, first + v), &run->result_tiles, v);
}

/* What the threads do with the tiles of one stage. */
static bool multiply_stage(ltT_gemm_run *run, int64_t step) {
  int64_t slots = count_slots(run);
  for (int side = 0; side < 2; side++) {
    ltT_plan_side *s = &run->sides[side];
    s->shared.offset = step % run->plan->stages * s->stage_elements;
    for (int64_t slot = 0; slot < slots; slot++) {
      int64_t vmn[3] = {slot % run->groups[0], slot / run->groups[0] % run->groups[1],
                        slot / run->groups[0] / run->groups[1]};
      if (!load_fragment(run, side, slot, vmn)) return false;
    }
  }
  for (int64_t n = 0; n < run->groups[2]; n++)
    for (int64_t m = 0; m < run->groups[1]; m++) run_atoms(run, m, n);
  return true;
}

/* ---- Results -------------------------------------------------------------------------------- */

/* Results of one thread that lie within D: values of its accumulators, and where they go. */
typedef struct results {
  size_t n;
  int64_t value[LTT_CHUNK];
  int64_t index[LTT_CHUNK]; /* row + M * column */
} results;

/* Their offsets in C or D, as accesses that take neighbours together. */
static bool find_results(ltT_gemm_run *run, lt_tensor *t, const results *r, int64_t *at,
                         ltT_access kind) {
  for (size_t i = 0; i < r->n; i++) {
    if (!lt_offset(t->layout, r->index[i], &at[i]))
      return ltA_fail(run->arena, LT_INVALID, "%s: %v has no offsets in memory", OPERATION,
                      t->layout) != NULL;
    at[i] += t->offset;
  }
  t->vector = ltT_most_vector(t->element);
  return access(run, t, 0, at, r->n, kind);
}

/* alpha * x + beta * c */
static bool store_chunk(ltT_gemm_run *run, int64_t slot, const results *r) {
  int64_t from[LTT_CHUNK], to[LTT_CHUNK];
  bool reads_c = run->c.buffer != NULL && run->beta != 0;
  if (reads_c && !find_results(run, &run->c, r, from, LT_READ)) return false;
  if (!find_results(run, &run->d, r, to, LT_WRITE)) return false;
  for (size_t i = 0; i < r->n; i++) {
    lt_number x = ltT_load(run->plan->atom->d.element, accumulators_of(run, slot), r->value[i]);
    lt_number y = {run->alpha * x.re, run->alpha * x.im}, c = {0, 0};
    if (reads_c) c = ltT_load(run->c.element, run->c.buffer->bytes, from[i]);
    if (reads_c) y = (lt_number){y.re + run->beta * c.re, y.im + run->beta * c.im};
    ltT_store(run->d.element, run->d.buffer->bytes, to[i], y);
  }
  return true;
}

static bool store_results(ltT_gemm_run *run, int64_t slot) {
  results r = {.n = 0};
  int64_t slots = count_slots(run);
  const int64_t *tile = run->plan->tile;
  act(run, &run->d, (int)run->thread_of[slot], LTT_SITE_STORE);
  run->c.thread = run->d.thread;
  for (int64_t i = 0; i < run->result_values; i++) {
    int64_t index = run->result[slot + slots * i];
    int64_t row = run->block[0] * tile[0] + index % tile[0];
    int64_t column = run->block[1] * tile[1] + index / tile[0];
    if (row >= run->size[0] || column >= run->size[1]) continue;
    r.value[r.n] = i;
    r.index[r.n++] = row + run->size[0] * column;
    if (r.n < LTT_CHUNK) continue;
    if (!store_chunk(run, slot, &r)) return false;
    r.n = 0;
  }
  return store_chunk(run, slot, &r);
}

/* ---- A block -------------------------------------------------------------------------------- */

static void begin_block(ltT_gemm_run *run) {
  memset(run->accumulators, 0, padded(run->accumulator_bytes) * (size_t)count_slots(run));
  clear_shared(run);
  if (run->order != NULL) ltT_restart_order(run->order);
  if (run->actor != NULL) run->actor->epoch++;
}

/*
** The ring: while a stage is multiplied, those after it are on their way. The barrier says both
** that the stage has arrived and that nobody reads the one before, which is filled anew. With one
** stage a second barrier says the latter.
*/
static bool run_steps(ltT_gemm_run *run) {
  int64_t tile = run->plan->tile[2], steps = (run->size[2] + tile - 1) / tile;
  int64_t stages = run->plan->stages, ahead = stages > 1 ? stages - 1 : 1;
  for (int64_t step = 0; step < ahead; step++)
    if (!copy_tiles(run, step, steps)) return false;
  for (int64_t step = 0; step < steps; step++) {
    wait_groups(run, ahead - 1);
    barrier(run);
    if (stages > 1 && !copy_tiles(run, step + ahead, steps)) return false;
    if (!multiply_stage(run, step)) return false;
    if (stages > 1) continue;
    barrier(run);
    if (!copy_tiles(run, step + 1, steps)) return false;
  }
  return true;
}

bool ltT_run_gemm_block(ltT_gemm_run *run) {
  begin_block(run);
  if (!run_steps(run)) return false;
  for (int64_t slot = 0; slot < count_slots(run); slot++)
    if (!store_results(run, slot)) return false;
  if (run->counter != NULL) ltT_settle(run->counter->traffic);
  return true;
}
