/*
** Lua's libraries as a sandbox has them.
*/
#include <lauxlib.h>
#include <lualib.h>
#include <stdint.h>
#include <string.h>

#include "embedded.h"
#include "sandbox.h"

/* Elements that one call of table.move may move. */
#define MAX_MOVED 10000000

/* ---- Functions in C -------------------------------------------------------------------------- */

/* Finalizers run without hooks, which keep the limits. */
static int set_metatable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_istable(L, 2)) {
    lua_pushliteral(L, "__gc");
    if (lua_rawget(L, 2) != LUA_TNIL)
      return luaL_error(L, "setmetatable: a sandbox has no finalizers (field '__gc')");
    lua_pop(L, 1);
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* load(chunk, name, mode, environment) with mode "t", whatever it says. */
static int load_text(lua_State *L) {
  if (lua_gettop(L) < 3) lua_settop(L, 3);
  lua_pushliteral(L, "t");
  lua_replace(L, 3);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

static int collect_garbage(lua_State *L) {
  static const char *const options[] = {"collect", "count", "step", NULL};
  luaL_checkoption(L, 1, "collect", options);
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/*
** coroutine.close(co). A coroutine that an error has ended stays as it is: if the error was the
** hook's, hooks would be off in what its to-be-closed variables run.
*/
static int close_coroutine(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  luaL_argexpected(L, co != NULL, 1, "coroutine");
  int status = lua_status(co);
  if (status != LUA_OK && status != LUA_YIELD) {
    lua_pushboolean(L, 0);
    lua_pushliteral(L, "the coroutine has ended by an error");
    return 2;
  }
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* A function of the table library, whose loops in C are as long as the tables really are. */
static int call_on_tables(lua_State *L) {
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++)
    if (lua_istable(L, i) && luaL_getmetafield(L, i, "__len") != LUA_TNIL)
      return luaL_argerror(L, i, "table with '__len' in a sandbox");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, n, LUA_MULTRET);
  return lua_gettop(L);
}

static int move_elements(lua_State *L) {
  lua_Integer first = luaL_checkinteger(L, 2), last = luaL_checkinteger(L, 3);
  if (last >= first && (lua_Unsigned)last - (lua_Unsigned)first >= MAX_MOVED)
    return luaL_argerror(L, 3, "too many elements to move in a sandbox");
  return call_on_tables(L);
}

/* string.rep: nothing, many times, is nothing. */
static int repeat_text(lua_State *L) {
  size_t length = 0, between = 0;
  luaL_checklstring(L, 1, &length);
  luaL_checkinteger(L, 2);
  luaL_optlstring(L, 3, "", &between);
  if (length + between == 0) {
    lua_pushliteral(L, "");
    return 1;
  }
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 1);
  return 1;
}

/* ---- Patterns -------------------------------------------------------------------------------- */

/* Steps that one match may take. */
#define MAX_STEPS 1e8

/* Items of a pattern that match in as many ways as the text is long. */
static int count_repetitions(const char *pattern, size_t length) {
  int count = 0;
  for (size_t i = 0; i < length; i++) {
    if (pattern[i] == '%' && i + 1 < length) {
      i++;
      count += strchr("bf123456789", pattern[i]) != NULL;
    } else {
      count += pattern[i] != '\0' && strchr("*+-?", pattern[i]) != NULL;
    }
  }
  return count;
}

/*
** Calls the function where (pattern) * (text)^(repetitions + 1), which bounds the steps of a match
** that backtracks, is small. In a plain search the text is compared word by word.
*/
static int call_with_pattern(lua_State *L) {
  size_t text = 0, length = 0;
  luaL_checklstring(L, 1, &text);
  const char *pattern = luaL_checklstring(L, 2, &length);
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  bool is_plain = strcmp(name, "find") == 0 && lua_toboolean(L, 4);
  int repetitions = is_plain ? 0 : count_repetitions(pattern, length);
  double steps = (double)length + 1;
  for (int i = 0; i <= repetitions && steps <= MAX_STEPS * 100; i++) steps *= (double)text + 1;
  if (steps > (is_plain ? MAX_STEPS * 100 : MAX_STEPS))
    return luaL_error(L, "%s: a pattern of %d repetitions may take too long on %d bytes", name,
                      repetitions, (int)(text > INT32_MAX ? INT32_MAX : text));
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* ---- require --------------------------------------------------------------------------------- */

static bool is_allowed(const char *name) { return strncmp(name, "lutile.cuda", 11) != 0; }

/* Modules of lutile's own; the upvalue holds those that are loaded. */
static int require_embedded(lua_State *L) {
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const ltL_embedded *file = strncmp(name, "lutile.", 7) == 0 ? ltL_find_embedded(name) : NULL;
  if (file == NULL || !is_allowed(name))
    return luaL_error(L, "module '%s' not found: a sandbox has lutile's own alone", name);
  ltL_load_embedded(L, file);
  lua_pushvalue(L, 1);
  lua_pushliteral(L, ":embedded:");
  lua_call(L, 2, 1);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, lua_upvalueindex(1));
  return 1;
}

/* ---- Functions in Lua ------------------------------------------------------------------------ */

/*
** Both as in Lua, but that the handler runs when the error has left the function (in place it would
** run within the hook that raised it), and that no coroutine that failed is closed.
*/
static const char in_lua[] =
    "local pcall, error, create, resume = pcall, error, coroutine.create, coroutine.resume\n"
    "local function handle(handler, success, ...)\n"
    "  if success then return true, ... end\n"
    "  return false, handler(...)\n"
    "end\n"
    "function xpcall(f, handler, ...) return handle(handler, pcall(f, ...)) end\n"
    "local function pass(success, ...)\n"
    "  if success then return ... end\n"
    "  error(..., 0)\n"
    "end\n"
    "function coroutine.wrap(f)\n"
    "  local co = create(f)\n"
    "  return function(...) return pass(resume(co, ...)) end\n"
    "end\n";

/* ---- The libraries --------------------------------------------------------------------------- */

/* Replaces a function of the table at the top by one that has it as its first upvalue. */
static void wrap(lua_State *L, const char *name, lua_CFunction function) {
  lua_getfield(L, -1, name);
  lua_pushstring(L, name);
  lua_pushcclosure(L, function, 2);
  lua_setfield(L, -2, name);
}

static void remove_fields(lua_State *L, const char *const *names) {
  for (; *names != NULL; names++) {
    lua_pushnil(L);
    lua_setfield(L, -2, *names);
  }
}

static void restrict_base(lua_State *L) {
  static const char *const removed[] = {"dofile", "loadfile", "warn", NULL};
  lua_pushglobaltable(L);
  remove_fields(L, removed);
  wrap(L, "setmetatable", set_metatable);
  wrap(L, "load", load_text);
  wrap(L, "collectgarbage", collect_garbage);
  lua_pop(L, 1);
}

static void restrict_strings(lua_State *L) {
  static const char *const with_patterns[] = {"find", "gmatch", "gsub", "match"};
  lua_getglobal(L, LUA_STRLIBNAME);
  for (size_t i = 0; i < sizeof with_patterns / sizeof with_patterns[0]; i++)
    wrap(L, with_patterns[i], call_with_pattern);
  wrap(L, "rep", repeat_text);
  lua_pushliteral(L, "");
  lua_getmetatable(L, -1);
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 3);
}

static void restrict_tables(lua_State *L) {
  static const char *const names[] = {"concat", "insert", "remove", "sort", "unpack"};
  lua_getglobal(L, LUA_TABLIBNAME);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) wrap(L, names[i], call_on_tables);
  wrap(L, "move", move_elements);
  lua_pop(L, 1);
}

static void restrict_coroutines(lua_State *L) {
  lua_getglobal(L, LUA_COLIBNAME);
  wrap(L, "close", close_coroutine);
  lua_pop(L, 1);
  if (luaL_loadbufferx(L, in_lua, sizeof in_lua - 1, "=sandbox", "t") != LUA_OK) lua_error(L);
  lua_call(L, 0, 0);
}

void ltL_open_sandbox_library(lua_State *L) {
  static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                       {LUA_COLIBNAME, luaopen_coroutine},
                                       {LUA_MATHLIBNAME, luaopen_math},
                                       {LUA_STRLIBNAME, luaopen_string},
                                       {LUA_TABLIBNAME, luaopen_table},
                                       {LUA_UTF8LIBNAME, luaopen_utf8},
                                       {NULL, NULL}};
  for (const luaL_Reg *library = libraries; library->name != NULL; library++) {
    luaL_requiref(L, library->name, library->func, 1);
    lua_pop(L, 1);
  }
  restrict_base(L);
  restrict_strings(L);
  restrict_tables(L);
  restrict_coroutines(L);
}

void ltL_close_sandbox_library(lua_State *L) {
  lua_createtable(L, 0, 4);
  lua_getglobal(L, "lutile");
  lua_setfield(L, -2, "lutile");
  lua_pushcclosure(L, require_embedded, 1);
  lua_setglobal(L, "require");
}
