/*
** Text in and out.
*/
#include "binding.h"

static const char *check_text(lua_State *L, const ltL_state *S, const char *function,
                              size_t *length) {
  if (lua_type(L, 1) != LUA_TSTRING) /* a number is no text */
    ltL_type_error(L, S, &(ltL_argument){function, 1, 1}, "string");
  return lua_tolstring(L, 1, length);
}

static int text_parse(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  size_t length;
  const char *text = check_text(L, S, "parse", &length);
  return ltL_push_value(L, S, lt_parse_bytes(S->arena, text, length));
}

static int text_from_cute(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  size_t length;
  const char *text = check_text(L, S, "from_cute", &length);
  return ltL_push_value(L, S, lt_from_cute(S->arena, text, length));
}

/* to_cute(x): CuTe's text; to_cute(layout, offset), as operations return them: offset o layout. */
static int text_to_cute(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  if (lua_isboolean(L, 1)) {
    lua_pushstring(L, lua_toboolean(L, 1) ? "true" : "false");
    return 1;
  }
  const lt_value *v = ltL_check_at(L, S, "to_cute", 1, 'v');
  const lt_value *offset = ltL_optional_at(L, S, "to_cute", 2, 'u');
  if (offset == NULL) return ltL_push_text(L, S, v, lt_to_cute);
  return ltL_push_text(L, S, lt_make_counting_tensor(S->arena, offset, v), lt_to_cute);
}

/* A string fit for table keys: equal for equal values alone. */
static int text_key(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_text(L, S, ltL_check_at(L, S, "key", 1, 'v'), lt_to_string);
}

static const luaL_Reg functions[] = {{"from_cute", text_from_cute},
                                     {"key", text_key},
                                     {"parse", text_parse},
                                     {"to_cute", text_to_cute},
                                     {NULL, NULL}};

static const luaL_Reg methods[] = {{"key", text_key}, {"to_cute", text_to_cute}, {NULL, NULL}};

void ltL_open_text(lua_State *L) {
  ltL_state *S = ltL_push_state(L);
  luaL_setfuncs(L, functions, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  ltL_push_state(L);
  luaL_setfuncs(L, methods, 1);
  lua_pop(L, 1);
}
