/*
** What kernels see: threadIdx and its kin, shared memory; and what is watched while they run.
*/
#include <stdio.h>

#include "host.h"

/* ---- Watching ------------------------------------------------------------------------------- */

const ltT_actor *ltL_push_watch(lua_State *L) {
  ltL_launch *H = ltL_push_launch(L);
  return H == NULL || !H->checks ? NULL : &H->actor;
}

/* The number of a place; 0 for those beyond the table. */
static int find_site(ltL_launch *H, const lua_Debug *at) {
  for (int i = H->site_count - 1; i > 0; i--)
    if (H->sites[i].line == at->currentline && strcmp(H->sites[i].file, at->short_src) == 0)
      return i;
  if (H->site_count == LTL_SITES) return 0;
  ltT_site *site = &H->sites[H->site_count];
  memcpy(site->file, at->short_src, sizeof at->short_src);
  site->line = at->currentline;
  return H->site_count++;
}

/* The number of the script's line that called; 0 where there is none. */
static int current_site(lua_State *L, ltL_launch *H) {
  lua_Debug at;
  if (!ltL_find_place(L, &at)) return 0;
  return find_site(H, &at);
}

void ltL_watch(lua_State *L, lt_tensor *t) {
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL) return;
  t->thread = H->current;
  if (t->buffer->space != LT_REGISTER && H->counter.traffic != NULL) t->counter = &H->counter;
  if (t->counter != NULL || t->buffer->shadow != NULL) H->actor.site = (uint16_t)current_site(L, H);
}

void ltL_count_registers(lua_State *L, size_t bytes) {
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL || H->counter.traffic == NULL) return;
  int site = current_site(L, H);
  bool continues = H->actor.site == site && H->register_thread == H->current;
  ltT_record_registers(H->counter.traffic, H->current, site, bytes, continues);
  H->actor.site = (uint16_t)site;
  H->register_thread = H->current;
}

void ltL_count_operations(lua_State *L, double operations) {
  ltL_launch *H = ltL_find_launch(L);
  if (H != NULL) H->operations += operations;
}

/* ---- Shared memory -------------------------------------------------------------------------- */

/* The block's buffer number 'i', made by the first thread that asks for it. */
static ltL_buffer *push_shared(lua_State *L, ltL_state *S, lua_Integer i, lt_element element,
                               lua_Integer count) {
  ltL_push_launch(L);
  lua_getiuservalue(L, -1, LTL_SHARED_BUFFERS);
  lua_remove(L, -2);
  if (lua_rawgeti(L, -1, i) == LUA_TNIL) {
    lua_pop(L, 1);
    ltL_new_buffer(L, S, element, count, LT_SHARED);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, i);
  }
  lua_remove(L, -2);
  return ltL_test_buffer(L, -1);
}

/* "sm_80 has", or where none was named the most that any has. */
static int fail_capacity(lua_State *L, const ltL_launch *H, const char *function, lua_Integer i) {
  char which[32] = "no architecture has more than";
  if (H->architecture != 0) snprintf(which, sizeof which, "sm_%d has", H->architecture);
  return luaL_error(L, "%s: buffer %I makes %I bytes of shared memory for the block, where %s %I",
                    function, (LUAI_UACINT)i, (LUAI_UACINT)H->shared_bytes, which,
                    (LUAI_UACINT)H->shared_capacity);
}

lua_Integer ltL_next_shared(lua_State *L, ltL_launch *H, const char *function, size_t bytes) {
  lua_Integer i = ++ltL_running_thread(L, H, function)->shared_count;
  H->shared_bytes = i == 1 ? bytes : H->shared_bytes + bytes;
  if (H->shared_bytes > H->shared_capacity) fail_capacity(L, H, function, i);
  return i;
}

/*
** make_smem_ptr(dtype, count): memory that the threads of a block share. All threads of a block
** ask for the same buffers in the same order. Outside of a kernel, a buffer like any other.
*/
static int make_smem(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lt_element element = ltL_check_element(L, "make_smem_ptr", 1);
  lua_Integer count = luaL_checkinteger(L, 2);
  ltL_launch *H = ltL_find_launch(L);
  if (H == NULL) {
    ltL_new_buffer(L, S, element, count, LT_SHARED);
    return 1;
  }
  bool is_count = count >= 0 && count <= INT32_MAX; /* else making it says why not */
  size_t bytes = is_count ? ltT_bytes(element, count) : 0;
  lua_Integer i = ltL_next_shared(L, H, "make_smem_ptr", bytes);
  ltL_buffer *b = push_shared(L, S, i, element, count);
  if (b == NULL)
    return luaL_error(L, "make_smem_ptr: buffer %I is an mbarrier for an earlier thread",
                      (LUAI_UACINT)i);
  if (b->element != element || b->count != count)
    return luaL_error(L,
                      "make_smem_ptr: buffer %I of the block is %I of %s for this thread, %I of %s "
                      "for an earlier one",
                      (LUAI_UACINT)i, (LUAI_UACINT)count, ltT_type_of(element)->name,
                      (LUAI_UACINT)b->count, ltT_type_of(b->element)->name);
  return 1;
}

/* ---- threadIdx and its kin ------------------------------------------------------------------ */

typedef enum index_kind { THREAD_INDEX, BLOCK_INDEX, BLOCK_EXTENT, GRID_EXTENT } index_kind;

static const char *const index_names[] = {"threadIdx", "blockIdx", "blockDim", "gridDim"};

static lua_Integer index_part(const ltL_launch *H, index_kind kind, int part) {
  const lua_Integer *block = H->block;
  lua_Integer thread_index[3] = {H->current % block[0], H->current / block[0] % block[1],
                                 H->current / block[0] / block[1]};
  switch (kind) {
    case THREAD_INDEX: return thread_index[part];
    case BLOCK_INDEX: return H->block_index[part];
    case BLOCK_EXTENT: return block[part];
    default: return H->grid[part];
  }
}

/* threadIdx.x: the thread that runs now. */
static int index_index(lua_State *L) {
  index_kind kind = (index_kind)lua_tointeger(L, lua_upvalueindex(1));
  const char *name = lua_tostring(L, 2);
  bool is_part = name != NULL && name[0] >= 'x' && name[0] <= 'z' && name[1] == '\0';
  if (!is_part) return luaL_error(L, "%s has the fields x, y and z", index_names[kind]);
  const ltL_launch *H = ltL_check_launch(L, index_names[kind]);
  lua_pushinteger(L, index_part(H, kind, name[0] - 'x'));
  return 1;
}

static int index_newindex(lua_State *L) {
  return luaL_error(L, "%s cannot be set", index_names[lua_tointeger(L, lua_upvalueindex(1))]);
}

static void set_index_values(lua_State *L) {
  for (int kind = THREAD_INDEX; kind <= GRID_EXTENT; kind++) {
    lua_newuserdatauv(L, 1, 0);
    lua_createtable(L, 0, 3);
    lua_pushinteger(L, kind);
    lua_pushcclosure(L, index_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pushinteger(L, kind);
    lua_pushcclosure(L, index_newindex, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushstring(L, index_names[kind]);
    lua_setfield(L, -2, "__name");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, index_names[kind]);
  }
}

static const luaL_Reg functions[] = {{"make_smem_ptr", make_smem}, {NULL, NULL}};

void ltL_open_kernel(lua_State *L) {
  set_index_values(L);
  ltL_set_tile_functions(L, functions);
}
