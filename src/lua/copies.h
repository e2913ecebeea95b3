/*
** What the binding's files on copies share: copy atoms, TiledCopies, their thread slices.
*/
#ifndef LUTILE_LUA_COPIES_H
#define LUTILE_LUA_COPIES_H

#include "../tile/tma.h"
#include "tiles.h"

typedef enum ltL_copy_kind { LT_COPY_IS_ATOM, LT_COPY_IS_TILED, LT_COPY_IS_SLICE } ltL_copy_kind;

/*
** The userdata of a copy atom or TiledCopy. A slice has the TiledCopy as its user value 1, a TMA
** copy the tensor in global memory, if it was made for one, and as user value 2 the mbarrier it
** completes on, if it has one.
*/
typedef struct ltL_copy {
  ltL_copy_kind kind;
  ltT_copy_atom atom;
  const struct ltL_copy *tiled; /* of a slice; of the others, itself */
  int64_t thread_count;         /* of a TiledCopy */
  int64_t nodes[];              /* the value; of a slice, its thread */
} ltL_copy;

static inline const lt_value *ltL_copy_value(const ltL_copy *c) {
  return (const lt_value *)(const void *)c->nodes;
}
/* The atom's own value. */
static inline const lt_value *ltL_copy_atom_value(const ltL_copy *c) {
  const lt_value *value = ltL_copy_value(c->tiled);
  return c->tiled->kind == LT_COPY_IS_ATOM ? value : lt_part(value, LT_TILED_COPY_ATOM);
}

static inline bool ltL_is_tma(const ltL_copy *c) {
  return c->atom.family->way == LT_COPY_TMA_LOAD || c->atom.family->way == LT_COPY_TMA_STORE;
}

const ltL_copy *ltL_test_copy(lua_State *L, int index);
/* Pushes a TiledCopy; raises the arena's error if 'value' is NULL. */
ltL_copy *ltL_push_tiled_copy(lua_State *L, ltL_state *S, const ltT_copy_atom *atom,
                              const lt_value *value);

/* The field 'name' of a TMA copy; false where it has none. */
bool ltL_push_tma_field(lua_State *L, ltL_state *S, const ltL_copy *c, const char *name);
/* Says of the target of a copy by cp.async that its writes are in flight. */
void ltL_fly(lua_State *L, const ltL_copy *c, lt_tensor *target);
/* tma:with(mbarrier) */
int ltL_tma_with(lua_State *L);
/* A load by the TMA copy at slot 1: its writes are in flight; 'count' elements have arrived. */
void ltL_fly_tma(lua_State *L, lt_tensor *target);
void ltL_land_tma(lua_State *L, const lt_tensor *target, int64_t count);
/* A TMA store reads its source until it is waited for. */
void ltL_fly_store(lua_State *L, lt_tensor *source);
/* copy(tma, source, target): the copy is at slot 1. */
int ltL_run_tma(lua_State *L, ltL_state *S, const ltL_copy *c);

/* Each adds its functions to the module at the top of the stack. */
void ltL_open_copies(lua_State *L); /* all of the following too */
void ltL_open_copy_run(lua_State *L);
void ltL_open_gmma(lua_State *L);
void ltL_open_tma(lua_State *L);

#endif
