/*
** Lua modules and kernel templates kept in the binary: look-up, and loaders for require.
*/
#include "embedded.h"

#include <lauxlib.h>
#include <lua.h>
#include <string.h>
#include <zlib.h>

#define MODULE_PREFIX "lutile."

const ltL_embedded *ltL_find_embedded(const char *name) {
  for (const ltL_embedded *file = ltL_embedded_files; file->name != NULL; file++)
    if (strcmp(file->name, name) == 0) return file;
  return NULL;
}

/* ---- Unpacking ------------------------------------------------------------------------------- */

/* zlib's memory: userdata on the stack of the state, which a raised error frees too. */
static void *allocate(void *L, unsigned count, unsigned size) {
  return lua_newuserdatauv(L, (size_t)count * size, 0);
}

static void forget(void *L, void *block) {
  (void)L;
  (void)block;
}

/* Fills the userdata at the top with the group's texts; what zlib needs meanwhile is above it. */
static void unpack(lua_State *L, const ltL_embedded_group *group) {
  int top = lua_gettop(L);
  z_stream z = {.zalloc = allocate, .zfree = forget, .opaque = L};
  z.next_out = lua_touserdata(L, top);
  z.avail_out = (unsigned)group->size + 1;
  int status = inflateInit2(&z, 16 + MAX_WBITS); /* 16: a gzip header */
  z.next_in = (unsigned char *)group->packed;    /* zlib only reads it */
  z.avail_in = (unsigned)group->packed_size;
  if (status == Z_OK) status = inflate(&z, Z_FINISH);
  if (status != Z_STREAM_END || z.total_out != group->size)
    luaL_error(L, "the embedded files are damaged");
  lua_settop(L, top);
}

/* Its address is the key in the registry of a table of the groups that are unpacked, which is weak:
** files that are loaded one after the other unpack them once. */
static const char groups_key = 0;

static void push_groups(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &groups_key) == LUA_TTABLE) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &groups_key);
}

/* Pushes a userdata of the group's texts. */
static const char *push_group(lua_State *L, const ltL_embedded_group *group) {
  push_groups(L);
  if (lua_rawgetp(L, -1, group) != LUA_TUSERDATA) {
    lua_pop(L, 1);
    lua_newuserdatauv(L, group->size + 1, 0);
    unpack(L, group);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, -3, group);
  }
  lua_remove(L, -2);
  return lua_touserdata(L, -1);
}

void ltL_push_embedded(lua_State *L, const ltL_embedded *file) {
  luaL_checkstack(L, 12, "no room to unpack a file");
  const char *texts = push_group(L, &ltL_embedded_groups[file->group]);
  lua_pushlstring(L, texts + file->offset, file->size);
  lua_remove(L, -2);
}

void ltL_load_embedded(lua_State *L, const ltL_embedded *file) {
  ltL_push_embedded(L, file);
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  const char *chunk_name = lua_pushfstring(L, "=%s", file->name);
  if (luaL_loadbufferx(L, text, size, chunk_name, "t") != LUA_OK) lua_error(L);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* ---- require --------------------------------------------------------------------------------- */

/* Called by require with the module's name; the chunk gets it and the place it came from. */
static int load_module(lua_State *L) {
  ltL_load_embedded(L, lua_touserdata(L, lua_upvalueindex(1)));
  lua_pushvalue(L, 1);
  lua_pushliteral(L, ":embedded:");
  lua_call(L, 2, 1);
  return 1;
}

void ltL_preload_embedded(lua_State *L) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE) == LUA_TTABLE) {
    for (const ltL_embedded *file = ltL_embedded_files; file->name != NULL; file++) {
      if (strncmp(file->name, MODULE_PREFIX, strlen(MODULE_PREFIX)) != 0) continue;
      lua_pushlightuserdata(L, (void *)(size_t)file);
      lua_pushcclosure(L, load_module, 1);
      lua_setfield(L, -2, file->name);
    }
  }
  lua_pop(L, 1);
}
