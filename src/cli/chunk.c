/*
** Chunks that the command loads: strict about undefined globals, called with a traceback and with
** the keyboard's interrupt as an error.
*/
#include <lauxlib.h>
#include <lua.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

/* Registry key of a set: the sources, as lua_Debug has them, of the chunks loaded here. */
#define STRICT_SOURCES "lutile.strict_sources"

/* A signal handler reaches nothing but static objects: the state to stop. */
static lua_State *interruptible = NULL;

/* ---- Undefined globals ---------------------------------------------------------------------- */

static void make_source_strict(lua_State *L) {
  lua_Debug chunk;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STRICT_SOURCES);
  lua_pushvalue(L, -2);
  lua_getinfo(L, ">S", &chunk);
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, chunk.source);
  lua_pop(L, 1);
}

int ltC_load_file(lua_State *L, const char *name) {
  int status = luaL_loadfile(L, name);
  if (status == LUA_OK) make_source_strict(L);
  return status;
}

int ltC_load_text(lua_State *L, const char *text, size_t size, const char *name) {
  int status = luaL_loadbuffer(L, text, size, name);
  if (status == LUA_OK) make_source_strict(L);
  return status;
}

static bool is_strict(lua_State *L, const lua_Debug *function) {
  luaL_getsubtable(L, LUA_REGISTRYINDEX, STRICT_SOURCES);
  bool strict = lua_getfield(L, -1, function->source) != LUA_TNIL;
  lua_pop(L, 2);
  return strict;
}

static int undefined_global(lua_State *L, const char *name) {
  return luaL_error(L, "undefined global '%s'%s", name,
                    strcmp(name, "help") == 0 ? " (the prompt has it: lutile -i)" : "");
}

/*
** __index of the globals. Only chunks of the command are held to it: modules may look for globals
** that are not there, as many do to learn which Lua they run on.
*/
static int global_index(lua_State *L) {
  lua_Debug reader;
  if (lua_getstack(L, 1, &reader) && lua_getinfo(L, "S", &reader) && is_strict(L, &reader))
    return undefined_global(L, luaL_tolstring(L, 2, NULL));
  lua_pushnil(L);
  return 1;
}

void ltC_make_strict(lua_State *L) {
  lua_pushglobaltable(L);
  if (!lua_getmetatable(L, -1)) lua_createtable(L, 0, 1);
  lua_pushcfunction(L, global_index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void stop_chunk(lua_State *L, lua_Debug *where) {
  (void)where;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "interrupted!");
}

/* A second interrupt ends the process: the chunk may be in a C function that runs no hooks. */
static void interrupt_chunk(int number) {
  signal(number, SIG_DFL);
  lua_sethook(interruptible, stop_chunk, LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT,
              1);
}

/* Message handler: the text of the error object, with a traceback. */
static int add_traceback(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (message == NULL && luaL_callmeta(L, 1, "__tostring")) message = lua_tostring(L, -1);
  if (message == NULL)
    message = lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, 1));
  luaL_traceback(L, L, message, 1); /* 1: without this function */
  return 1;
}

int ltC_call(lua_State *L, int arguments, int results) {
  int function = lua_gettop(L) - arguments;
  lua_pushcfunction(L, add_traceback);
  lua_insert(L, function);
  interruptible = L;
  signal(SIGINT, interrupt_chunk);
  int status = lua_pcall(L, arguments, results, function);
  signal(SIGINT, SIG_DFL);
  lua_remove(L, function);
  return status;
}

int ltC_report(lua_State *L, int status) {
  if (status == LUA_OK) return status;
  const char *message = lua_tostring(L, -1);
  fprintf(stderr, "%s\n", message != NULL ? message : "(error message is not a string)");
  lua_pop(L, 1);
  return status;
}
