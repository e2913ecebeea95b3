/*
** Arithmetic whose operator means something else on layouts.
*/
#ifndef LUTILE_LUA_ARITHMETIC_H
#define LUTILE_LUA_ARITHMETIC_H

#include "binding.h"

/* Each works on slots 1 and 2 (negation: 1), and returns the number of results. */
int ltL_multiply(lua_State *L, ltL_state *S);
int ltL_floor_divide(lua_State *L, ltL_state *S);
int ltL_negate(lua_State *L, ltL_state *S);

/* Metamethods of values that are arithmetic and nothing else: + - % < <=. */
extern const luaL_Reg ltL_arithmetic[];

#endif
