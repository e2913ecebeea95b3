/*
** A sandboxed state: lutile and the harmless part of Lua's libraries, with limits on memory,
** instructions and time.
**
** The limits are kept by a hook on every call and every PERIOD instructions. What would run without
** hooks is taken away or replaced in sandbox_library.c:
**
** - finalizers: Lua runs them with hooks off, so that setmetatable refuses __gc;
** - message handlers of an error that the hook raised: xpcall calls its handler after unwinding;
** - to-be-closed variables of a coroutine that the hook ended: it is never closed;
** - C functions that loop as long as an argument says: they check it first.
*/
#include "sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <time.h>

#include "lutile_lua.h"

/* Instructions between two looks at the limits. */
#define PERIOD 1000
/* Calls between two looks at the clock. */
#define CALLS 64

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  ltL_sandbox *box = context;
  size_t old = block == NULL ? 0 : old_size; /* of a new block it is its type */
  if (new_size == 0) {
    free(block);
    box->used -= old;
    return NULL;
  }
  bool grows = new_size > old;
  if (grows && box->limits.memory != 0 &&
      (box->used > box->limits.memory || new_size - old > box->limits.memory - box->used))
    return NULL;
  void *result = realloc(block, new_size);
  if (result != NULL) box->used = box->used - old + new_size;
  return result;
}

/* ---- Instructions and time ------------------------------------------------------------------- */

static int64_t milliseconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void look_at_clock(ltL_sandbox *box) {
  box->calls = 0;
  int64_t most = box->limits.milliseconds;
  if (most != 0 && milliseconds() - box->start > most) box->exhausted = "time";
}

static void charge(ltL_sandbox *box, int64_t instructions) {
  int64_t most = box->limits.instructions;
  box->instructions += instructions;
  if (most != 0 && box->instructions > most) box->exhausted = "instructions";
}

/*
** A coroutine starts a count of its own, so that many short ones would pass by unseen: each switch
** is charged a whole period.
*/
static void on_event(lua_State *L, lua_Debug *event) {
  ltL_sandbox *box = ltL_find_sandbox(L);
  if (event->event == LUA_HOOKCOUNT) {
    charge(box, PERIOD);
    look_at_clock(box);
  } else if (L != box->running) {
    charge(box, PERIOD);
    box->running = L;
  }
  if (++box->calls >= CALLS) look_at_clock(box);
  if (box->exhausted != NULL) {
    lua_sethook(L, on_event, LUA_MASKCALL | LUA_MASKCOUNT, 1); /* no pcall gets any further */
    ltL_raise_exhausted(L, box);
  }
  if (lua_gethookcount(L) != PERIOD) lua_sethook(L, on_event, LUA_MASKCALL | LUA_MASKCOUNT, PERIOD);
}

int ltL_raise_exhausted(lua_State *L, const ltL_sandbox *box) {
  return luaL_error(L, "out of %s: the sandbox's limit is reached", box->exhausted);
}

ltL_sandbox *ltL_find_sandbox(lua_State *L) {
  void *context;
  return lua_getallocf(L, &context) == allocate ? context : NULL;
}

/* ---- The state ------------------------------------------------------------------------------- */

static int open_libraries(lua_State *L) {
  ltL_open_sandbox_library(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  lua_pop(L, 1);
  ltL_close_sandbox_library(L);
  return 0;
}

void lt_lua_renew_sandbox(lua_State *L) {
  ltL_sandbox *box = ltL_find_sandbox(L);
  if (box == NULL) return;
  box->instructions = box->calls = 0;
  box->exhausted = NULL;
  box->running = L;
  box->start = milliseconds();
  lua_sethook(L, on_event, LUA_MASKCALL | LUA_MASKCOUNT, PERIOD);
}

void lt_lua_close_sandbox(lua_State *L) {
  ltL_sandbox *box = L == NULL ? NULL : ltL_find_sandbox(L);
  if (box == NULL) return;
  lua_sethook(L, NULL, 0, 0);
  lua_close(L);
  free(box);
}

lua_State *lt_lua_new_sandbox(const lt_lua_limits *limits) {
  ltL_sandbox *box = malloc(sizeof *box);
  if (box == NULL) return NULL;
  *box = (ltL_sandbox){.limits = *limits};
  lua_State *L = lua_newstate(allocate, box);
  if (L == NULL) {
    free(box);
    return NULL;
  }
  lua_pushcfunction(L, open_libraries);
  if (lua_pcall(L, 0, 0, 0) != LUA_OK) {
    lt_lua_close_sandbox(L);
    return NULL;
  }
  lt_lua_renew_sandbox(L);
  return L;
}
