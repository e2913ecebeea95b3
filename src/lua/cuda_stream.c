/*
** Streams, events and graphs.
*/
#include "cuda.h"

#define EVENT "lutile event"
#define GRAPH "lutile graph"

typedef struct event {
  lt_cuda_event event; /* NULL: closed */
  int device;
} event;

typedef struct graph {
  lt_cuda_graph graph; /* NULL: closed, or nothing recorded yet */
  int device;
} graph;

/* ---- Streams -------------------------------------------------------------------------------- */

static ltL_stream *check_stream(lua_State *L, int index) {
  ltL_stream *s = luaL_checkudata(L, index, LTL_STREAM);
  luaL_argcheck(L, s->cuda != NULL, index, "the stream is closed");
  return s;
}

ltL_stream *ltL_optional_stream(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? NULL : check_stream(L, index);
}

/* stream([device]) */
static int new_stream(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int device = ltL_check_device(L, C, 1);
  ltL_stream *s = lua_newuserdatauv(L, sizeof *s, 1);
  *s = (ltL_stream){NULL, NULL, device, false};
  luaL_setmetatable(L, LTL_STREAM);
  s->stream = lt_cuda_new_stream(C->cuda, device);
  ltL_require_cuda(L, C, s->stream != NULL);
  s->cuda = C->cuda;
  return 1;
}

static int close_stream(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  ltL_stream *s = luaL_checkudata(L, 1, LTL_STREAM);
  if (s->cuda != NULL && C->cuda != NULL) {
    if (s->capturing) lt_cuda_drop_capture(C->cuda, s->device, s->stream);
    lt_cuda_free_stream(C->cuda, s->device, s->stream);
  }
  s->cuda = NULL;
  s->capturing = false;
  return 0;
}

static int stream_synchronize(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = check_stream(L, 1);
  ltL_require_cuda(L, C, lt_cuda_stream_synchronize(C->cuda, s->device, s->stream));
  return 0;
}

/* stream:query(): whether all its work is done. */
static int stream_query(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = check_stream(L, 1);
  bool done;
  ltL_require_cuda(L, C, lt_cuda_stream_query(C->cuda, s->device, s->stream, &done));
  lua_pushboolean(L, done);
  return 1;
}

static event *check_event(lua_State *L, int index) {
  event *e = luaL_checkudata(L, index, EVENT);
  luaL_argcheck(L, e->event != NULL, index, "the event is closed");
  return e;
}

/* stream:wait(event): what comes after waits for it. */
static int stream_wait(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = check_stream(L, 1);
  event *e = check_event(L, 2);
  ltL_require_cuda(L, C, lt_cuda_stream_wait(C->cuda, s->device, s->stream, e->event));
  return 0;
}

static int stream_device(lua_State *L) {
  lua_pushinteger(L, check_stream(L, 1)->device);
  return 1;
}

/* stream:handle(): the CUstream as an integer, for other libraries. */
static int stream_handle(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(uintptr_t)check_stream(L, 1)->stream);
  return 1;
}

static int stream_tostring(lua_State *L) {
  ltL_stream *s = luaL_checkudata(L, 1, LTL_STREAM);
  lua_pushfstring(L, "stream of device %d%s", s->device, s->cuda == NULL ? " (closed)" : "");
  return 1;
}

/* ---- Events --------------------------------------------------------------------------------- */

/* event([device]) */
static int new_event(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int device = ltL_check_device(L, C, 1);
  event *e = lua_newuserdatauv(L, sizeof *e, 0);
  *e = (event){NULL, device};
  luaL_setmetatable(L, EVENT);
  e->event = lt_cuda_new_event(C->cuda, device);
  ltL_require_cuda(L, C, e->event != NULL);
  return 1;
}

static int close_event(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  event *e = luaL_checkudata(L, 1, EVENT);
  if (e->event != NULL && C->cuda != NULL) lt_cuda_free_event(C->cuda, e->device, e->event);
  e->event = NULL;
  return 0;
}

/* event:record([stream]): it happens when the stream's work up to here is done. Gives the event. */
static int event_record(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *e = check_event(L, 1);
  ltL_stream *s = ltL_optional_stream(L, 2);
  if (s != NULL && s->device != e->device)
    return luaL_error(L, "record: the event is of device %d, the stream of device %d", e->device,
                      s->device);
  ltL_require_cuda(L, C,
                   lt_cuda_record(C->cuda, e->device, e->event, s == NULL ? NULL : s->stream));
  lua_settop(L, 1);
  return 1;
}

static int event_synchronize(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *e = check_event(L, 1);
  ltL_require_cuda(L, C, lt_cuda_event_synchronize(C->cuda, e->device, e->event));
  return 0;
}

static int event_query(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *e = check_event(L, 1);
  bool done;
  ltL_require_cuda(L, C, lt_cuda_event_query(C->cuda, e->device, e->event, &done));
  lua_pushboolean(L, done);
  return 1;
}

/* event:elapsed(later): milliseconds from this one to the later one, for which it waits. */
static int event_elapsed(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *from = check_event(L, 1), *to = check_event(L, 2);
  float milliseconds = 0;
  bool good = lt_cuda_event_synchronize(C->cuda, to->device, to->event) &&
              lt_cuda_elapsed(C->cuda, from->device, from->event, to->event, &milliseconds);
  ltL_require_cuda(L, C, good);
  lua_pushnumber(L, milliseconds);
  return 1;
}

/* ---- Graphs --------------------------------------------------------------------------------- */

void ltL_keep_in_capture(lua_State *L, int stream, int index) {
  index = lua_absindex(L, index);
  lua_getiuservalue(L, stream, 1);
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  lua_pop(L, 1);
}

/*
** stream:keep(...): a graph that is being recorded keeps these values, as it keeps the arguments of
** launches: for what a kernel reaches by addresses in memory. Else nothing happens.
*/
static int stream_keep(lua_State *L) {
  ltL_stream *s = check_stream(L, 1);
  for (int i = 2; s->capturing && i <= lua_gettop(L); i++)
    if (!lua_isnoneornil(L, i)) ltL_keep_in_capture(L, 1, i);
  return 0;
}

static graph *check_graph(lua_State *L, int index) { return luaL_checkudata(L, index, GRAPH); }

/* Runs the function at slot 2 while the stream at slot 1 records; what it raises is raised again. */
static void record(lua_State *L, ltL_cuda *C, ltL_stream *s) {
  if (s->capturing) luaL_error(L, "capture: the stream is recording already");
  lua_newtable(L);
  lua_setiuservalue(L, 1, 1);
  ltL_require_cuda(L, C, lt_cuda_begin_capture(C->cuda, s->device, s->stream));
  s->capturing = true;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 1, 0, 0);
  bool was_open = s->capturing; /* not if the function closed the stream */
  s->capturing = false;
  if (status == LUA_OK && was_open) return;
  if (was_open) lt_cuda_drop_capture(C->cuda, s->device, s->stream);
  if (status == LUA_OK) luaL_error(L, "capture: the stream was closed while it recorded");
  lua_error(L);
}

/* The graph at 'g' takes over the recording, and what it needs. Pushes whether it was updated. */
static void finish(lua_State *L, ltL_cuda *C, ltL_stream *s, int g) {
  bool updated;
  graph *target = lua_touserdata(L, g);
  ltL_require_cuda(L, C,
                   lt_cuda_end_capture(C->cuda, s->device, s->stream, &target->graph, &updated));
  target->device = s->device;
  lua_getiuservalue(L, 1, 1);
  lua_setiuservalue(L, g, 1);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, 1);
  lua_pushboolean(L, updated);
}

/* stream:capture(f): the graph of what f(stream) does on the stream. */
static int stream_capture(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = check_stream(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  graph *g = lua_newuserdatauv(L, sizeof *g, 1);
  *g = (graph){NULL, s->device};
  luaL_setmetatable(L, GRAPH);
  record(L, C, s);
  finish(L, C, s, 3);
  lua_settop(L, 3);
  return 1;
}

/*
** graph:update(stream, f): records anew, into the graph. Gives true where it was updated in place,
** false where it had to be replaced.
*/
static int graph_update(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  graph *g = check_graph(L, 1);
  ltL_stream *s = check_stream(L, 2);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_settop(L, 3);
  if (g->graph != NULL && g->device != s->device)
    return luaL_error(L, "update: the graph is of device %d, the stream of device %d", g->device,
                      s->device);
  lua_rotate(L, 1, -1); /* stream, function, graph */
  record(L, C, s);
  finish(L, C, s, 3);
  return 1;
}

/* graph:launch([stream]) */
static int graph_launch(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  graph *g = check_graph(L, 1);
  luaL_argcheck(L, g->graph != NULL, 1, "the graph is closed");
  ltL_stream *s = ltL_optional_stream(L, 2);
  if (s != NULL && s->device != g->device)
    return luaL_error(L, "launch: the graph is of device %d, the stream of device %d", g->device,
                      s->device);
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

/* ---- The types ------------------------------------------------------------------------------ */

static const luaL_Reg stream_methods[] = {{"capture", stream_capture},
                                          {"close", close_stream},
                                          {"device", stream_device},
                                          {"handle", stream_handle},
                                          {"keep", stream_keep},
                                          {"query", stream_query},
                                          {"wait", stream_wait},
                                          {"synchronize", stream_synchronize},
                                          {NULL, NULL}};
static const luaL_Reg stream_metamethods[] = {{"__close", close_stream},
                                              {"__gc", close_stream},
                                              {"__tostring", stream_tostring},
                                              {NULL, NULL}};

static const luaL_Reg event_methods[] = {
    {"close", close_event},   {"elapsed", event_elapsed},         {"query", event_query},
    {"record", event_record}, {"synchronize", event_synchronize}, {NULL, NULL}};
static const luaL_Reg event_metamethods[] = {
    {"__close", close_event}, {"__gc", close_event}, {NULL, NULL}};

static const luaL_Reg graph_methods[] = {
    {"close", close_graph}, {"launch", graph_launch}, {"update", graph_update}, {NULL, NULL}};
static const luaL_Reg graph_metamethods[] = {
    {"__close", close_graph}, {"__gc", close_graph}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"event", new_event}, {"stream", new_stream}, {NULL, NULL}};

void ltL_open_cuda_streams(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, LTL_STREAM, stream_methods, stream_metamethods);
  ltL_make_cuda_type(L, EVENT, event_methods, event_metamethods);
  ltL_make_cuda_type(L, GRAPH, graph_methods, graph_metamethods);
  lua_pop(L, 3);
}
