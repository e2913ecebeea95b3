/*
** lutile.cuda: its state in one lua_State, errors, devices, the cache.
*/
#include "cuda.h"

#include "cuda_module.h"
#include "progress.h"

/* Its address is the state's key in the registry. */
static const char state_key = 0;

/* ---- The state ------------------------------------------------------------------------------ */

static void *reallocate(void *context, void *block, size_t old_size, size_t new_size) {
  ltL_cuda *C = context;
  return C->allocate(C->allocate_context, block, block == NULL ? 0 : old_size, new_size);
}

/* Lua's collector answers no call while a finalizer runs. */
static bool is_in_finalizer(lua_State *L) { return lua_gc(L, LUA_GCCOUNT) < 0; }

/* Finalizes what finalizers made; where that was finalized, this does nothing. */
static void release_rest(lua_State *L) {
  lua_getiuservalue(L, 1, 3);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    lua_pop(L, 1);
    luaL_getmetafield(L, 3, "__gc");
    lua_pushvalue(L, 3);
    lua_call(L, 1, 0);
  }
}

static int close_state(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, 1);
  if (C->cuda != NULL) release_rest(L);
  lt_cuda_close(C->cuda);
  C->cuda = NULL;
  return 0;
}

/* Pushes a set that keeps nothing of what is in it. */
static void push_weak_set(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

static void collect(void *context) { lua_gc(((ltL_cuda *)context)->collector, LUA_GCCOLLECT); }

/*
** It is made before anything that it holds, and so finalized after all of it when the lua_State
** closes. One that is made while it closes would not be finalized.
*/
static void push_new_state(lua_State *L) {
  if (is_in_finalizer(L)) luaL_error(L, "cuda: a finalizer cannot be the first that requires it");
  lua_createtable(L, 0, 2);
  lua_pushcfunction(L, close_state);
  lua_setfield(L, -2, "__gc");
  lua_pushboolean(L, 0);
  lua_setfield(L, -2, "__metatable");
  ltL_cuda *C = lua_newuserdatauv(L, sizeof *C, 3);
  *C = (ltL_cuda){.error = {LT_OK, ""}};
  push_weak_set(L);
  lua_setiuservalue(L, -2, 3);
  C->allocate = lua_getallocf(L, &C->allocate_context);
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  lt_allocator allocator = {reallocate, C};
  C->cuda = lt_cuda_open(&allocator, &C->error);
  if (C->cuda == NULL) luaL_error(L, "%s", C->error.message);
  C->collector = lua_newthread(L);
  lua_setiuservalue(L, -2, 2);
  lt_cuda_set_collector(C->cuda, collect, C);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);
}

ltL_cuda *ltL_begin_cuda(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  if (C->cuda == NULL) luaL_error(L, "cuda: the state is being closed");
  return C;
}

/*
** Lua finalizes nothing that is made while it closes, which only finalizers do: what they make is in
** the set of user value 3, whether it closes or not.
*/
void ltL_set_cuda_type(lua_State *L, const char *name) {
  luaL_setmetatable(L, name);
  if (!is_in_finalizer(L)) return;
  lua_getiuservalue(L, lua_upvalueindex(2), 3);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, 1);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

int ltL_raise_cuda(lua_State *L, const ltL_cuda *C) {
  return luaL_error(L, "%s", C->error.message);
}

void ltL_require_cuda(lua_State *L, const ltL_cuda *C, bool good) {
  if (!good) ltL_raise_cuda(L, C);
}

void ltL_pass_warnings(lua_State *L, ltL_cuda *C) {
  const char *warnings = lt_cuda_take_warnings(C->cuda);
  if (warnings[0] == '\0') return;
  lua_warning(L, "lutile: ", 1);
  lua_warning(L, warnings, 0);
}

int ltL_check_device(lua_State *L, ltL_cuda *C, int index) {
  lua_Integer device = luaL_optinteger(L, index, 0);
  int count = lt_cuda_device_count(C->cuda);
  if (count == 0) ltL_raise_cuda(L, C);
  if (device < 0 || device >= count)
    luaL_error(L, "no device %I: there are %d, from 0 on", (LUAI_UACINT)device, count);
  return (int)device;
}

/* ---- What there is -------------------------------------------------------------------------- */

static int push_answer(lua_State *L, const ltL_cuda *C, bool answer) {
  lua_pushboolean(L, answer);
  if (answer) return 1;
  lua_pushstring(L, C->error.message);
  return 2;
}

/* available(): true, or false and why. */
static int available(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  return push_answer(L, C, lt_cuda_available(C->cuda));
}

static int has_compiler(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  return push_answer(L, C, lt_cuda_has_compiler(C->cuda));
}

static int count(lua_State *L) {
  lua_pushinteger(L, lt_cuda_device_count(ltL_begin_cuda(L)->cuda));
  return 1;
}

static void set_integer(lua_State *L, const char *name, size_t x) {
  lua_pushinteger(L, (lua_Integer)x);
  lua_setfield(L, -2, name);
}

static void set_string(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

/* device(i): its properties. */
static int device(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_cuda_device d;
  int index = ltL_check_device(L, C, 1);
  ltL_require_cuda(L, C, lt_cuda_get_device(C->cuda, index, &d));
  lua_createtable(L, 0, 12);
  set_string(L, "name", d.name);
  set_integer(L, "index", (size_t)index);
  lua_pushfstring(L, "%d.%d", d.major, d.minor);
  lua_setfield(L, -2, "compute_capability");
  set_integer(L, "major", (size_t)d.major);
  set_integer(L, "minor", (size_t)d.minor);
  set_integer(L, "multiprocessors", (size_t)d.multiprocessors);
  set_integer(L, "max_threads", (size_t)d.max_threads);
  set_integer(L, "warp_size", (size_t)d.warp_size);
  set_integer(L, "shared_memory", d.shared_memory);
  set_integer(L, "shared_memory_most", d.shared_memory_most);
  set_integer(L, "shared_memory_multiprocessor", d.shared_memory_multiprocessor);
  set_integer(L, "l2_cache", d.l2_cache);
  set_integer(L, "memory", d.memory);
  return 1;
}

static void push_version(lua_State *L, int version) {
  lua_pushfstring(L, "%d.%d", version / 1000, version % 1000 / 10);
}

/* Sets prefix, prefix_path; or prefix_reason. */
static void set_library(lua_State *L, const char *prefix, int version, const char *path,
                        const char *why) {
  if (version == 0) {
    lua_pushfstring(L, "%s_reason", prefix);
    lua_pushstring(L, why);
  } else {
    push_version(L, version);
    lua_setfield(L, -2, prefix);
    lua_pushfstring(L, "%s_path", prefix);
    lua_pushstring(L, path);
  }
  lua_rawset(L, -3);
}

/* info(): versions and paths of driver and compiler, or why they are not there. */
static int info(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_cuda_versions v;
  lt_cuda_get_versions(C->cuda, &v);
  lt_cuda_available(C->cuda);
  lua_createtable(L, 0, 4);
  lua_pushstring(L, C->error.message); /* why there is no device */
  lt_cuda_has_compiler(C->cuda);
  lua_pushstring(L, C->error.message);
  lua_pushvalue(L, -3);
  set_library(L, "driver", v.driver, v.driver_path, lua_tostring(L, -3));
  set_library(L, "compiler", v.compiler, v.compiler_path, lua_tostring(L, -2));
  return 1;
}

/* ---- The cache ------------------------------------------------------------------------------ */

/* cache(): folder, size, limit, entries; reason where it is not used or not written. */
static int cache(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_cuda_cache c;
  lt_cuda_get_cache(C->cuda, &c);
  lua_createtable(L, 0, 5);
  set_string(L, "folder", c.folder);
  set_integer(L, "size", c.size);
  set_integer(L, "limit", c.limit);
  set_integer(L, "entries", c.entries);
  if (c.reason[0] != '\0') set_string(L, "reason", c.reason);
  return 1;
}

static int statistics(lua_State *L) {
  lt_cuda_statistics s = lt_cuda_get_statistics(ltL_begin_cuda(L)->cuda);
  lua_createtable(L, 0, 5);
  set_integer(L, "compiled", s.compiled);
  set_integer(L, "from_disk", s.from_disk);
  set_integer(L, "from_memory", s.from_memory);
  set_integer(L, "loads", s.loads);
  set_integer(L, "launches", s.launches);
  return 1;
}

/* shows_progress(): whether standard error is a terminal. */
static int shows_progress(lua_State *L) {
  lua_pushboolean(L, ltL_shows_progress());
  return 1;
}

/* ---- Devices that reach each other ----------------------------------------------------------- */

static int can_access_peer(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int from = ltL_check_device(L, C, 1), to = ltL_check_device(L, C, 2);
  C->error.status = LT_OK;
  bool can = lt_cuda_can_access_peer(C->cuda, from, to);
  ltL_require_cuda(L, C, can || C->error.status == LT_OK);
  lua_pushboolean(L, can);
  return 1;
}

static int enable_peer(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int from = ltL_check_device(L, C, 1), to = ltL_check_device(L, C, 2);
  ltL_require_cuda(L, C, lt_cuda_enable_peer(C->cuda, from, to));
  return 0;
}

/* synchronize([device]): waits for all work on it. */
static int synchronize(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_require_cuda(L, C, lt_cuda_synchronize(C->cuda, ltL_check_device(L, C, 1)));
  return 0;
}

/* synchronize_default([device]): waits for the work on its default stream. */
static int synchronize_default(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int device = ltL_check_device(L, C, 1);
  ltL_require_cuda(L, C, lt_cuda_stream_synchronize(C->cuda, device, NULL));
  return 0;
}

/* ---- The module ----------------------------------------------------------------------------- */

void ltL_set_cuda_functions(lua_State *L, const luaL_Reg *functions) {
  ltL_push_state(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key);
  luaL_setfuncs(L, functions, 2);
}

void ltL_make_cuda_type(lua_State *L, const char *name, const luaL_Reg *methods,
                        const luaL_Reg *metamethods) {
  luaL_newmetatable(L, name);
  ltL_set_cuda_functions(L, metamethods);
  lua_newtable(L);
  ltL_set_cuda_functions(L, methods);
  lua_setfield(L, -2, "__index");
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__metatable");
}

static const luaL_Reg functions[] = {{"available", available},
                                     {"cache", cache},
                                     {"can_access_peer", can_access_peer},
                                     {"count", count},
                                     {"device_properties", device},
                                     {"enable_peer", enable_peer},
                                     {"has_compiler", has_compiler},
                                     {"info", info},
                                     {"shows_progress", shows_progress},
                                     {"statistics", statistics},
                                     {"synchronize", synchronize},
                                     {"synchronize_default", synchronize_default},
                                     {NULL, NULL}};

int ltL_open_cuda_driver(lua_State *L) {
  ltL_push_state(L);
  lua_pop(L, 1);
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &state_key) == LUA_TNIL) push_new_state(L);
  lua_createtable(L, 0, 48);
  ltL_set_cuda_functions(L, functions);
  ltL_open_cuda_text(L);
  ltL_open_cuda_memory(L);
  ltL_open_cuda_pinned(L);
  ltL_open_cuda_streams(L);
  ltL_open_cuda_graphs(L);
  ltL_open_cuda_compile(L);
  ltL_open_cuda_batch(L);
  ltL_open_cuda_launch(L);
  ltL_open_cuda_tensor_maps(L);
  ltL_open_cuda_notes(L);
  return 1;
}
