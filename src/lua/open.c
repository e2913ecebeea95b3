/*
** The module: luaopen_lutile, its names put into an environment, and the embedding API.
*/
#include "../lutile_lua.h"

#include "binding.h"
#include "copies.h"
#include "cuda_module.h"
#include "embedded.h"
#include "tiles.h"

/* ---- Names into an environment -------------------------------------------------------------- */

/* Pushes the environment of the function that called, or the globals. */
static void push_caller_environment(lua_State *L) {
  lua_Debug caller;
  if (lua_getstack(L, 1, &caller) && lua_getinfo(L, "f", &caller)) {
    const char *name;
    for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
      if (strcmp(name, "_ENV") == 0 && lua_istable(L, -1)) {
        lua_remove(L, -2);
        return;
      }
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_pushglobaltable(L);
}

/* Whether a name, the key under the top, is Lua's own or in the environment already. */
static bool is_taken(lua_State *L, int lua_names) {
  lua_pushvalue(L, -2);
  bool taken = lua_rawget(L, lua_names) != LUA_TNIL;
  lua_pushvalue(L, -3);
  taken = lua_rawget(L, 1) != LUA_TNIL || taken;
  lua_pop(L, 2);
  return taken;
}

/* using([environment]): the module's names, as 'using namespace cute' does. Returns the module. */
static int module_using(lua_State *L) {
  int module = lua_upvalueindex(1), lua_names = lua_upvalueindex(2);
  lua_settop(L, 1);
  if (lua_isnil(L, 1)) {
    push_caller_environment(L);
    lua_replace(L, 1);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushnil(L);
  while (lua_next(L, module)) {
    if (!is_taken(L, lua_names)) {
      lua_pushvalue(L, -2);
      lua_pushvalue(L, -2);
      lua_rawset(L, 1);
    }
    lua_pop(L, 1);
  }
  lua_pushvalue(L, module);
  return 1;
}

/* Pushes a set of the names that Lua 5.4 itself has, whatever the environment now holds. */
static void push_lua_names(lua_State *L) {
  static const char *const names[] = {
      "_G",       "_VERSION",     "assert",   "collectgarbage", "coroutine",
      "debug",    "dofile",       "error",    "getmetatable",   "io",
      "ipairs",   "load",         "loadfile", "math",           "next",
      "os",       "package",      "pairs",    "pcall",          "print",
      "rawequal", "rawget",       "rawlen",   "rawset",         "require",
      "select",   "setmetatable", "string",   "table",          "tonumber",
      "tostring", "type",         "utf8",     "warn",           "xpcall"};
  size_t count = sizeof names / sizeof names[0];
  lua_createtable(L, 0, (int)count);
  for (size_t i = 0; i < count; i++) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, names[i]);
  }
}

/* ---- Modules in Lua ------------------------------------------------------------------------- */

/* lutile.plan is require "lutile.plan", on first use. */
static int require_part(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING) return 0;
  const char *name = lua_pushfstring(L, "lutile.%s", lua_tostring(L, 2));
  if (ltL_find_embedded(name) == NULL) return 0;
  if (lua_getglobal(L, "require") != LUA_TFUNCTION) return 0;
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

static void set_parts(lua_State *L) {
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, require_part);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
}

/* Functions written in Lua, by the module that has each. */
static const struct {
  const char *name;
  const char *module;
} lua_functions[] = {{"acc_exchange", "lutile.accumulators"},
                     {"acc_rowcol", "lutile.accumulators"},
                     {"acc_to_A", "lutile.accumulators"},
                     {"explain", "lutile.explain"},
                     {"print_latex", "lutile.print_latex"},
                     {"print_latex_tv", "lutile.print_latex"},
                     {"print_layout", "lutile.print"},
                     {"print_tensor", "lutile.print_tensor"},
                     {"report", "lutile.report"},
                     {"warp_reduce", "lutile.warp"},
                     {"svg", "lutile.svg"}};

/* What follows "lutile.module:line: " in a message; NULL where it does not start so. */
static const char *after_own_place(const char *message) {
  if (message == NULL || strncmp(message, "lutile.", 7) != 0) return NULL;
  const char *line = strchr(message, ':');
  if (line == NULL) return NULL;
  const char *end = line + 1 + strspn(line + 1, "0123456789");
  return end > line + 1 && end[0] == ':' && end[1] == ' ' ? end + 2 : NULL;
}

/* An error at a line of these modules is the caller's: it gets the caller's line and the name. */
static int return_all(lua_State *L, int status, lua_KContext context) {
  (void)context;
  if (status == LUA_OK || status == LUA_YIELD) return lua_gettop(L);
  const char *message = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  const char *text = after_own_place(message);
  if (text == NULL) return lua_error(L);
  luaL_where(L, 1);
  lua_pushfstring(L, "%s: %s", lua_tostring(L, lua_upvalueindex(2)), text);
  lua_concat(L, 2);
  return lua_error(L);
}

/* Calls the function whose module and name are the upvalues; it may yield. */
static int call_lua_function(lua_State *L) {
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  ltL_require(L, name, lua_tostring(L, lua_upvalueindex(1)));
  lua_getfield(L, -1, name);
  lua_insert(L, 1);
  lua_pop(L, 1);
  return return_all(L, lua_pcallk(L, lua_gettop(L) - 1, LUA_MULTRET, 0, 0, return_all), 0);
}

static void set_lua_functions(lua_State *L) {
  for (size_t i = 0; i < sizeof lua_functions / sizeof lua_functions[0]; i++) {
    lua_pushstring(L, lua_functions[i].module);
    lua_pushstring(L, lua_functions[i].name);
    lua_pushcclosure(L, call_lua_function, 2);
    lua_setfield(L, -2, lua_functions[i].name);
  }
}

/* ---- Methods -------------------------------------------------------------------------------- */

/* Gives the table at the top the module's functions of these names; the module lies below. */
static void share_functions(lua_State *L, const char *const names[], size_t count) {
  for (size_t i = 0; i < count; i++) {
    lua_getfield(L, -2, names[i]);
    lua_setfield(L, -2, names[i]);
  }
  lua_pop(L, 1);
}

/* Functions of any Lua value, or made by several files, that are methods as they are. */
static void set_shared_methods(lua_State *L, const ltL_state *S) {
  static const char *const of_values[] = {
      "is_composed_layout", "is_integral",  "is_layout", "is_scaled_basis",
      "is_swizzle",         "is_tensor",    "is_tuple",  "is_underscore",
      "print_latex",        "print_layout", "svg"};
  static const char *const of_tensors[] = {"copy", "copy_if", "gemm", "print_tensor"};
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  share_functions(L, of_values, sizeof of_values / sizeof of_values[0]);
  ltL_push_tensor_methods(L);
  share_functions(L, of_tensors, sizeof of_tensors / sizeof of_tensors[0]);
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

/* require "lutile.cuda.driver": what lua/lutile/cuda is built on. */
static void preload_cuda(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE) == LUA_TTABLE) {
    lua_pushcfunction(L, ltL_open_cuda_driver);
    lua_setfield(L, -2, "lutile.cuda.driver");
  }
  lua_pop(L, 1);
}

/* t:to(cuda) and t:to_host(): methods of tensors, which load lutile.cuda when they are called. */
static void set_cuda_methods(lua_State *L) {
  static const char *const names[] = {"to", "to_host"};
  ltL_push_tensor_methods(L);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    lua_pushliteral(L, "lutile.cuda");
    lua_pushstring(L, names[i]);
    lua_pushcclosure(L, call_lua_function, 2);
    lua_setfield(L, -2, names[i]);
  }
  lua_pop(L, 1);
}

/* ---- Opening -------------------------------------------------------------------------------- */

int luaopen_lutile(lua_State *L) {
  luaL_checkversion(L);
  ltL_preload_embedded(L);
  preload_cuda(L);
  ltL_state *S = ltL_push_state(L);
  lua_pop(L, 1);
  lua_createtable(L, 0, 160);
  if (S->metatable == NULL) ltL_open_values(L); /* a second table shares the type of the first */
  ltL_open_operations(L);
  ltL_open_makers(L);
  ltL_open_text(L);
  ltL_open_iteration(L);
  ltL_open_tiles(L);
  set_cuda_methods(L);
  ltL_open_copies(L);
  set_lua_functions(L);
  set_shared_methods(L, S);
  set_parts(L);
  lua_pushliteral(L, LUTILE_VERSION);
  lua_setfield(L, -2, "version");
  lua_pushvalue(L, -1);
  push_lua_names(L);
  lua_pushcclosure(L, module_using, 2);
  lua_setfield(L, -2, "using");
  return 1;
}

/* ---- The embedding API ---------------------------------------------------------------------- */

static ltL_state *check_open(lua_State *L) {
  ltL_state *S = ltL_find_state(L);
  if (S == NULL || S->metatable == NULL) luaL_error(L, "lutile is not open in this state");
  return S;
}

void lt_lua_push(lua_State *L, const lt_value *v) {
  ltL_state *S = check_open(L);
  ltL_restart(L, S);
  ltL_push_value(L, S, v);
}

const lt_value *lt_lua_test(lua_State *L, int index) {
  ltL_state *S = ltL_find_state(L);
  return S == NULL || S->metatable == NULL ? NULL : ltL_test(L, S, index);
}

const lt_value *lt_lua_check(lua_State *L, int index) {
  ltL_state *S = check_open(L);
  const lt_value *v = ltL_test(L, S, index);
  if (v == NULL) luaL_error(L, "value expected, got %s", ltL_type_name(L, S, index));
  return v;
}

/* The value is converted in the state's arena and copied to the caller's. */
const lt_value *lt_lua_convert(lua_State *L, int index, lt_arena *arena) {
  ltL_state *S = check_open(L);
  ltL_restart(L, S);
  if (ltA_failed(arena)) return NULL;
  const lt_value *v = ltL_convert(L, S, index);
  if (v == NULL && ltA_failed(S->arena))
    return ltA_fail(arena, S->error.status, "%s", S->error.message);
  if (v == NULL)
    return ltA_fail(arena, LT_INVALID, "value expected, got %s", ltL_type_name(L, S, index));
  lt_value *copy = ltA_new_nodes(arena, v->length);
  if (copy != NULL) memcpy(copy, v, lt_value_size(v));
  return copy;
}
