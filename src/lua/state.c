/*
** The state of the module in one lua_State, and results pushed onto its stack.
*/
#include "binding.h"

/* Its address is the state's key in the registry. */
static const char state_key = 0;

/* Text up to this length is written on the C stack first. */
#define SHORT_TEXT 256

/* The caller's allocator for the arena: Lua's, called as Lua itself calls it. */
static void *reallocate(void *context, void *block, size_t old_size, size_t new_size) {
  ltL_state *S = context;
  return S->allocate(S->allocate_context, block, block == NULL ? 0 : old_size, new_size);
}

static int close_state(lua_State *L) {
  ltL_state *S = lua_touserdata(L, 1);
  lt_arena_free(S->arena);
  S->arena = NULL;
  return 0;
}

static void push_state_metatable(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
}

ltL_state *ltL_find_state(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  ltL_state *S = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return S;
}

void ltL_check_finalizable(lua_State *L, const char *what) {
  if (lua_gc(L, LUA_GCISRUNNING) < 0)
    luaL_error(L, "%s: not in a finalizer, whose own values may stay without one", what);
}

/* The arena comes last: until then the userdata is whole, and holds nothing to free. */
static ltL_state *new_state(lua_State *L) {
  ltL_check_finalizable(L, "opening lutile");
  push_state_metatable(L);
  ltL_state *S = lua_newuserdatauv(L, sizeof *S, 0);
  *S = (ltL_state){.metatable_reference = LUA_NOREF, .methods_reference = LUA_NOREF};
  S->allocate = lua_getallocf(L, &S->allocate_context);
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  lt_allocator allocator = {reallocate, S};
  S->arena = lt_arena_new(&allocator, &S->error);
  if (S->arena == NULL) ltL_raise(L, S);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
  return S;
}

ltL_state *ltL_push_state(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key) == LUA_TUSERDATA) return lua_touserdata(L, -1);
  lua_pop(L, 1);
  return new_state(L);
}

/*
** A pin that is set means that a push is under way, and that this call comes from a finalizer; Lua
** collects nothing more while one runs. Or that a push has raised (no memory) and left it set: then
** the collector is at work.
*/
static bool in_finalizer(lua_State *L) { return lua_gc(L, LUA_GCISRUNNING) != 1; }

static void restart_slowly(lua_State *L, ltL_state *S) {
  if (S->arena == NULL) luaL_error(L, "lutile is closed: its state is being closed");
  if (S->pinned && !in_finalizer(L)) S->pinned = false;
  if (!S->pinned) {
    lt_arena_reset(S->arena);
    return;
  }
  S->error.status = LT_OK;
  ltA_release(S->arena, S->pin);
}

void ltL_restart(lua_State *L, ltL_state *S) {
  if (S->pinned || S->arena == NULL)
    restart_slowly(L, S);
  else
    lt_arena_reset(S->arena);
}

ltL_state *ltL_begin(lua_State *L) {
  ltL_state *S = lua_touserdata(L, lua_upvalueindex(1));
  ltL_restart(L, S);
  return S;
}

bool ltL_pin(ltL_state *S) {
  bool was_pinned = S->pinned;
  S->pinned = true;
  S->pin = ltA_get_mark(S->arena);
  return was_pinned;
}

void ltL_unpin(ltL_state *S, bool was_pinned, ltA_mark was_pin) {
  S->pinned = was_pinned;
  S->pin = was_pin;
  S->error.status = LT_OK; /* that of a finalizer's call, if any */
}

/* No memory raises the very string that Lua raises then, which needs no memory. */
int ltL_raise(lua_State *L, ltL_state *S) {
  if (S->error.status == LT_NO_MEMORY) {
    lua_pushliteral(L, "not enough memory");
    return lua_error(L);
  }
  return luaL_error(L, "%s", S->error.message);
}

/* A copy of 'v' as a userdata. */
static void push_block(lua_State *L, ltL_state *S, const lt_value *v) {
  size_t size = lt_value_size(v);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  void *block = lua_newuserdatauv(L, size, 0);
  memcpy(block, v, size);
  ltL_unpin(S, was_pinned, was_pin);
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->metatable_reference);
  lua_setmetatable(L, -2);
}

int ltL_push_value(lua_State *L, ltL_state *S, const lt_value *v) {
  if (v == NULL) return ltL_raise(L, S);
  if (v->kind == LT_INTEGER && v->promise == 0)
    lua_pushinteger(L, v->value);
  else
    push_block(L, S, v);
  return 1;
}

int ltL_push_number(lua_State *L, ltL_state *S, const lt_value *v) {
  if (v == NULL) return ltL_raise(L, S);
  if (v->kind == LT_INTEGER)
    lua_pushinteger(L, v->value);
  else
    push_block(L, S, v);
  return 1;
}

int ltL_push_layout_and_offset(lua_State *L, ltL_state *S, const lt_value *tensor) {
  if (tensor == NULL) return ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_push_value(L, S, lt_part(tensor, 1));
  ltL_push_number(L, S, lt_part(tensor, 0));
  ltL_unpin(S, was_pinned, was_pin);
  return 2;
}

int ltL_push_boolean(lua_State *L, ltL_state *S, bool b) {
  if (ltA_failed(S->arena)) return ltL_raise(L, S);
  lua_pushboolean(L, b);
  return 1;
}

int ltL_push_text(lua_State *L, ltL_state *S, const lt_value *v,
                  size_t (*write)(const lt_value *, char *, size_t)) {
  if (v == NULL) return ltL_raise(L, S);
  char short_text[SHORT_TEXT];
  size_t length = write(v, short_text, sizeof short_text);
  const char *text = short_text;
  if (length >= sizeof short_text) {
    char *long_text = ltA_new_bytes(S->arena, length + 1);
    if (long_text == NULL) return ltL_raise(L, S);
    write(v, long_text, length + 1);
    text = long_text;
  }
  lua_pushlstring(L, text, length); /* copies before it collects */
  return 1;
}
