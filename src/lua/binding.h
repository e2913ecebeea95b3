/*
** What the files of the binding share: the state of the module in one lua_State, arguments in,
** results out.
**
** Every C function of the binding has the module's state as its first upvalue, and goes:
**
**     ltL_state *S = ltL_begin(L);                        forgets the last call's scratch
**     const lt_value *a = ltL_check(L, S, &argument);     into the arena, or in place
**     return ltL_push_value(L, S, lt_flatten(S->arena, a));
**
** All scratch is in the arena that the state owns, so that nothing leaks when Lua raises. Values in
** the arena live until the next ltL_begin. Arguments are read with raw accesses only: no code of
** the script runs between ltL_begin and the first push.
*/
#ifndef LUTILE_LUA_BINDING_H
#define LUTILE_LUA_BINDING_H

#include <lauxlib.h>
#include <lua.h>

#include "../algebra/value.h"
#include "lutile.h"

#if LUA_VERSION_NUM != 504 || LUA_VERSION_RELEASE_NUM < LUA_VERSION_NUM * 100 + 4
#error "lutile needs Lua 5.4.4 or a later 5.4: finalizers must not start another collection"
#endif

typedef struct ltL_state ltL_state;

/*
** Tensors over memory are userdata of their own. The algebra's functions take one wherever they
** take a layout, and those whose result is a view give one back; this is how they reach inside.
*/
typedef struct ltL_tensor_type {
  const void *metatable; /* identity, as lua_topointer gives it; NULL while there is none */
  /* The layout of a tensor; it lives as long as the userdata. */
  const lt_value *(*layout)(const void *tensor);
  /* Pushes the tensor over the data of the one at 'index', moved by 'offset', with 'layout'. */
  void (*push_view)(lua_State *L, ltL_state *S, int index, const lt_value *offset,
                    const lt_value *layout);
} ltL_tensor_type;

/* One a lua_State: a userdata in the registry, and the first upvalue of every function. */
struct ltL_state {
  lt_arena *arena; /* NULL once the state has closed */
  lt_error error;  /* of the arena */
  lua_Alloc allocate;
  void *allocate_context;
  const void *metatable; /* of values; identity, as lua_topointer gives it */
  int metatable_reference;
  int methods_reference; /* the table of methods that values and tensors share */
  bool pinned;           /* see ltL_pin */
  ltA_mark pin;
  ltL_tensor_type tensor;
};

/* ---- The state ------------------------------------------------------------------------------ */

/* Pushes the state of 'L', made if this is the first time. */
ltL_state *ltL_push_state(lua_State *L);
/* The state of 'L', from its registry; NULL before lutile is opened. */
ltL_state *ltL_find_state(lua_State *L);

/* Starts a call of a C function whose first upvalue is the state: the arena is empty after. */
ltL_state *ltL_begin(lua_State *L);
/* The same for a state at hand. */
void ltL_restart(lua_State *L, ltL_state *S);

/*
** A push may collect garbage, and so run finalizers of the script that call lutile. What the arena
** holds is safe from them between pin and unpin; ltL_push_value and its kin do this themselves.
*/
bool ltL_pin(ltL_state *S);
void ltL_unpin(ltL_state *S, bool was_pinned, ltA_mark was_pin);

/* Raises the arena's error, the script's position first. */
int ltL_raise(lua_State *L, ltL_state *S);

/* Pushes what require gives for a module; raises, for 'function', where Lua has no require. */
void ltL_require(lua_State *L, const char *function, const char *module);
/* Raises that 'function' has no option 'name': the one that may be meant, or all, NULL at the end. */
int ltL_no_option(lua_State *L, const char *function, const char *name, const char *const *names);

#define ltL_set_functions(L, functions) luaL_setfuncs(L, functions, 1)

/* ---- Results -------------------------------------------------------------------------------- */

/* All of these raise the arena's error when 'v' is NULL, and return the number of values pushed. */

/* A static integer as a Lua integer, anything else as a value. */
int ltL_push_value(lua_State *L, ltL_state *S, const lt_value *v);
/* Any integer as a Lua integer. */
int ltL_push_number(lua_State *L, ltL_state *S, const lt_value *v);
/* A counting tensor as two values, layout and offset. */
int ltL_push_layout_and_offset(lua_State *L, ltL_state *S, const lt_value *tensor);
/* A boolean, unless there was an error. */
int ltL_push_boolean(lua_State *L, ltL_state *S, bool b);
/* The text that tostring gives (or, with lt_to_cute, CuTe's). */
int ltL_push_text(lua_State *L, ltL_state *S, const lt_value *v,
                  size_t (*write)(const lt_value *, char *, size_t));

/* ---- Arguments ------------------------------------------------------------------------------ */

/* The value in the userdata at 'index', or NULL if there is none of this state. */
const lt_value *ltL_test(lua_State *L, const ltL_state *S, int index);
/* The tensor over memory at 'index', or NULL. */
const void *ltL_test_tensor(lua_State *L, const ltL_state *S, int index);

/* What an argument may be. The letter is how signatures write it. */
typedef struct ltL_kind {
  unsigned kinds;   /* 1 << lt_kind for each kind that will do */
  bool as_layout;   /* a shape stands for its compact layout, a tensor for its layout */
  const char *name; /* for messages: "layout" */
} ltL_kind;

/*
**   x  tuple, integer or layout     l  layout                 f  layout or swizzle
**   s  shape                        d  stride                 c  coordinate
**   t  tiler, b  the same, named a layout
**   o  order                        i  layout, swizzle or '_'
**   u  tuple, bases in it too       p  offset of a composed layout
**   v  any value                    m  layout, swizzle or counting tensor
**   n  integer                      w  swizzle
*/
const ltL_kind *ltL_kind_of(char letter);

/* An argument in a call, and how messages name it. */
typedef struct ltL_argument {
  const char *function; /* the name that the script knows */
  int index;            /* stack slot */
  int number;           /* as the script counts; 0 is the self of a method */
} ltL_argument;

/* The argument as a value of the kind; numbers and tables are converted. Raises otherwise. */
const lt_value *ltL_check(lua_State *L, ltL_state *S, const ltL_argument *argument, char letter);
/* The short form where slots and numbers agree: argument 'index' of 'function'. */
const lt_value *ltL_check_at(lua_State *L, ltL_state *S, const char *function, int index,
                             char letter);
/* As before, but NULL where there is none or nil. */
const lt_value *ltL_optional_at(lua_State *L, ltL_state *S, const char *function, int index,
                                char letter);
/* A mode number, width or other parameter: an integer, or a dynamic one. */
int64_t ltL_check_integer(lua_State *L, ltL_state *S, const ltL_argument *argument);
/* Arguments 'first' to the last as one coordinate or tiler: the only one, or a tuple of them. */
const lt_value *ltL_check_rest(lua_State *L, ltL_state *S, const ltL_argument *first, char letter);
/* Arguments 'first' to the last, numbers and tuples of them, as a list of modes in the arena. */
const int64_t *ltL_check_modes(lua_State *L, ltL_state *S, const ltL_argument *first, size_t *n);

/* Raises "bad argument #n to 'function' (message)". */
int ltL_argument_error(lua_State *L, const ltL_argument *argument, const char *message);
/* The same, with "wanted expected, got ...". */
int ltL_type_error(lua_State *L, const ltL_state *S, const ltL_argument *argument,
                   const char *wanted);
/* What the value at 'index' is called in messages: "layout", "number", "FILE*". */
const char *ltL_type_name(lua_State *L, const ltL_state *S, int index);
/* "a" or "an", as the name of a type is spoken. */
const char *ltL_article(const char *name);
/*
** An error where a finalizer runs: a Lua state that is being closed gives new values no finalizer,
** so that what holds memory of its own cannot be made there.
*/
void ltL_check_finalizable(lua_State *L, const char *what);

/*
** The value at 'index' in the arena: numbers, tables and values of this state. NULL where it is
** none: with the arena's error set if it is nearly one (a table with a hole), else without.
*/
const lt_value *ltL_convert(lua_State *L, ltL_state *S, int index);

/* ---- The parts of the module ---------------------------------------------------------------- */

/* Each adds its functions to the module, whose table is at the top of the stack. */
void ltL_open_values(lua_State *L);     /* the type itself, and its metamethods */
void ltL_open_operations(lua_State *L); /* the algebra, as functions and as methods */
void ltL_open_makers(lua_State *L);     /* make_layout, tuple, dyn, E, Swizzle ... */
void ltL_open_text(lua_State *L);       /* parse, from_cute, to_cute, key */
void ltL_open_iteration(lua_State *L);  /* offsets, each */

#endif
