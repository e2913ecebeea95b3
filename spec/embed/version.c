/*
** A Lua of another version refuses the library. The linker has the library's check come by here,
** where it may ask for another Lua than there is.
*/
#include <lauxlib.h>
#include <lua.h>

#include "../capi/test.h"
#include "lutile_lua.h"

static lua_Number wanted = LUA_VERSION_NUM;

void __real_luaL_checkversion_(lua_State *L, lua_Number version, size_t sizes);
void __wrap_luaL_checkversion_(lua_State *L, lua_Number version, size_t sizes);

void __wrap_luaL_checkversion_(lua_State *L, lua_Number version, size_t sizes) {
  (void)version;
  __real_luaL_checkversion_(L, wanted, sizes);
}

int main(void) {
  test t = {0, 0};
  lua_State *L = luaL_newstate();
  check(&t, L != NULL, "a state");
  if (L == NULL) return finish(&t);
  lua_pushcfunction(L, luaopen_lutile);
  check(&t, lua_pcall(L, 0, 1, 0) == LUA_OK, "the library in its own Lua");
  wanted = 503;
  lua_pushcfunction(L, luaopen_lutile);
  check(&t, lua_pcall(L, 0, 1, 0) == LUA_ERRRUN, "the library built for another Lua");
  const char *message = lua_tostring(L, -1);
  check(&t, message != NULL && strstr(message, "version mismatch") != NULL, "the versions named");
  if (message != NULL) printf("%s\n", message);
  lua_close(L);
  return finish(&t);
}
