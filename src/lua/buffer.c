/*
** Buffers: memory of the host, and the names of element types.
*/
#include "tiles.h"

#define TYPE_NAME "lutile buffer"

/* Elements of one buffer: far beyond any memory, and small enough to be counted in bits. */
#define MAX_COUNT ((int64_t)1 << 48)

lt_element ltL_test_element(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TSTRING) return LT_ELEMENT_COUNT;
  return ltT_element_named(lua_tostring(L, index));
}

static void push_element_names(lua_State *L) {
  luaL_Buffer names;
  luaL_buffinit(L, &names);
  for (int i = 0; i < LT_GC64; i++) { /* the last is no type of a script's own data */
    if (i > 0) luaL_addchar(&names, ' ');
    luaL_addstring(&names, ltT_type_of((lt_element)i)->name);
  }
  luaL_pushresult(&names);
}

lt_element ltL_check_element(lua_State *L, const char *function, int index) {
  lt_element element = ltL_test_element(L, index);
  if (element != LT_ELEMENT_COUNT) return element;
  int type = lua_type(L, index);
  const char *name = type == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  push_element_names(L); /* which may be at the index of an argument that is not there */
  if (name != NULL)
    luaL_error(L, "%s: no element type '%s' (there are %s)", function, name, lua_tostring(L, -1));
  luaL_error(L, "%s: element type expected, got %s (there are %s)", function, lua_typename(L, type),
             lua_tostring(L, -1));
  return LT_ELEMENT_COUNT;
}

ltL_buffer *ltL_test_buffer(lua_State *L, int index) { return luaL_testudata(L, index, TYPE_NAME); }

/* Bytes rounded up, so that what follows them is aligned. */
static size_t aligned(size_t size) { return (size + 15) & ~(size_t)15; }

static void check_count(lua_State *L, int64_t count) {
  if (count < 0 || count > MAX_COUNT)
    luaL_error(L, "buffer: %I elements cannot be had", (LUAI_UACINT)count);
}

/* The userdata: header, bytes, and the shadow where 'watched' is not 0. */
static ltL_buffer *allocate(lua_State *L, ltL_state *S, size_t size, size_t shadow_size) {
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  size_t header = aligned(sizeof(ltL_buffer));
  ltL_buffer *b = lua_newuserdatauv(L, header + aligned(size) + shadow_size, 1);
  ltL_unpin(S, was_pinned, was_pin);
  uint8_t *bytes = (uint8_t *)b + header;
  memset(bytes, 0, size);
  *b = (ltL_buffer){.buffer = {.bytes = bytes, .size = size}};
  luaL_setmetatable(L, TYPE_NAME);
  return b;
}

ltL_buffer *ltL_new_buffer(lua_State *L, ltL_state *S, lt_element element, int64_t count,
                           ltT_space space) {
  check_count(L, count);
  size_t size = ltT_bytes(element, count);
  if (space == LT_REGISTER) ltL_count_registers(L, size);
  bool is_shared = space == LT_SHARED;
  const ltT_actor *actor = ltL_push_watch(L);
  if (space == LT_GLOBAL) actor = NULL;
  size_t shadow_size = actor == NULL ? 0 : ltT_shadow_size(size, is_shared);
  ltL_buffer *b = allocate(L, S, size, shadow_size);
  b->element = element;
  b->count = count;
  b->buffer.space = space;
  if (actor != NULL) {
    void *place = b->buffer.bytes + aligned(size);
    b->buffer.shadow = ltT_new_shadow(place, size, is_shared, actor);
  }
  lua_insert(L, -2); /* under what watches it */
  lua_setiuservalue(L, -2, 1);
  return b;
}

ltL_buffer *ltL_new_aligned_buffer(lua_State *L, ltL_state *S, lt_element element, int64_t count,
                                   size_t alignment) {
  check_count(L, count);
  size_t size = ltT_bytes(element, count);
  size_t whole = (size + alignment - 1) / alignment * alignment;
  ltL_buffer *b = allocate(L, S, whole == 0 ? alignment : whole, alignment);
  uintptr_t past = (uintptr_t)b->buffer.bytes % alignment;
  if (past != 0) b->buffer.bytes += alignment - past; /* the shadow's room makes up for it */
  memset(b->buffer.bytes, 0, whole);
  b->buffer.size = size;
  b->element = element;
  b->count = count;
  return b;
}

static ltL_buffer *check_buffer(lua_State *L, int index) {
  return luaL_checkudata(L, index, TYPE_NAME);
}

/* ---- Making --------------------------------------------------------------------------------- */

static void fill_from_string(lua_State *L, ltL_buffer *b, int index) {
  size_t size;
  const char *bytes = lua_tolstring(L, index, &size);
  memcpy(b->buffer.bytes, bytes, size);
}

static void fill_from_table(lua_State *L, ltL_buffer *b, int index) {
  for (int64_t i = 0; i < b->count; i++) {
    lua_rawgeti(L, index, i + 1);
    lt_number x = ltL_check_element_value(L, -1, "make_gmem_ptr");
    ltT_store(b->element, b->buffer.bytes, i, x);
    lua_pop(L, 1);
  }
}

/* A string must hold whole elements, or whole bytes of narrower ones. */
static int64_t count_in_string(lua_State *L, lt_element element, int index) {
  int64_t bits = ltT_type_of(element)->bits, size = (int64_t)lua_rawlen(L, index);
  if (bits >= 8 && size * 8 % bits != 0)
    luaL_error(L, "make_gmem_ptr: %I bytes are no whole number of %s", (LUAI_UACINT)size,
               ltT_type_of(element)->name);
  return size * 8 / bits;
}

/* make_gmem_ptr(dtype, count | {numbers} | bytes); a buffer stands for itself. */
static int make_buffer(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  if (ltL_test_buffer(L, 1) != NULL) {
    lua_settop(L, 1);
    return 1;
  }
  lt_element element = ltL_check_element(L, "make_gmem_ptr", 1);
  switch (lua_type(L, 2)) {
    case LUA_TSTRING:
      fill_from_string(L, ltL_new_buffer(L, S, element, count_in_string(L, element, 2), LT_GLOBAL),
                       2);
      return 1;
    case LUA_TTABLE:
      fill_from_table(L, ltL_new_buffer(L, S, element, (int64_t)lua_rawlen(L, 2), LT_GLOBAL), 2);
      return 1;
    default: ltL_new_buffer(L, S, element, luaL_checkinteger(L, 2), LT_GLOBAL); return 1;
  }
}

/* ---- Methods -------------------------------------------------------------------------------- */

static int buffer_bytes(lua_State *L) {
  ltL_buffer *b = check_buffer(L, 1);
  if (b->is_freed) return luaL_error(L, "bytes: the buffer was freed");
  lua_pushlstring(L, (const char *)b->buffer.bytes, b->buffer.size);
  return 1;
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, check_buffer(L, 1)->count);
  return 1;
}

/*
** Memory that something else holds, pinned memory, is given back, and is not to be used any more;
** other memory stays until it is collected. It may be done any number of times.
*/
static int buffer_close(lua_State *L) {
  ltL_buffer *b = check_buffer(L, 1);
  lua_getiuservalue(L, 1, 1);
  if (b->is_freed || luaL_getmetafield(L, -1, "__close") == LUA_TNIL) return 0;
  b->is_freed = true;
  lua_insert(L, -2);
  lua_call(L, 1, 0);
  return 0;
}

static const char *space_name(ltT_space space) {
  return space == LT_GLOBAL ? "gmem" : space == LT_SHARED ? "smem" : "rmem";
}

static int buffer_tostring(lua_State *L) {
  ltL_buffer *b = check_buffer(L, 1);
  lua_pushfstring(L, "%s_ptr[%s] of %I%s", space_name(b->buffer.space),
                  ltT_type_of(b->element)->name, (LUAI_UACINT)b->count,
                  b->is_freed ? " (freed)" : "");
  return 1;
}

static int buffer_index(lua_State *L) {
  ltL_buffer *b = check_buffer(L, 1);
  const char *name = luaL_checkstring(L, 2);
  if (strcmp(name, "dtype") == 0)
    lua_pushstring(L, ltT_type_of(b->element)->name);
  else if (strcmp(name, "space") == 0)
    lua_pushstring(L, space_name(b->buffer.space));
  else if (strcmp(name, "bytes") == 0)
    lua_pushcfunction(L, buffer_bytes);
  else if (strcmp(name, "close") == 0 || strcmp(name, "free") == 0)
    lua_pushcfunction(L, buffer_close);
  else
    return luaL_error(L, "a buffer has no field '%s'", name);
  return 1;
}

static const luaL_Reg metamethods[] = {{"__close", buffer_close},
                                       {"__index", buffer_index},
                                       {"__len", buffer_len},
                                       {"__tostring", buffer_tostring},
                                       {NULL, NULL}};

static const luaL_Reg functions[] = {{"make_gmem_ptr", make_buffer}, {NULL, NULL}};

/* f16 = "f16": a type's name is its value. */
static void set_element_names(lua_State *L) {
  for (int i = 0; i < LT_ELEMENT_COUNT; i++) {
    const char *name = ltT_type_of((lt_element)i)->name;
    lua_pushstring(L, name);
    lua_setfield(L, -2, name);
  }
}

void ltL_open_buffers(lua_State *L) {
  if (luaL_newmetatable(L, TYPE_NAME)) {
    luaL_setfuncs(L, metamethods, 0);
    lua_pushliteral(L, TYPE_NAME);
    lua_setfield(L, -2, "__metatable");
  }
  lua_pop(L, 1);
  set_element_names(L);
  ltL_set_tile_functions(L, functions);
}
