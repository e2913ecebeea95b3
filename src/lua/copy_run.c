/*
** copy and copy_if with a copy atom or TiledCopy: by one thread alone, or by a warp that meets.
*/
#include "../tile/copy_run.h"

#include "copies.h"

/* What the tensors of a meeting are. */
enum { SOURCE, TARGET, PREDICATE };

static ltT_copy_parts parts_of(const lt_tensor tensors[]) {
  return (ltT_copy_parts){.source = tensors[SOURCE],
                          .target = tensors[TARGET],
                          .predicate = tensors[PREDICATE],
                          .has_predicate = tensors[PREDICATE].buffer != NULL};
}

/* Puts the parts back, with the fault that was found. */
static void keep_faults(lt_tensor tensors[], const ltT_copy_parts *parts) {
  tensors[SOURCE] = parts->source;
  tensors[TARGET] = parts->target;
  tensors[PREDICATE] = parts->predicate;
}

/* Runs the atom for the threads that have met. */
static bool run_together(ltL_state *S, const ltL_meeting *self, ltL_meeting *all, size_t *culprit) {
  size_t n = (size_t)self->size;
  ltT_copy_parts *parts = ltA_new_bytes(S->arena, n * sizeof *parts);
  if (parts == NULL) return false;
  for (size_t i = 0; i < n; i++) parts[i] = parts_of(all[i].tensors);
  bool done = ltT_run_copy(S->arena, self->function, self->object, self->value, parts, culprit);
  keep_faults(all[*culprit].tensors, &parts[*culprit]);
  return done;
}

static int run_alone(lua_State *L, ltL_state *S, const ltL_copy *c, const char *function,
                     lt_tensor tensors[], const int slots[]) {
  size_t culprit;
  ltT_copy_parts parts = parts_of(tensors);
  const lt_value *value = ltL_copy_atom_value(c);
  if (ltT_run_copy(S->arena, function, &c->atom, value, &parts, &culprit)) return 0;
  lt_tensor *all[] = {&parts.source, &parts.target, &parts.predicate};
  return ltL_raise_fault(L, S, function, all, slots, 3);
}

/* The threads of a warp meet in the atom. */
static int meet(lua_State *L, ltL_state *S, const ltL_copy *c, ltL_meeting *m, const int slots[]) {
  int count, size = (int)ltT_copy_threads(ltL_copy_atom_value(c));
  int thread = ltL_check_thread(L, m->function, c->atom.name, &count);
  m->base = thread - thread % size;
  m->size = size;
  if (m->base + size > count)
    return luaL_error(L, "%s: %s takes %d threads, where the block has %d from thread %d on",
                      m->function, c->atom.name, size, count - m->base, m->base);
  return ltL_meet(L, S, m, slots);
}

/* copy(atom or TiledCopy, source, target), or copy_if with the predicate in slot 2. */
static int copy_with(lua_State *L, const ltL_copy *c, const char *function, int predicate_slot) {
  ltL_state *S = ltL_begin(L);
  int source = predicate_slot == 0 ? 2 : predicate_slot + 1;
  if (c->atom.element == LT_ELEMENT_COUNT)
    return luaL_error(L, "%s: %s has no element type: Copy_Atom(name, dtype) gives it one",
                      function, c->atom.name);
  ltL_meeting m = {.function = function,
                   .atom = c->atom.name,
                   .value = ltL_copy_atom_value(c),
                   .run = run_together,
                   .object = &c->atom};
  m.tensors[SOURCE] = ltL_check_core(L, S, function, source, "source");
  m.tensors[TARGET] = ltL_check_core(L, S, function, source + 1, "target");
  ltL_fly(L, c, &m.tensors[TARGET]);
  if (predicate_slot != 0)
    m.tensors[PREDICATE] = ltL_check_core(L, S, function, predicate_slot, "predicate");
  const int slots[] = {source, source + 1, predicate_slot == 0 ? 1 : predicate_slot, 1};
  if (ltT_copy_threads(m.value) == 1) return run_alone(L, S, c, function, m.tensors, slots);
  return meet(L, S, c, &m, slots);
}

/* copy([atom or TiledCopy,] source, target) */
static int copy(lua_State *L) {
  const ltL_copy *c = ltL_test_copy(L, 1);
  if (c == NULL) return ltL_plain_copy(L);
  return ltL_is_tma(c) ? ltL_run_tma(L, ltL_begin(L), c) : copy_with(L, c, "copy", 0);
}

/* copy_if([atom or TiledCopy,] predicate, source, target) */
static int copy_if(lua_State *L) {
  const ltL_copy *c = ltL_test_copy(L, 1);
  if (c == NULL) return ltL_plain_copy_if(L);
  if (ltL_is_tma(c)) return luaL_error(L, "copy_if: %s takes no predicate", c->atom.name);
  return copy_with(L, c, "copy_if", 2);
}

static void wrap(lua_State *L, const char *name, lua_CFunction function) {
  ltL_push_state(L);
  lua_pushcclosure(L, function, 1);
  lua_setfield(L, -2, name);
}

void ltL_open_copy_run(lua_State *L) {
  wrap(L, "copy", copy);
  wrap(L, "copy_if", copy_if);
}
