/*
** lutile in a host's lua_State when memory is short: every state opens or fails cleanly, whatever
** its limit and whichever allocation fails.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../capi/test.h"
#include "lutile_lua.h"

/* Where the host's memory ends. */
typedef struct host {
  ledger books;
  size_t limit; /* bytes; 0 for none */
  bool once;    /* only the allocation books.fail_at fails, and not all from then on */
} host;

/* Lua's allocator. Shrinking never fails, which Lua relies on. */
static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  host *h = context;
  size_t old = block == NULL ? 0 : old_size;
  bool grows = new_size > old;
  if (grows && h->limit != 0 && h->books.live + new_size - old > h->limit) return NULL;
  if (!grows) {
    long fail_at = h->books.fail_at;
    h->books.fail_at = 0;
    h->books.calls -= new_size != 0; /* not one that could fail */
    void *kept = ledger_reallocate(&h->books, block, old_size, new_size);
    h->books.fail_at = fail_at;
    return kept;
  }
  void *result = ledger_reallocate(&h->books, block, old, new_size);
  if (result == NULL && h->once) h->books.fail_at = 0;
  return result;
}

static const char script[] =
    "local lutile = require 'lutile'\n"
    "local _ENV = setmetatable({}, {__index = _G})\n"
    "lutile.using(_ENV)\n"
    "local a, b = make_layout({4, {2, 3}}, {2, {1, 8}}), parse '(4,6):(6,1)'\n"
    "assert((a .. 4)(3) == a(3))\n"
    "local inverse, complement = ~b, complement(a, 96)\n"
    "assert(b(inverse(b(5))) == b(5))\n"
    "local text = tostring(b / {2, 3}) .. tostring(b // {2, 3}) .. tostring(a * 2)\n"
    "assert(parse(tostring(a)) == a and from_cute(to_cute(a)) == a)\n"
    "assert(not pcall(composition, parse '(4,6,8):(2,3,5)', parse '6:3'))\n"
    "local t = make_tensor('f32', {4, 4})\n"
    "fill(t, 2)\n"
    "t[{1, 2}] = 3\n"
    "copy(t, make_tensor_like(t))\n"
    "assert(t(1, 2) == 3 and #local_tile(t, {2, 2}, {0, 1}) == 2)\n"
    "return a\n";

static int run(lua_State *L) {
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1);
  lt_lua_push(L, lt_lua_check(L, -1));
  return 1;
}

/* Runs the script in a new state; LUA_OK, or LUA_ERRMEM where there was no memory for it. */
static int run_state(host *h) {
  lua_State *L = lua_newstate(allocate, h);
  if (L == NULL) return LUA_ERRMEM;
  lua_pushcfunction(L, run);
  int status = lua_pcall(L, 0, 1, 0);
  const char *message = status == LUA_OK ? "" : lua_tostring(L, -1);
  bool no_memory = message != NULL && strstr(message, "not enough memory") != NULL;
  if (status != LUA_OK && !no_memory) fprintf(stderr, "  %s\n", message);
  lua_close(L);
  return no_memory ? LUA_ERRMEM : status;
}

static void check_run(test *t, const host *h, int status, const char *what) {
  bool sound = status == LUA_OK || status == LUA_ERRMEM;
  check(t, sound && h->books.live == 0 && !h->books.mistaken, what);
}

static void test_limits(test *t) {
  int status = LUA_ERRMEM;
  for (size_t limit = 1024; status != LUA_OK && limit <= 4096 * 1024; limit += 1024) {
    host h = {.limit = limit};
    status = run_state(&h);
    check_run(t, &h, status, "a state with a limit");
  }
  check(t, status == LUA_OK, "a state with enough memory");
}

/* Every allocation fails in turn, alone or with all that follow. */
static void test_failures(test *t, bool once) {
  bool failed = true;
  for (long n = 1; failed; n++) {
    host h = {.books = {.fail_at = n}, .once = once};
    int status = run_state(&h);
    failed = once ? h.books.fail_at == 0 : h.books.calls >= n;
    check_run(t, &h, status, "a state whose memory ends");
  }
}

/* Two states, and the module opened twice in one. */
static void test_states(test *t) {
  host h = {.limit = 0}, g = {.limit = 0};
  lua_State *L = lua_newstate(allocate, &h);
  check(t, run_state(&g) == LUA_OK, "a state beside another");
  if (L == NULL) return;
  for (int i = 0; i < 2; i++) {
    lua_pushcfunction(L, run);
    check(t, lua_pcall(L, 0, 1, 0) == LUA_OK, "the module opened again");
    check(t, lt_lua_test(L, -1) != NULL, "a value of the module");
  }
  check(t, lt_equal(lt_lua_check(L, 1), lt_lua_check(L, 2)), "values of both are of one type");
  lua_close(L);
  check(t, h.books.live == 0 && g.books.live == 0, "all memory is given back");
}

int main(void) {
  test t = {0, 0};
  test_states(&t);
  test_limits(&t);
  test_failures(&t, false);
  test_failures(&t, true);
  return finish(&t);
}
