/*
** Several kernels compiled by several threads.
*/
#include "cuda.h"

#define BATCH "lutile batch"

/* User value 1 is the list of the orders. */
typedef struct batch {
  lt_cuda_batch *batch; /* NULL: ended */
  lt_cuda_source sources[];
} batch;

/* Copies the list of orders at slot 1, so that no script changes what threads read. */
static void push_orders(lua_State *L, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 1; i <= n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i);
    luaL_checkudata(L, -1, LTL_ORDER);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

/* batch(orders [, threads]): compiling begins. */
static int new_batch(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  size_t n = lua_rawlen(L, 1);
  lua_Integer threads = luaL_optinteger(L, 2, 0);
  luaL_argcheck(L, n < 1 << 20, 1, "a batch has fewer than 2^20 kernels");
  luaL_argcheck(L, threads >= 0 && threads <= 1024, 2, "there are at most 1024 threads");
  batch *b = lua_newuserdatauv(L, sizeof *b + n * sizeof b->sources[0], 1);
  b->batch = NULL;
  push_orders(L, n);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    b->sources[i] = ((const ltL_order *)lua_touserdata(L, -1))->source;
    lua_pop(L, 1);
  }
  lua_setiuservalue(L, -2, 1);
  ltL_set_cuda_type(L, BATCH);
  b->batch = lt_cuda_start_batch(C->cuda, b->sources, n, (int)threads);
  ltL_require_cuda(L, C, b->batch != NULL);
  return 1;
}

/* batch:next(): waits for one more; its index and the kernel, or nil and a message. Nothing after
** the last. No memory raises: it is not that kernel's fault. */
static int next_of_batch(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  batch *b = luaL_checkudata(L, 1, BATCH);
  size_t index;
  lt_cuda_kernel *code;
  luaL_argcheck(L, b->batch != NULL, 1, "the batch is closed");
  if (!lt_cuda_next_of_batch(b->batch, &index, &code)) return 0;
  if (code == NULL && C->error.status == LT_NO_MEMORY) return ltL_raise_cuda(L, C);
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1);
  lua_rawgeti(L, 2, (lua_Integer)index + 1);
  bool good = ltL_push_compiled(L, C, 3, code);
  lua_pushinteger(L, (lua_Integer)index + 1);
  if (!good) lua_pushnil(L);
  lua_pushvalue(L, 4);
  return good ? 2 : 3;
}

static int end_batch(lua_State *L) {
  batch *b = luaL_checkudata(L, 1, BATCH);
  lt_cuda_batch *batch_of_c = b->batch;
  b->batch = NULL;
  lt_cuda_end_batch(batch_of_c);
  return 0;
}

static const luaL_Reg functions[] = {{"batch", new_batch}, {NULL, NULL}};
static const luaL_Reg methods[] = {{"close", end_batch}, {"next", next_of_batch}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__close", end_batch}, {"__gc", end_batch}, {NULL, NULL}};

void ltL_open_cuda_batch(lua_State *L) {
  ltL_make_cuda_type(L, BATCH, methods, metamethods);
  lua_pop(L, 1);
  ltL_set_cuda_functions(L, functions);
}
