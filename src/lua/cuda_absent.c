/*
** The C part of lutile.cuda where the toolkit's headers were missing when lutile was built: it says
** so, of all but what is text.
*/
#include <lauxlib.h>
#include <lua.h>

#include "cuda_module.h"

static const char reason[] =
    "this lutile was built without the CUDA Toolkit's headers (cuda.h, nvrtc.h): CMake looks for "
    "them in CUDAToolkit_ROOT, CUDA_HOME, CUDA_PATH and /usr/local/cuda";

/* available(), has_compiler(): false and why. */
static int is_absent(lua_State *L) {
  lua_pushboolean(L, 0);
  lua_pushstring(L, reason);
  return 2;
}

static int count(lua_State *L) {
  lua_pushinteger(L, 0);
  return 1;
}

static int info(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushstring(L, reason);
  lua_setfield(L, -2, "driver_reason");
  lua_pushstring(L, reason);
  lua_setfield(L, -2, "compiler_reason");
  return 1;
}

static int raise(lua_State *L) { return luaL_error(L, "cuda: %s", reason); }

/* Whatever else is asked for raises. */
static int index_any(lua_State *L) {
  lua_pushcfunction(L, raise);
  return 1;
}

static const luaL_Reg functions[] = {{"available", is_absent},
                                     {"count", count},
                                     {"has_compiler", is_absent},
                                     {"info", info},
                                     {NULL, NULL}};

int ltL_open_cuda_driver(lua_State *L) {
  luaL_newlib(L, functions);
  ltL_open_cuda_text(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, index_any);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}
