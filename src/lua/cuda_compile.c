/*
** Kernels compiled: lua/lutile/cuda puts the source together and says what the parameters are.
*/
#include "cuda.h"

/* ---- Reading the table ------------------------------------------------------------------------ */

/* The value at the top moves to the end of the list at 'list'. */
static void keep(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

/*
** The string at the top, which the list at 'list' keeps from now on. The compiler would read it up to
** its first zero byte.
*/
static const char *keep_string(lua_State *L, int list, const char *name) {
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  if (strlen(text) != length) luaL_error(L, "compile: '%s' has a zero byte in it", name);
  keep(L, list);
  return text;
}

static const char *string_field(lua_State *L, int list, const char *name) {
  if (lua_getfield(L, 1, name) != LUA_TSTRING) luaL_error(L, "compile: '%s' is no string", name);
  return keep_string(L, list, name);
}

static const char *const *list_field(lua_State *L, int list, const char *name, size_t *n) {
  if (lua_getfield(L, 1, name) != LUA_TTABLE) luaL_error(L, "compile: '%s' is no list", name);
  *n = lua_rawlen(L, -1);
  const char **strings = lua_newuserdatauv(L, (*n + 1) * sizeof *strings, 0);
  keep(L, list);
  for (size_t i = 0; i < *n; i++) {
    if (lua_rawgeti(L, -1, (lua_Integer)i + 1) != LUA_TSTRING)
      luaL_error(L, "compile: '%s' holds what is no string", name);
    strings[i] = keep_string(L, list, name);
  }
  lua_pop(L, 1);
  return strings;
}

static void read_source(lua_State *L, ltL_cuda *C, int list, lt_cuda_source *source) {
  size_t texts;
  source->kernel = string_field(L, list, "kernel");
  source->file = string_field(L, list, "file");
  source->text = string_field(L, list, "text");
  source->header_names = list_field(L, list, "header_names", &source->headers);
  source->header_texts = list_field(L, list, "header_texts", &texts);
  source->options = list_field(L, list, "options", &source->option_count);
  if (texts != source->headers) luaL_error(L, "compile: a header has no text");
  lua_getfield(L, 1, "reads_files");
  source->reads_files = lua_toboolean(L, -1);
  if (lua_getfield(L, 1, "arch") != LUA_TNIL) {
    luaL_checkstring(L, -1);
    source->arch = keep_string(L, list, "arch");
  }
  lua_settop(L, list);
  lua_getfield(L, 1, "device");
  source->device =
      source->arch == NULL ? ltL_check_device(L, C, list + 1) : (int)luaL_optinteger(L, -1, 0);
  lua_settop(L, list);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static const char *const kind_names[] = {"pointer",  "tensor", "layout",     "signed",
                                         "unsigned", "number", "tensor map", NULL};

static size_t align(size_t at, size_t to) { return (at + to - 1) / to * to; }

/* Bytes of a layout as a member: one that has none is an empty class, of one byte. */
static size_t size_of_layout(const ltL_parameter *p) {
  return p->dynamic_count == 0 ? 1 : p->dynamic_count * (size_t)p->bits / 8;
}

static void place(ltL_parameter *p, size_t *at) {
  size_t alignment;
  switch (p->kind) {
    case LT_PARAMETER_POINTER: p->size = alignment = 8; break;
    case LT_PARAMETER_TENSOR:
      p->size = align(8 + size_of_layout(p), 8);
      alignment = 8;
      break;
    case LT_PARAMETER_LAYOUT:
      p->size = size_of_layout(p);
      alignment = p->dynamic_count == 0 ? 1 : (size_t)p->bits / 8;
      break;
    case LT_PARAMETER_TENSOR_MAP:
      p->size = sizeof(lt_cuda_tensor_map);
      alignment = 64;
      break;
    default: p->size = alignment = (size_t)p->bits / 8; break;
  }
  p->offset = align(*at, alignment);
  *at = p->offset + p->size;
}

/* A copy of the layout at the top, that no script can reach; NULL where there is none. */
static const lt_value *keep_layout(lua_State *L, const ltL_state *S, int list) {
  const lt_value *v = ltL_test(L, S, -1);
  if (v == NULL) return NULL;
  size_t size = lt_value_size(v);
  void *copy = memcpy(lua_newuserdatauv(L, size, 0), v, size);
  keep(L, list);
  return copy;
}

/* Reads the description at the top of the stack; what it points to is kept in the list at 'list'. */
static void read_parameter(lua_State *L, ltL_state *S, int list, ltL_parameter *p) {
  *p = (ltL_parameter){.element = LT_ELEMENT_COUNT};
  lua_getfield(L, -1, "kind");
  p->kind = (ltL_parameter_kind)luaL_checkoption(L, -1, NULL, kind_names);
  lua_getfield(L, -2, "dtype");
  if (!lua_isnil(L, -1)) p->element = ltL_check_element(L, "compile", lua_gettop(L));
  lua_getfield(L, -3, "bits");
  p->bits = (int)luaL_optinteger(L, -1, 64);
  lua_getfield(L, -4, "layout");
  p->pattern = keep_layout(L, S, list);
  p->dynamic_count = p->pattern == NULL ? 0 : lt_cuda_count_dynamic(p->pattern);
  lua_getfield(L, -5, "name");
  p->name = luaL_checkstring(L, -1);
  keep(L, list);
  bool needs = p->kind == LT_PARAMETER_TENSOR || p->kind == LT_PARAMETER_LAYOUT;
  if (needs && p->pattern == NULL) luaL_error(L, "compile: parameter '%s' lacks a layout", p->name);
  if (p->bits != 8 && p->bits != 16 && p->bits != 32 && p->bits != 64 && p->bits != 128)
    luaL_error(L, "compile: parameter '%s' has %d bits", p->name, p->bits);
  lua_pop(L, 4);
}

/* The kernel's userdata, without code, from the list of parameters in the table at slot 1. */
static ltL_kernel *push_kernel(lua_State *L, ltL_state *S, ltL_cuda *C) {
  if (lua_getfield(L, 1, "parameters") != LUA_TTABLE)
    luaL_error(L, "compile: 'parameters' is no list");
  int list = lua_gettop(L);
  size_t n = lua_rawlen(L, list), at = 0;
  if (n > LTL_MAX_PARAMETERS)
    luaL_error(L, "compile: %d parameters, where %d are the most", (int)n, LTL_MAX_PARAMETERS);
  lua_newtable(L); /* what the kernel keeps */
  ltL_kernel *k = lua_newuserdatauv(L, sizeof *k + n * sizeof k->parameters[0], 2);
  *k = (ltL_kernel){.state = C, .count = n};
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    read_parameter(L, S, list + 1, &k->parameters[i]);
    lua_pop(L, 1);
    place(&k->parameters[i], &at);
  }
  if (at > LTL_MAX_BLOCK)
    luaL_error(L, "compile: the arguments take %d bytes, where %d are the most", (int)at,
               LTL_MAX_BLOCK);
  k->block_size = at;
  k->name = string_field(L, list + 1, "kernel");
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, list + 1);
  lua_setiuservalue(L, -2, 2);
  return k;
}

/* ---- Compiling ------------------------------------------------------------------------------ */

/* Pushes the order that the table at slot 1 is. */
static ltL_order *push_order(lua_State *L, ltL_state *S, ltL_cuda *C) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  ltL_order *o = lua_newuserdatauv(L, sizeof *o, 2);
  *o = (ltL_order){.kernel = NULL};
  lua_newtable(L);
  read_source(L, C, 3, &o->source);
  lua_setiuservalue(L, 2, 1);
  o->kernel = push_kernel(L, S, C);
  o->kernel->device = o->source.device;
  lua_setiuservalue(L, 2, 2);
  lua_settop(L, 2);
  luaL_setmetatable(L, LTL_ORDER);
  return o;
}

/*
** Tensor maps lie at multiples of 64 bytes of constant memory, wherever in it the arguments start:
** then only the driver knows their offsets.
*/
static bool knows_offsets(const ltL_kernel *k) {
  for (size_t i = 0; i < k->count; i++)
    if (k->parameters[i].kind == LT_PARAMETER_TENSOR_MAP) return false;
  return true;
}

/* Whether the driver agrees on what the parameters are, as far as it can say; pushes a message
** where the source was read wrongly. */
static bool check_parameters(lua_State *L, const ltL_kernel *k) {
  lt_cuda *cuda = k->state->cuda;
  size_t offset, size;
  for (size_t i = 0; i < k->count; i++) {
    const ltL_parameter *p = &k->parameters[i];
    if (!lt_cuda_get_parameter(cuda, k->kernel, k->device, i, &offset, &size)) return true;
    if ((offset == p->offset || !knows_offsets(k)) && size == p->size) continue;
    lua_pushfstring(L,
                    "compile: parameter '%s' of kernel '%s' has %d bytes at %d, where %d at %d "
                    "were read from its declaration",
                    p->name, k->name, (int)size, (int)offset, (int)p->size, (int)p->offset);
    return false;
  }
  return true;
}

bool ltL_push_compiled(lua_State *L, ltL_cuda *C, int index, lt_cuda_kernel *code) {
  const ltL_order *o = lua_touserdata(L, index);
  ltL_kernel *k = o->kernel;
  const char *log = lt_cuda_log(C->cuda);
  ltL_pass_warnings(L, C);
  if (code == NULL) {
    lua_pushfstring(L, log[0] == '\0' ? "%s" : "%s\n%s", C->error.message, log);
    return false;
  }
  k->kernel = code;
  k->origin = lt_cuda_kernel_origin(code);
  if (o->source.arch == NULL && !check_parameters(L, k)) return false;
  lua_getiuservalue(L, index, 2);
  luaL_setmetatable(L, LTL_KERNEL);
  return true;
}

/*
** order{kernel, file, text, header_names, header_texts, options, parameters [, arch] [, device]}:
** what is to be compiled.
*/
static int order(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  push_order(L, S, ltL_begin_cuda(L));
  return 1;
}

/* compile{...}, as order's: the kernel. Its user value 1 is the table. */
static int compile(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_cuda *C = ltL_begin_cuda(L);
  const ltL_order *o = push_order(L, S, C);
  if (!ltL_push_compiled(L, C, 2, lt_cuda_compile(C->cuda, &o->source))) return lua_error(L);
  return 1;
}

static const luaL_Reg functions[] = {{"compile", compile}, {"order", order}, {NULL, NULL}};

static const luaL_Reg no_functions[] = {{NULL, NULL}};

void ltL_open_cuda_compile(lua_State *L) {
  ltL_make_cuda_type(L, LTL_ORDER, no_functions, no_functions);
  lua_pop(L, 1);
  ltL_set_cuda_functions(L, functions);
}
