/*
** Functions that make values, and those that ask what a value is.
*/
#include "binding.h"

/* ---- Tuples and leaves ---------------------------------------------------------------------- */

/* All arguments as one tuple. */
static const lt_value *tuple_of_arguments(lua_State *L, ltL_state *S, const char *function) {
  ltA_builder b;
  ltA_begin(&b, S->arena);
  size_t open = ltA_open(&b, LT_TUPLE);
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) ltA_append(&b, ltL_check_at(L, S, function, i, 'v'));
  ltA_close(&b, open, (size_t)n);
  return ltA_finish(&b);
}

/* make_shape(a, b...): the upvalue is the name. */
static int make_tuple(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const char *name = lua_tostring(L, lua_upvalueindex(2));
  return ltL_push_value(L, S, tuple_of_arguments(L, S, name));
}

/* tuple{a, b}: a table as a tuple; an integer or a tuple is itself. */
static int make_tuple_of_table(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_value(L, S, ltL_check_at(L, S, "tuple", 1, 'u'));
}

static int make_dyn(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  int64_t value = ltL_check_integer(L, S, &(ltL_argument){"dyn", 1, 1});
  int64_t promise = 1;
  if (!lua_isnoneornil(L, 2)) promise = ltL_check_integer(L, S, &(ltL_argument){"dyn", 2, 2});
  return ltL_push_value(L, S, lt_dynamic(S->arena, value, promise));
}

/* E(i, j...): one in mode j of mode i. */
static int make_basis(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  size_t n;
  const int64_t *path = ltL_check_modes(L, S, &(ltL_argument){"E", 1, 1}, &n);
  return ltL_push_value(L, S, lt_basis(S->arena, lt_integer(S->arena, 1), path, n));
}

/* Swizzle(B, M, S): CuTe's default for S is B. */
static int make_swizzle(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  int64_t bits = ltL_check_integer(L, S, &(ltL_argument){"Swizzle", 1, 1});
  int64_t base = 0, shift = bits;
  if (!lua_isnoneornil(L, 2)) base = ltL_check_integer(L, S, &(ltL_argument){"Swizzle", 2, 2});
  if (!lua_isnoneornil(L, 3)) shift = ltL_check_integer(L, S, &(ltL_argument){"Swizzle", 3, 3});
  return ltL_push_value(L, S, lt_swizzle(S->arena, bits, base, shift));
}

/* smem_ptr_flag_bits(bits): the offset of a composed layout over shared memory. */
static int make_smem(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  int64_t bits = ltL_check_integer(L, S, &(ltL_argument){"smem_ptr_flag_bits", 1, 1});
  return ltL_push_value(L, S, lt_smem(S->arena, bits));
}

/* ---- Layouts -------------------------------------------------------------------------------- */

static int join_layouts(lua_State *L, ltL_state *S) {
  size_t n = (size_t)lua_gettop(L);
  const lt_value **layouts = ltA_new_bytes(S->arena, n * sizeof *layouts);
  if (layouts == NULL) return ltL_raise(L, S);
  for (size_t i = 0; i < n; i++) layouts[i] = ltL_check_at(L, S, "make_layout", (int)i + 1, 'l');
  return ltL_push_value(L, S, lt_make_layout_of(S->arena, layouts, n));
}

/* make_layout(shape), (shape, stride), (shape, LayoutRight), or of layouts as its modes. */
static int make_layout(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *first = ltL_test(L, S, 1);
  if (first != NULL && lt_is_layout(first)) return join_layouts(L, S);
  const lt_value *shape = ltL_check_at(L, S, "make_layout", 1, 's');
  const lt_value *stride = ltL_optional_at(L, S, "make_layout", 2, 'd');
  if (lua_gettop(L) > 2)
    return luaL_error(L, "make_layout: wants layouts, or a shape and a stride");
  return ltL_push_value(L, S, lt_make_layout(S->arena, shape, stride));
}

/* ---- Questions ------------------------------------------------------------------------------ */

/* The kinds that each predicate is true of; a Lua integer is an integer. */
static const struct {
  const char *name;
  unsigned kinds;
} predicates[] = {{"is_composed_layout", 1u << LT_COMPOSED},
                  {"is_integral", 1u << LT_INTEGER},
                  {"is_layout", 1u << LT_LAYOUT | 1u << LT_COMPOSED},
                  {"is_scaled_basis", 1u << LT_BASIS},
                  {"is_swizzle", 1u << LT_SWIZZLE},
                  {"is_tuple", 1u << LT_TUPLE},
                  {"is_underscore", 1u << LT_WILDCARD}};

static int is_of_kind(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  luaL_checkany(L, 1);
  const lt_value *v = lua_type(L, 1) == LUA_TTABLE ? NULL : ltL_convert(L, S, 1);
  unsigned kinds = (unsigned)lua_tointeger(L, lua_upvalueindex(2));
  lua_pushboolean(L, v != NULL && (kinds & 1u << lt_kind_of(v)) != 0);
  return 1;
}

static int is_tensor(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  luaL_checkany(L, 1);
  const lt_value *v = ltL_test(L, S, 1);
  bool counting = v != NULL && lt_kind_of(v) == LT_TENSOR;
  lua_pushboolean(L, counting || ltL_test_tensor(L, S, 1) != NULL);
  return 1;
}

/* Known before any kernel is compiled: no dynamic integer in it. */
static int is_static(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_boolean(L, S, lt_is_static(ltL_check_at(L, S, "is_static", 1, 'v')));
}

/* ---- Methods of leaves ---------------------------------------------------------------------- */

static const lt_value *check_leaf(lua_State *L, ltL_state *S, const char *method) {
  const lt_value *v = ltL_check_at(L, S, method, 1, 'u');
  if (lt_kind_of(v) == LT_TUPLE)
    ltL_type_error(L, S, &(ltL_argument){method, 1, 0}, "integer or scaled basis");
  return v;
}

static int leaf_value(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_pushinteger(L, lt_integer_value(check_leaf(L, S, "value")));
  return 1;
}

/* What a dynamic integer is always a multiple of; 0 for a static one. */
static int leaf_promise(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_pushinteger(L, lt_integer_promise(check_leaf(L, S, "promise")));
  return 1;
}

/* ---- The module ----------------------------------------------------------------------------- */

static const luaL_Reg functions[] = {{"E", make_basis},
                                     {"Swizzle", make_swizzle},
                                     {"dyn", make_dyn},
                                     {"is_static", is_static},
                                     {"is_tensor", is_tensor},
                                     {"make_layout", make_layout},
                                     {"smem_ptr_flag_bits", make_smem},
                                     {"tuple", make_tuple_of_table},
                                     {NULL, NULL}};

static const luaL_Reg methods[] = {
    {"is_static", is_static}, {"promise", leaf_promise}, {"value", leaf_value}, {NULL, NULL}};

static void set_tuple_makers(lua_State *L, int module) {
  static const char *const names[] = {"make_coord", "make_shape", "make_stride", "make_tile",
                                      "make_tuple"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    lua_pushvalue(L, -1); /* the state */
    lua_pushstring(L, names[i]);
    lua_pushcclosure(L, make_tuple, 2);
    lua_setfield(L, module, names[i]);
  }
}

static void set_predicates(lua_State *L, int module) {
  for (size_t i = 0; i < sizeof predicates / sizeof predicates[0]; i++) {
    lua_pushvalue(L, -1);
    lua_pushinteger(L, predicates[i].kinds);
    lua_pushcclosure(L, is_of_kind, 2);
    lua_setfield(L, module, predicates[i].name);
  }
}

static void set_constants(lua_State *L, ltL_state *S, int module) {
  ltL_restart(L, S);
  ltL_push_value(L, S, lt_wildcard(S->arena));
  lua_setfield(L, module, "_");
  ltL_push_value(L, S, lt_layout_left(S->arena));
  lua_setfield(L, module, "LayoutLeft");
  ltL_push_value(L, S, lt_layout_right(S->arena));
  lua_setfield(L, module, "LayoutRight");
}

void ltL_open_makers(lua_State *L) {
  int module = lua_gettop(L);
  ltL_state *S = ltL_push_state(L);
  set_tuple_makers(L, module);
  set_predicates(L, module);
  set_constants(L, S, module);
  luaL_setfuncs(L, functions, 1); /* into the module, below the state */
  ltL_push_state(L);
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  lua_insert(L, -2);
  luaL_setfuncs(L, methods, 1);
  lua_pop(L, 1);
}
