/*
** Tensors over memory: the userdata, reading and writing elements, views, makers.
*/
#include "operations.h"
#include "tiles.h"

#define TYPE_NAME "lutile tensor"

/* Its address is the metatable's key in the registry. */
static const char metatable_key = 0;

/* ---- Pushing and checking ------------------------------------------------------------------- */

void ltL_push_tensor(lua_State *L, ltL_state *S, int data, lt_element element, int64_t offset,
                     const lt_value *layout) {
  data = lua_absindex(L, data);
  size_t size = lt_value_size(layout);
  ltL_buffer *b = ltL_test_buffer(L, data);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S);
  ltL_tensor *t = lua_newuserdatauv(L, sizeof *t + size, 1);
  *t = (ltL_tensor){b == NULL ? NULL : &b->buffer, offset, element};
  memcpy(t->nodes, layout, size);
  ltL_unpin(S, was_pinned, was_pin);
  lua_pushvalue(L, data);
  lua_setiuservalue(L, -2, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key);
  lua_setmetatable(L, -2);
}

void ltL_push_owning_tensor(lua_State *L, ltL_state *S, const char *function, lt_element element,
                            const lt_value *layout) {
  int64_t extent = layout == NULL ? 0 : ltT_extent(S->arena, function, layout);
  if (ltA_failed(S->arena)) ltL_raise(L, S);
  ltA_mark was_pin = S->pin;
  bool was_pinned = ltL_pin(S); /* the layout is still wanted */
  ltL_new_buffer(L, S, element, extent, ltL_in_kernel(L) ? LT_REGISTER : LT_GLOBAL);
  ltL_unpin(S, was_pinned, was_pin);
  ltL_push_tensor(L, S, -1, element, 0, layout);
  lua_remove(L, -2);
}

const ltL_tensor *ltL_check_tensor(lua_State *L, ltL_state *S, const char *function, int index) {
  const ltL_tensor *t = ltL_test_tensor(L, S, index);
  if (t == NULL) ltL_type_error(L, S, &(ltL_argument){function, index, index}, "tensor");
  return t;
}

lt_tensor ltL_core_tensor(lua_State *L, const ltL_tensor *t, const char *role) {
  if (t->buffer == NULL)
    luaL_error(L, "%s lies in memory that the host cannot reach: copy it to the host first", role);
  if (((const ltL_buffer *)t->buffer)->is_freed)
    luaL_error(L, "%s lies in memory that was freed", role);
  lt_tensor core = {.element = t->element,
                    .offset = t->offset,
                    .layout = ltL_layout_of(t),
                    .buffer = t->buffer,
                    .name = role};
  ltL_watch(L, &core);
  return core;
}

lt_tensor ltL_check_core(lua_State *L, ltL_state *S, const char *function, int index,
                         const char *role) {
  return ltL_core_tensor(L, ltL_check_tensor(L, S, function, index), role);
}

/* ---- Names for messages --------------------------------------------------------------------- */

/* Searches the locals of a level, then the upvalues of its function. */
static const char *name_at_level(lua_State *L, lua_Debug *at, int index) {
  const char *name;
  for (int i = 1; (name = lua_getlocal(L, at, i)) != NULL; i++) {
    bool found = name[0] != '(' && lua_rawequal(L, -1, index);
    lua_pop(L, 1);
    if (found) return name;
  }
  lua_getinfo(L, "f", at);
  for (int i = 1; (name = lua_getupvalue(L, -1, i)) != NULL; i++) {
    bool found = name[0] != '\0' && lua_rawequal(L, -1, index);
    lua_pop(L, 1);
    if (found) break;
  }
  lua_pop(L, 1);
  return name;
}

const char *ltL_variable_name(lua_State *L, int index) {
  lua_Debug at;
  index = lua_absindex(L, index);
  for (int level = 1; level <= 2 && lua_getstack(L, level, &at); level++) {
    const char *name = name_at_level(L, &at, index);
    if (name != NULL) return name;
  }
  return NULL;
}

int ltL_raise_fault(lua_State *L, ltL_state *S, const char *function, lt_tensor *const *tensors,
                    const int *slots, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (tensors[i] == NULL || tensors[i]->fault.kind == LT_NO_FAULT) continue;
    const char *name = ltL_variable_name(L, slots[i]);
    if (name == NULL) break;
    tensors[i]->name = name;
    S->error.status = LT_OK;
    ltT_fail_fault(S->arena, function, tensors[i]);
    break;
  }
  return ltL_raise(L, S);
}

/* ---- Elements ------------------------------------------------------------------------------- */

int ltL_push_element(lua_State *L, const lt_tensor *t, int64_t offset) {
  lt_number x = ltT_load(t->element, t->buffer->bytes, offset);
  switch (ltT_type_of(t->element)->class) {
    case LT_COMPLEX:
      lua_pushnumber(L, x.re);
      lua_pushnumber(L, x.im);
      return 2;
    case LT_FLOATING: lua_pushnumber(L, x.re); return 1;
    default: lua_pushinteger(L, (lua_Integer)x.re); return 1;
  }
}

static double check_part(lua_State *L, int table, int i, const char *function) {
  lua_rawgeti(L, table, i);
  if (!lua_isnumber(L, -1)) luaL_error(L, "%s: {re, im} expected", function);
  double x = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return x;
}

lt_number ltL_check_element_value(lua_State *L, int index, const char *function) {
  index = lua_absindex(L, index);
  switch (lua_type(L, index)) {
    case LUA_TNUMBER: return (lt_number){lua_tonumber(L, index), 0};
    case LUA_TBOOLEAN: return (lt_number){lua_toboolean(L, index), 0};
    case LUA_TTABLE:
      return (lt_number){check_part(L, index, 1, function), check_part(L, index, 2, function)};
    default:
      luaL_error(L, "%s: number expected, got %s", function, luaL_typename(L, index));
      return (lt_number){0, 0};
  }
}

/* The element at a coordinate of the tensor at slot 1; raises where it is outside. */
static int64_t locate(lua_State *L, ltL_state *S, lt_tensor *t, const lt_value *coordinate,
                      ltT_access access) {
  int64_t offset;
  if (ltT_locate(S->arena, "tensor", t, coordinate, access, &offset)) return offset;
  const char *name = ltL_variable_name(L, 1);
  if (name != NULL) {
    t->name = name;
    S->error.status = LT_OK;
    ltT_locate(S->arena, "tensor", t, coordinate, access, &offset);
  }
  ltL_raise(L, S);
  return 0;
}

static bool has_wildcard(const lt_value *coordinate) {
  for (const lt_value *node = coordinate; node < ltA_next(coordinate); node++)
    if (node->kind == LT_WILDCARD) return true;
  return false;
}

/* The slice under a coordinate with '_': a view. */
static int push_slice(lua_State *L, ltL_state *S, const ltL_tensor *t, const lt_value *coordinate) {
  const lt_value *slice = lt_slice_and_offset(S->arena, coordinate, ltL_layout_of(t));
  if (slice == NULL) return ltL_raise(L, S);
  S->tensor.push_view(L, S, 1, lt_part(slice, 0), lt_part(slice, 1));
  return 1;
}

/* t(c...): an element, the slice under '_', or for a layout the composition. */
static int tensor_call(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_check_tensor(L, S, "tensor", 1);
  const lt_value *layout = lua_gettop(L) == 2 ? ltL_test(L, S, 2) : NULL;
  if (layout != NULL && lt_is_layout(layout))
    return ltL_run(L, S, ltL_find_operation("composition"));
  const lt_value *coordinate = ltL_check_rest(L, S, &(ltL_argument){"tensor", 2, 1}, 'c');
  if (has_wildcard(coordinate)) return push_slice(L, S, t, coordinate);
  lt_tensor core = ltL_core_tensor(L, t, "tensor");
  return ltL_push_element(L, &core, locate(L, S, &core, coordinate, LT_READ));
}

static int push_field(lua_State *L, ltL_state *S, const ltL_tensor *t, const char *name) {
  ltL_restart(L, S);
  if (strcmp(name, "layout") == 0) return ltL_push_value(L, S, ltL_layout_of(t));
  if (strcmp(name, "shape") == 0) return ltL_push_value(L, S, lt_shape(ltL_layout_of(t)));
  if (strcmp(name, "stride") == 0) {
    const lt_value *stride = lt_stride(ltL_layout_of(t));
    if (stride == NULL) return luaL_error(L, "tensor: a composed layout has no stride");
    return ltL_push_value(L, S, stride);
  }
  if (strcmp(name, "data") == 0)
    lua_getiuservalue(L, 1, 1);
  else if (strcmp(name, "dtype") == 0)
    lua_pushstring(L, ltT_type_of(t->element)->name);
  else if (strcmp(name, "offset") == 0)
    lua_pushinteger(L, t->offset);
  else
    return luaL_error(L, "a tensor has no field '%s'", name);
  return 1;
}

static bool is_field(const char *name) {
  static const char *const fields[] = {"layout", "shape", "stride", "data", "dtype", "offset"};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strcmp(name, fields[i]) == 0) return true;
  return false;
}

/* Fields, then the tensors' own methods, then those shared with layouts. */
static int index_with_name(lua_State *L, ltL_state *S, const ltL_tensor *t) {
  const char *name = lua_tostring(L, 2);
  if (is_field(name)) return push_field(L, S, t, name);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) return 1;
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL) return 1;
  return luaL_error(L, "a tensor has no field '%s'", name);
}

static int tensor_index(lua_State *L) {
  ltL_state *S = lua_touserdata(L, lua_upvalueindex(1));
  const ltL_tensor *t = ltL_check_tensor(L, S, "tensor", 1);
  if (lua_type(L, 2) == LUA_TSTRING) return index_with_name(L, S, t);
  ltL_restart(L, S);
  const lt_value *coordinate = ltL_check(L, S, &(ltL_argument){"tensor", 2, 1}, 'c');
  if (has_wildcard(coordinate)) return push_slice(L, S, t, coordinate);
  lt_tensor core = ltL_core_tensor(L, t, "tensor");
  return ltL_push_element(L, &core, locate(L, S, &core, coordinate, LT_READ));
}

/* t[{i, j}] = v */
static int tensor_newindex(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_check_tensor(L, S, "tensor", 1);
  if (lua_type(L, 2) == LUA_TSTRING)
    return luaL_error(L, "tensor: field '%s' cannot be set", lua_tostring(L, 2));
  const lt_value *coordinate = ltL_check(L, S, &(ltL_argument){"tensor", 2, 1}, 's');
  lt_tensor core = ltL_core_tensor(L, t, "tensor");
  int64_t offset = locate(L, S, &core, coordinate, LT_WRITE);
  ltT_store(core.element, core.buffer->bytes, offset, ltL_check_element_value(L, 3, "tensor"));
  return 0;
}

static int tensor_len(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_pushinteger(L, (lua_Integer)lt_rank(ltL_layout_of(ltL_check_tensor(L, S, "tensor", 1))));
  return 1;
}

static int tensor_tostring(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_check_tensor(L, S, "tostring", 1);
  lua_pushfstring(L, "%s %I o ", ltT_type_of(t->element)->name, (LUAI_UACINT)t->offset);
  ltL_push_text(L, S, ltL_layout_of(t), lt_to_string);
  lua_concat(L, 2);
  return 1;
}

/*
** t:close(), t:free(), or the end of a variable with <close>: its memory's, and so that of all tensors
** over it.
*/
static int tensor_close(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  ltL_check_tensor(L, S, "close", 1);
  lua_getiuservalue(L, 1, 1);
  if (luaL_getmetafield(L, -1, "__close") == LUA_TNIL) return 0;
  lua_insert(L, -2);
  lua_call(L, 1, 0);
  return 0;
}

/* ---- Operators ------------------------------------------------------------------------------ */

static int run_named(lua_State *L, const char *operation) {
  ltL_state *S = ltL_begin(L);
  ltL_check_tensor(L, S, operation, 1);
  return ltL_run(L, S, ltL_find_operation(operation));
}

static int tensor_concat(lua_State *L) { return run_named(L, "composition"); }
static int tensor_div(lua_State *L) { return run_named(L, "logical_divide"); }
static int tensor_idiv(lua_State *L) { return run_named(L, "zipped_divide"); }

/* ---- What the algebra's functions need ------------------------------------------------------ */

static const lt_value *layout_of(const void *tensor) { return ltL_layout_of(tensor); }

static void push_view(lua_State *L, ltL_state *S, int index, const lt_value *offset,
                      const lt_value *layout) {
  index = lua_absindex(L, index);
  const ltL_tensor *t = lua_touserdata(L, index);
  int64_t moved = 0;
  if (!ltA_is_integer(offset) || __builtin_add_overflow(t->offset, offset->value, &moved))
    luaL_error(L, "tensor: the view's offset is no integer of 64 bits");
  lua_getiuservalue(L, index, 1);
  ltL_push_tensor(L, S, -1, t->element, moved, layout);
  lua_remove(L, -2);
}

int ltL_push_part(lua_State *L, ltL_state *S, int index, const lt_value *part) {
  const lt_value *counting = ltL_test(L, S, index);
  if (ltL_test_tensor(L, S, index) != NULL) {
    push_view(L, S, index, lt_part(part, 0), lt_part(part, 1));
    return 1;
  }
  if (counting == NULL || counting->kind != LT_TENSOR) return ltL_push_value(L, S, part);
  const lt_value *offset = ltA_add_values(S->arena, lt_part(counting, 0), lt_part(part, 0));
  if (offset == NULL) return ltL_raise(L, S);
  return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, offset, lt_part(part, 1)));
}

/* ---- Makers --------------------------------------------------------------------------------- */

/* The layout in arguments 'first' and on: a layout, or a shape and perhaps a stride. */
static const lt_value *check_layout(lua_State *L, ltL_state *S, const char *function, int first) {
  const lt_value *stride = ltL_optional_at(L, S, function, first + 1, 'd');
  if (stride == NULL) return ltL_check_at(L, S, function, first, 'l');
  return lt_make_layout(S->arena, ltL_check_at(L, S, function, first, 's'), stride);
}

/*
** make_tensor(data, layout) over a buffer, a tensor's data or a tensor; make_tensor(dtype, layout)
** with memory of its own; make_tensor(layout) over nothing. For a layout, shape and stride will do.
*/
static int make_tensor(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  luaL_checkany(L, 1);
  if (lua_type(L, 1) == LUA_TSTRING) {
    lt_element element = ltL_check_element(L, "make_tensor", 1);
    ltL_push_owning_tensor(L, S, "make_tensor", element, check_layout(L, S, "make_tensor", 2));
    return 1;
  }
  bool is_value = lua_type(L, 1) != LUA_TUSERDATA || ltL_test(L, S, 1) != NULL;
  if (is_value) {
    const lt_value *layout = check_layout(L, S, "make_tensor", 1);
    return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, lt_integer(S->arena, 0), layout));
  }
  const ltL_tensor *t = ltL_test_tensor(L, S, 1);
  ltL_buffer *b = ltL_test_buffer(L, 1);
  if (t == NULL && b == NULL)
    ltL_type_error(L, S, &(ltL_argument){"make_tensor", 1, 1}, "data, element type or layout");
  const lt_value *layout = check_layout(L, S, "make_tensor", 2);
  if (layout == NULL || !ltT_check_layout(S->arena, "make_tensor", layout)) return ltL_raise(L, S);
  if (t == NULL) {
    ltL_push_tensor(L, S, 1, b->element, 0, layout);
    return 1;
  }
  S->tensor.push_view(L, S, 1, lt_integer(S->arena, 0), layout);
  return 1;
}

/* make_identity_tensor(shape): each coordinate at its coordinate. */
static int make_identity_tensor(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *shape = ltL_check_rest(L, S, &(ltL_argument){"make_identity_tensor", 1, 1}, 's');
  const lt_value *layout = lt_make_identity_layout(S->arena, shape);
  const lt_value *zero = layout == NULL ? NULL : lt_coprofile(S->arena, layout);
  return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, zero, layout));
}

static int make_counting_tensor(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *layout = ltL_check_at(L, S, "make_counting_tensor", 1, 'l');
  const lt_value *offset = ltL_optional_at(L, S, "make_counting_tensor", 2, 'u');
  if (offset == NULL) offset = lt_integer(S->arena, 0);
  return ltL_push_value(L, S, lt_make_counting_tensor(S->arena, offset, layout));
}

/* The element type in argument 2, or the one of the tensor in argument 1. */
static lt_element element_like(lua_State *L, const char *function, const ltL_tensor *t) {
  if (lua_isnoneornil(L, 2) && t != NULL) return t->element;
  return ltL_check_element(L, function, 2);
}

/* make_tensor_like(t [, dtype]): memory of its own, compact in the order of t's strides. */
static int make_tensor_like(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_test_tensor(L, S, 1);
  lt_element element = element_like(L, "make_tensor_like", t);
  const lt_value *layout = ltL_check_at(L, S, "make_tensor_like", 1, 'l');
  ltL_push_owning_tensor(L, S, "make_tensor_like", element, lt_make_layout_like(S->arena, layout));
  return 1;
}

/* Of a tensor, or with a dtype: registers; of a layout alone, a layout. */
static int make_fragment_like(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_test_tensor(L, S, 1);
  const lt_value *layout = ltL_check_at(L, S, "make_fragment_like", 1, 'l');
  const lt_value *fragment = lt_make_fragment_like(S->arena, layout);
  if (t == NULL && lua_isnoneornil(L, 2)) return ltL_push_value(L, S, fragment);
  lt_element element = element_like(L, "make_fragment_like", t);
  ltL_push_owning_tensor(L, S, "make_fragment_like", element, fragment);
  return 1;
}

/* recast(t, dtype): the same memory as elements of another width; else the layouts' recast. */
static int recast(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const ltL_tensor *t = ltL_test_tensor(L, S, 1);
  if (t == NULL) return ltL_run(L, S, ltL_find_operation("recast"));
  lt_element element = ltL_check_element(L, "recast", 2);
  int64_t from = ltT_type_of(t->element)->bits, to = ltT_type_of(element)->bits;
  const lt_value *layout = lt_recast(S->arena, ltL_layout_of(t), from, to);
  int64_t moved, bit; /* of the new start */
  if (layout == NULL || !ltA_recast_start(S->arena, ltL_layout_of(t), from, to, &moved))
    return ltL_raise(L, S);
  if (__builtin_mul_overflow(t->offset, from, &bit) || __builtin_add_overflow(bit, moved, &bit) ||
      bit % to != 0)
    return luaL_error(L, "recast: element %I of %s does not start an element of %s",
                      (LUAI_UACINT)(t->offset + moved / from), ltT_type_of(t->element)->name,
                      ltT_type_of(element)->name);
  lua_getiuservalue(L, 1, 1);
  ltL_push_tensor(L, S, -1, element, bit / to, layout);
  return 1;
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg metamethods[] = {
    {"__call", tensor_call},         {"__close", tensor_close},       {"__concat", tensor_concat},
    {"__div", tensor_div},           {"__idiv", tensor_idiv},         {"__len", tensor_len},
    {"__newindex", tensor_newindex}, {"__tostring", tensor_tostring}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"make_counting_tensor", make_counting_tensor},
                                     {"make_fragment_like", make_fragment_like},
                                     {"make_identity_tensor", make_identity_tensor},
                                     {"make_tensor", make_tensor},
                                     {"make_tensor_like", make_tensor_like},
                                     {"recast", recast},
                                     {NULL, NULL}};

/* Methods where a tensor differs from a layout. */
static const luaL_Reg methods[] = {{"close", tensor_close},
                                   {"free", tensor_close},
                                   {"make_fragment_like", make_fragment_like},
                                   {"make_tensor_like", make_tensor_like},
                                   {"recast", recast},
                                   {NULL, NULL}};

void ltL_set_tile_functions(lua_State *L, const luaL_Reg *functions_to_set) {
  ltL_push_state(L);
  luaL_setfuncs(L, functions_to_set, 1);
}

/* The metatable's index function, with the tensors' own methods as upvalue 2. */
static void set_index(lua_State *L) {
  ltL_push_state(L);
  lua_newtable(L);
  ltL_set_tile_functions(L, methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "methods"); /* where the algorithms add theirs */
  lua_pushcclosure(L, tensor_index, 2);
  lua_setfield(L, -2, "__index");
}

static void make_type(lua_State *L, ltL_state *S) {
  lua_newtable(L);
  ltL_set_tile_functions(L, metamethods);
  set_index(L);
  lua_pushliteral(L, TYPE_NAME);
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, TYPE_NAME);
  lua_setfield(L, -2, "__metatable");
  S->tensor = (ltL_tensor_type){lua_topointer(L, -1), layout_of, push_view};
  lua_rawsetp(L, LUA_REGISTRYINDEX, &metatable_key);
}

void ltL_push_tensor_methods(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key);
  lua_getfield(L, -1, "methods");
  lua_remove(L, -2);
}

void ltL_open_tensors(lua_State *L) {
  ltL_state *S = ltL_push_state(L);
  lua_pop(L, 1);
  if (S->tensor.metatable == NULL) make_type(L, S);
  ltL_set_tile_functions(L, functions);
}
