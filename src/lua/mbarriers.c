/*
** mbarriers. A phase is complete when its arrivals and the bytes that were expected have come; then
** the next one begins. Source: PTX ISA, "mbarrier"; the names are those of CuTe's
** copy_sm90_desc.hpp.
*/
#include "mbarriers.h"

#define TYPE_NAME "lutile mbarrier"
#define BYTES 8
/* Largest count of arrivals. */
#define MAX_COUNT ((1 << 20) - 1)

/* ---- Making and checking -------------------------------------------------------------------- */

static void push_new(lua_State *L, int number, lua_Integer slot) {
  ltL_mbarrier *b = lua_newuserdatauv(L, sizeof *b, 0);
  *b = (ltL_mbarrier){.number = number, .slot = slot};
  luaL_setmetatable(L, TYPE_NAME);
}

/* make_smem_barrier(): the block's next mbarrier, the same one for all of its threads. */
static int make_barrier(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "make_smem_barrier");
  lua_Integer i = ltL_next_shared(L, H, "make_smem_barrier", BYTES);
  if (H->order != NULL && !ltT_start_clocks(H->order)) luaL_error(L, "not enough memory");
  ltL_push_launch(L);
  lua_getiuservalue(L, -1, LTL_SHARED_BUFFERS);
  if (lua_rawgeti(L, -1, i) == LUA_TNIL) {
    if (H->mbarrier_count == LTT_MAX_BARRIERS)
      return luaL_error(L, "make_smem_barrier: a block has %d mbarriers at most", LTT_MAX_BARRIERS);
    push_new(L, H->mbarrier_count++, i);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -4, i);
  }
  if (luaL_testudata(L, -1, TYPE_NAME) != NULL) return 1;
  return luaL_error(L,
                    "make_smem_barrier: buffer %I of the block is no mbarrier for an earlier "
                    "thread",
                    (LUAI_UACINT)i);
}

static ltL_mbarrier *check_barrier(lua_State *L, const char *function, int index) {
  ltL_mbarrier *b = luaL_testudata(L, index, TYPE_NAME);
  if (b == NULL)
    luaL_error(L, "%s: mbarrier expected, got %s: make_smem_barrier makes one", function,
               luaL_typename(L, index));
  return b;
}

/* The same, of the block that runs: one that was kept from another is none. */
static ltL_mbarrier *check_own(lua_State *L, const char *function, int index) {
  ltL_mbarrier *b = check_barrier(L, function, index);
  index = lua_absindex(L, index);
  ltL_push_launch(L);
  lua_getiuservalue(L, -1, LTL_SHARED_BUFFERS);
  lua_rawgeti(L, -1, b->slot);
  bool is_own = lua_rawequal(L, -1, index);
  lua_pop(L, 3);
  if (!is_own) luaL_error(L, "%s: the mbarrier is of another block", function);
  return b;
}

ltL_mbarrier *ltL_check_mbarrier(lua_State *L, ltL_launch *H, const char *function, int index) {
  ltL_mbarrier *b = check_own(L, function, index);
  if (b->count == 0) luaL_error(L, "%s: mbarrier %d is not initialized", function, b->number);
  if (b->initializer != H->current && b->epoch == H->actor.epoch)
    luaL_error(L, "%s: mbarrier %d was initialized by another thread, and no barrier lies between",
               function, b->number);
  return b;
}

/* initialize_barrier(mbarrier [, arrivals of a phase]) */
static int initialize(lua_State *L) {
  const char *function = "initialize_barrier";
  ltL_launch *H = ltL_check_launch(L, function);
  ltL_mbarrier *b = check_own(L, function, 1);
  lua_Integer count = luaL_optinteger(L, 2, 1);
  if (count < 1 || count > MAX_COUNT)
    return luaL_error(L, "%s: %I arrivals, where a phase has 1 to %d", function, (LUAI_UACINT)count,
                      MAX_COUNT);
  if (b->count != 0)
    return luaL_error(L, "%s: mbarrier %d is initialized already", function, b->number);
  b->count = b->pending = (uint32_t)count;
  b->initializer = H->current;
  b->epoch = H->actor.epoch;
  return 0;
}

/* ---- Phases --------------------------------------------------------------------------------- */

static bool is_over(const ltL_mbarrier *b, uint32_t parity) { return (b->phase & 1) != parity; }

static void see_phase(ltL_launch *H, int thread, const ltL_mbarrier *b) {
  if (H->order != NULL) ltT_wait_phase(H->order, thread, b->number);
}

/* Begins the next phase if this one lacks nothing, and lets those go on that waited for it. */
static void complete_phase(ltL_launch *H, ltL_mbarrier *b) {
  if (b->pending != 0 || b->bytes != 0) return;
  b->phase++;
  b->pending = b->count;
  if (H->order != NULL) ltT_complete_phase(H->order, b->number, b->phase);
  for (int i = 0; i < H->thread_count; i++) {
    ltL_thread *t = &H->threads[i];
    if (t->wait != AT_MBARRIER || t->mbarrier != b || !is_over(b, t->phase)) continue;
    t->wait = READY;
    see_phase(H, i, b);
  }
}

static int arrive_at(lua_State *L, ltL_launch *H, const char *function, ltL_mbarrier *b,
                     lua_Integer bytes) {
  if (b->pending == 0)
    return luaL_error(L,
                      "%s: mbarrier %d has had the %d arrivals of its phase, and waits for %I "
                      "bytes",
                      function, b->number, (int)b->count, (LUAI_UACINT)b->bytes);
  b->pending--;
  b->bytes += bytes;
  if (H->order != NULL) ltT_arrive(H->order, H->current, b->number);
  complete_phase(H, b);
  return 0;
}

/* arrive_barrier(mbarrier) */
static int arrive(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "arrive_barrier");
  return arrive_at(L, H, "arrive_barrier", ltL_check_mbarrier(L, H, "arrive_barrier", 1), 0);
}

/* set_barrier_transaction_bytes(mbarrier, bytes): arrives, and expects so many bytes of copies. */
static int expect_bytes(lua_State *L) {
  const char *function = "set_barrier_transaction_bytes";
  ltL_launch *H = ltL_check_launch(L, function);
  ltL_mbarrier *b = ltL_check_mbarrier(L, H, function, 1);
  lua_Integer bytes = luaL_checkinteger(L, 2);
  if (bytes < 0 || bytes > MAX_COUNT)
    return luaL_error(L, "%s: %I is not in 0 to %d", function, (LUAI_UACINT)bytes, MAX_COUNT);
  return arrive_at(L, H, function, b, bytes);
}

ltT_flight ltL_flight_of(const ltL_launch *H, const ltL_mbarrier *b) {
  if (H->order == NULL) return (ltT_flight){.agent = 0};
  return (ltT_flight){.agent = ltT_barrier_agent(H->order, b->number), .phase = b->phase + 1};
}

void ltL_complete_bytes(ltL_launch *H, ltL_mbarrier *b, int64_t bytes) {
  b->bytes -= bytes;
  complete_phase(H, b);
}

static int after_wait(lua_State *L, int status, lua_KContext context) {
  (void)L;
  (void)status;
  (void)context;
  return 0;
}

/* wait_barrier(mbarrier, phase): until the phase of this parity, 0 at first, is complete. */
static int wait(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "wait_barrier");
  ltL_mbarrier *b = ltL_check_mbarrier(L, H, "wait_barrier", 1);
  lua_Integer parity = luaL_checkinteger(L, 2);
  if (parity != 0 && parity != 1)
    return luaL_error(L, "wait_barrier: a phase's parity is 0 or 1, not %I", (LUAI_UACINT)parity);
  ltL_thread *t = ltL_waiting_thread(L, H, "wait_barrier");
  if (is_over(b, (uint32_t)parity)) {
    see_phase(H, H->current, b);
    return 0;
  }
  t->wait = AT_MBARRIER;
  t->mbarrier = b;
  t->phase = (uint32_t)parity;
  ltL_note_place(L, t);
  return lua_yieldk(L, 0, 0, after_wait);
}

void ltL_describe_mbarrier(lua_State *L, const ltL_thread *t) {
  const ltL_mbarrier *b = t->mbarrier;
  lua_pushfstring(L,
                  "wait_barrier: phase %d of mbarrier %d never ends: it lacks %d of %d arrivals "
                  "and %I bytes",
                  (int)b->phase, b->number, (int)b->pending, (int)b->count, (LUAI_UACINT)b->bytes);
}

/* ---- The type ------------------------------------------------------------------------------- */

static int to_string(lua_State *L) {
  const ltL_mbarrier *b = check_barrier(L, "tostring", 1);
  lua_pushfstring(L, "mbarrier %d: phase %d, %d of %d arrivals to come, %I bytes", b->number,
                  (int)b->phase, (int)b->pending, (int)b->count, (LUAI_UACINT)b->bytes);
  return 1;
}

static const luaL_Reg functions[] = {{"arrive_barrier", arrive},
                                     {"initialize_barrier", initialize},
                                     {"make_smem_barrier", make_barrier},
                                     {"set_barrier_transaction_bytes", expect_bytes},
                                     {"wait_barrier", wait},
                                     {NULL, NULL}};

void ltL_open_mbarriers(lua_State *L) {
  if (luaL_newmetatable(L, TYPE_NAME)) {
    lua_pushcfunction(L, to_string);
    lua_setfield(L, -2, "__tostring");
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, -2, "__metatable");
  }
  lua_pop(L, 1);
  ltL_set_tile_functions(L, functions);
}
