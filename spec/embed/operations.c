/*
** A script with an operation of every kind, in states whose memory ends at each allocation in turn:
** each run ends in success or in Lua's error for it, and gives back all that it took.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "../capi/test.h"
#include "lutile_lua.h"

/* Where the memory ends: at the allocations fail_at to fail_end, counted from 1. */
typedef struct memory {
  size_t used;
  long count;
  long fail_at;
  long fail_end;
} memory;

/* Lua's allocator. Shrinking never fails, which Lua relies on. */
static void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
  memory *m = context;
  if (block == NULL) old_size = 0; /* then it is the kind of object */
  if (new_size == 0) {
    free(block);
    m->used -= old_size;
    return NULL;
  }
  if (new_size > old_size) {
    m->count++;
    if (m->count >= m->fail_at && m->count <= m->fail_end) return NULL;
  }
  void *moved = realloc(block, new_size);
  if (moved != NULL) m->used += new_size - old_size;
  return moved;
}

static const char script[] =
    "local l = require 'lutile'\n"
    "local a = l.parse '((2,2),(2,8),(4,4)):((1,8),(2,16),(256,1024))'\n"
    "local b = l.parse '(32,16):(1,32)'\n"
    "local made = {a .. b, -a, ~a, a / 4, b // {4, 4}, b * 2, a[1], a(77), b(1, l._)}\n"
    "for i = 1, #made do tostring(made[i]) end\n"
    "made = l.make_layout(a, b, l.make_layout({l.dyn(4096, 8), {2, 3}}, l.LayoutRight))\n"
    "local many = {}\n"
    "for i = 1, 300 do many[i] = {i % 10 == 0 and 2 or 1} end\n"
    "many = l.make_layout(many)\n"
    "assert(l.parse(tostring(many)) == many)\n"
    "local swizzled = l.Swizzle(3, 4, 3) .. l.make_layout({8, 64}, l.LayoutRight)\n"
    "l.slice_and_offset({1, l._}, swizzled)\n"
    "b:local_tile({4, 4}, {1, l._})\n"
    "for _, mode in pairs(a) do mode:key() end\n"
    "for _, offset in b:each() do if offset > 9 then break end end\n"
    "assert(#b:offsets() == 512)\n"
    "setmetatable({}, {__gc = function() return a .. b end})\n"
    "l.using {}\n"
    "assert(l.from_cute(l.to_cute(swizzled)) == swizzled)\n"
    "assert(not pcall(l.composition, l.parse '(4,6,8):(2,3,5)', l.parse '6:3'))\n";

static int run_script(lua_State *L) {
  luaL_requiref(L, "_G", luaopen_base, 1);
  luaL_requiref(L, "package", luaopen_package, 1);
  luaL_requiref(L, "lutile", luaopen_lutile, 0);
  if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

/* Runs the script in a state of its own. Whether it could end as it did, and gave all back. */
static bool run_state(memory *m) {
  lua_State *L = lua_newstate(allocate, m);
  if (L == NULL) return m->used == 0 && m->fail_at != 0;
  lua_pushcfunction(L, run_script);
  bool failed = lua_pcall(L, 0, 0, 0) != LUA_OK;
  bool memory_ended = m->fail_at != 0 && m->count >= m->fail_at;
  if (failed && !memory_ended) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_close(L);
  return m->used == 0 && (!failed || memory_ended);
}

int main(void) {
  test t = {0, 0};
  memory plain = {0, 0, 0, 0};
  check(&t, run_state(&plain), "a state with enough memory");
  for (long n = 1; n <= plain.count; n++) {
    memory once = {0, 0, n, n};
    memory from_then_on = {0, 0, n, 1L << 30};
    check(&t, run_state(&once), "a state in which one allocation fails");
    check(&t, run_state(&from_then_on), "a state whose memory ends");
  }
  return finish(&t);
}
