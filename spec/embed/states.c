/*
** Two states side by side: values go from one to the other as copies alone, and what is none of a
** state's own values is refused by it.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../capi/test.h"
#include "lutile_lua.h"

static lua_State *open_state(test *t) {
  lua_State *L = luaL_newstate();
  check(t, L != NULL, "a state");
  if (L == NULL) exit(finish(t));
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  lua_settop(L, 0);
  return L;
}

/* Calls 'function' of the library with what is at the top, which it refuses with 'message'. */
static void check_refused(test *t, lua_State *L, const char *function, const char *message) {
  lua_getglobal(L, "lutile");
  lua_getfield(L, -1, function);
  lua_pushvalue(L, -3);
  check(t, lua_pcall(L, 1, 1, 0) == LUA_ERRRUN, function);
  const char *text = lua_tostring(L, -1);
  bool is_said = text != NULL && strstr(text, message) != NULL;
  check(t, is_said, message);
  if (!is_said) fprintf(stderr, "  got %s\n", text != NULL ? text : "no text");
  lua_pop(L, 2);
}

/* A value that is pushed to another state is a copy: it outlives the first one. */
static void test_copies(test *t) {
  lua_State *a = open_state(t), *b = open_state(t);
  check(t, luaL_dostring(a, "return lutile.parse '(4,8):(8,1)'") == LUA_OK, "a layout");
  const lt_value *first = lt_lua_check(a, -1);
  lt_lua_push(b, first);
  const lt_value *second = lt_lua_check(b, -1);
  check(t, second != first && lt_equal(first, second), "a copy in the other state");
  lua_close(a);
  lua_setglobal(b, "layout");
  check(
      t,
      luaL_dostring(b, "return layout == lutile.parse '(4,8):(8,1)' and layout(1, 2)") == LUA_OK &&
          lua_tointeger(b, -1) == 10,
      "the copy after the first state has closed");
  lua_close(b);
}

/* A pointer to another state's value, and a userdata that calls itself one. */
static void test_strangers(test *t) {
  lua_State *a = open_state(t), *b = open_state(t);
  check(t, luaL_dostring(a, "return lutile.parse '(4,8):(8,1)'") == LUA_OK, "a layout");
  lua_pushlightuserdata(b, lua_touserdata(a, -1));
  check(t, lt_lua_test(b, -1) == NULL, "a pointer is no value");
  check_refused(t, b, "coalesce", "expected, got userdata");
  size_t size = lua_rawlen(a, -1);
  memcpy(lua_newuserdatauv(b, size, 0), lua_touserdata(a, -1), size);
  lua_newtable(b);
  lua_pushliteral(b, "lutile value");
  lua_setfield(b, -2, "__name");
  lua_setmetatable(b, -2);
  check(t, lt_lua_test(b, -1) == NULL, "a userdata of the same name is no value");
  check_refused(t, b, "coalesce", "expected, got lutile value");
  check_refused(t, b, "make_tensor", "make_tensor");
  check_refused(t, b, "make_tiled_mma", "make_tiled_mma");
  lua_close(a);
  lua_close(b);
}

/* Coroutines belong to one state, and share its values. */
static void test_coroutines(test *t) {
  lua_State *a = open_state(t), *thread = lua_newthread(a);
  check(t, luaL_dostring(a, "return lutile.parse '(4,8):(8,1)'") == LUA_OK, "a layout");
  lua_xmove(a, thread, 1);
  check(t, lt_lua_test(thread, -1) != NULL, "a value in a coroutine");
  lua_close(a);
}

int main(void) {
  test t = {0, 0};
  test_copies(&t);
  test_strangers(&t);
  test_coroutines(&t);
  return finish(&t);
}
