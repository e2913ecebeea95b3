/*
** How the threads of a kernel wait: at the block's barrier, or in an operation for the other
** threads that take part in it; and the messages on those that never go on.
*/
#include "host.h"

/* Its address is the key of the launch that runs, in the registry. */
static const char launch_key = 0;

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

void ltL_set_launch(lua_State *L) { lua_rawsetp(L, LUA_REGISTRYINDEX, &launch_key); }

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

ltL_thread *ltL_waiting_thread(lua_State *L, ltL_launch *H, const char *function) {
  ltL_thread *t = ltL_running_thread(L, H, function);
  if (!lua_isyieldable(L))
    luaL_error(L,
               "%s: called from within a C function (by what table.sort or string.gsub calls, or a "
               "finalizer), which cannot stop the thread",
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

bool ltL_find_place(lua_State *L, lua_Debug *at) {
  for (int level = 1; lua_getstack(L, level, at); level++)
    if (lua_getinfo(L, "Sl", at) && at->currentline >= 0) return true;
  return false;
}

void ltL_note_place(lua_State *L, ltL_thread *t) {
  lua_Debug at;
  t->file[0] = '?';
  t->file[1] = '\0';
  t->line = 0;
  if (!ltL_find_place(L, &at)) return;
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
  if (H->order != NULL) ltT_meet(H->order, 0, H->thread_count, true);
}

/* sync(): the barrier of the block. The last thread to come releases the others and goes on. */
static int sync(lua_State *L) {
  ltL_launch *H = ltL_check_launch(L, "sync");
  ltL_thread *t = ltL_waiting_thread(L, H, "sync");
  t->wait = AT_BARRIER;
  if (++H->at_barrier == H->thread_count) {
    release_barrier(H);
    return 0;
  }
  ltL_note_place(L, t);
  return lua_yieldk(L, 0, 0, after_wait);
}

/* ---- Meeting -------------------------------------------------------------------------------- */

int ltL_check_thread(lua_State *L, const char *function, const char *atom, int *count) {
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL)
    luaL_error(L, "%s: %s works only within a kernel, where its threads meet: launch starts one",
               function, atom);
  ltL_waiting_thread(L, H, function);
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
                       const int slots[]) {
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
  lt_tensor *tensors[6];
  for (int i = 0; i < 6; i++) tensors[i] = &all[culprit].tensors[i];
  return ltL_raise_fault(L, S, m->function, tensors, slots, 4 + (size_t)m->further);
}

int ltL_meet(lua_State *L, ltL_state *S, const ltL_meeting *meeting, const int slots[]) {
  ltL_launch *H = ltL_find_launch(L);
  ltL_thread *t = ltL_waiting_thread(L, H, meeting->function);
  t->wait = AT_ATOM;
  t->meeting = *meeting;
  ltL_note_place(L, t);
  if (find_absent(H, meeting) == NULL) return run_meeting(L, S, H, &t->meeting, slots);
  /* The tensors stay on the stack of this call. */
  return lua_yieldk(L, 0, (lua_KContext)t, after_wait);
}

/* ---- Errors --------------------------------------------------------------------------------- */

void ltL_name_thread(lua_State *L, const ltL_launch *H, int i) {
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
  if (t->wait == AT_MBARRIER) return -1;
  if (t->wait == AT_ATOM) {
    const ltL_thread *absent = find_absent(H, &t->meeting);
    return absent == NULL ? -1 : (int)(absent - H->threads);
  }
  for (int i = 0; i < H->thread_count; i++)
    if (H->threads[i].wait != AT_BARRIER) return i;
  return -1;
}

/* A thread that waits at an mbarrier, or for one that has ended, if there is one: it tells most. */
static int find_waiting(ltL_launch *H) {
  int first = -1;
  for (int i = 0; i < H->thread_count; i++) {
    if (H->threads[i].wait == ENDED) continue;
    if (H->threads[i].wait == AT_MBARRIER) return i;
    int missing = find_missing(H, i);
    if (missing >= 0 && H->threads[missing].wait == ENDED) return i;
    if (first < 0) first = i;
  }
  return first;
}

int ltL_fail_stuck(lua_State *L, ltL_launch *H) {
  int waiting = find_waiting(H), missing = find_missing(H, waiting);
  const ltL_thread *t = &H->threads[waiting], *o = &H->threads[missing < 0 ? 0 : missing];
  if (t->wait == AT_MBARRIER) {
    lua_pushfstring(L, "%s:%d: ", t->file, t->line);
    ltL_describe_mbarrier(L, t);
    lua_concat(L, 2);
    ltL_name_thread(L, H, waiting);
    return lua_error(L);
  }
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
                    o->wait == AT_BARRIER    ? "sync"
                    : o->wait == AT_MBARRIER ? "wait_barrier"
                                             : o->meeting.function);
  lua_concat(L, 4);
  ltL_name_thread(L, H, waiting);
  return lua_error(L);
}

static const luaL_Reg functions[] = {{"__syncthreads", sync}, {"sync", sync}, {NULL, NULL}};

void ltL_open_host(lua_State *L) {
  ltL_open_kernel(L);
  ltL_open_launch(L);
  ltL_open_warp(L);
  ltL_open_async(L);
  ltL_open_mbarriers(L);
  ltL_set_tile_functions(L, functions);
}

void ltL_open_tiles(lua_State *L) {
  ltL_open_buffers(L);
  ltL_open_tensors(L);
  ltL_open_algorithms(L);
  ltL_open_mma(L);
  ltL_open_gemm(L);
  ltL_open_host_gemm(L);
  ltL_open_host(L);
}
