/*
** gemm: the scalar multiply-add over tensors, atoms of one thread, and atoms whose threads meet.
*/
#include "tiles.h"

/* The stack slots of d, a, b, c, and of the block scales of a and b: 0 where there are none. */
enum { D, A, B, C, SCALE_A, SCALE_B, TENSORS };

static int raise_fault(lua_State *L, ltL_state *S, ltT_fragments *f, const int slots[TENSORS]) {
  lt_tensor *tensors[] = {&f->d, &f->a, &f->b, &f->c, &f->scale_a, &f->scale_b};
  return ltL_raise_fault(L, S, "gemm", tensors, slots, slots[SCALE_A] == 0 ? 4 : TENSORS);
}

/* {operand, scales} at 'slot' becomes the operand; the scales go to the top, whose slot it returns. */
static int unzip(lua_State *L, int slot) {
  if (lua_type(L, slot) != LUA_TTABLE) return 0;
  lua_rawgeti(L, slot, 1);
  lua_rawgeti(L, slot, 2);
  lua_insert(L, -2);
  lua_replace(L, slot);
  return lua_gettop(L);
}

/* gemm(a, b, c) and gemm(d, a, b, c): slots of d, a, b, c behind 'before' other arguments. */
static void find_slots(lua_State *L, int before, int slots[TENSORS]) {
  int given = lua_gettop(L) - before;
  if (given != 3 && given != 4) luaL_error(L, "gemm: 3 or 4 tensors expected, got %d", given);
  int a = before + given - 2;
  slots[D] = given == 4 ? before + 1 : a + 2;
  slots[A] = a;
  slots[B] = a + 1;
  slots[C] = a + 2;
  slots[SCALE_A] = unzip(L, a);
  slots[SCALE_B] = unzip(L, a + 1);
}

static ltT_fragments check_fragments(lua_State *L, ltL_state *S, const int slots[TENSORS]) {
  ltT_fragments f = {.scale_a = {.buffer = NULL}};
  f.d = ltL_check_core(L, S, "gemm", slots[D], "d");
  f.a = ltL_check_core(L, S, "gemm", slots[A], "a");
  f.b = ltL_check_core(L, S, "gemm", slots[B], "b");
  f.c = ltL_check_core(L, S, "gemm", slots[C], "c");
  if (slots[SCALE_A] != 0) f.scale_a = ltL_check_core(L, S, "gemm", slots[SCALE_A], "sfa");
  if (slots[SCALE_B] != 0) f.scale_b = ltL_check_core(L, S, "gemm", slots[SCALE_B], "sfb");
  return f;
}

/* An atom of one thread needs no other. */
static int gemm_alone(lua_State *L, ltL_state *S, const ltL_mma *m, ltT_fragments *f,
                      const int slots[TENSORS]) {
  size_t culprit;
  const lt_value *atom = ltL_mma_atom_value(m);
  if (ltT_mma(S->arena, &m->atom, atom, f, &culprit)) return 0;
  return raise_fault(L, S, f, slots);
}

/*
** Threads after which a TiledMMA starts again with the next ones of the block: whole warps, where
** it has parts of some (Volta's quadpairs).
*/
static int period_of(const ltL_mma *tiled) {
  int span = (int)tiled->thread_span;
  return 32 % span == 0 ? span : (span + 31) / 32 * 32;
}

/* The threads of the atom that thread 'current' of the block's 'count' takes part in. */
static void find_group(lua_State *L, const ltL_mma *tiled, int current, int count, ltL_meeting *m) {
  int span = (int)tiled->thread_span, base = current - current % period_of(tiled);
  if (base + span > count)
    luaL_error(L, "gemm: the tiled MMA takes %d threads, where the block has %d from thread %d on",
               span, count - base, base);
  const int32_t *threads = ltL_mma_threads(tiled);
  int inside = current - base;
  int32_t place = inside < span ? threads[tiled->thread_count + inside] : -1;
  if (place < 0)
    luaL_error(L, "gemm: thread %d is none of the tiled MMA's: it must not take part", current);
  m->base = base;
  m->threads = threads + place - place % m->size;
}

static ltT_fragments fragments_of(const lt_tensor t[]) {
  return (ltT_fragments){t[D], t[A], t[B], t[C], t[SCALE_A], t[SCALE_B]};
}

/* Puts the fragments back, with the fault that was found. */
static void keep_faults(lt_tensor t[], const ltT_fragments *f) {
  t[D] = f->d;
  t[A] = f->a;
  t[B] = f->b;
  t[C] = f->c;
  t[SCALE_A] = f->scale_a;
  t[SCALE_B] = f->scale_b;
}

static bool run_atom(ltL_state *S, const ltL_meeting *self, ltL_meeting *all, size_t *culprit) {
  const ltL_mma *m = self->object;
  ltT_fragments *f = ltA_new_bytes(S->arena, (size_t)self->size * sizeof *f);
  if (f == NULL) return false;
  for (int i = 0; i < self->size; i++) f[i] = fragments_of(all[i].tensors);
  bool done = ltT_mma(S->arena, &m->atom, ltL_mma_atom_value(m), f, culprit);
  keep_faults(all[*culprit].tensors, &f[*culprit]);
  return done;
}

/* Meets the other threads of the atom. */
static int gemm_together(lua_State *L, ltL_state *S, const ltL_mma *tiled, const ltT_fragments *f,
                         const int slots[TENSORS]) {
  if (tiled->kind != LT_MMA_IS_TILED)
    return luaL_error(L, "gemm: %s has %d threads: make_tiled_mma says which ones",
                      tiled->atom.name, (int)ltT_mma_size(ltL_mma_atom_value(tiled)));
  int count, current = ltL_check_thread(L, "gemm", tiled->atom.name, &count);
  ltL_meeting meeting = {.function = "gemm",
                         .atom = tiled->atom.name,
                         .value = ltL_mma_value(tiled),
                         .size = (int)ltT_mma_size(ltL_mma_atom_value(tiled)),
                         .further = slots[SCALE_A] == 0 ? 0 : TENSORS - 4,
                         .run = run_atom,
                         .object = tiled};
  keep_faults(meeting.tensors, f);
  find_group(L, tiled, current, count, &meeting);
  return ltL_meet(L, S, &meeting, slots);
}

/* A thread's share of the multiplications and additions. */
static void count_operations(lua_State *L, ltL_state *S, const ltL_mma *m, const ltT_fragments *f) {
  const lt_value *shape = lt_shape(f->a.layout);
  bool has_k = ltA_is_tuple(shape) && ltA_rank(shape) == 3;
  double k = has_k ? (double)ltA_product(S->arena, ltA_element(shape, 2)).value : 1;
  double products = (double)ltT_size(S->arena, &f->c) * m->atom.k * k;
  if (!ltA_failed(S->arena)) ltL_count_operations(L, 2 * products);
}

/* gemm([mma,] [d,] a, b, c); with block scales {a, sfa} in place of a, {b, sfb} of b. */
static int gemm(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_mma *m = ltL_test_mma(L, 1);
  int slots[TENSORS];
  find_slots(L, m == NULL ? 0 : 1, slots);
  ltT_fragments f = check_fragments(L, S, slots);
  if (m != NULL) {
    count_operations(L, S, m, &f);
    /* Descriptors are read by the tensor core, not by threads. */
    f.a.counter = f.b.counter = NULL;
  }
  if (m != NULL && ltT_mma_size(ltL_mma_atom_value(m)) == 1) return gemm_alone(L, S, m, &f, slots);
  if (m != NULL) return gemm_together(L, S, m->tiled, &f, slots);
  if (slots[SCALE_A] != 0 || slots[SCALE_B] != 0)
    return luaL_error(L, "gemm: without an atom there are no block scales");
  if (ltT_gemm(S->arena, &f.d, &f.a, &f.b, &f.c)) return 0;
  return raise_fault(L, S, &f, slots);
}

static const luaL_Reg functions[] = {{"gemm", gemm}, {NULL, NULL}};

void ltL_open_gemm(lua_State *L) { ltL_set_tile_functions(L, functions); }
