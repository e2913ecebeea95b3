/*
** What a launch came to, as a table of the script: lutile.report prints it.
*/
#include "host.h"

static void set_integer(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void set_extents(lua_State *L, const char *name, const lua_Integer extent[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, extent[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

/* Appends what was counted at a place to the list at the top. */
static void append_tally(lua_State *L, const ltL_launch *H, int site, ltT_space space,
                         ltT_access access) {
  ltT_tally tally = ltT_tally_of(H->counter.traffic, site, space, access);
  if (tally.requests == 0) return;
  lua_createtable(L, 0, 10);
  if (H->sites[site].line == 0) /* no place of a script */
    lua_pushstring(L, H->sites[site].file);
  else
    lua_pushfstring(L, "%s:%d", H->sites[site].file, H->sites[site].line);
  lua_setfield(L, -2, "where");
  lua_pushstring(L, space == LT_SHARED ? "shared" : "global");
  lua_setfield(L, -2, "space");
  lua_pushstring(L, access == LT_READ ? "read" : "write");
  lua_setfield(L, -2, "access");
  set_integer(L, "requests", tally.requests);
  set_integer(L, "bytes", tally.bytes);
  if (space == LT_SHARED) {
    set_integer(L, "wavefronts", tally.wavefronts);
    set_integer(L, "conflicts", tally.wavefronts - tally.least);
  } else {
    set_integer(L, "sectors", tally.sectors);
    set_integer(L, "needed_sectors", tally.needed);
  }
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

static void set_accesses(lua_State *L, const ltL_launch *H) {
  lua_newtable(L);
  for (int site = 0; site < H->site_count; site++)
    for (int space = 0; space < 2; space++)
      for (int access = 0; access < 2; access++)
        append_tally(L, H, site, space ? LT_SHARED : LT_GLOBAL, access ? LT_WRITE : LT_READ);
  lua_setfield(L, -2, "accesses");
}

int ltL_push_report(lua_State *L, const ltL_launch *H) {
  lua_createtable(L, 0, 8);
  set_extents(L, "grid", H->grid);
  set_extents(L, "block", H->block);
  set_integer(L, "shared_bytes", (int64_t)H->shared_bytes);
  set_integer(L, "register_bytes",
              (int64_t)(H->register_bytes + ltT_register_bytes(H->counter.traffic)));
  lua_pushnumber(L, H->operations);
  lua_setfield(L, -2, "operations");
  set_accesses(L, H);
  return 1;
}
