/*
** A host's lua_State that runs a script while memory is short: Lua's allocator with a limit, and with
** every allocation failing in turn.
*/
#ifndef LUTILE_SPEC_EMBED_SHORT_MEMORY_H
#define LUTILE_SPEC_EMBED_SHORT_MEMORY_H

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
static inline void *allocate(void *context, void *block, size_t old_size, size_t new_size) {
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

/* Runs the script (a light userdata) with lutile open; gives a copy of the value that it returns. */
static inline int run(lua_State *L) {
  const char *script = lua_touserdata(L, 1);
  luaL_openlibs(L);
  luaL_requiref(L, "lutile", luaopen_lutile, 1);
  if (luaL_loadbuffer(L, script, strlen(script), "=script") != LUA_OK) return lua_error(L);
  lua_call(L, 0, 1);
  lt_lua_push(L, lt_lua_check(L, -1));
  return 1;
}

static inline int call_run(lua_State *L, const char *script) {
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, (void *)(size_t)script);
  return lua_pcall(L, 1, 1, 0);
}

/* Runs the script in a new state; LUA_OK, or LUA_ERRMEM where there was no memory for it. */
static inline int run_state(host *h, const char *script) {
  lua_State *L = lua_newstate(allocate, h);
  if (L == NULL) return LUA_ERRMEM;
  int status = call_run(L, script);
  const char *message = status == LUA_OK ? "" : lua_tostring(L, -1);
  bool no_memory = message != NULL && strstr(message, "not enough memory") != NULL;
  if (status != LUA_OK && !no_memory) fprintf(stderr, "  %s\n", message);
  lua_close(L);
  return no_memory ? LUA_ERRMEM : status;
}

static inline void check_run(test *t, const host *h, int status, const char *what) {
  bool sound = status == LUA_OK || status == LUA_ERRMEM;
  check(t, sound && h->books.live == 0 && !h->books.mistaken, what);
}

/* Every allocation fails in turn, alone or with all that follow. */
static inline void test_failures(test *t, const char *script, bool once) {
  bool failed = true;
  for (long n = 1; failed; n++) {
    host h = {.books = {.fail_at = n}, .once = once};
    int status = run_state(&h, script);
    failed = once ? h.books.fail_at == 0 : h.books.calls >= n;
    check_run(t, &h, status, "a state whose memory ends");
  }
}

#endif
