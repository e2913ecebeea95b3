/*
** The userdata of values: calls, indexing, iteration, operators. What an operator means depends on
** its operands: the layout algebra on layouts, arithmetic (arithmetic.c) on numbers.
*/
#include "arithmetic.h"
#include "binding.h"
#include "operations.h"

#define TYPE_NAME "lutile value" /* __name, and what getmetatable gives */

/* The self of a metamethod; it can only be something else by way of the debug library. */
static const lt_value *check_self(lua_State *L, ltL_state *S) {
  const lt_value *v = ltL_test(L, S, 1);
  if (v == NULL) ltL_type_error(L, S, &(ltL_argument){"value", 1, 0}, TYPE_NAME);
  return v;
}

/* ---- Operators ------------------------------------------------------------------------------ */

/* Runs the operation that is the metamethod's upvalue 2. */
static int run_upvalue(lua_State *L, ltL_state *S) {
  return ltL_run(L, S, lua_touserdata(L, lua_upvalueindex(2)));
}

static bool is_map(const lt_value *v) {
  return v != NULL && (lt_is_layout(v) || v->kind == LT_SWIZZLE || v->kind == LT_TENSOR);
}

/* An operand is a layout, so that the operator is one of the layout algebra. */
static bool on_layouts(lua_State *L, const ltL_state *S) {
  return is_map(ltL_test(L, S, 1)) || is_map(ltL_test(L, S, 2));
}

static int value_concat(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  for (int operand = 1; operand <= 2; operand++) {
    if (lua_type(L, operand) != LUA_TSTRING) continue;
    const char *other = ltL_type_name(L, S, 3 - operand);
    return luaL_error(L, "'..' composes layouts: tostring joins %s %s and a string",
                      ltL_article(other), other);
  }
  return run_upvalue(L, S);
}

static int value_div(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  if (!on_layouts(L, S)) return luaL_error(L, "'/' divides layouts: integers are divided by '//'");
  return run_upvalue(L, S);
}

static int value_idiv(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return on_layouts(L, S) ? run_upvalue(L, S) : ltL_floor_divide(L, S);
}

static int value_mul(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return on_layouts(L, S) ? run_upvalue(L, S) : ltL_multiply(L, S);
}

static int value_unm(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_settop(L, 1); /* Lua passes the operand twice */
  return on_layouts(L, S) ? run_upvalue(L, S) : ltL_negate(L, S);
}

static int value_bnot(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_settop(L, 1);
  const char *name = ltL_type_name(L, S, 1);
  if (!on_layouts(L, S))
    return luaL_error(L, "'~' inverts layouts, not %s %s", ltL_article(name), name);
  return run_upvalue(L, S);
}

static int value_eq(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *a = ltL_test(L, S, 1);
  const lt_value *b = ltL_test(L, S, 2);
  lua_pushboolean(L, a != NULL && b != NULL && lt_equal(a, b));
  return 1;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

/* One linear index, without a detour through the arena where that will do. */
static int call_with_integer(lua_State *L, ltL_state *S, const lt_value *f) {
  int64_t offset;
  lt_value index = {lua_tointeger(L, 2), 0, 1, LT_INTEGER};
  if (lt_offset(f, index.value, &offset)) {
    lua_pushinteger(L, offset);
    return 1;
  }
  return ltL_push_number(L, S, lt_apply(S->arena, f, &index));
}

static bool is_right_side(const lt_value *v) {
  return v != NULL && (lt_is_layout(v) || v->kind == LT_SWIZZLE);
}

/* A(c...): the index at a coordinate, or with '_' the slice; A(B): the composition. */
static int value_call(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *f = check_self(L, S);
  if (!is_map(f))
    return luaL_error(L, "a %s cannot be called (the shape of mode i is shape(L, i))",
                      lt_kind_name(lt_kind_of(f)));
  if (lua_gettop(L) == 2) {
    if (lua_isinteger(L, 2)) return call_with_integer(L, S, f);
    if (is_right_side(ltL_test(L, S, 2))) return run_upvalue(L, S);
  }
  ltL_argument first = {lt_kind_name(lt_kind_of(f)), 2, 1};
  const lt_value *coordinate = ltL_check_rest(L, S, &first, 'c');
  return ltL_push_number(L, S, lt_apply(S->arena, f, coordinate));
}

/* ---- Fields --------------------------------------------------------------------------------- */

/* Parts of values by name. Numbers among them come back with their flags. */
static const struct {
  const char *name;
  lt_kind kind;
  size_t part;
} parts[] = {{"layout_a", LT_COMPOSED, 0}, {"offset", LT_COMPOSED, 1}, {"layout_b", LT_COMPOSED, 2},
             {"offset", LT_TENSOR, 0},     {"layout", LT_TENSOR, 1},   {"num_bits", LT_SWIZZLE, 0},
             {"num_base", LT_SWIZZLE, 1},  {"num_shft", LT_SWIZZLE, 2}};

static const lt_value *find_part(const lt_value *v, const char *name) {
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (parts[i].kind == lt_kind_of(v) && strcmp(parts[i].name, name) == 0)
      return lt_part(v, parts[i].part);
  return NULL;
}

static const lt_value *find_field(const lt_value *v, const char *name) {
  if (is_map(v) && v->kind != LT_SWIZZLE) {
    if (strcmp(name, "shape") == 0) return lt_shape(v);
    if (strcmp(name, "stride") == 0) return lt_stride(v);
  }
  return find_part(v, name);
}

/* Pushes the method under the key at slot 2 from the shared table; false, and nothing, if none. */
static bool push_method(lua_State *L, const ltL_state *S) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, S->methods_reference);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, -2) != LUA_TNIL) return true;
  lua_pop(L, 2);
  return false;
}

static int index_with_name(lua_State *L, ltL_state *S, const lt_value *v) {
  const char *name = lua_tostring(L, 2);
  bool field_first = v->kind == LT_TENSOR && strcmp(name, "layout") == 0;
  if (!field_first && push_method(L, S)) return 1;
  ltL_restart(L, S);
  const lt_value *field = find_field(v, name);
  if (field != NULL) return ltL_push_value(L, S, field);
  const char *kind = lt_kind_name(lt_kind_of(v));
  return luaL_error(L, "%s %s has no field '%s'", ltL_article(kind), kind, name);
}

/* A[i] is mode i, counting from 0; A.name a field or a method. */
static int value_index(lua_State *L) {
  ltL_state *S = lua_touserdata(L, lua_upvalueindex(1));
  const lt_value *v = check_self(L, S);
  if (lua_type(L, 2) == LUA_TSTRING) return index_with_name(L, S, v);
  ltL_restart(L, S);
  ltL_argument argument = {"index", 2, 1};
  int64_t mode = ltL_check_integer(L, S, &argument);
  return ltL_push_value(L, S, lt_get(S->arena, v, &mode, 1));
}

static int value_newindex(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *v = check_self(L, S);
  const char *kind = lt_kind_name(lt_kind_of(v));
  return luaL_error(L, "%s %s is immutable", ltL_article(kind), kind);
}

static int value_len(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  lua_pushinteger(L, (lua_Integer)lt_rank(check_self(L, S)));
  return 1;
}

/*
** Where an iteration stands: upvalues 2 to 4 are the next mode, and how far its nodes are from the
** first ones of the elements (shapes) and of the strides. So no step walks from the start again.
*/
static const lt_value *at_cursor(lua_State *L, ltL_state *S, const lt_value *v, int64_t mode) {
  const lt_value *shape = ltA_first(v->kind == LT_LAYOUT ? ltA_shape(v) : v);
  const lt_value *stride = v->kind == LT_LAYOUT ? ltA_first(ltA_stride(v)) : NULL;
  int64_t at = 0;
  const lt_value *s = shape, *d = stride;
  if (lua_tointeger(L, lua_upvalueindex(2)) == mode) {
    at = mode;
    s += lua_tointeger(L, lua_upvalueindex(3));
    if (d != NULL) d += lua_tointeger(L, lua_upvalueindex(4));
  }
  for (; at < mode; at++) {
    s = ltA_next(s);
    if (d != NULL) d = ltA_next(d);
  }
  const lt_value *next[] = {ltA_next(s), d == NULL ? NULL : ltA_next(d)};
  lua_pushinteger(L, mode + 1);
  lua_replace(L, lua_upvalueindex(2));
  lua_pushinteger(L, next[0] - shape);
  lua_replace(L, lua_upvalueindex(3));
  lua_pushinteger(L, d == NULL ? 0 : next[1] - stride);
  lua_replace(L, lua_upvalueindex(4));
  return d == NULL ? s : ltA_pair(S->arena, s, d);
}

static bool has_modes_in_a_row(const lt_value *v) {
  return v->kind == LT_TUPLE || (v->kind == LT_LAYOUT && ltA_is_tuple(ltA_shape(v)));
}

/* The iterator of pairs: the mode after the one in the control variable, nil before mode 0. */
static int next_mode(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  const lt_value *v = check_self(L, S);
  int64_t mode = lua_isnil(L, 2) ? 0 : luaL_checkinteger(L, 2) + 1;
  if (mode < 0 || (uint64_t)mode >= lt_rank(v)) return 0;
  lua_settop(L, 2);
  lua_pushinteger(L, mode);
  if (has_modes_in_a_row(v)) return 1 + ltL_push_value(L, S, at_cursor(L, S, v, mode));
  return 1 + ltL_push_value(L, S, lt_get(S->arena, v, &mode, 1));
}

static int value_pairs(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(1));
  for (int i = 0; i < 3; i++) lua_pushinteger(L, 0);
  lua_pushcclosure(L, next_mode, 4);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static int value_tostring(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  return ltL_push_text(L, S, check_self(L, S), lt_to_string);
}

/* ---- The type ------------------------------------------------------------------------------- */

static const luaL_Reg metamethods[] = {{"__eq", value_eq},
                                       {"__index", value_index},
                                       {"__len", value_len},
                                       {"__newindex", value_newindex},
                                       {"__pairs", value_pairs},
                                       {"__tostring", value_tostring},
                                       {NULL, NULL}};

/* Metamethods that stand for an operation. */
static const struct {
  const char *event;
  lua_CFunction function;
  const char *operation;
} operators[] = {{"__bnot", value_bnot, "left_inverse"},    {"__call", value_call, "composition"},
                 {"__concat", value_concat, "composition"}, {"__div", value_div, "logical_divide"},
                 {"__idiv", value_idiv, "zipped_divide"},   {"__mul", value_mul, "logical_product"},
                 {"__unm", value_unm, "right_inverse"}};

/* Sets them in the metatable at the top, with the state below it as their upvalue. */
static void set_operators(lua_State *L) {
  for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
    lua_pushvalue(L, -2);
    lua_pushlightuserdata(L, (void *)(size_t)ltL_find_operation(operators[i].operation));
    lua_pushcclosure(L, operators[i].function, 2);
    lua_setfield(L, -2, operators[i].event);
  }
}

static void set_functions(lua_State *L, const luaL_Reg *functions) {
  lua_pushvalue(L, -2);
  luaL_setfuncs(L, functions, 1);
}

void ltL_open_values(lua_State *L) {
  ltL_state *S = ltL_push_state(L);
  lua_createtable(L, 0, 128);
  S->methods_reference = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_createtable(L, 0, 32);
  set_functions(L, metamethods);
  set_functions(L, ltL_arithmetic);
  set_operators(L);
  lua_pushliteral(L, TYPE_NAME);
  lua_setfield(L, -2, "__name");
  lua_pushliteral(L, TYPE_NAME);
  lua_setfield(L, -2, "__metatable");
  S->metatable = lua_topointer(L, -1);
  S->metatable_reference = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pop(L, 1);
}
