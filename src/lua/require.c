/*
** What modules in Lua have that C wants, too: of options, the message for one that there is none of.
*/
#include "binding.h"

void ltL_require(lua_State *L, const char *function, const char *module) {
  if (lua_getglobal(L, "require") != LUA_TFUNCTION)
    luaL_error(L, "%s: needs Lua's 'require'", function);
  lua_pushstring(L, module);
  lua_call(L, 1, 1);
}

/* Pushes a set of names, which end with NULL. */
static void push_names(lua_State *L, const char *const *names) {
  lua_newtable(L);
  for (; *names != NULL; names++) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, *names);
  }
}

int ltL_no_option(lua_State *L, const char *function, const char *name, const char *const *names) {
  ltL_require(L, function, "lutile.options");
  lua_pushstring(L, name);
  push_names(L, names);
  lua_call(L, 2, 1);
  return luaL_error(L, "%s: %s", function, lua_tostring(L, -1));
}
