/*
** lutile in a host's lua_State when memory is short: every state opens or fails cleanly, whatever
** its limit and whichever allocation fails.
*/
#include "short_memory.h"

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

static void test_limits(test *t) {
  int status = LUA_ERRMEM;
  for (size_t limit = 1024; status != LUA_OK && limit <= 4096 * 1024; limit += 1024) {
    host h = {.limit = limit};
    status = run_state(&h, script);
    check_run(t, &h, status, "a state with a limit");
  }
  check(t, status == LUA_OK, "a state with enough memory");
}

/* Two states, and the module opened twice in one. */
static void test_states(test *t) {
  host h = {.limit = 0}, g = {.limit = 0};
  lua_State *L = lua_newstate(allocate, &h);
  check(t, run_state(&g, script) == LUA_OK, "a state beside another");
  if (L == NULL) return;
  for (int i = 0; i < 2; i++) {
    check(t, call_run(L, script) == LUA_OK, "the module opened again");
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
  test_failures(&t, script, false);
  test_failures(&t, script, true);
  return finish(&t);
}
