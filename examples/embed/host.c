/*
** A host with a lua_State of its own: runs the script that its argument names, checks that a layout
** came back, and evaluates it through the C API.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <lutile_lua.h>
#include <stdio.h>

static void print_offsets(lt_arena *arena, const lt_value *layout) {
  const lt_value *size = lt_size(arena, layout);
  for (int64_t i = 0; size != NULL && i < lt_integer_value(size); i++) {
    const lt_value *offset = lt_apply(arena, layout, lt_integer(arena, i));
    if (offset == NULL) return; /* the arena's error says why */
    printf("%lld%c", (long long)lt_integer_value(offset), i % 8 == 7 ? '\n' : '\t');
  }
}

/* Called protected: whatever Lua raises comes back to main as a message. */
static int run_script(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  if (luaL_loadfile(L, lua_touserdata(L, 1)) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1);
  const lt_value *layout = lt_lua_check(L, -1);
  if (!lt_is_layout(layout)) return luaL_error(L, "layout expected");
  lt_error error = {LT_OK, ""};
  lt_arena *arena = lt_arena_new(NULL, &error);
  if (arena != NULL) print_offsets(arena, layout);
  lt_arena_free(arena);
  return error.status == LT_OK ? 0 : luaL_error(L, "%s", error.message);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: host SCRIPT\n");
    return 2;
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) return 1;
  lua_pushcfunction(L, run_script);
  lua_pushlightuserdata(L, argv[1]);
  int status = lua_pcall(L, 1, 0, 0);
  if (status != LUA_OK) fprintf(stderr, "host: %s\n", lua_tostring(L, -1));
  lua_close(L);
  return status != LUA_OK;
}
