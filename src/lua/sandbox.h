/*
** What the two files of the sandbox share.
*/
#ifndef LUTILE_LUA_SANDBOX_H
#define LUTILE_LUA_SANDBOX_H

#include <lua.h>
#include <stdbool.h>

#include "lutile_lua.h"

/* The context of the state's allocator, and so found from any of its coroutines. */
typedef struct ltL_sandbox {
  lt_lua_limits limits;
  size_t used; /* bytes */
  int64_t instructions;
  int64_t start;         /* milliseconds */
  int calls;             /* since the last look at the clock */
  lua_State *running;    /* the coroutine of the last event */
  const char *exhausted; /* what there is no more of; NULL while there is enough */
} ltL_sandbox;

/* NULL where the state is no sandbox. */
ltL_sandbox *ltL_find_sandbox(lua_State *L);
int ltL_raise_exhausted(lua_State *L, const ltL_sandbox *box);

/* Lua's libraries as far as a sandbox has them, 'require' among them. */
void ltL_open_sandbox_library(lua_State *L);
/* Once lutile is open: takes away what reaches devices and files. */
void ltL_close_sandbox_library(lua_State *L);

#endif
