/*
** Pinned memory of the host.
*/
#include "cuda.h"

#define PIN_NAME "lutile pin"

/* Whole pages are pinned: neighbours in a page could not be pinned too. */
#define PAGE ((size_t)4096)

/*
** A buffer of the host with memory that is pinned, and the userdata that unpins it; each keeps the
** other, so that the memory is still there when it is unpinned.
*/
typedef struct pin {
  void *memory; /* NULL: not pinned */
  int device;
} pin;

/* Copies may be under way: it waits for them. */
static int unpin(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  pin *p = luaL_checkudata(L, 1, PIN_NAME);
  if (p->memory != NULL && C->cuda != NULL) lt_cuda_unpin(C->cuda, p->device, p->memory);
  p->memory = NULL;
  return 0;
}

/* By name: see buffer.c. */
static int close_pin(lua_State *L) {
  ltL_cuda *C = lua_touserdata(L, lua_upvalueindex(2));
  C->frees++;
  return unpin(L);
}

bool ltL_is_pinned(lua_State *L, int buffer) {
  lua_getiuservalue(L, buffer, 1);
  const pin *p = luaL_testudata(L, -1, PIN_NAME);
  lua_pop(L, 1);
  return p != NULL && p->memory != NULL;
}

/* is_pinned(buffer): whether it is one of pinned memory of the host. */
static int is_pinned(lua_State *L) {
  ltL_begin_cuda(L);
  lua_pushboolean(L, ltL_test_buffer(L, 1) != NULL && ltL_is_pinned(L, 1));
  return 1;
}

/* pinned_buffer(dtype, count [, device]): a buffer of the host. */
static int new_pinned(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_cuda *C = ltL_begin_cuda(L);
  lt_element element = ltL_check_element(L, "cuda.pinned", 1);
  lua_Integer n = luaL_checkinteger(L, 2);
  int device = ltL_check_device(L, C, 3);
  pin *p = lua_newuserdatauv(L, sizeof *p, 1);
  *p = (pin){NULL, device};
  ltL_set_cuda_type(L, PIN_NAME);
  ltL_buffer *b = ltL_new_aligned_buffer(L, S, element, n, PAGE);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, -3, 1); /* the pin keeps the buffer, */
  lua_pushvalue(L, -2);
  lua_setiuservalue(L, -2, 1); /* and the buffer the pin */
  size_t size = b->buffer.size == 0 ? PAGE : (b->buffer.size + PAGE - 1) / PAGE * PAGE;
  ltL_require_cuda(L, C, lt_cuda_pin(C->cuda, device, b->buffer.bytes, size));
  p->memory = b->buffer.bytes;
  return 1;
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg no_methods[] = {{NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__close", close_pin}, {"__gc", unpin}, {NULL, NULL}};
static const luaL_Reg functions[] = {
    {"is_pinned", is_pinned}, {"pinned_buffer", new_pinned}, {NULL, NULL}};

void ltL_open_cuda_pinned(lua_State *L) {
  ltL_set_cuda_functions(L, functions);
  ltL_make_cuda_type(L, PIN_NAME, no_methods, metamethods);
  lua_pop(L, 1);
}
