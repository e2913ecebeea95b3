/*
** Streams and events.
*/
#include "cuda.h"

#define EVENT "lutile event"

typedef struct event {
  lt_cuda_event event; /* NULL: closed */
  int device;
  uint64_t recording; /* within which it was recorded last, and tells nothing outside; 0: none */
} event;

/* ---- Streams -------------------------------------------------------------------------------- */

ltL_stream *ltL_check_stream(lua_State *L, int index) {
  ltL_stream *s = luaL_checkudata(L, index, LTL_STREAM);
  luaL_argcheck(L, s->cuda != NULL, index, "the stream is closed");
  return s;
}

ltL_stream *ltL_optional_stream(lua_State *L, int index) {
  return lua_isnoneornil(L, index) ? NULL : ltL_check_stream(L, index);
}

/* wrong_stream(x): what is wrong with x in the place of a stream; nothing where it will do. */
static int wrong_stream(lua_State *L) {
  const ltL_stream *s = luaL_testudata(L, 1, LTL_STREAM);
  if (lua_isnoneornil(L, 1) || (s != NULL && s->cuda != NULL)) return 0;
  if (s != NULL)
    lua_pushliteral(L, "the stream is closed");
  else
    lua_pushfstring(L, "stream expected, got %s", luaL_typename(L, 1));
  return 1;
}

/* stream([device]) */
static int new_stream(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int device = ltL_check_device(L, C, 1);
  ltL_stream *s = lua_newuserdatauv(L, sizeof *s, 0);
  *s = (ltL_stream){NULL, NULL, device, false};
  ltL_set_cuda_type(L, LTL_STREAM);
  s->stream = lt_cuda_new_stream(C->cuda, device);
  ltL_require_cuda(L, C, s->stream != NULL);
  s->cuda = C->cuda;
  return 1;
}

static int close_stream(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  ltL_stream *s = luaL_checkudata(L, 1, LTL_STREAM);
  if (s->cuda != NULL && C->cuda != NULL) {
    if (s->capturing) C->is_recording = false;
    lt_cuda_free_stream(C->cuda, s->device, s->stream);
  }
  s->cuda = NULL;
  s->capturing = false;
  return 0;
}

static int stream_synchronize(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = ltL_check_stream(L, 1);
  ltL_require_cuda(L, C, lt_cuda_stream_synchronize(C->cuda, s->device, s->stream));
  return 0;
}

/* stream:query(): whether all its work is done. */
static int stream_query(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = ltL_check_stream(L, 1);
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

/* An event that is not of a graph: with one that is, CUDA would end a recording, besides. */
static event *check_timed(lua_State *L, int index, const char *what) {
  event *e = check_event(L, index);
  if (e->recording != 0)
    luaL_error(L,
               "%s: the event was last recorded for a graph, and tells only other work of that "
               "graph of it",
               what);
  return e;
}

/* An event of the recording under way makes any stream take part; one that does awaits no other. */
static event *check_awaited(lua_State *L, const ltL_cuda *C, const ltL_stream *s, int index) {
  event *e = check_event(L, index);
  if (C->is_recording && e->recording == C->recording) return e;
  if (ltL_is_recorded(C, s))
    luaL_error(L,
               "wait: the event was recorded outside of what the stream records, and a graph "
               "waits for its own work only");
  return check_timed(L, index, "wait");
}

/* stream:wait(event): what comes after waits for it. */
static int stream_wait(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_stream *s = ltL_check_stream(L, 1);
  event *e = check_awaited(L, C, s, 2);
  ltL_require_cuda(L, C, lt_cuda_stream_wait(C->cuda, s->device, s->stream, e->event));
  return 0;
}

static int stream_device(lua_State *L) {
  lua_pushinteger(L, ltL_check_stream(L, 1)->device);
  return 1;
}

/* stream:handle(): the CUstream as an integer, for other libraries. */
static int stream_handle(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)(uintptr_t)ltL_check_stream(L, 1)->stream);
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
  *e = (event){NULL, device, 0};
  ltL_set_cuda_type(L, EVENT);
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
  bool is_recorded = ltL_is_recorded(C, s);
  ltL_require_cuda(L, C,
                   lt_cuda_record(C->cuda, e->device, e->event, s == NULL ? NULL : s->stream));
  e->recording = is_recorded ? C->recording : 0;
  lua_settop(L, 1);
  return 1;
}

static int event_synchronize(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *e = check_timed(L, 1, "synchronize");
  ltL_require_cuda(L, C, lt_cuda_event_synchronize(C->cuda, e->device, e->event));
  return 0;
}

static int event_query(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *e = check_timed(L, 1, "query");
  bool done;
  ltL_require_cuda(L, C, lt_cuda_event_query(C->cuda, e->device, e->event, &done));
  lua_pushboolean(L, done);
  return 1;
}

/* event:elapsed(later): milliseconds from this one to the later one, for which it waits. */
static int event_elapsed(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  event *from = check_timed(L, 1, "elapsed"), *to = check_timed(L, 2, "elapsed");
  float milliseconds = 0;
  bool good = lt_cuda_event_synchronize(C->cuda, to->device, to->event) &&
              lt_cuda_elapsed(C->cuda, from->device, from->event, to->event, &milliseconds);
  ltL_require_cuda(L, C, good);
  lua_pushnumber(L, milliseconds);
  return 1;
}

/* ---- The types ------------------------------------------------------------------------------ */

static const luaL_Reg stream_methods[] = {{"capture", ltL_stream_capture},
                                          {"close", close_stream},
                                          {"device", stream_device},
                                          {"handle", stream_handle},
                                          {"keep", ltL_stream_keep},
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

static const luaL_Reg functions[] = {
    {"event", new_event}, {"stream", new_stream}, {"wrong_stream", wrong_stream}, {NULL, NULL}};

void ltL_open_cuda_streams(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, LTL_STREAM, stream_methods, stream_metamethods);
  ltL_make_cuda_type(L, EVENT, event_methods, event_metamethods);
  lua_pop(L, 2);
}
