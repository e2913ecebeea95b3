/*
** Graphs: what a stream records, and the memory that it needs.
**
** While a stream records, user value 1 of the ltL_cuda is a set of what the recorded work uses: the
** memory behind tensors and tensor maps, launchers with their kernels. It becomes the graph's.
*/
#include "cuda.h"

#define GRAPH "lutile graph"

/* User value 1 is the set of what it needs. */
typedef struct graph {
  lt_cuda_graph graph; /* NULL: closed, or nothing recorded yet */
  int device;
  uint64_t frees; /* memory that had been freed by name when all that it needs was there */
} graph;

/* ---- What recorded work needs ---------------------------------------------------------------- */

bool ltL_is_recorded(const ltL_cuda *C, const ltL_stream *s) {
  return s != NULL && C->is_recording && lt_cuda_is_recorded(C->cuda, s->device, s->stream);
}

/* records(device [, stream]): whether the stream, or any of the device, records. */
static int records(lua_State *L) {
  const ltL_cuda *C = ltL_begin_cuda(L);
  const ltL_stream *s = ltL_optional_stream(L, 2);
  int device = (int)luaL_checkinteger(L, 1);
  lua_pushboolean(L, s != NULL ? ltL_is_recorded(C, s) : lt_cuda_records(C->cuda, device));
  return 1;
}

/* The memory behind the tensor or the tensor map at the top replaces it. */
static void replace_by_memory(lua_State *L, ltL_state *S) {
  if (ltL_test_tensor(L, S, -1) == NULL && luaL_testudata(L, -1, LTL_TENSOR_MAP) == NULL) return;
  lua_getiuservalue(L, -1, 1);
  lua_remove(L, -2);
}

void ltL_keep(lua_State *L, int index) {
  ltL_state *S = lua_touserdata(L, lua_upvalueindex(1));
  index = lua_absindex(L, index);
  lua_getiuservalue(L, lua_upvalueindex(2), 1);
  lua_pushvalue(L, index);
  replace_by_memory(L, S);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Raises where the value at 'index' has no memory that could be kept; 'where' it was given. */
static void check_has_memory(lua_State *L, int index, const char *where, lua_Integer i) {
  int type = lua_type(L, index);
  if (type != LUA_TBOOLEAN && type != LUA_TNUMBER && type != LUA_TSTRING) return;
  luaL_error(L,
             "keep: %s %I is a %s, which has no memory: tensors, buffers, tensor maps and lists "
             "of them are kept",
             where, (LUAI_UACINT)i, lua_typename(L, type));
}

/* Of the arguments from slot 2 to 'last', and of the elements of lists. */
static void check_kept(lua_State *L, int last) {
  for (int slot = 2; slot <= last; slot++) {
    check_has_memory(L, slot, "argument", slot - 1);
    if (!lua_istable(L, slot)) continue;
    for (lua_Integer i = 1; lua_rawgeti(L, slot, i) != LUA_TNIL; i++) {
      check_has_memory(L, -1, "element", i);
      lua_pop(L, 1);
    }
    lua_pop(L, 1);
  }
}

/* The elements of the table at the top. */
static void keep_elements(lua_State *L) {
  for (lua_Integer i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    ltL_keep(L, -1);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/*
** stream:keep(...): a graph that is being recorded keeps these values, as it keeps the arguments of
** launches: for what a kernel reaches by addresses in memory. Else nothing happens. Nil is nothing
** to keep.
*/
int ltL_stream_keep(lua_State *L) {
  const ltL_cuda *C = ltL_begin_cuda(L);
  int last = lua_gettop(L);
  luaL_checkany(L, 1);
  const ltL_stream *s = ltL_optional_stream(L, 1);
  check_kept(L, last);
  if (!ltL_is_recorded(C, s)) return 0;
  for (int i = 2; i <= last; i++) {
    if (lua_isnil(L, i)) continue;
    ltL_keep(L, i);
    if (!lua_istable(L, i)) continue;
    lua_pushvalue(L, i);
    keep_elements(L);
    lua_pop(L, 1);
  }
  return 0;
}

static bool was_freed(lua_State *L, const ltL_cuda *C, int index) {
  const ltL_device_buffer *b = ltL_test_device_buffer(L, C, index);
  const ltL_buffer *host = ltL_test_buffer(L, index);
  return (b != NULL && b->pointer == 0) || (host != NULL && host->is_freed);
}

/* Memory that was freed by name is missed before a launch. */
static void check_memory(lua_State *L, const ltL_cuda *C, graph *g) {
  if (g->frees == C->frees) return;
  lua_getiuservalue(L, 1, 1);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    if (was_freed(L, C, -2))
      luaL_error(L, "launch: memory that the graph uses was freed: %s",
                 luaL_tolstring(L, -2, NULL));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  g->frees = C->frees;
}

/* ---- Recording ------------------------------------------------------------------------------- */

static void set_needs_nil(lua_State *L) {
  lua_pushnil(L);
  lua_setiuservalue(L, lua_upvalueindex(2), 1);
}

/* Ends the recording; whether it was still under way: not if the function closed the stream. */
static bool stop(lua_State *L, ltL_cuda *C, ltL_stream *s, bool is_wanted) {
  bool was_open = s->capturing;
  s->capturing = C->is_recording = false;
  if (was_open && is_wanted) return true;
  if (was_open) lt_cuda_drop_capture(C->cuda, s->device, s->stream);
  set_needs_nil(L);
  return was_open;
}

/* Runs the function at slot 2 while the stream at slot 1 records; what it raises is raised again. */
static void record(lua_State *L, ltL_cuda *C, ltL_stream *s) {
  if (C->is_recording) luaL_error(L, "capture: a stream is recording already");
  lua_newtable(L);
  lua_setiuservalue(L, lua_upvalueindex(2), 1);
  ltL_require_cuda(L, C, lt_cuda_begin_capture(C->cuda, s->device, s->stream));
  s->capturing = C->is_recording = true;
  C->recording++;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 1, 0, 0);
  bool was_open = stop(L, C, s, status == LUA_OK);
  if (status != LUA_OK) lua_error(L);
  if (!was_open) luaL_error(L, "capture: the stream was closed while it recorded");
}

/* The graph at slot 3 takes over the recording, and what it needs. Pushes whether it was updated. */
static void finish(lua_State *L, ltL_cuda *C, ltL_stream *s) {
  bool updated;
  graph *target = lua_touserdata(L, 3);
  lua_getiuservalue(L, lua_upvalueindex(2), 1);
  set_needs_nil(L);
  ltL_require_cuda(L, C,
                   lt_cuda_end_capture(C->cuda, s->device, s->stream, &target->graph, &updated));
  target->device = s->device;
  target->frees = UINT64_MAX; /* something may have been freed while the stream recorded */
  lua_setiuservalue(L, 3, 1);
  lua_pushboolean(L, updated);
}

/* stream:capture(f): the graph of what f(stream) does on the stream. */
int ltL_stream_capture(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = ltL_check_stream(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  graph *g = lua_newuserdatauv(L, sizeof *g, 1);
  *g = (graph){NULL, s->device, 0};
  ltL_set_cuda_type(L, GRAPH);
  record(L, C, s);
  finish(L, C, s);
  lua_settop(L, 3);
  return 1;
}

static graph *check_graph(lua_State *L, int index) { return luaL_checkudata(L, index, GRAPH); }

/*
** graph:update(stream, f): records anew, into the graph. Gives true where it was updated in place,
** false where it had to be replaced.
*/
static int graph_update(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  graph *g = check_graph(L, 1);
  ltL_stream *s = ltL_check_stream(L, 2);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 3);
  if (g->graph != NULL && g->device != s->device)
    return luaL_error(L, "update: the graph is of device %d, the stream of device %d", g->device,
                      s->device);
  lua_rotate(L, 1, -1); /* stream, function, graph */
  record(L, C, s);
  finish(L, C, s);
  return 1;
}

/* ---- Launching, closing ---------------------------------------------------------------------- */

/* graph:launch([stream]) */
static int graph_launch(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  graph *g = check_graph(L, 1);
  luaL_argcheck(L, g->graph != NULL, 1, "the graph is closed");
  ltL_stream *s = ltL_optional_stream(L, 2);
  if (s != NULL && s->device != g->device)
    return luaL_error(L, "launch: the graph is of device %d, the stream of device %d", g->device,
                      s->device);
  check_memory(L, C, g);
  ltL_require_cuda(L, C,
                   lt_cuda_replay(C->cuda, g->device, g->graph, s == NULL ? NULL : s->stream));
  return 0;
}

static int close_graph(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  graph *g = check_graph(L, 1);
  if (g->graph != NULL && C->cuda != NULL) lt_cuda_free_graph(C->cuda, g->device, g->graph);
  g->graph = NULL;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  return 0;
}

/* ---- The type -------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {
    {"close", close_graph}, {"launch", graph_launch}, {"update", graph_update}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {
    {"__close", close_graph}, {"__gc", close_graph}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"records", records}, {NULL, NULL}};

void ltL_open_cuda_graphs(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, GRAPH, methods, metamethods);
  lua_pop(L, 1);
}
