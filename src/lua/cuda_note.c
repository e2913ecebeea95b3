/*
** Notes: small files of text beside the compiled kernels.
*/
#include "cuda.h"

static int push_failure(lua_State *L, const ltL_cuda *C) {
  lua_pushnil(L);
  lua_pushstring(L, C->error.message);
  return 2;
}

/* read_note(name): its text; nil where there is none, and why if it is not to be used. */
static int read_note(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  const char *text;
  size_t size;
  if (!lt_cuda_read_note(C->cuda, luaL_checkstring(L, 1), &text, &size)) return push_failure(L, C);
  if (text == NULL) return 0;
  lua_pushlstring(L, text, size);
  return 1;
}

/* write_note(name, text): true, or nil and why it cannot be written. */
static int write_note(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  size_t size;
  const char *name = luaL_checkstring(L, 1), *text = luaL_checklstring(L, 2, &size);
  if (!lt_cuda_write_note(C->cuda, name, text, size)) return push_failure(L, C);
  lua_pushboolean(L, 1);
  return 1;
}

/* ---- The lock ------------------------------------------------------------------------------- */

#define LOCK "lutile lock"

typedef struct lock {
  bool is_held;
} lock;

/* lock_notes(): until it is closed, no other process has one. */
static int lock_notes(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lock *l = lua_newuserdatauv(L, sizeof *l, 0);
  l->is_held = false;
  ltL_set_cuda_type(L, LOCK);
  lt_cuda_lock_notes(C->cuda);
  l->is_held = true;
  return 1;
}

static int unlock_notes(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  lock *l = luaL_checkudata(L, 1, LOCK);
  if (l->is_held && C->cuda != NULL) lt_cuda_unlock_notes(C->cuda);
  l->is_held = false;
  return 0;
}

static const luaL_Reg functions[] = {
    {"lock_notes", lock_notes}, {"read_note", read_note}, {"write_note", write_note}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"close", unlock_notes}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {
    {"__close", unlock_notes}, {"__gc", unlock_notes}, {NULL, NULL}};

void ltL_open_cuda_notes(lua_State *L) {
  ltL_make_cuda_type(L, LOCK, methods, metamethods);
  lua_pop(L, 1);
  ltL_set_cuda_functions(L, functions);
}
