/*
** lutile for Lua: the library opened in a lua_State of the host's own, and values passed between
** the two. Values themselves, and the algebra from C, are lutile.h's.
**
**     luaL_requiref(L, "lutile", luaopen_lutile, 1);
**     lua_pop(L, 1);
**     luaL_dostring(L, "return lutile.make_layout({4, 8}):complement(64)");
**     const lt_value *layout = lt_lua_check(L, -1);
**
** Lua 5.4.4 or later. States share nothing: each may be used by a thread of its own.
*/
#ifndef LUTILE_LUA_H
#define LUTILE_LUA_H

#include <lua.h>

#include "lutile.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
** Opens the library: pushes its table, and returns 1. Also puts lutile's Lua modules in reach of
** require, where the package library is open. Raises a Lua error when there is no memory, or the
** Lua is of another version. All memory comes from the state's allocator, and is freed by
** lua_close.
*/
LT_API int luaopen_lutile(lua_State *L);

/*
** Pushes a copy of 'v': a static integer as a Lua integer, any other as a value. The library must
** be open. Raises a Lua error when there is no memory.
*/
LT_API void lt_lua_push(lua_State *L, const lt_value *v);

/*
** The value at 'index', or NULL where there is none: a Lua number or table is none. It belongs to
** Lua, and lives as long as it can be reached there; copy it (lt_value_size) to keep it longer.
*/
LT_API const lt_value *lt_lua_test(lua_State *L, int index);

/* The same, but raises a Lua error ("value expected, got number") where there is none. */
LT_API const lt_value *lt_lua_check(lua_State *L, int index);

/*
** The value at 'index' in 'arena', made from a number or a table of numbers too, as the library's
** own functions take them. NULL, with the arena's error set, if it is nothing of the kind. Raises a
** Lua error only when Lua's stack is full.
*/
LT_API const lt_value *lt_lua_convert(lua_State *L, int index, lt_arena *arena);

/* ---- A sandbox ------------------------------------------------------------------------------- */

/* What scripts in a sandbox may use; 0 is as much as they like. */
typedef struct lt_lua_limits {
  size_t memory;        /* bytes, of the whole state: some 500 KiB are taken by the libraries */
  int64_t instructions; /* of Lua's virtual machine, to some thousands; calls cost more */
  int64_t milliseconds;
} lt_lua_limits;

/*
** A new state for scripts that are not trusted, with lutile open in it; NULL when there is no
** memory, or less than the libraries take. Scripts have Lua's basic functions, coroutine, math,
** string, table and utf8, without what reaches files, other processes, the host or its devices
** (io, os, package, debug, dofile, loadfile, warn, lutile.cuda), and:
**
** - load takes text alone; require finds lutile's own modules alone;
** - setmetatable refuses __gc, and string's metatable is locked;
** - patterns of string.find, match, gmatch and gsub are refused where their repetitions could take
**   long on a text of that length;
** - xpcall calls its handler after the error has left the function;
** - collectgarbage collects, steps and counts.
**
** A script that reaches a limit is ended by an error that its own pcall cannot hold back ("out of
** time: ..."), or in the case of memory by "not enough memory". One call of a function in C is not
** interrupted: those of lutile take as long as their operands are large.
**
** Load scripts with luaL_loadbufferx in mode "t", and call them with lua_pcall. A coroutine of a
** script that reached a limit must not be closed or resumed by the host.
*/
LT_API lua_State *lt_lua_new_sandbox(const lt_lua_limits *limits);

/* Instructions and time start again at 0, for the next script of a sandbox's main thread. */
LT_API void lt_lua_renew_sandbox(lua_State *L);

/* Closes a sandbox; lua_close alone would leak. NULL is passed over. */
LT_API void lt_lua_close_sandbox(lua_State *L);

#ifdef __cplusplus
}
#endif

#endif
