/*
** What the threads of a warp do together: the warp's barrier, shuffles.
*/
#include "host.h"

/* A meeting of the running thread's warp. */
static ltL_meeting meet_warp(lua_State *L, const char *function) {
  static const lt_value nothing = {0, 0, 1, LT_INTEGER};
  int count, current = ltL_check_thread(L, function, "a warp", &count);
  int base = current - current % LTL_WARP, left = count - base;
  return (ltL_meeting){.function = function,
                       .atom = "a warp",
                       .value = &nothing,
                       .base = base,
                       .size = left < LTL_WARP ? left : LTL_WARP,
                       .may_diverge = true,
                       .object = ltL_find_launch(L)};
}

/* What orders the accesses of a warp's threads, in place of the atom's arithmetic. */
static bool order_warp(ltL_state *S, const ltL_meeting *self, ltL_meeting *all, size_t *culprit) {
  (void)S;
  (void)all;
  *culprit = 0;
  ltL_launch *H = (ltL_launch *)(size_t)self->object;
  H->actor.warp_epoch = ++H->warp_epochs[self->base / LTL_WARP];
  if (H->order != NULL) ltT_meet(H->order, self->base, self->size, false);
  return true;
}

/* __syncwarp(): the barrier of the threads of a warp. */
static int sync_warp(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_meeting meeting = meet_warp(L, "__syncwarp");
  meeting.run = order_warp;
  return ltL_meet(L, S, &meeting, (int[]){0, 0, 0, 0});
}

/* ---- Shuffles ------------------------------------------------------------------------------- */

typedef enum shuffle { FROM_LANE, FROM_XOR, FROM_UP, FROM_DOWN } shuffle;

static const char *const shuffle_names[] = {"__shfl_sync", "__shfl_xor_sync", "__shfl_up_sync",
                                            "__shfl_down_sync"};

/* The lane whose number a lane gets; its own where that lane does not exist. */
static int source_lane(shuffle kind, int lane, int parameter, int size) {
  int source = kind == FROM_LANE  ? parameter
               : kind == FROM_XOR ? lane ^ parameter
               : kind == FROM_UP  ? lane - parameter
                                  : lane + parameter;
  return source >= 0 && source < size ? source : lane;
}

/* Each lane gets the number of another one. */
static bool shuffle_lanes(const ltL_meeting *self, ltL_meeting *all, shuffle kind) {
  for (int lane = 0; lane < self->size; lane++)
    all[lane].result = all[source_lane(kind, lane, all[lane].parameter, self->size)].number;
  return true;
}

#define SHUFFLE(name, kind)                                                                    \
  static bool name(ltL_state *S, const ltL_meeting *self, ltL_meeting *all, size_t *culprit) { \
    (void)S;                                                                                   \
    *culprit = 0;                                                                              \
    return shuffle_lanes(self, all, kind);                                                     \
  }

SHUFFLE(run_from_lane, FROM_LANE)
SHUFFLE(run_from_xor, FROM_XOR)
SHUFFLE(run_from_up, FROM_UP)
SHUFFLE(run_from_down, FROM_DOWN)

/* __shfl_sync(mask, number, lane) and its kin (upvalue 2): all threads of the warp take part. */
static int shuffle_number(lua_State *L) {
  static bool (*const runs[])(ltL_state *, const ltL_meeting *, ltL_meeting *, size_t *) = {
      run_from_lane, run_from_xor, run_from_up, run_from_down};
  ltL_state *S = ltL_begin(L);
  shuffle kind = (shuffle)lua_tointeger(L, lua_upvalueindex(2));
  const char *name = shuffle_names[kind];
  ltL_meeting meeting = meet_warp(L, name);
  lua_Integer everyone = ((lua_Integer)1 << meeting.size) - 1;
  if ((luaL_checkinteger(L, 1) & everyone) != everyone)
    return luaL_error(L, "%s: the mask leaves out threads of the warp: all must take part", name);
  meeting.number = luaL_checknumber(L, 2);
  lua_Integer parameter = luaL_checkinteger(L, 3);
  if (parameter < 0 || parameter >= LTL_WARP)
    return luaL_error(L, "%s: %I is not in 0 to %d", name, (LUAI_UACINT)parameter, LTL_WARP - 1);
  meeting.parameter = (int)parameter;
  meeting.has_result = true;
  meeting.run = runs[kind];
  return ltL_meet(L, S, &meeting, (int[]){0, 0, 0, 0});
}

static void set_shuffles(lua_State *L) {
  for (int kind = FROM_LANE; kind <= FROM_DOWN; kind++) {
    ltL_push_state(L);
    lua_pushinteger(L, kind);
    lua_pushcclosure(L, shuffle_number, 2);
    lua_setfield(L, -2, shuffle_names[kind]);
  }
}

static const luaL_Reg functions[] = {{"__syncwarp", sync_warp}, {NULL, NULL}};

void ltL_open_warp(lua_State *L) {
  set_shuffles(L);
  ltL_set_tile_functions(L, functions);
}
