/*
** Lua modules and kernel templates kept in the binary: look-up, and loaders for require.
*/
#include "embedded.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#define MODULE_PREFIX "lutile."

const ltL_embedded *ltL_find_embedded(const char *name) {
  for (const ltL_embedded *file = ltL_embedded_files; file->name != NULL; file++)
    if (strcmp(file->name, name) == 0) return file;
  return NULL;
}

/* Called by require with the module's name; the chunk gets it and the place it came from. */
static int load_module(lua_State *L) {
  const ltL_embedded *file = (const ltL_embedded *)lua_touserdata(L, lua_upvalueindex(1));
  const char *chunk_name = lua_pushfstring(L, "=%s", file->name);
  if (luaL_loadbufferx(L, file->text, file->size, chunk_name, "t") != LUA_OK) return lua_error(L);
  lua_pushvalue(L, 1);
  lua_pushliteral(L, ":embedded:");
  lua_call(L, 2, 1);
  return 1;
}

void ltL_preload_embedded(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE) == LUA_TTABLE) {
    for (const ltL_embedded *file = ltL_embedded_files; file->name != NULL; file++) {
      if (strncmp(file->name, MODULE_PREFIX, strlen(MODULE_PREFIX)) != 0) continue;
      lua_pushlightuserdata(L, (void *)(size_t)file);
      lua_pushcclosure(L, load_module, 1);
      lua_setfield(L, -2, file->name);
    }
  }
  lua_pop(L, 1);
}
