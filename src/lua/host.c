/*
** The host executor: kernels as Lua functions, launched over a grid of blocks. Each thread of a
** block is a coroutine, which runs until it waits: at the block's barrier, or in gemm for the other
** threads of its atom. Blocks run one after the other.
*/
#include "host.h"

/* Its address is the key of the launch that runs, in the registry. */
static const char launch_key = 0;

#define MAX_GRID ((lua_Integer)1 << 31)

/* ---- The launch that runs ------------------------------------------------------------------- */

ltL_launch *ltL_push_launch(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &launch_key);
  return lua_touserdata(L, -1);
}

ltL_launch *ltL_find_launch(lua_State *L) {
  ltL_launch *H = ltL_push_launch(L);
  lua_pop(L, 1);
  return H;
}

bool ltL_in_kernel(lua_State *L) { return ltL_find_launch(L) != NULL; }

ltL_launch *ltL_check_launch(lua_State *L, const char *function) {
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL) luaL_error(L, "%s: there is no kernel: launch starts one", function);
  return H;
}

ltL_thread *ltL_running_thread(lua_State *L, ltL_launch *H, const char *function) {
  ltL_thread *t = &H->threads[H->current];
  if (t->L != L)
    luaL_error(L, "%s: called in a coroutine of the kernel's own, which cannot stop the thread",
               function);
  return t;
}

/* x, y, z of a number that counts x fastest. */
static void push_coordinate(lua_State *L, const lua_Integer extent[3], lua_Integer i) {
  lua_pushfstring(L, "(%I,%I,%I)", (LUAI_UACINT)(i % extent[0]),
                  (LUAI_UACINT)(i / extent[0] % extent[1]),
                  (LUAI_UACINT)(i / extent[0] / extent[1]));
}

static void push_block_coordinate(lua_State *L, const ltL_launch *H) {
  lua_pushfstring(L, "(%I,%I,%I)", (LUAI_UACINT)H->block_index[0], (LUAI_UACINT)H->block_index[1],
                  (LUAI_UACINT)H->block_index[2]);
}

static void note_place(lua_State *L, ltL_thread *t) {
  lua_Debug at;
  t->file[0] = '?';
  t->file[1] = '\0';
  t->line = 0;
  if (!lua_getstack(L, 1, &at) || !lua_getinfo(L, "Sl", &at)) return;
  memcpy(t->file, at.short_src, sizeof t->file);
  t->line = at.currentline;
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* Goes on after a wait; from a meeting that exchanged numbers with this thread's. */
static int after_wait(lua_State *L, int status, lua_KContext context) {
  (void)status;
  const ltL_thread *t = (const ltL_thread *)context;
  if (t == NULL || !t->meeting.has_result) return 0;
  lua_pushnumber(L, t->meeting.result);
  return 1;
}

static void release_barrier(ltL_launch *H) {
  for (int i = 0; i < H->thread_count; i++)
    if (H->threads[i].wait == AT_BARRIER) H->threads[i].wait = READY;
  H->at_barrier = 0;
  H->actor.epoch++;
}

/* sync(): the barrier of the block. The last thread to come releases the others and goes on. */
static int sync(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "sync");
  ltL_thread *t = ltL_running_thread(L, H, "sync");
  t->wait = AT_BARRIER;
  if (++H->at_barrier == H->thread_count) {
    release_barrier(H);
    return 0;
  }
  note_place(L, t);
  return lua_yieldk(L, 0, 0, after_wait);
}

/* ---- Meeting -------------------------------------------------------------------------------- */

int ltL_check_thread(lua_State *L, const char *function, const char *atom, int *count) {
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL)
    luaL_error(L, "%s: %s works only within a kernel, where its threads meet: launch starts one",
               function, atom);
  ltL_running_thread(L, H, function);
  *count = H->thread_count;
  return H->current;
}

static ltL_thread *member(ltL_launch *H, const ltL_meeting *m, int i) {
  return &H->threads[m->base + (m->threads == NULL ? i : m->threads[i])];
}

/* Whether two threads wait for each other, rather than each in something else. */
static bool same_meeting(const ltL_meeting *a, const ltL_meeting *b) {
  return a->run == b->run && a->base == b->base && strcmp(a->atom, b->atom) == 0 &&
         lt_equal(a->value, b->value);
}

/* The first thread that has not come; NULL when all are there. */
static ltL_thread *find_absent(ltL_launch *H, const ltL_meeting *m) {
  for (int i = 0; i < m->size; i++) {
    ltL_thread *t = member(H, m, i);
    if (t->wait != AT_ATOM || !same_meeting(&t->meeting, m)) return t;
  }
  return NULL;
}

/* The first thread that waits at another line of the script than the first one; 0 if none does. */
static int find_diverged(ltL_launch *H, const ltL_meeting *m) {
  const ltL_thread *first = member(H, m, 0);
  for (int i = 1; i < m->size; i++) {
    const ltL_thread *t = member(H, m, i);
    if (t->line != first->line || strcmp(t->file, first->file) != 0) return i;
  }
  return 0;
}

/* An instruction that a warp executes together is one line of the script for all its threads. */
static int fail_diverged(lua_State *L, ltL_launch *H, const ltL_meeting *m, int diverged) {
  const ltL_thread *t = member(H, m, diverged), *first = member(H, m, 0);
  H->blamed = (int)(t - H->threads);
  lua_pushfstring(L, "%s:%d: %s: %s: its threads diverge: this one is here, thread ", t->file,
                  t->line, m->function, m->atom);
  push_coordinate(L, H->block, first - H->threads);
  lua_pushfstring(L, " at %s:%d", first->file, first->line);
  lua_concat(L, 3);
  return lua_error(L);
}

/* Runs the operation for all; the thread that does is the last to have come. */
static int run_meeting(lua_State *L, ltL_state *S, ltL_launch *H, const ltL_meeting *m,
                       const int slots[4]) {
  size_t culprit = 0;
  int diverged = m->may_diverge ? 0 : find_diverged(H, m);
  if (diverged != 0) return fail_diverged(L, H, m, diverged);
  ltL_meeting *all = ltA_new_bytes(S->arena, (size_t)m->size * sizeof *all);
  if (all == NULL) return ltL_raise(L, S);
  for (int i = 0; i < m->size; i++) all[i] = member(H, m, i)->meeting;
  bool done = m->run(S, m, all, &culprit);
  for (int i = 0; i < m->size; i++) {
    member(H, m, i)->meeting.result = all[i].result;
    member(H, m, i)->wait = READY;
  }
  if (done) return after_wait(L, LUA_OK, (lua_KContext)&H->threads[H->current]);
  H->blamed = (int)(member(H, m, (int)culprit) - H->threads);
  lt_tensor *tensors = all[culprit].tensors;
  return ltL_raise_fault(L, S, m->function,
                         (lt_tensor *[]){&tensors[0], &tensors[1], &tensors[2], &tensors[3]}, slots,
                         4);
}

int ltL_meet(lua_State *L, ltL_state *S, const ltL_meeting *meeting, const int slots[4]) {
  ltL_launch *H = ltL_find_launch(L);
  ltL_thread *t = ltL_running_thread(L, H, meeting->function);
  t->wait = AT_ATOM;
  t->meeting = *meeting;
  note_place(L, t);
  if (find_absent(H, meeting) == NULL) return run_meeting(L, S, H, &t->meeting, slots);
  /* The tensors stay on the stack of this call. */
  return lua_yieldk(L, 0, (lua_KContext)t, after_wait);
}

/* ---- Errors --------------------------------------------------------------------------------- */

/* Appends the thread to the message at the top. */
static void name_thread(lua_State *L, const ltL_launch *H, int i) {
  if (lua_type(L, -1) != LUA_TSTRING) return;
  lua_pushliteral(L, " [thread ");
  push_coordinate(L, H->block, i);
  lua_pushliteral(L, " of block ");
  push_block_coordinate(L, H);
  lua_pushliteral(L, "]");
  lua_concat(L, 6);
}

/* Why the waiting thread does not go on: the first thread that does not come to it, or -1. */
static int find_missing(ltL_launch *H, int waiting) {
  const ltL_thread *t = &H->threads[waiting];
  if (t->wait == AT_ATOM) {
    const ltL_thread *absent = find_absent(H, &t->meeting);
    return absent == NULL ? -1 : (int)(absent - H->threads);
  }
  for (int i = 0; i < H->thread_count; i++)
    if (H->threads[i].wait != AT_BARRIER) return i;
  return -1;
}

/* A thread that waits for one that has ended, if there is one: it tells most. */
static int find_waiting(ltL_launch *H) {
  int first = -1;
  for (int i = 0; i < H->thread_count; i++) {
    if (H->threads[i].wait == ENDED) continue;
    int missing = find_missing(H, i);
    if (missing >= 0 && H->threads[missing].wait == ENDED) return i;
    if (first < 0) first = i;
  }
  return first;
}

/* No thread can go on: says who waits, where, and for whom. */
static int fail_stuck(lua_State *L, ltL_launch *H) {
  int waiting = find_waiting(H), missing = find_missing(H, waiting);
  const ltL_thread *t = &H->threads[waiting], *o = &H->threads[missing];
  if (t->wait == AT_BARRIER)
    lua_pushfstring(L, "%s:%d: sync: ", t->file, t->line);
  else
    lua_pushfstring(L, "%s:%d: %s: %s: ", t->file, t->line, t->meeting.function, t->meeting.atom);
  lua_pushliteral(L, "waits for thread ");
  push_coordinate(L, H->block, missing);
  if (o->wait == ENDED)
    lua_pushliteral(L, ", which has ended");
  else
    lua_pushfstring(L, ", which waits at %s:%d in %s", o->file, o->line,
                    o->wait == AT_BARRIER ? "sync" : o->meeting.function);
  lua_concat(L, 4);
  name_thread(L, H, waiting);
  return lua_error(L);
}

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
    name_thread(L, H, H->blamed >= 0 ? H->blamed : i);
    lua_error(L);
  } else if (t->wait == READY) {
    lua_pushliteral(L, "launch: the kernel yields outside of a coroutine of its own");
    name_thread(L, H, i);
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
    if (!progress) fail_stuck(L, H);
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

/* The traffic's memory is freed by the launch's finalizer. */
static void start_counting(lua_State *L, ltL_launch *H) {
  ltL_state *S = ltL_find_state(L);
  H->counter.traffic = ltT_new_traffic(&S->arena->allocator, H->thread_count, LTL_SITES);
  if (H->counter.traffic == NULL) luaL_error(L, "not enough memory");
  H->counter.actor = &H->actor;
}

/* Protected: slot 1 is the launch, 2 the kernel, then its arguments. */
static int run_grid(lua_State *L) {
  ltL_launch *H = lua_touserdata(L, 1);
  luaL_checkstack(L, lua_gettop(L) + 8, "too many arguments");
  make_coroutines(L, H);
  if (H->checks) start_counting(L, H);
  for (lua_Integer z = 0; z < H->grid[2]; z++)
    for (lua_Integer y = 0; y < H->grid[1]; y++)
      for (lua_Integer x = 0; x < H->grid[0]; x++) {
        H->block_index[0] = x;
        H->block_index[1] = y;
        H->block_index[2] = z;
        run_block(L, H);
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

/* Option 'checks': true unless it says false. */
static bool read_checks(lua_State *L) {
  lua_getfield(L, 2, "checks");
  bool checks = lua_isnil(L, -1) || lua_toboolean(L, -1);
  lua_pop(L, 1);
  return checks;
}

static int free_launch(lua_State *L) {
  ltL_launch *H = lua_touserdata(L, 1);
  ltT_free_traffic(H->counter.traffic);
  H->counter.traffic = NULL;
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

static ltL_launch *new_launch(lua_State *L, const lua_Integer grid[3], const lua_Integer block[3],
                              bool checks) {
  lua_Integer count = block[0] * block[1] * block[2];
  if (count > LTL_MAX_BLOCK)
    luaL_error(L, "launch: a block has at most %d threads, not %I", LTL_MAX_BLOCK,
               (LUAI_UACINT)count);
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

static void set_current(lua_State *L) { /* pops the launch, or nil */
  lua_rawsetp(L, LUA_REGISTRYINDEX, &launch_key);
}

/* launch(kernel, {grid = n | {x, y, z}, block = n | {x, y, z}, checks = boolean}, ...) */
static int launch_kernel(lua_State *L) {
  lua_Integer grid[3], block[3];
  luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_checktype(L, 2, LUA_TTABLE);
  if (ltL_find_launch(L) != NULL) return luaL_error(L, "launch: a kernel cannot launch another");
  read_extents(L, "grid", MAX_GRID, grid);
  read_extents(L, "block", LTL_MAX_BLOCK, block);
  ltL_launch *H = new_launch(L, grid, block, read_checks(L));
  lua_pushvalue(L, -1);
  lua_replace(L, 2); /* the options' place */
  lua_pushvalue(L, -1);
  set_current(L);
  lua_pop(L, 1);
  lua_pushvalue(L, 2);
  lua_insert(L, 1);
  lua_pushcfunction(L, run_grid);
  lua_insert(L, 2); /* launch, run_grid, kernel, launch, arguments */
  lua_pushvalue(L, 1);
  lua_insert(L, 3);
  lua_remove(L, 5); /* launch, run_grid, launch, kernel, arguments */
  int status = lua_pcall(L, lua_gettop(L) - 2, 0, 0);
  H->actor.is_active = false; /* buffers that stay are no longer watched */
  lua_pushnil(L);
  set_current(L);
  if (status != LUA_OK) return lua_error(L);
  lua_pushvalue(L, 1);
  return H->checks ? ltL_push_report(L, H) : 0;
}

static const luaL_Reg functions[] = {
    {"__syncthreads", sync}, {"launch", launch_kernel}, {"sync", sync}, {NULL, NULL}};

void ltL_open_host(lua_State *L) {
  ltL_open_kernel(L);
  ltL_open_warp(L);
  ltL_set_tile_functions(L, functions);
}

void ltL_open_tiles(lua_State *L) {
  ltL_open_buffers(L);
  ltL_open_tensors(L);
  ltL_open_algorithms(L);
  ltL_open_mma(L);
  ltL_open_gemm(L);
  ltL_open_host(L);
}
