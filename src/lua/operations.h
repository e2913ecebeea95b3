/*
** Operations of the algebra, for the files that call them by name: operators, other types.
*/
#ifndef LUTILE_LUA_OPERATIONS_H
#define LUTILE_LUA_OPERATIONS_H

#include "binding.h"

typedef struct ltL_operation ltL_operation;

/* The operation with this name, which must exist. */
const ltL_operation *ltL_find_operation(const char *name);

/* Calls an operation on all that is on the stack, as its function does; returns the results. */
int ltL_run(lua_State *L, ltL_state *S, const ltL_operation *operation);

#endif
