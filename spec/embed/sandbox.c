/*
** Scripts that try to leave a sandbox, to outlive its limits, or to do ordinary work in it.
*/
#include <lauxlib.h>
#include <lua.h>
#include <time.h>

#include "../capi/test.h"
#include "lutile_lua.h"

static const lt_lua_limits limits = {16u << 20, 20000000, 1000};

/* Runs a script; its first result or error as text in 'text'. */
static int run(lua_State *L, const char *script, char *text, size_t size) {
  lua_settop(L, 0);
  lt_lua_renew_sandbox(L);
  int status = luaL_loadbufferx(L, script, strlen(script), "=script", "t");
  if (status == LUA_OK) status = lua_pcall(L, 0, 1, 0);
  const char *result = lua_tostring(L, -1);
  snprintf(text, size, "%s", result != NULL ? result : luaL_typename(L, -1));
  return status;
}

/* ---- Work ------------------------------------------------------------------------------------ */

static const struct {
  const char *script;
  const char *result;
} work[] = {
    {"return tostring(lutile.make_layout({4, 8}):complement(64))", "2:32"},
    {"lutile.using() return tostring(logical_divide(parse '8:1', 2))", "(2,4):(1,2)"},
    {"return require 'lutile' == lutile", "boolean"},
    {"return (('a,b'):gsub(',', ';'))", "a;b"},
    {"return tostring(select('#', xpcall(error, function(e) return e, 1 end, 'x')))", "3"},
    {"return tostring(coroutine.wrap(function(x) return coroutine.yield(x) end)(7))", "7"},
    {"return select(2, pcall(coroutine.wrap(function() error('x', 0) end)))", "x"},
    {"return load('return 1 + 1')()", "2"},
    {"return load('return x', 'name', 't', {x = 5})()", "5"},
    {"local t = {3, 1, 2} table.sort(t) return table.concat(t, ' ')", "1 2 3"},
    {"local t = lutile.make_tensor('f32', {2, 2}) lutile.fill(t, 3) return tostring(t(1, 1))",
     "3.0"},
    {"return type(collectgarbage('count'))", "number"},
    {"return tostring(require 'lutile.print' ~= nil)", "true"},
    {"local p = lutile.plan.gemm{M = 64, N = 64, K = 64, dtype = 'f16', arch = 90} "
     "return p.template .. #p:block():sub(1, 9)",
     "gemm_sm90.cu9"},
    {"local p = lutile.plan.gemm{M = 64, N = 64, K = 64, dtype = 'f16', arch = 80} "
     "return p.template .. #p:block():sub(1, 9)",
     "gemm_sm80.cu9"},
    {"return (select(2, pcall(lutile.plan.gemm, {M = 64, N = 64, K = 64, dtype = 'f16', arch = 80, "
     "tile = {1, 2, 3}})):match('is 1: a multiple'))",
     "is 1: a multiple"},
};

static void test_work(test *t, lua_State *L) {
  char text[256];
  for (size_t i = 0; i < sizeof work / sizeof work[0]; i++) {
    check(t, run(L, work[i].script, text, sizeof text) == LUA_OK, work[i].script);
    check_text(t, work[i].script, text, work[i].result);
  }
}

/* ---- Ways out: each returns nothing, or raises ----------------------------------------------- */

static const char *const ways_out[] = {
    "return io or os or package or debug or dofile or loadfile or warn",
    "return getmetatable('').__index",
    "return getmetatable(lutile.parse '4:1').__index",
    "return require 'io'",
    "return require 'package'",
    "return require 'debug'",
    "return require 'lutile.cuda'",
    "return require 'lutile.cuda.driver'",
    "return lutile.cuda",
    "return lutile.make_tensor('f32', 4):to(1)",
    "return require '../lutile'",
    "return load(string.dump(function() end))",
    "return load('\\27Lua')",
    "return load('\\27Lua', 'x', 'b')",
    "return load(function() return string.dump(function() end) end)",
    "return setmetatable({}, {__gc = function() end})",
    "return setmetatable({}, {__gc = true})",
    "return setmetatable(lutile.parse '4:1', {})",
    "return ('x'):rep(1e9)",
    "return collectgarbage('stop')",
    "return collectgarbage('generational')",
};

static void test_ways_out(test *t, lua_State *L) {
  char text[256];
  for (size_t i = 0; i < sizeof ways_out / sizeof ways_out[0]; i++) {
    int status = run(L, ways_out[i], text, sizeof text);
    bool is_closed = status != LUA_OK || strcmp(text, "nil") == 0;
    check(t, is_closed, ways_out[i]);
  }
}

static void test_binary(test *t, lua_State *L) {
  char text[256];
  const char *message = "attempt to load a binary chunk (mode is 't')";
  run(L, "return select(2, load(string.dump(function() end)))", text, sizeof text);
  check_text(t, "a dumped function", text, message);
  run(L, "return select(2, load('\\27Lua...'))", text, sizeof text);
  check_text(t, "the head of a binary chunk", text, message);
}

/* ---- Scripts without end --------------------------------------------------------------------- */

#define SPIN "local function spin() while true do end end "

static const char *const endless[] = {
    SPIN "spin()",
    SPIN "while true do pcall(spin) end",
    SPIN "local function again() pcall(spin) again() end pcall(again) spin()",
    SPIN "xpcall(spin, spin)",
    SPIN "coroutine.wrap(spin)()",
    SPIN "while true do coroutine.wrap(pcall)(spin) end",
    SPIN "local co = coroutine.create(spin) coroutine.resume(co) coroutine.close(co) spin()",
    SPIN
    "local co = coroutine.create(function() local x <close> = setmetatable({}, "
    "{__close = spin}) spin() end) coroutine.resume(co) coroutine.close(co) spin()",
    SPIN
    "coroutine.wrap(function() local x <close> = setmetatable({}, {__close = spin}) "
    "spin() end)()",
    SPIN "local x <close> = setmetatable({}, {__close = spin}) spin()",
    SPIN "table.sort({1, 2, 3}, spin)",
    SPIN "return ('x'):gsub('x', spin)",
    SPIN "return setmetatable({}, {__index = spin}).x",
    SPIN
    "return setmetatable({}, {__tostring = spin}) .. tostring(setmetatable({}, "
    "{__tostring = spin}))",
    SPIN "load(spin) spin()",
    SPIN "for _ in spin do end",
    SPIN "return lutile.make_layout(setmetatable({}, {__index = spin, __len = spin})) and spin()",
    ("local function down(n) local c = coroutine.wrap(down) for i = 1, 200 do "
     "coroutine.wrap(down)(n) end end while true do pcall(down, 1) end"),
    "while true do coroutine.wrap(function() end)() end",
    "local f = ('x'):rep(100) while true do f:find('y') end",
    "goto top ::top:: goto top",
};

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check_ended(test *t, lua_State *L, const char *script) {
  char text[256];
  double start = seconds();
  int status = run(L, script, text, sizeof text);
  bool is_ended = status != LUA_OK && (strstr(text, "out of ") != NULL || status == LUA_ERRMEM ||
                                       strstr(text, "not enough memory") != NULL);
  check(t, is_ended && seconds() - start < 20, script);
  if (!is_ended) fprintf(stderr, "  got %s\n", text);
}

static void test_endless(test *t) {
  static const lt_lua_limits by_count = {16u << 20, 2000000, 0}, by_time = {16u << 20, 0, 100};
  for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
    lua_State *counted = lt_lua_new_sandbox(&by_count), *timed = lt_lua_new_sandbox(&by_time);
    check_ended(t, counted, endless[i]);
    check_ended(t, timed, endless[i]);
    char text[64];
    check(t, run(counted, "return 'again'", text, sizeof text) == LUA_OK, "a script after one");
    lt_lua_close_sandbox(counted);
    lt_lua_close_sandbox(timed);
  }
}

/* Calls in C that would not end are refused at once. */
static const char *const long_calls[] = {
    "return ('a'):rep(1e4):find('.-.-.-.-b$')",
    "return ('a'):rep(1e4):match('.-.-.-.-b$')",
    "return ('a'):rep(1e4):gsub('.-.-.-.-b$', '')",
    "return string.gmatch(('a'):rep(1e4), '.-.-.-.-b$')()",
    "return ('a'):rep(1e6):find(('a'):rep(5e5) .. 'b', 1, true)",
    "return table.move({}, 1, math.maxinteger - 1, 2)",
    "return table.insert(setmetatable({}, {__len = function() return 1 << 40 end}), 1, 1)",
    "return table.remove(setmetatable({}, {__len = function() return 1 << 40 end}), 1)",
    "return table.sort(setmetatable({}, {__len = function() return 1 << 30 end}), rawequal)",
    "return table.concat(setmetatable({}, {__index = tostring}), '', 1, 1 << 50)",
    "return table.unpack({}, 1, 1 << 30)",
    "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end",
    "local s = 'x' while true do s = s .. s end",
    "return lutile.make_tensor('f32', {1 << 20, 1 << 20})",
};

static void test_long_calls(test *t, lua_State *L) {
  char text[256];
  for (size_t i = 0; i < sizeof long_calls / sizeof long_calls[0]; i++) {
    double start = seconds();
    check(t, run(L, long_calls[i], text, sizeof text) != LUA_OK, long_calls[i]);
    check(t, seconds() - start < 10, long_calls[i]);
  }
  check(t, run(L, "return (('').rep('', 1e18))", text, sizeof text) == LUA_OK, "nothing, often");
}

static void test_memory(test *t) {
  for (size_t memory = 1024; memory <= 4096 * 1024; memory += 16 * 1024) {
    lua_State *L = lt_lua_new_sandbox(&(lt_lua_limits){memory, 1000000, 1000});
    char text[64];
    if (L != NULL) run(L, "return tostring(lutile.make_layout({4, 8}) .. 4)", text, sizeof text);
    lt_lua_close_sandbox(L);
  }
  lua_State *L = lt_lua_new_sandbox(&(lt_lua_limits){0, 0, 0});
  check(t, L != NULL, "a sandbox without limits");
  lt_lua_close_sandbox(L);
  lt_lua_close_sandbox(NULL);
}

int main(void) {
  test t = {0, 0};
  lua_State *L = lt_lua_new_sandbox(&limits);
  check(&t, L != NULL, "a sandbox");
  if (L == NULL) return finish(&t);
  test_work(&t, L);
  test_ways_out(&t, L);
  test_binary(&t, L);
  test_long_calls(&t, L);
  lt_lua_close_sandbox(L);
  test_endless(&t);
  test_memory(&t);
  return finish(&t);
}
