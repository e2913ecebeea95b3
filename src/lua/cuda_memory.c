/*
** Memory of devices: buffers, tensors over them, copies from and to the host.
*/
#include "cuda.h"

#define TYPE_NAME "lutile device buffer"

/* ---- Buffers -------------------------------------------------------------------------------- */

static bool has_metatable(lua_State *L, int index, const void *metatable) {
  if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return false;
  bool same = lua_topointer(L, -1) == metatable;
  lua_pop(L, 1);
  return same;
}

ltL_device_buffer *ltL_test_device_buffer(lua_State *L, const ltL_cuda *C, int index) {
  return has_metatable(L, index, C->buffer_metatable) ? lua_touserdata(L, index) : NULL;
}

static ltL_device_buffer *check_any(lua_State *L, const ltL_cuda *C, int index) {
  ltL_device_buffer *b = ltL_test_device_buffer(L, C, index);
  if (b == NULL) luaL_typeerror(L, index, TYPE_NAME);
  return b;
}

ltL_device_buffer *ltL_check_device_buffer(lua_State *L, const ltL_cuda *C, int index) {
  ltL_device_buffer *b = check_any(L, C, index);
  if (b->pointer == 0) luaL_argerror(L, index, "the buffer was freed");
  return b;
}

static void give_back(ltL_cuda *C, ltL_device_buffer *b) {
  if (C->cuda != NULL) lt_cuda_free(C->cuda, b->device, b->pointer, b->size);
  b->pointer = 0;
}

static int collect_buffer(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  ltL_device_buffer *b = ltL_test_device_buffer(L, C, 1);
  if (b != NULL && b->pointer != 0) give_back(C, b);
  return 0;
}

/* Closing and freeing by name are one, and may come in any number. */
static int free_buffer(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  ltL_device_buffer *b = check_any(L, C, 1);
  if (b->pointer == 0) return 0;
  give_back(C, b);
  C->frees++;
  return 0;
}

/*
** buffer(dtype, count [, device]): elements on a device, of any content. Whole words are had, so
** that elements narrower than a byte may be written by words.
*/
static int new_buffer(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_element element = ltL_check_element(L, "cuda.alloc", 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  int device = ltL_check_device(L, C, 3);
  if (n < 0 || n > (lua_Integer)1 << 44)
    return luaL_error(L, "cuda.alloc: %I elements cannot be had", (LUAI_UACINT)n);
  ltL_device_buffer *b = lua_newuserdatauv(L, sizeof *b, 0);
  size_t size = (ltT_bytes(element, n) + 3) / 4 * 4;
  *b = (ltL_device_buffer){C->cuda, 0, size == 0 ? 4 : size, element, n, device};
  ltL_set_cuda_type(L, TYPE_NAME);
  b->pointer = lt_cuda_alloc(C->cuda, b->device, b->size);
  ltL_require_cuda(L, C, b->pointer != 0);
  return 1;
}

static int buffer_len(lua_State *L) {
  lua_pushinteger(L, ltL_check_device_buffer(L, ltL_begin_cuda(L), 1)->count);
  return 1;
}

static int buffer_address(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)ltL_check_device_buffer(L, ltL_begin_cuda(L), 1)->pointer);
  return 1;
}

static int buffer_device(lua_State *L) {
  lua_pushinteger(L, check_any(L, ltL_begin_cuda(L), 1)->device);
  return 1;
}

static int buffer_dtype(lua_State *L) {
  lua_pushstring(L, ltT_type_of(check_any(L, ltL_begin_cuda(L), 1)->element)->name);
  return 1;
}

static int buffer_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)ltL_check_device_buffer(L, ltL_begin_cuda(L), 1)->size);
  return 1;
}

static int buffer_tostring(lua_State *L) {
  ltL_device_buffer *b = check_any(L, lua_touserdata(L, lua_upvalueindex(2)), 1);
  lua_pushfstring(L, "device %d ptr[%s] of %I%s", b->device, ltT_type_of(b->element)->name,
                  (LUAI_UACINT)b->count, b->pointer == 0 ? " (freed)" : "");
  return 1;
}

/* ---- Tensors -------------------------------------------------------------------------------- */

/* device_buffer(x): whether x is one. */
static int is_device_buffer(lua_State *L) {
  lua_pushboolean(L, ltL_test_device_buffer(L, ltL_begin_cuda(L), 1) != NULL);
  return 1;
}

/* is_freed(buffer): whether it was, by name. */
static int is_freed(lua_State *L) {
  const ltL_device_buffer *b = ltL_test_device_buffer(L, ltL_begin_cuda(L), 1);
  const ltL_buffer *host = ltL_test_buffer(L, 1);
  lua_pushboolean(L, b != NULL ? b->pointer == 0 : host != NULL && host->is_freed);
  return 1;
}

/* first_freed(list): the number of the first buffer of a list that was freed; nil if none was. */
static int first_freed(lua_State *L) {
  const ltL_cuda *C = ltL_begin_cuda(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 1);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    const ltL_device_buffer *b = ltL_test_device_buffer(L, C, -1);
    if (b == NULL) return luaL_error(L, "first_freed: a list of device buffers expected");
    bool is_freed = b->pointer == 0;
    lua_pop(L, 1);
    if (!is_freed) continue;
    lua_pushinteger(L, i);
    return 1;
  }
  return 0;
}

/* extent(layout): elements that memory for it needs. */
static int extent(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  int64_t n = ltT_extent(S->arena, "cuda.tensor", ltL_check_at(L, S, "cuda.tensor", 1, 'l'));
  if (ltA_failed(S->arena)) return ltL_raise(L, S);
  lua_pushinteger(L, n);
  return 1;
}

/* view(data, dtype, offset, layout): the tensor over a buffer of the host or of a device. */
static int view(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_cuda *C = ltL_begin_cuda(L);
  if (ltL_test_device_buffer(L, C, 1) == NULL && ltL_test_buffer(L, 1) == NULL)
    return luaL_typeerror(L, 1, "buffer");
  lt_element element = ltL_check_element(L, "cuda.tensor", 2);
  lua_Integer offset = luaL_checkinteger(L, 3);
  const lt_value *layout = ltL_check_at(L, S, "cuda.tensor", 4, 'l');
  if (!ltT_check_layout(S->arena, "cuda.tensor", layout)) return ltL_raise(L, S);
  ltL_push_tensor(L, S, 1, element, offset, layout);
  return 1;
}

/* ---- Copies --------------------------------------------------------------------------------- */

/* Fails unless 'size' bytes from 'offset' lie within 'whole'. */
static void check_range(lua_State *L, const char *what, lua_Integer offset, lua_Integer size,
                        size_t whole) {
  if (offset >= 0 && size >= 0 && (size_t)offset <= whole && (size_t)size <= whole - (size_t)offset)
    return;
  luaL_error(L, "copy: bytes %I to %I are not all within the %I of the %s buffer",
             (LUAI_UACINT)offset, (LUAI_UACINT)(offset + size), (LUAI_UACINT)whole, what);
}

static ltL_buffer *check_host_buffer(lua_State *L, int index) {
  ltL_buffer *b = ltL_test_buffer(L, index);
  if (b == NULL) luaL_typeerror(L, index, "lutile buffer");
  luaL_argcheck(L, !b->is_freed, index, "the buffer was freed");
  return b;
}

/*
** The stream at 'index', of device 'device', or NULL for none. Where it records, the graph keeps the
** buffers at 'one' and 'other'; that those of the host are pinned is for the caller to see to.
*/
static lt_cuda_stream begin_transfer(lua_State *L, const ltL_cuda *C, int index, int device,
                                     int one, int other) {
  const ltL_stream *s = ltL_optional_stream(L, index);
  if (s == NULL) return NULL;
  if (s->device != device)
    luaL_error(L, "copy: the stream is of device %d, the buffer of device %d", s->device, device);
  if (!ltL_is_recorded(C, s)) return s->stream;
  ltL_keep(L, one);
  ltL_keep(L, other);
  return s->stream;
}

/* upload(device_buffer, its offset, host_buffer, its offset, size [, stream]), in bytes. */
static int upload(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_device_buffer *to = ltL_check_device_buffer(L, C, 1);
  ltL_buffer *from = check_host_buffer(L, 3);
  lua_Integer to_at = luaL_checkinteger(L, 2), from_at = luaL_checkinteger(L, 4);
  lua_Integer size = luaL_checkinteger(L, 5);
  check_range(L, "device", to_at, size, to->size);
  check_range(L, "host", from_at, size, from->buffer.size);
  lt_cuda_stream stream = begin_transfer(L, C, 6, to->device, 1, 3);
  bool good = lt_cuda_to_device(C->cuda, to->device, to->pointer + (uint64_t)to_at,
                                from->buffer.bytes + from_at, (size_t)size, stream);
  ltL_require_cuda(L, C, good);
  return 0;
}

/* download(host_buffer, its offset, device_buffer, its offset, size [, stream]) */
static int download(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_buffer *to = check_host_buffer(L, 1);
  ltL_device_buffer *from = ltL_check_device_buffer(L, C, 3);
  lua_Integer to_at = luaL_checkinteger(L, 2), from_at = luaL_checkinteger(L, 4);
  lua_Integer size = luaL_checkinteger(L, 5);
  check_range(L, "host", to_at, size, to->buffer.size);
  check_range(L, "device", from_at, size, from->size);
  lt_cuda_stream stream = begin_transfer(L, C, 6, from->device, 1, 3);
  bool good = lt_cuda_to_host(C->cuda, from->device, to->buffer.bytes + to_at,
                              from->pointer + (uint64_t)from_at, (size_t)size, stream);
  ltL_require_cuda(L, C, good);
  return 0;
}

/* move(device_buffer, its offset, device_buffer, its offset, size [, stream]): to, from. */
static int move(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_device_buffer *to = ltL_check_device_buffer(L, C, 1);
  ltL_device_buffer *from = ltL_check_device_buffer(L, C, 3);
  lua_Integer to_at = luaL_checkinteger(L, 2), from_at = luaL_checkinteger(L, 4);
  lua_Integer size = luaL_checkinteger(L, 5);
  check_range(L, "target", to_at, size, to->size);
  check_range(L, "source", from_at, size, from->size);
  lt_cuda_stream stream = begin_transfer(L, C, 6, to->device, 1, 3);
  bool good = lt_cuda_on_device(C->cuda, to->device, to->pointer + (uint64_t)to_at,
                                from->pointer + (uint64_t)from_at, (size_t)size, stream);
  ltL_require_cuda(L, C, good);
  return 0;
}

/* buffer:fill(byte [, stream]): every byte of it. */
static int buffer_fill(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_device_buffer *b = ltL_check_device_buffer(L, C, 1);
  lua_Integer byte = luaL_checkinteger(L, 2);
  luaL_argcheck(L, byte >= 0 && byte <= 255, 2, "a byte expected");
  lt_cuda_stream stream = begin_transfer(L, C, 3, b->device, 1, 1);
  ltL_require_cuda(L, C,
                   lt_cuda_fill(C->cuda, b->device, b->pointer, (uint8_t)byte, b->size, stream));
  return 0;
}

/* ---- Figures -------------------------------------------------------------------------------- */

/* memory([device]): bytes free and in all. */
static int memory(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  size_t available, total;
  ltL_require_cuda(L, C, lt_cuda_memory(C->cuda, ltL_check_device(L, C, 1), &available, &total));
  lua_pushinteger(L, (lua_Integer)available);
  lua_pushinteger(L, (lua_Integer)total);
  return 2;
}

/* used([device]): bytes that this state holds. */
static int used(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  lua_pushinteger(L, (lua_Integer)lt_cuda_used(C->cuda, (int)luaL_optinteger(L, 1, 0)));
  return 1;
}

/* limit(bytes [, device]): the most that this state may hold; nil for no limit. */
static int limit(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  int device = ltL_check_device(L, C, 2);
  bool is_limited = !lua_isnoneornil(L, 1);
  lua_Integer bytes = is_limited ? luaL_checkinteger(L, 1) : 0;
  luaL_argcheck(L, bytes >= 0, 1, "a number of bytes expected");
  lt_cuda_set_limit(C->cuda, device, is_limited ? (size_t)bytes : SIZE_MAX);
  return 0;
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg methods[] = {
    {"address", buffer_address}, {"close", free_buffer}, {"device", buffer_device},
    {"dtype", buffer_dtype},     {"fill", buffer_fill},  {"free", free_buffer},
    {"len", buffer_len},         {"size", buffer_size},  {NULL, NULL}};

static const luaL_Reg metamethods[] = {{"__close", free_buffer},
                                       {"__gc", collect_buffer},
                                       {"__len", buffer_len},
                                       {"__tostring", buffer_tostring},
                                       {NULL, NULL}};

static const luaL_Reg functions[] = {{"buffer", new_buffer},
                                     {"download", download},
                                     {"extent", extent},
                                     {"first_freed", first_freed},
                                     {"is_device_buffer", is_device_buffer},
                                     {"is_freed", is_freed},
                                     {"limit", limit},
                                     {"memory", memory},
                                     {"move", move},
                                     {"upload", upload},
                                     {"used", used},
                                     {"view", view},
                                     {NULL, NULL}};

void ltL_open_cuda_memory(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, TYPE_NAME, methods, metamethods);
  lua_getfield(L, -2, "used");
  lua_getupvalue(L, -1, 2);
  ((ltL_cuda *)lua_touserdata(L, -1))->buffer_metatable = lua_topointer(L, -3);
  lua_pop(L, 3);
}
