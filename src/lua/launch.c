/*
** launch: kernels as Lua functions, run over a grid of blocks. Each thread of a block is a
** coroutine, which runs until it waits. Blocks run one after the other.
*/
#include <stdlib.h>

#include "../tile/architecture.h"
#include "host.h"

#define MAX_GRID ((lua_Integer)1 << 31)

/* ---- Running -------------------------------------------------------------------------------- */

/* Resumes thread 'i' with 'arguments' values on its stack. */
static void resume(lua_State *L, ltL_launch *H, int i, int arguments) {
  ltL_thread *t = &H->threads[i];
  int results;
  H->current = i;
  H->actor.warp_epoch = H->warp_epochs[i / LTL_WARP];
  H->blamed = -1;
  int status = lua_resume(t->L, L, arguments, &results);
  if (status == LUA_OK)
    t->wait = ENDED;
  else if (status != LUA_YIELD) {
    lua_xmove(t->L, L, 1);
    ltL_name_thread(L, H, H->blamed >= 0 ? H->blamed : i);
    lua_error(L);
  } else if (t->wait == READY) {
    lua_pushliteral(L, "launch: the kernel yields outside of a coroutine of its own");
    ltL_name_thread(L, H, i);
    lua_error(L);
  }
  lua_pop(t->L, results);
}

/* Starts the threads of a block; the kernel is at slot 2, its arguments behind it. */
static void start_block(lua_State *L, ltL_launch *H) {
  H->actor.epoch++;
  int arguments = lua_gettop(L) - 2;
  lua_newtable(L);
  lua_setiuservalue(L, 1, LTL_SHARED_BUFFERS);
  H->at_barrier = 0;
  H->mbarrier_count = 0;
  if (H->order != NULL) ltT_restart_order(H->order);
  for (int i = 0; i < H->thread_count; i++) {
    H->threads[i].wait = READY;
    H->threads[i].shared_count = 0;
  }
  for (int i = 0; i < H->thread_count; i++) {
    lua_State *co = H->threads[i].L;
    if (!lua_checkstack(co, arguments + 2)) luaL_error(L, "launch: too many arguments");
    for (int k = 2; k <= arguments + 2; k++) lua_pushvalue(L, k);
    lua_xmove(L, co, arguments + 1);
    resume(L, H, i, arguments);
  }
}

static void run_block(lua_State *L, ltL_launch *H) {
  start_block(L, H);
  for (;;) {
    bool progress = false, ended = true;
    for (int i = 0; i < H->thread_count; i++) {
      if (H->threads[i].wait == READY) {
        resume(L, H, i, 0);
        progress = true;
      }
      ended = ended && H->threads[i].wait == ENDED;
    }
    if (ended) {
      if (H->counter.traffic != NULL) ltT_settle(H->counter.traffic);
      return;
    }
    if (!progress) ltL_fail_stuck(L, H);
  }
}

static void make_coroutines(lua_State *L, ltL_launch *H) {
  lua_createtable(L, H->thread_count, 0);
  for (int i = 0; i < H->thread_count; i++) {
    H->threads[i].L = lua_newthread(L);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setiuservalue(L, 1, LTL_COROUTINES);
}

/* The memory of traffic and order is freed by the launch's finalizer. */
void ltL_start_counting(lua_State *L, ltL_launch *H) {
  ltL_state *S = ltL_find_state(L);
  H->counter.traffic = ltT_new_traffic(&S->arena->allocator, H->thread_count, LTL_SITES);
  H->actor.order = H->order = ltT_new_order(&S->arena->allocator, H->thread_count);
  if (H->counter.traffic == NULL || H->order == NULL) luaL_error(L, "not enough memory");
  H->counter.actor = &H->actor;
}

/* Protected: slot 1 is the launch, 2 the kernel, then its arguments. */
static int run_grid(lua_State *L) {
  ltL_launch *H = lua_touserdata(L, 1);
  luaL_checkstack(L, lua_gettop(L) + 8, "too many arguments");
  make_coroutines(L, H);
  if (H->checks) ltL_start_counting(L, H);
  for (lua_Integer z = 0; z < H->grid[2]; z++)
    for (lua_Integer y = 0; y < H->grid[1]; y++)
      for (lua_Integer x = 0; x < H->grid[0]; x++) {
        H->block_index[0] = x;
        H->block_index[1] = y;
        H->block_index[2] = z;
        run_block(L, H);
        ltL_advance(&H->progress);
      }
  return 0;
}

/* ---- launch --------------------------------------------------------------------------------- */

static lua_Integer check_extent(lua_State *L, const char *option, lua_Integer limit) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < 1 || n > limit)
    luaL_error(L, "launch: %s has extents from 1 to %I, not %s", option, (LUAI_UACINT)limit,
               luaL_tolstring(L, -1, NULL));
  return n;
}

/* Option 'name' of the table at slot 2: a number, or up to three. */
static void read_extents(lua_State *L, const char *name, lua_Integer limit, lua_Integer extent[3]) {
  extent[0] = extent[1] = extent[2] = 1;
  if (lua_getfield(L, 2, name) != LUA_TTABLE) {
    if (!lua_isnil(L, -1)) extent[0] = check_extent(L, name, limit);
    lua_pop(L, 1);
    return;
  }
  if (lua_rawlen(L, -1) > 3) luaL_error(L, "launch: %s has more than three extents", name);
  for (int i = 0; i < 3; i++) {
    if (lua_rawgeti(L, -1, i + 1) != LUA_TNIL) extent[i] = check_extent(L, name, limit);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void list_architectures(lua_State *L) {
  luaL_Buffer list;
  luaL_buffinit(L, &list);
  for (size_t i = 0; ltT_architecture_at(i) != 0; i++) {
    if (i > 0) luaL_addchar(&list, ' ');
    lua_pushinteger(L, ltT_architecture_at(i));
    luaL_addvalue(&list);
  }
  luaL_pushresult(&list);
}

/* The number of the architecture at the top, in any form that lutile.arch takes; 0 for none. */
static int parse_architecture(lua_State *L, const char *function) {
  if (lua_isinteger(L, -1)) return (int)lua_tointeger(L, -1);
  ltL_require(L, function, "lutile.arch");
  lua_pushvalue(L, -2);
  lua_call(L, 1, 1);
  int number = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return number;
}

/* Option 'arch': 0 where it is left out. */
int ltL_read_architecture(lua_State *L, const char *function, int index) {
  int architecture = 0;
  lua_pushliteral(L, "arch");
  if (lua_rawget(L, index) != LUA_TNIL) {
    architecture = parse_architecture(L, function);
    if (ltT_shared_capacity(architecture) == 0) {
      const char *given = lua_isstring(L, -1) ? lua_tostring(L, -1) : luaL_typename(L, -1);
      list_architectures(L);
      luaL_error(L, "%s: no architecture %s (there are %s)", function, given, lua_tostring(L, -1));
    }
  }
  lua_pop(L, 1);
  return architecture;
}

/* Option 'checks': true unless it says false. */
bool ltL_read_checks(lua_State *L, int index) {
  lua_pushliteral(L, "checks");
  lua_rawget(L, index);
  bool checks = lua_isnil(L, -1) || lua_toboolean(L, -1);
  lua_pop(L, 1);
  return checks;
}

void ltL_set_architecture(ltL_launch *H, int architecture) {
  H->architecture = architecture;
  H->shared_capacity =
      architecture == 0 ? ltT_largest_shared_capacity() : ltT_shared_capacity(architecture);
}

static int free_launch(lua_State *L) {
  ltL_launch *H = lua_touserdata(L, 1);
  ltT_free_traffic(H->counter.traffic);
  H->counter.traffic = NULL;
  ltT_free_order(H->order);
  H->actor.order = H->order = NULL;
  return 0;
}

/* Of the launch at the top. */
static void set_launch_metatable(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, free_launch);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  lua_setmetatable(L, -2);
}

ltL_launch *ltL_new_launch(lua_State *L, const char *function, const lua_Integer grid[3],
                           const lua_Integer block[3], bool checks) {
  lua_Integer count = block[0] * block[1] * block[2];
  if (count > LTL_MAX_BLOCK)
    luaL_error(L, "%s: a block has at most %d threads, not %I", function, LTL_MAX_BLOCK,
               (LUAI_UACINT)count);
  ltL_check_finalizable(L, function);
  size_t size = sizeof(ltL_launch) + (size_t)count * sizeof(ltL_thread);
  ltL_launch *H = lua_newuserdatauv(L, size, 2);
  memset(H, 0, size);
  memcpy(H->grid, grid, sizeof H->grid);
  memcpy(H->block, block, sizeof H->block);
  set_launch_metatable(L);
  H->thread_count = (int)count;
  H->checks = checks;
  H->sites[0] = (ltT_site){"a place beyond those told apart", 0};
  H->site_count = 1;
  H->actor = (ltT_actor){.is_active = true, .sites = H->sites};
  for (int i = 0; i < 3; i++) H->actor.extent[i] = (int)block[i];
  return H;
}

/* A misspelt option would go unnoticed. */
static void check_options(lua_State *L, int index) {
  static const char *const options[] = {"grid", "block", "checks", "arch", NULL};
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : luaL_typename(L, -1);
    int known = 0;
    while (options[known] != NULL && strcmp(options[known], name) != 0) known++;
    if (options[known] == NULL) ltL_no_option(L, "launch", name, options);
  }
}

/*
** launch(kernel, {grid = n | {x, y, z}, block = n | {x, y, z}, checks = boolean, arch = 80}, ...)
*/
static int launch_kernel(lua_State *L) {
  lua_Integer grid[3], block[3];
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (ltL_find_launch(L) != NULL) return luaL_error(L, "launch: a kernel cannot launch another");
  check_options(L, 2);
  read_extents(L, "grid", MAX_GRID, grid);
  read_extents(L, "block", LTL_MAX_BLOCK, block);
  int architecture = ltL_read_architecture(L, "launch", 2);
  ltL_launch *H = ltL_new_launch(L, "launch", grid, block, ltL_read_checks(L, 2));
  ltL_set_architecture(H, architecture);
  lua_pushvalue(L, -1);
  lua_replace(L, 2); /* the options' place */
  lua_pushvalue(L, -1);
  ltL_set_launch(L);
  lua_pop(L, 1);
  lua_pushvalue(L, 2);
  lua_insert(L, 1);
  lua_pushcfunction(L, run_grid);
  lua_insert(L, 2); /* launch, run_grid, kernel, launch, arguments */
  lua_pushvalue(L, 1);
  lua_insert(L, 3);
  lua_remove(L, 5); /* launch, run_grid, launch, kernel, arguments */
  H->progress = ltL_start_progress("launch", grid[0] * grid[1] * grid[2]);
  int status = lua_pcall(L, lua_gettop(L) - 2, 0, 0);
  ltL_end_progress(&H->progress);
  H->actor.is_active = false; /* buffers that stay are no longer watched */
  lua_pushnil(L);
  ltL_set_launch(L);
  if (status != LUA_OK) return lua_error(L);
  lua_pushvalue(L, 1);
  return H->checks ? ltL_push_report(L, H) : 0;
}

static const luaL_Reg functions[] = {{"launch", launch_kernel}, {NULL, NULL}};

void ltL_open_launch(lua_State *L) { ltL_set_tile_functions(L, functions); }
