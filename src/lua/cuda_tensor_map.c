/*
** Tensor maps: arguments of kernels that copy by TMA.
*/
#include "cuda.h"

/* ---- Reading the descriptor ------------------------------------------------------------------ */

/* Pushes field 'name' of the table at slot 1 and gives its type. No code of a script runs, so what
** was read stays in the table. */
static int push_field(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, 1);
}

/* Field 'name' of the table at slot 1: a list of 'n' integers from 0 up to 'most'. */
static void read_list(lua_State *L, const char *name, unsigned n, uint64_t most, uint64_t *out) {
  if (push_field(L, name) != LUA_TTABLE || lua_rawlen(L, -1) != n)
    luaL_error(L, "tensor_map: '%s' is a list of %d", name, (int)n);
  for (unsigned i = 0; i < n; i++) {
    int is_integer;
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    lua_Integer x = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || x < 0 || (uint64_t)x > most)
      luaL_error(L, "tensor_map: '%s' has %s, where integers from 0 to %I will do", name,
                 luaL_tolstring(L, -1, NULL), (LUAI_UACINT)most);
    out[i] = (uint64_t)x;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_narrow_list(lua_State *L, const char *name, unsigned n, uint32_t *out) {
  uint64_t wide[LT_CUDA_TENSOR_MAP_RANK];
  read_list(L, name, n, UINT32_MAX, wide);
  for (unsigned i = 0; i < n; i++) out[i] = (uint32_t)wide[i];
}

/* A string that the table at slot 1 keeps alive. */
static const char *read_name(lua_State *L, const char *name, const char *otherwise) {
  int type = push_field(L, name);
  if (type != LUA_TSTRING && (type != LUA_TNIL || otherwise == NULL))
    luaL_error(L, "tensor_map: '%s' is no string", name);
  const char *text = type == LUA_TNIL ? otherwise : lua_tostring(L, -1);
  if (type == LUA_TSTRING && strlen(text) != lua_rawlen(L, -1))
    luaL_error(L, "tensor_map: '%s' has a zero byte", name);
  lua_pop(L, 1);
  return text;
}

static void read_descriptor(lua_State *L, lt_cuda_tensor_map_request *q) {
  int is_integer;
  push_field(L, "tensorRank");
  lua_Integer rank = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || rank < 1 || rank > LT_CUDA_TENSOR_MAP_RANK)
    luaL_error(L, "tensor_map: tensorRank is %s, not within 1 and %d", luaL_tolstring(L, -1, NULL),
               LT_CUDA_TENSOR_MAP_RANK);
  lua_pop(L, 1);
  q->rank = (unsigned)rank;
  q->type = read_name(L, "tensorDataType", NULL);
  read_list(L, "globalDim", q->rank, INT64_MAX, q->extents);
  read_list(L, "globalStrides", q->rank - 1, INT64_MAX, q->strides);
  read_narrow_list(L, "boxDim", q->rank, q->box);
  read_narrow_list(L, "elementStrides", q->rank, q->element_strides);
  q->swizzle = read_name(L, "swizzle", "none");
  q->l2_promotion = read_name(L, "l2Promotion", "128B");
  q->oob_fill = read_name(L, "oobFill", "zero");
  if (strcmp(read_name(L, "interleave", "none"), "none") != 0)
    luaL_error(L, "tensor_map: interleaved layouts are not supported: interleave = \"none\"");
}

/* ---- The tensor ----------------------------------------------------------------------------- */

/* The buffer of the tensor or buffer at slot 2, which it pushes; the address goes to 'q'. */
static const ltL_device_buffer *push_memory(lua_State *L, ltL_state *S, const ltL_cuda *C,
                                            lt_cuda_tensor_map_request *q, uint64_t *left) {
  const ltL_tensor *t = ltL_test_tensor(L, S, 2);
  if (t == NULL)
    lua_pushvalue(L, 2);
  else
    lua_getiuservalue(L, 2, 1);
  const ltL_device_buffer *b = ltL_test_device_buffer(L, C, -1);
  if (b == NULL)
    luaL_error(L, "tensor_map: device tensor or buffer expected, got %s",
               t == NULL ? ltL_type_name(L, S, 2) : "a tensor of the host");
  if (b->pointer == 0) luaL_error(L, "tensor_map: the tensor's memory was freed");
  lt_element wanted = ltT_element_named(q->type), is = t == NULL ? b->element : t->element;
  if (wanted == LT_ELEMENT_COUNT) luaL_error(L, "tensor_map: no element type '%s'", q->type);
  if (ltT_type_of(wanted)->bits != ltT_type_of(is)->bits)
    luaL_error(L, "tensor_map: the descriptor is for %s, the tensor has elements of %s", q->type,
               ltT_type_of(is)->name);
  int64_t bit, bits = ltT_type_of(is)->bits;
  if (__builtin_mul_overflow(t == NULL ? 0 : t->offset, bits, &bit) || bit < 0 ||
      (uint64_t)bit / 8 > b->size)
    luaL_error(L, "tensor_map: the tensor starts outside of its memory");
  q->address = b->pointer + (uint64_t)bit / 8;
  *left = b->size - (uint64_t)bit / 8;
  return b;
}

/*
** tensor_map(descriptor, tensor or buffer): what a kernel takes as a tma::Map. User value 1 is the
** buffer.
*/
static int new_tensor_map(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_cuda_tensor_map_request q = {0};
  uint64_t left;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  read_descriptor(L, &q);
  const ltL_device_buffer *b = push_memory(L, S, C, &q, &left);
  ltL_tensor_map *m = lua_newuserdatauv(L, sizeof *m, 1);
  m->buffer = b;
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 4, 1);
  ltL_require_cuda(L, C, lt_cuda_encode_tensor_map(C->cuda, &q, &m->map));
  if (lt_cuda_tensor_map_reach(&q) > left)
    luaL_error(L, "tensor_map: extents and strides reach beyond the tensor's memory of %I bytes",
               (LUAI_UACINT)left);
  luaL_setmetatable(L, LTL_TENSOR_MAP);
  return 1;
}

/* ---- The type ------------------------------------------------------------------------------- */

/* map:bytes(): the 128 bytes, for tables of maps in a device's memory. */
static int map_bytes(lua_State *L) {
  ltL_begin_cuda(L);
  const ltL_tensor_map *m = luaL_checkudata(L, 1, LTL_TENSOR_MAP);
  lua_pushlstring(L, (const char *)&m->map, sizeof m->map);
  return 1;
}

static int map_tostring(lua_State *L) {
  const ltL_tensor_map *m = luaL_checkudata(L, 1, LTL_TENSOR_MAP);
  lua_pushfstring(L, "tensor map of device %d", m->buffer->device);
  return 1;
}

static const luaL_Reg methods[] = {{"bytes", map_bytes}, {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__tostring", map_tostring}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"tensor_map", new_tensor_map}, {NULL, NULL}};

void ltL_open_cuda_tensor_maps(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, LTL_TENSOR_MAP, methods, metamethods);
  lua_pop(L, 1);
}
