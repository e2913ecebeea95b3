/*
** Copies that go on after the instruction: groups of cp.async, TMA loads that complete on an
** mbarrier, groups of TMA stores.
*/
#include "copies.h"
#include "mbarriers.h"

/* Groups of a thread that may stay in flight, as the instruction can say. */
#define MAX_PENDING 1024

/* cp_async_fence(): the thread's copies by cp.async since the last one are a group. */
static int fence(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "cp_async_fence");
  if (H->order != NULL) ltT_commit_group(&H->order->groups[H->current]);
  return 0;
}

/* Argument 1, the number of groups that may not be done: 0 if left out. */
static uint32_t check_pending(lua_State *L, const char *function) {
  lua_Integer pending = luaL_optinteger(L, 1, 0);
  if (pending < 0 || pending > MAX_PENDING)
    luaL_error(L, "%s: %I is not in 0 to %d", function, (LUAI_UACINT)pending, MAX_PENDING);
  return (uint32_t)pending;
}

/*
** cp_async_wait(n): waits until at most the thread's last n groups are in flight; for 0 those
** without a fence have arrived too. Other threads need a barrier besides.
*/
static int wait_groups(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "cp_async_wait");
  uint32_t pending = check_pending(L, "cp_async_wait");
  if (H->order == NULL) return 0;
  ltT_groups *groups = &H->order->groups[H->current];
  if (pending == 0) ltT_commit_group(groups);
  ltT_wait_groups(groups, pending);
  return 0;
}

void ltL_fly(lua_State *L, const ltL_copy *c, lt_tensor *target) {
  const ltL_launch *H = ltL_find_launch(L);
  if (H == NULL || H->order == NULL || c->atom.family->way != LT_COPY_ASYNC) return;
  target->flight.group = H->order->groups[H->current].committed + 1;
}

/* ---- TMA ------------------------------------------------------------------------------------ */

/* The user value of a TMA copy that holds its mbarrier. */
#define MBARRIER 2

/* tma:with(mbarrier): the copy whose loads complete on the mbarrier. */
int ltL_tma_with(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_copy *c = ltL_test_copy(L, 1);
  if (c == NULL || c->atom.family->way != LT_COPY_TMA_LOAD)
    return luaL_error(L, "with: TMA load expected, got %s",
                      c == NULL ? luaL_typename(L, 1) : c->atom.name);
  ltL_check_mbarrier(L, ltL_check_launch(L, "with"), "with", 2);
  ltL_push_tiled_copy(L, S, &c->atom, ltL_copy_value(c->tiled));
  lua_getiuservalue(L, 1, 1);
  if (c->kind == LT_COPY_IS_SLICE) lua_getiuservalue(L, -1, 1);
  lua_setiuservalue(L, 3, 1);
  lua_settop(L, 3);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, MBARRIER);
  return 1;
}

/* The mbarrier of the copy at slot 1, or NULL. */
static ltL_mbarrier *mbarrier_of(lua_State *L, ltL_launch **H) {
  *H = ltL_find_launch(L);
  bool has_one = lua_getiuservalue(L, 1, MBARRIER) == LUA_TUSERDATA && *H != NULL;
  ltL_mbarrier *b = has_one ? ltL_check_mbarrier(L, *H, "copy", -1) : NULL;
  lua_pop(L, 1);
  return b;
}

void ltL_fly_tma(lua_State *L, lt_tensor *target) {
  ltL_launch *H;
  const ltL_mbarrier *b = mbarrier_of(L, &H);
  if (b != NULL) target->flight = ltL_flight_of(H, b);
}

void ltL_land_tma(lua_State *L, const lt_tensor *target, int64_t count) {
  ltL_launch *H;
  ltL_mbarrier *b = mbarrier_of(L, &H);
  if (b != NULL) ltL_complete_bytes(H, b, (int64_t)ltT_bytes(target->element, count));
}

/* ---- TMA stores ----------------------------------------------------------------------------- */

void ltL_fly_store(lua_State *L, lt_tensor *source) {
  const ltL_launch *H = ltL_find_launch(L);
  if (H == NULL || H->order == NULL) return;
  source->flight.store = H->order->stores[H->current].committed + 1;
}

/* tma_store_fence(): TMA sees what the thread wrote; here it does without. */
static int store_fence(lua_State *L) {
  ltL_check_launch(L, "tma_store_fence");
  return 0;
}

/* tma_store_arrive(): the thread's TMA stores since the last one are a group. */
static int store_arrive(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "tma_store_arrive");
  if (H->order != NULL) ltT_commit_group(&H->order->stores[H->current]);
  return 0;
}

/* tma_store_wait(n): waits until at most the thread's last n groups still read shared memory. */
static int store_wait(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "tma_store_wait");
  uint32_t pending = check_pending(L, "tma_store_wait");
  if (H->order != NULL) ltT_wait_groups(&H->order->stores[H->current], pending);
  return 0;
}

static const luaL_Reg functions[] = {
    {"cp_async_fence", fence},          {"cp_async_wait", wait_groups},
    {"tma_store_arrive", store_arrive}, {"tma_store_fence", store_fence},
    {"tma_store_wait", store_wait},     {NULL, NULL}};

void ltL_open_async(lua_State *L) { ltL_set_tile_functions(L, functions); }
