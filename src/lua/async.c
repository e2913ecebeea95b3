/*
** Copies that go on after the instruction: groups of cp.async, and TMA loads that complete on an
** mbarrier.
*/
#include "copies.h"
#include "mbarriers.h"

/* Groups of a thread that may stay in flight, as the instruction can say. */
#define MAX_PENDING 1024

/* cp_async_fence(): the thread's copies by cp.async since the last one are a group. */
static int fence(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "cp_async_fence");
  if (H->order != NULL) ltT_commit_group(H->order, H->current);
  return 0;
}

/*
** cp_async_wait(n): waits until at most the thread's last n groups are in flight; for 0 those
** without a fence have arrived too. Other threads need a barrier besides.
*/
static int wait_groups(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "cp_async_wait");
  lua_Integer pending = luaL_optinteger(L, 1, 0);
  if (pending < 0 || pending > MAX_PENDING)
    return luaL_error(L, "cp_async_wait: %I is not in 0 to %d", (LUAI_UACINT)pending, MAX_PENDING);
  if (H->order == NULL) return 0;
  if (pending == 0) ltT_commit_group(H->order, H->current);
  ltT_wait_groups(H->order, H->current, (uint32_t)pending);
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

static const luaL_Reg functions[] = {
    {"cp_async_fence", fence}, {"cp_async_wait", wait_groups}, {NULL, NULL}};

void ltL_open_async(lua_State *L) { ltL_set_tile_functions(L, functions); }
