/*
** Plans in a host's lua_State that is short of memory for a moment: a plan is the one that it is with
** enough, or there is none.
*/
#include "short_memory.h"

static const char script[] =
    "local lutile = require 'lutile'\n"
    "collectgarbage 'stop'\n"
    "local p = lutile.plan.gemm{M = 64, N = 64, K = 64, dtype = 'f16', arch = 90, tuned = false}\n"
    "assert(p.template == 'gemm_sm90.cu')\n"
    "local q = lutile.plan.gemm{M = 96, N = 96, K = 64, dtype = 'f16', arch = 120, tuned = false,\n"
    "  tile = {96, 48, 64}, warps = {2, 1}}\n"
    "assert(q.template == 'gemm_sm120.cu' and #q:source() > 0)\n"
    "local size = {M = 64, N = 64, K = 64}\n"
    "local g = lutile.plan.grouped_gemm{groups = {size}, dtype = 'f16', arch = 90}\n"
    "assert(g.shared)\n"
    "return p.A.shared\n";

typedef struct brief_host {
  host host; /* first: what 'allocate' takes */
  bool has_failed;
} brief_host;

/*
** The first allocation beyond the limit fails, and once more after Lua's collection; from then on there
** is no limit.
*/
static void *allocate_briefly(void *context, void *block, size_t old_size, size_t new_size) {
  brief_host *h = context;
  bool grows = new_size > (block == NULL ? 0 : old_size);
  if (grows && h->has_failed && h->host.limit != 0) {
    h->host.limit = 0;
    return NULL;
  }
  void *result = allocate(&h->host, block, old_size, new_size);
  if (result == NULL && new_size > 0) h->has_failed = true;
  return result;
}

static int run_briefly(brief_host *h) {
  lua_State *L = lua_newstate(allocate_briefly, h);
  if (L == NULL) return LUA_ERRMEM;
  int status = call_run(L, script);
  const char *message = status == LUA_OK ? "" : lua_tostring(L, -1);
  if (message != NULL && strstr(message, "not enough memory") != NULL) status = LUA_ERRMEM;
  if (status != LUA_OK && status != LUA_ERRMEM) fprintf(stderr, "  %s\n", message);
  lua_close(L);
  return status;
}

int main(void) {
  test t = {0, 0};
  for (size_t limit = 128 * 1024; limit < 4096 * 1024; limit += 7 * 1024) {
    brief_host h = {.host = {.limit = limit}};
    check_run(&t, &h.host, run_briefly(&h), "a plan when memory was short");
  }
  return finish(&t);
}
