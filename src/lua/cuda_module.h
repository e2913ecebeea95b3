/*
** How lutile opens the C part of lutile.cuda: cuda.c, or cuda_absent.c where it is built without.
*/
#ifndef LUTILE_LUA_CUDA_MODULE_H
#define LUTILE_LUA_CUDA_MODULE_H

struct lua_State;

/* The module "lutile.cuda.driver", on which lua/lutile/cuda is built. */
int ltL_open_cuda_driver(struct lua_State *L);

/* Adds the functions that need no CUDA, nor its headers, to the module at the top of the stack. */
void ltL_open_cuda_text(struct lua_State *L);

#endif
