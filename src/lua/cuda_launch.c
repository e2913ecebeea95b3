/*
** Kernels: what they are, and launches: kernel:launch{grid, block, ...}(arguments...).
*/
#include <math.h>

#include "cuda.h"

#define LAUNCHER "lutile launcher"

/* User value 1 is the kernel, 2 the stream or nil. */
typedef struct launcher {
  ltL_kernel *kernel;
  ltL_stream *stream;
  int device;
  lt_cuda_launch launch;
} launcher;

static ltL_kernel *check_kernel(lua_State *L, int index) {
  return luaL_checkudata(L, index, LTL_KERNEL);
}

/* ---- Arguments ------------------------------------------------------------------------------ */

/* The call at hand: its arguments start at slot 2. */
typedef struct call {
  lua_State *L;
  ltL_state *S;
  ltL_cuda *C;
  const launcher *launcher;
  const ltL_parameter *parameter;
  int slot;
} call;

static int refuse(const call *c, const char *message) {
  return luaL_error(c->L, "kernel '%s': argument %d ('%s'): %s", c->launcher->kernel->name,
                    c->slot - 1, c->parameter->name, message);
}

static int refuse_type(const call *c, const char *wanted) {
  lua_pushfstring(c->L, "%s expected, got %s", wanted, ltL_type_name(c->L, c->S, c->slot));
  return refuse(c, lua_tostring(c->L, -1));
}

static void check_element(const call *c, lt_element element) {
  if (c->parameter->element == element || c->parameter->element == LT_ELEMENT_COUNT) return;
  lua_pushfstring(c->L, "elements of %s expected, got %s", ltT_type_of(c->parameter->element)->name,
                  ltT_type_of(element)->name);
  refuse(c, lua_tostring(c->L, -1));
}

static void check_memory(const call *c, const ltL_device_buffer *b) {
  if (b->pointer == 0) refuse(c, "its memory was freed");
  if (lt_cuda_is_peer(c->C->cuda, c->launcher->device, b->device)) return;
  lua_pushfstring(c->L,
                  "it is on device %d, the launch on device %d (enable_peer lets one reach "
                  "the other)",
                  b->device, c->launcher->device);
  refuse(c, lua_tostring(c->L, -1));
}

/* The address of element 'offset', which must lie within the buffer. */
static uint64_t address_of(const call *c, const ltL_device_buffer *b, lt_element element,
                           int64_t offset) {
  int64_t bits = ltT_type_of(element)->bits, bit;
  if (__builtin_mul_overflow(offset, bits, &bit) || bit < 0 || (uint64_t)bit / 8 > b->size)
    refuse(c, "it starts outside of its memory");
  if (bit % 8 != 0) refuse(c, "it does not start at a whole byte");
  return b->pointer + (uint64_t)bit / 8;
}

/* A tensor must not reach out of its memory; of swizzled ones, only the start is looked at. */
static void check_reach(const call *c, const ltL_device_buffer *b, const ltL_tensor *t) {
  int64_t least, largest, first, last, bits = ltT_type_of(t->element)->bits;
  int64_t count = (int64_t)(b->size * 8 / (uint64_t)bits);
  if (!lt_cuda_reach(ltL_layout_of(t), &least, &largest)) return;
  bool beyond = __builtin_add_overflow(t->offset, least, &first);
  beyond = __builtin_add_overflow(t->offset, largest, &last) || beyond;
  if (!beyond && first >= 0 && last < count) return;
  lua_pushfstring(c->L, "it reaches from element %I to %I, where its memory has %I",
                  (LUAI_UACINT)first, (LUAI_UACINT)last, (LUAI_UACINT)count);
  refuse(c, lua_tostring(c->L, -1));
}

static const ltL_tensor *test_device_tensor(const call *c, ltL_device_buffer **buffer) {
  const ltL_tensor *t = ltL_test_tensor(c->L, c->S, c->slot);
  if (t == NULL) return NULL;
  lua_getiuservalue(c->L, c->slot, 1);
  *buffer = ltL_test_device_buffer(c->L, c->C, -1);
  lua_pop(c->L, 1); /* the tensor keeps it */
  if (*buffer == NULL) refuse(c, "the tensor is on the host: t:to(cuda) takes it to the device");
  return t;
}

static void put_pointer(const call *c, void *at) {
  ltL_device_buffer *b;
  uint64_t address = 0;
  const ltL_tensor *t = test_device_tensor(c, &b);
  if (t == NULL) b = ltL_test_device_buffer(c->L, c->C, c->slot);
  if (t == NULL && b == NULL && !lua_isnil(c->L, c->slot))
    refuse_type(c, "device tensor or buffer");
  if (t != NULL || b != NULL) {
    lt_element element = t != NULL ? t->element : b->element;
    check_element(c, element);
    check_memory(c, b);
    if (t != NULL) check_reach(c, b, t);
    address = address_of(c, b, element, t != NULL ? t->offset : 0);
  }
  memcpy(at, &address, sizeof address);
}

/* Writes the layout's dynamic integers. */
static void put_layout(const call *c, const lt_value *layout, uint8_t *at) {
  const ltL_parameter *p = c->parameter;
  lt_arena *arena = c->S->arena;
  int64_t few[32], *values = few;
  if (p->dynamic_count > 32) values = ltA_new_bytes(arena, p->dynamic_count * sizeof *values);
  if (layout->kind == LT_COMPOSED) layout = lt_cuda_emitted_form(arena, layout);
  if (values == NULL || layout == NULL) ltL_raise(c->L, c->S);
  if (!lt_cuda_match(arena, "layout", p->pattern, layout, values)) refuse(c, c->S->error.message);
  if (p->bits == 64) {
    memcpy(at, values, p->dynamic_count * sizeof *values);
    return;
  }
  if (p->dynamic_count > 0 && !lt_cuda_fits_32_bits(layout))
    refuse(c, "its indices exceed the 32 bits that the kernel was compiled for");
  for (size_t i = 0; i < p->dynamic_count; i++) {
    int32_t narrow = (int32_t)values[i];
    memcpy(at + 4 * i, &narrow, sizeof narrow);
  }
}

static void put_tensor(const call *c, uint8_t *at) {
  ltL_device_buffer *b;
  const ltL_tensor *t = test_device_tensor(c, &b);
  if (t == NULL) refuse_type(c, "device tensor");
  check_element(c, t->element);
  check_memory(c, b);
  check_reach(c, b, t);
  uint64_t address = address_of(c, b, t->element, t->offset);
  memcpy(at, &address, sizeof address);
  put_layout(c, ltL_layout_of(t), at + 8);
}

/* A layout, or a tensor's. */
static void put_bare_layout(const call *c, uint8_t *at) {
  const ltL_tensor *t = ltL_test_tensor(c->L, c->S, c->slot);
  const lt_value *v = t != NULL ? ltL_layout_of(t) : ltL_test(c->L, c->S, c->slot);
  if (v == NULL) refuse_type(c, "layout");
  put_layout(c, v, at);
}

/* A Lua integer, or a dynamic one. */
static int64_t integer_argument(const call *c) {
  int is_integer;
  lua_Integer x = lua_tointegerx(c->L, c->slot, &is_integer);
  if (is_integer && lua_type(c->L, c->slot) == LUA_TNUMBER) return x;
  if (lua_isboolean(c->L, c->slot)) return lua_toboolean(c->L, c->slot);
  const lt_value *v = ltL_test(c->L, c->S, c->slot);
  if (v == NULL || v->kind != LT_INTEGER) refuse_type(c, "integer");
  return v->value;
}

static void put_integer(const call *c, uint8_t *at) {
  const ltL_parameter *p = c->parameter;
  int64_t x = integer_argument(c);
  bool is_signed = p->kind == LT_PARAMETER_SIGNED;
  if (p->bits < 64) {
    int64_t most = ((int64_t)1 << (p->bits - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    if (x < least || x > most) {
      lua_pushfstring(c->L, "%I does not fit %d bits", (LUAI_UACINT)x, p->bits);
      refuse(c, lua_tostring(c->L, -1));
    }
  }
  memcpy(at, &x, p->size); /* little-endian, as every machine with CUDA is */
}

static void put_number(const call *c, uint8_t *at) {
  if (lua_type(c->L, c->slot) != LUA_TNUMBER) refuse_type(c, "number");
  ltT_store(c->parameter->element, at, 0, (lt_number){lua_tonumber(c->L, c->slot), 0});
}

static void put_tensor_map(const call *c, uint8_t *at) {
  const ltL_tensor_map *m = luaL_testudata(c->L, c->slot, LTL_TENSOR_MAP);
  if (m == NULL) refuse_type(c, "tensor map");
  check_memory(c, m->buffer);
  memcpy(at, &m->map, sizeof m->map);
}

static void put_argument(const call *c, uint8_t *at) {
  switch (c->parameter->kind) {
    case LT_PARAMETER_POINTER: put_pointer(c, at); return;
    case LT_PARAMETER_TENSOR: put_tensor(c, at); return;
    case LT_PARAMETER_LAYOUT: put_bare_layout(c, at); return;
    case LT_PARAMETER_NUMBER: put_number(c, at); return;
    case LT_PARAMETER_TENSOR_MAP: put_tensor_map(c, at); return;
    default: put_integer(c, at); return;
  }
}

/* ---- Launching ------------------------------------------------------------------------------ */

/* The launcher itself, too, and so its kernel. */
static void keep_arguments(lua_State *L) {
  int last = lua_gettop(L);
  for (int i = 1; i <= last; i++)
    if (lua_type(L, i) == LUA_TUSERDATA) ltL_keep(L, i);
}

static void check_count(lua_State *L, const ltL_kernel *k) {
  int given = lua_gettop(L) - 1;
  if ((size_t)given != k->count)
    luaL_error(L, "kernel '%s': %d arguments expected, got %d", k->name, (int)k->count, given);
}

/* launcher(arguments...) */
static int run_launcher(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_cuda *C = ltL_begin_cuda(L);
  const launcher *r = luaL_checkudata(L, 1, LAUNCHER);
  const ltL_kernel *k = r->kernel;
  uint64_t block[LTL_MAX_BLOCK / 8];
  void *pointers[LTL_MAX_PARAMETERS];
  check_count(L, k);
  memset(block, 0, k->block_size); /* padding too: launches compare their arguments */
  if (r->stream != NULL && r->stream->cuda == NULL)
    return luaL_error(L, "kernel '%s': the stream is closed", k->name);
  call c = {L, S, C, r, NULL, 0};
  for (size_t i = 0; i < k->count; i++) {
    uint8_t *at = (uint8_t *)block + k->parameters[i].offset;
    c.parameter = &k->parameters[i];
    c.slot = (int)i + 2;
    put_argument(&c, at);
    pointers[i] = at;
  }
  if (C->is_recording && ltL_is_recorded(C, r->stream)) keep_arguments(L);
  if (!lt_cuda_launch_kernel(C->cuda, k->kernel, r->device, &r->launch, pointers))
    return ltL_raise_cuda(L, C);
  return 0;
}

/* ---- Options -------------------------------------------------------------------------------- */

static unsigned check_extent(lua_State *L, const char *option) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < 1 || n > INT32_MAX)
    luaL_error(L, "launch: %s has extents from 1 on, not %s", option, luaL_tolstring(L, -1, NULL));
  return (unsigned)n;
}

/* Which extent the key at 'key' is of: 1 to 3, or x, y, z. */
static int extent_of_key(lua_State *L, const char *option, int key) {
  if (lua_isinteger(L, key)) {
    lua_Integer i = lua_tointeger(L, key);
    if (i > 3) luaL_error(L, "launch: %s has more than three extents", option);
    if (i >= 1) return (int)i - 1;
  } else if (lua_type(L, key) == LUA_TSTRING && lua_rawlen(L, key) == 1) {
    int letter = lua_tostring(L, key)[0];
    if (letter >= 'x' && letter <= 'z') return letter - 'x';
  }
  return luaL_error(L, "launch: %s has up to three extents, as {8, 2} or {x = 8, y = 2}, not '%s'",
                    option, luaL_tolstring(L, key, NULL));
}

/* The value at the top: a number, or up to three. Pops it. */
static void read_extents(lua_State *L, const char *option, unsigned extents[3]) {
  bool seen[3] = {false, false, false};
  extents[0] = extents[1] = extents[2] = 1;
  if (lua_type(L, -1) != LUA_TTABLE) {
    extents[0] = check_extent(L, option);
    lua_pop(L, 1);
    return;
  }
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    int i = extent_of_key(L, option, lua_absindex(L, -2));
    if (seen[i]) luaL_error(L, "launch: %s has the extent %c twice", option, 'x' + i);
    seen[i] = true;
    extents[i] = check_extent(L, option);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

static void read_shared(lua_State *L, launcher *r) {
  int is_integer;
  lua_Integer n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < 0 || n > INT32_MAX) luaL_error(L, "launch: shared is a number of bytes");
  r->launch.shared = (size_t)n;
  lua_pop(L, 1);
}

/* The stream at the top becomes the launcher's. */
static void read_stream(lua_State *L, launcher *r, int self) {
  r->stream = luaL_testudata(L, -1, LTL_STREAM);
  if (r->stream == NULL)
    luaL_error(L, "launch: stream is a lutile stream, not %s", luaL_tolstring(L, -1, NULL));
  if (r->stream->cuda == NULL) luaL_error(L, "launch: the stream is closed");
  r->launch.stream = r->stream->stream;
  lua_setiuservalue(L, self, 2);
}

static void read_flag(lua_State *L, const char *option, bool *flag) {
  if (!lua_isboolean(L, -1))
    luaL_error(L, "launch: %s is true or false, not %s", option, luaL_tolstring(L, -1, NULL));
  *flag = lua_toboolean(L, -1);
  lua_pop(L, 1);
}

static const char *const option_names[] = {"grid",   "block",     "cluster",     "shared",
                                           "stream", "dependent", "cooperative", NULL};

/* One option, its value at the top; pops it. */
static void read_option(lua_State *L, const char *name, launcher *r, int self) {
  if (strcmp(name, "grid") == 0)
    read_extents(L, name, r->launch.grid);
  else if (strcmp(name, "block") == 0)
    read_extents(L, name, r->launch.block);
  else if (strcmp(name, "cluster") == 0)
    read_extents(L, name, r->launch.cluster);
  else if (strcmp(name, "shared") == 0)
    read_shared(L, r);
  else if (strcmp(name, "stream") == 0)
    read_stream(L, r, self);
  else if (strcmp(name, "dependent") == 0)
    read_flag(L, name, &r->launch.dependent);
  else if (strcmp(name, "cooperative") == 0)
    read_flag(L, name, &r->launch.cooperative);
  else
    ltL_no_option(L, "launch", name, option_names);
}

static void check_launch(lua_State *L, const lt_cuda_launch *l) {
  uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
  if (threads > 1024)
    luaL_error(L, "launch: a block has at most 1024 threads, not %d x %d x %d", (int)l->block[0],
               (int)l->block[1], (int)l->block[2]);
  for (int i = 0; i < 3 && l->cluster[0] != 0; i++)
    if (l->grid[i] % l->cluster[i] != 0)
      luaL_error(L, "launch: cluster extent %d does not divide grid extent %d", (int)l->cluster[i],
                 (int)l->grid[i]);
}

/* kernel:launch{grid =, block =, shared =, cluster =, stream =, dependent =, cooperative =} */
static int kernel_launch(lua_State *L) {
  ltL_begin_cuda(L);
  ltL_kernel *k = check_kernel(L, 1);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  launcher *r = lua_newuserdatauv(L, sizeof *r, 2);
  *r = (launcher){.kernel = k, .device = k->device};
  for (int i = 0; i < 3; i++) r->launch.grid[i] = r->launch.block[i] = 1;
  luaL_setmetatable(L, LAUNCHER);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, 1);
  lua_pushnil(L);
  while (lua_next(L, 2)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      return luaL_error(L, "launch: options have names: grid, block, ...");
    read_option(L, lua_tostring(L, -2), r, 3);
  }
  if (r->stream != NULL) r->device = r->stream->device;
  check_launch(L, &r->launch);
  return 1;
}

/* ---- What a kernel is ------------------------------------------------------------------------- */

/* kernel:resources(): registers, local_memory, shared_memory, max_threads on its device. */
static int kernel_resources(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_kernel *k = check_kernel(L, 1);
  lt_cuda_resources r;
  ltL_require_cuda(L, C, lt_cuda_get_resources(C->cuda, k->kernel, k->device, &r));
  lua_createtable(L, 0, 4);
  lua_pushinteger(L, r.registers);
  lua_setfield(L, -2, "registers");
  lua_pushinteger(L, r.local_memory);
  lua_setfield(L, -2, "local_memory");
  lua_pushinteger(L, r.shared_memory);
  lua_setfield(L, -2, "shared_memory");
  lua_pushinteger(L, r.max_threads);
  lua_setfield(L, -2, "max_threads");
  return 1;
}

/* kernel:occupancy(threads [, shared]): blocks that one multiprocessor runs at once. */
static int kernel_occupancy(lua_State *L) {
  ltL_cuda *C = ltL_begin_cuda(L);
  ltL_kernel *k = check_kernel(L, 1);
  int blocks = 0;
  lua_Integer threads = luaL_checkinteger(L, 2), shared = luaL_optinteger(L, 3, 0);
  luaL_argcheck(L, threads >= 1 && threads <= 1024, 2, "a block has from 1 to 1024 threads");
  luaL_argcheck(L, shared >= 0 && shared <= INT32_MAX, 3, "a number of bytes expected");
  ltL_require_cuda(
      L, C,
      lt_cuda_occupancy(C->cuda, k->kernel, k->device, (int)threads, (size_t)shared, &blocks));
  lua_pushinteger(L, blocks);
  return 1;
}

/* kernel:image(): the machine code. */
static int kernel_image(lua_State *L) {
  ltL_begin_cuda(L);
  size_t size;
  const void *image = lt_cuda_kernel_image(check_kernel(L, 1)->kernel, &size);
  lua_pushlstring(L, image, size);
  return 1;
}

/* kernel:places(): offset and size of each argument in the block that a launch passes, in a row. */
static int kernel_places(lua_State *L) {
  ltL_begin_cuda(L);
  ltL_kernel *k = check_kernel(L, 1);
  lua_createtable(L, 2 * (int)k->count, 0);
  for (size_t i = 0; i < k->count; i++) {
    lua_pushinteger(L, (lua_Integer)k->parameters[i].offset);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 1);
    lua_pushinteger(L, (lua_Integer)k->parameters[i].size);
    lua_rawseti(L, -2, 2 * (lua_Integer)i + 2);
  }
  return 1;
}

static int push_field(lua_State *L, const ltL_kernel *k, const char *name) {
  static const char *const origins[] = {"compiled", "disk", "memory"};
  if (strcmp(name, "name") == 0)
    lua_pushstring(L, k->name);
  else if (strcmp(name, "arch") == 0)
    lua_pushstring(L, lt_cuda_kernel_arch(k->kernel));
  else if (strcmp(name, "key") == 0)
    lua_pushstring(L, lt_cuda_kernel_key(k->kernel));
  else if (strcmp(name, "origin") == 0)
    lua_pushstring(L, origins[k->origin]);
  else if (strcmp(name, "log") == 0)
    lua_pushstring(L, lt_cuda_kernel_log(k->kernel));
  else if (strcmp(name, "device") == 0)
    lua_pushinteger(L, k->device);
  else
    return 0;
  return 1;
}

/*
** Methods (upvalue 3), then fields of the kernel; then what the table that it was compiled from
** has: source, parameters.
*/
static int kernel_index(lua_State *L) {
  ltL_begin_cuda(L);
  ltL_kernel *k = check_kernel(L, 1);
  const char *name = luaL_checkstring(L, 2);
  lua_settop(L, 2);
  if (lua_getfield(L, lua_upvalueindex(3), name) != LUA_TNIL) return 1;
  if (push_field(L, k, name) == 1) return 1;
  lua_getiuservalue(L, 1, 1);
  if (lua_getfield(L, -1, name) != LUA_TNIL) return 1;
  return luaL_error(L,
                    "a kernel has no field '%s': name, arch, key, origin, device, log, source, "
                    "parameters and launch, resources, occupancy, image there are",
                    name);
}

static int kernel_tostring(lua_State *L) {
  ltL_kernel *k = check_kernel(L, 1);
  ltL_begin_cuda(L);
  lua_pushfstring(L, "kernel %s (%s)", k->name, lt_cuda_kernel_arch(k->kernel));
  return 1;
}

/* ---- The types ------------------------------------------------------------------------------ */

static const luaL_Reg kernel_methods[] = {
    {"image", kernel_image},   {"launch", kernel_launch},       {"occupancy", kernel_occupancy},
    {"places", kernel_places}, {"resources", kernel_resources}, {NULL, NULL}};

static const luaL_Reg kernel_metamethods[] = {{"__tostring", kernel_tostring}, {NULL, NULL}};
static const luaL_Reg launcher_metamethods[] = {{"__call", run_launcher}, {NULL, NULL}};
static const luaL_Reg no_methods[] = {{NULL, NULL}};

void ltL_open_cuda_launch(lua_State *L) {
  ltL_make_cuda_type(L, LTL_KERNEL, kernel_methods, kernel_metamethods);
  lua_getfield(L, -1, "__tostring");
  lua_getupvalue(L, -1, 1);
  lua_getupvalue(L, -2, 2);
  lua_getfield(L, -4, "__index"); /* the methods */
  lua_pushcclosure(L, kernel_index, 3);
  lua_setfield(L, -3, "__index");
  lua_pop(L, 2);
  ltL_make_cuda_type(L, LAUNCHER, no_methods, launcher_metamethods);
  lua_pop(L, 1);
}
