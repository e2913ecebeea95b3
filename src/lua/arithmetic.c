/*
** Arithmetic on dynamic integers, scaled bases and coordinates. Integers behave as Lua's own do,
** so that a script computes the same numbers whichever of them are dynamic.
*/
#include "arithmetic.h"

/* The operands, or an error in Lua's words. */
typedef struct operands {
  const lt_value *x;
  const lt_value *y;
} operands;

static int refuse(lua_State *L, ltL_state *S, const char *operator) {
  const char *x = ltL_type_name(L, S, 1), *y = ltL_type_name(L, S, 2);
  return luaL_error(L, "'%s' is not defined for %s %s and %s %s", operator, ltL_article(x), x,
                    ltL_article(y), y);
}

static bool is_number(const lt_value *v) {
  return v != NULL && (v->kind == LT_INTEGER || v->kind == LT_BASIS || v->kind == LT_TUPLE);
}

static operands check_operands(lua_State *L, ltL_state *S, const char *operator) {
  operands o = {ltL_convert(L, S, 1), ltL_convert(L, S, 2)};
  if (ltA_failed(S->arena)) ltL_raise(L, S);
  if (!is_number(o.x) || !is_number(o.y)) refuse(L, S, operator);
  return o;
}

static operands check_integers(lua_State *L, ltL_state *S, const char *operator) {
  operands o = check_operands(L, S, operator);
  if (o.x->kind != LT_INTEGER || o.y->kind != LT_INTEGER) refuse(L, S, operator);
  return o;
}

static const lt_value *negative(ltL_state *S, const lt_value *x) {
  return ltA_scale_value(S->arena, x, ltA_static(-1));
}

static int value_add(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  operands o = check_operands(L, S, "+");
  return ltL_push_value(L, S, ltA_add_values(S->arena, o.x, o.y));
}

static int value_sub(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  operands o = check_operands(L, S, "-");
  if (o.x->kind == LT_INTEGER && o.y->kind == LT_INTEGER) {
    lt_int difference = ltA_sub(S->arena, ltA_int(o.x), ltA_int(o.y));
    return ltL_push_value(L, S, ltA_from_int(S->arena, difference));
  }
  const lt_value *y = negative(S, o.y);
  if (y == NULL) return ltL_raise(L, S);
  return ltL_push_value(L, S, ltA_add_values(S->arena, o.x, y));
}

int ltL_negate(lua_State *L, ltL_state *S) {
  const lt_value *x = ltL_convert(L, S, 1);
  const char *name = ltL_type_name(L, S, 1);
  if (!is_number(x)) return luaL_error(L, "'-' is not defined for %s %s", ltL_article(name), name);
  return ltL_push_value(L, S, negative(S, x));
}

int ltL_multiply(lua_State *L, ltL_state *S) {
  operands o = check_operands(L, S, "*");
  if (o.x->kind == LT_INTEGER)
    return ltL_push_value(L, S, ltA_scale_value(S->arena, o.y, ltA_int(o.x)));
  if (o.y->kind == LT_INTEGER)
    return ltL_push_value(L, S, ltA_scale_value(S->arena, o.x, ltA_int(o.y)));
  return refuse(L, S, "*");
}

/* The algebra's division truncates; Lua's rounds down. */
static bool rounds_up(lt_int rest, lt_int y) {
  return rest.value != 0 && (rest.value < 0) != (y.value < 0);
}

int ltL_floor_divide(lua_State *L, ltL_state *S) {
  operands o = check_integers(L, S, "//");
  lt_int x = ltA_int(o.x), y = ltA_int(o.y);
  lt_int quotient = ltA_div(S->arena, x, y);
  if (!ltA_failed(S->arena) && rounds_up(ltA_mod(S->arena, x, y), y)) quotient.value--;
  return ltL_push_value(L, S, ltA_from_int(S->arena, quotient));
}

static int value_mod(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  operands o = check_integers(L, S, "%");
  lt_int y = ltA_int(o.y);
  lt_int rest = ltA_mod(S->arena, ltA_int(o.x), y);
  if (rounds_up(rest, y)) rest.value += y.value;
  return ltL_push_value(L, S, ltA_from_int(S->arena, rest));
}

static int value_lt(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  operands o = check_integers(L, S, "<");
  lua_pushboolean(L, o.x->value < o.y->value);
  return 1;
}

static int value_le(lua_State *L) {
  ltL_state *S = ltL_begin(L);
  operands o = check_integers(L, S, "<=");
  lua_pushboolean(L, o.x->value <= o.y->value);
  return 1;
}

const luaL_Reg ltL_arithmetic[] = {{"__add", value_add}, {"__le", value_le},   {"__lt", value_lt},
                                   {"__mod", value_mod}, {"__sub", value_sub}, {NULL, NULL}};
